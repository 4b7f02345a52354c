"""Grouping: from the keys of rollouts to numbered groups, and from a group's number back to what it is called."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import polars as pl

from grpo_cli.errors import UsageError
from grpo_cli.frame import BATCH, GROUP, ROLLOUT
from grpo_cli.logs.codes import DIGEST, coded, digest

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

KEY = "key"
STEP = "step"
BLOCK = "block"
ID = "id"

_ID_BYTES = 5
_ROW = "row"
_ESCAPED = r"[^ -~]|[\"\\]"
"""What JSON in ASCII escapes."""


@dataclass(frozen=True)
class Groups:
    """A row per group, in the order of the group numbers."""

    frame: pl.DataFrame
    """`row` (its first rollout), `batch`, `step` (null without steps), `key_0..n` as `codes.digest` gives them, `block`
    (null without)."""
    fields: tuple[str, ...]
    """What the key's fields are called, in order."""
    texts: Callable[[int, list[int]], list[str]] | None = None
    """Reads long keys again: the texts of field number N of the key in these rows of the canonical frame."""

    @property
    def key_columns(self) -> list[str]:
        """The columns of `frame` that hold the key."""
        return [key_column(index) for index in range(len(self.fields))]

    @cached_property
    def named(self) -> pl.DataFrame:
        """A row per group: `group`, `id`, `key` (text for people), `step`."""
        return self.called(self._numbers())

    def called(self, groups: pl.Series) -> pl.DataFrame:
        """The same for the groups with these numbers, in their order: what they are called is made only for them."""
        frame = self.frame[groups.cast(pl.Int64)]
        return pl.DataFrame(
            {
                GROUP: groups.cast(pl.UInt32),
                ID: self.ids(groups),
                KEY: self._key_text(self.with_texts(frame)),
                STEP: self.steps[groups.cast(pl.Int64)],
            }
        )

    def find(self, name: str) -> int:
        """The number of the group whose id (or the beginning of it), or whose key, is `name`.

        Raises:
            UsageError: no group is called so, or several are; it lists some.
        """
        found = self.matching(name)
        if found.len() == 1:
            return int(found[0])
        matches = self.called(found)
        if matches.is_empty():
            shown = ", ".join(self.ids(self._numbers().head(5)))
            raise UsageError(
                f"there is no group {name!r}", hint=f"a group is named by its id or its key; ids: {shown} ..."
            )
        shown = ", ".join(
            f"{row[ID]} (step {row[STEP]})" if row[STEP] is not None else row[ID]
            for row in matches.head(5).iter_rows(named=True)
        )
        raise UsageError(f"{matches.height} groups are called {name!r}", hint=f"name one by its id: {shown}")

    def matching(self, name: str) -> pl.Series:
        """The numbers of the groups whose key is `name`; where none is, of those whose id begins with it."""
        numbers = self._numbers()
        found = numbers.filter(self._key_text(self.frame) == (digest(name) if len(self.fields) == 1 else name))
        if found.is_empty() and name:
            found = numbers.filter(self.ids(numbers).str.starts_with(name))
        return found

    def ids(self, groups: pl.Series) -> pl.Series:
        """The ids of the groups with these numbers."""
        return short_ids(self.frame[groups.cast(pl.Int64)].select(STEP, *self.key_columns, BLOCK))

    @cached_property
    def steps(self) -> pl.Series:
        """The step of each group: whole numbers where all of them spell one, else text; null without steps."""
        return _as_integers(self.frame[STEP])

    def with_texts(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Rows of `frame` with the texts of the keys that were too long to keep, read again."""
        for at, column in enumerate(self.key_columns if self.texts else ()):
            long = frame[column].str.starts_with(DIGEST)
            if not long.any():
                continue
            assert self.texts is not None
            rows = frame[_ROW].filter(long).unique().sort()
            texts = pl.DataFrame({_ROW: rows, "text": self.texts(at, rows.to_list())})
            text = frame.select(_ROW).join(texts, on=_ROW, how="left", maintain_order="left")["text"]
            frame = frame.with_columns(pl.when(pl.lit(long)).then(pl.lit(text)).otherwise(pl.col(column)).alias(column))
        return frame

    def _numbers(self) -> pl.Series:
        return pl.int_range(self.frame.height, dtype=pl.UInt32, eager=True)

    def _key_text(self, frame: pl.DataFrame) -> pl.Series:
        if len(self.fields) == 1:
            text = pl.col(key_column(0))
        else:
            text = pl.concat_str(
                [pl.lit(f"{name}=") + pl.col(key_column(at)) for at, name in enumerate(self.fields)],
                separator=" ",
            )
        block = (
            pl.when(pl.col(BLOCK) > 0).then(pl.lit(" #") + (pl.col(BLOCK) + 1).cast(pl.String)).otherwise(pl.lit(""))
        )
        if not self.fields:
            text = pl.lit("all")
        return frame.select((text + block.fill_null("")).alias(KEY)).to_series()


def key_column(index: int) -> str:
    """The name of the column that holds field number `index` of the key."""
    return f"{KEY}_{index}"


def group_rollouts(
    keys: pl.DataFrame, fields: Sequence[str], group_size: int | None, *, batch_by: Sequence[str] = ()
) -> tuple[pl.DataFrame, Groups, dict[int, int]]:
    """Number the groups and batches of rollouts by first appearance.

    `keys` has `key_0..n` (text, or codes of it), and where they are known `step` and `rollout`. With `group_size` a
    key with more rollouts is split into consecutive blocks of that many. A batch is a step, told apart
    also by `batch_by`.

    Returns the columns `group`, `batch` and `rollout` (where there is one) of the canonical frame, the groups, and
    the odd blocks: group number -> size, for the blocks that are short of `group_size`.
    """
    parts = [key_column(index) for index in range(len(fields))]
    keys = keys.with_columns(coded(keys[name]) for name in (*parts, STEP, ROLLOUT) if name in keys.columns)
    batch = [*([STEP] if STEP in keys.columns else []), *batch_by]
    keys = keys.with_columns(batch=_numbered(keys, batch) if batch else pl.lit(0, dtype=pl.UInt32))
    columns = [BATCH, *parts]
    if ROLLOUT in keys.columns:
        keys = keys.with_columns(rollout=_numbered(keys, [ROLLOUT]))
    if group_size is not None:
        keys = _in_blocks(keys, columns, group_size)
        columns.append(BLOCK)
    group = _numbered(keys, columns)
    numbered = keys.select(pl.lit(group).alias(GROUP), BATCH, *([ROLLOUT] if ROLLOUT in keys.columns else []))
    firsts = _firsts(group)
    frame = keys[firsts].select(
        pl.lit(firsts).alias(_ROW),
        BATCH,
        (pl.col(STEP) if STEP in keys.columns else pl.lit(None)).cast(pl.String).alias(STEP),
        pl.col(parts).cast(pl.String),
        pl.col(BLOCK) if BLOCK in keys.columns else pl.lit(None, dtype=pl.UInt32).alias(BLOCK),
    )
    return numbered, Groups(frame, tuple(fields)), _odd_blocks(numbered, group_size)


def short_ids(parts: pl.DataFrame) -> pl.Series:
    """For each row of step, key and block ten hex digits of the hash of its JSON: the same in every run and file."""
    texts = [pl.col(name) for name, dtype in parts.schema.items() if dtype == pl.String]
    odd = parts.select(pl.any_horizontal(text.str.contains(_ESCAPED) for text in texts).fill_null(value=False))
    if odd.to_series().any():
        rows = (json.dumps(row, ensure_ascii=True, separators=(",", ":")) for row in parts.iter_rows())
    else:  # no text needs an escape: the same JSON, sooner
        spelled = [
            (pl.lit('"') + pl.col(name) + pl.lit('"') if dtype == pl.String else pl.col(name).cast(pl.String))
            for name, dtype in parts.schema.items()
        ]
        joined = pl.concat_str([text.fill_null("null") for text in spelled], separator=",")
        rows = iter(parts.select(pl.lit("[") + joined + pl.lit("]")).to_series())
    size = _ID_BYTES
    return pl.Series(
        [hashlib.blake2b(row.encode(), digest_size=size).hexdigest() for row in rows],
        dtype=pl.String,
    )


def _numbered(frame: pl.DataFrame, columns: Sequence[str]) -> pl.Series:
    """The distinct values of `columns`, codes or numbers, numbered by first appearance, as UInt32 a row."""
    values = frame.select(pl.col(name).to_physical() for name in columns)
    constant = [name for name in values.columns if values[name].min() == values[name].max()]
    varying = values.select(name for name in values.columns if name not in constant or values[name].null_count())
    if not varying.width:
        return pl.zeros(values.height, dtype=pl.UInt32, eager=True)
    if varying.width == 1 and not varying.to_series().null_count():
        codes = varying.to_series()
        if codes.dtype == pl.UInt32:
            return codes if _in_order(codes) else _renumbered(codes)
    firsts = varying.with_row_index(_ROW).group_by(varying.columns).agg(pl.col(_ROW).min()).sort(_ROW)
    numbers = firsts.drop(_ROW).with_row_index("number")
    return varying.join(numbers, on=varying.columns, how="left", maintain_order="left", nulls_equal=True)["number"]


def _renumbered(codes: pl.Series) -> pl.Series:
    """Codes as numbers by first appearance: each is looked up in a table of all."""
    firsts = codes.to_frame("code").with_row_index(_ROW).group_by("code").agg(pl.col(_ROW).min()).sort(_ROW)
    highest = codes.max()
    assert isinstance(highest, int)
    table = pl.zeros(highest + 1, dtype=pl.UInt32, eager=True)
    numbers = pl.int_range(firsts.height, dtype=pl.UInt32, eager=True)
    return table.scatter(firsts["code"], numbers).gather(codes)


def _in_order(codes: pl.Series) -> bool:
    """Whether codes are numbers by first appearance already: none is more than one above all before it."""
    highest = codes.cum_max()
    return bool(codes.len() == 0 or (codes[0] == 0 and (highest.diff().fill_null(0) <= 1).all()))


def _firsts(numbers: pl.Series) -> pl.Series:
    """The first row of each number; they are numbered by first appearance."""
    highest = numbers.cum_max()
    return (highest != highest.shift()).fill_null(value=True).arg_true()


def _in_blocks(keys: pl.DataFrame, columns: list[str], size: int) -> pl.DataFrame:
    if size < 1:
        raise UsageError("--group-size is a whole number from 1")
    if ROLLOUT not in keys.columns:
        return keys.with_columns(block=(pl.int_range(pl.len()).over(columns) // size).cast(pl.UInt32))
    # Blocks of rollouts and not of rows: a rollout of several rows stands in one block.
    rollouts = keys.select(*columns, ROLLOUT).unique(maintain_order=True)
    rollouts = rollouts.with_columns(block=(pl.int_range(pl.len()).over(columns) // size).cast(pl.UInt32))
    return keys.join(rollouts, on=[*columns, ROLLOUT], how="left", maintain_order="left")


def _odd_blocks(numbered: pl.DataFrame, size: int | None) -> dict[int, int]:
    if size is None:
        return {}
    counted = pl.col(ROLLOUT).n_unique() if ROLLOUT in numbered.columns else pl.len()
    odd = numbered.group_by(GROUP).agg(n=counted).filter(pl.col("n") != size).sort(GROUP)
    return dict(odd.iter_rows())


def _as_integers(step: pl.Series) -> pl.Series:
    """Steps as whole numbers where all of them spell one, else as the text they are."""
    numbers = step.cast(pl.Int64, strict=False)
    if numbers.null_count() == step.null_count() and (numbers.cast(pl.String) == step).fill_null(value=True).all():
        return numbers
    return step
