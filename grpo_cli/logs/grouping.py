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

if TYPE_CHECKING:
    from collections.abc import Sequence

KEY = "key"
STEP = "step"
BLOCK = "block"
ID = "id"

_ID_BYTES = 5
_ROW = "row"


@dataclass(frozen=True)
class Groups:
    """A row per group, in the order of the group numbers."""

    frame: pl.DataFrame
    """`row` (its first rollout), `batch`, `step` (null without steps), `key_0..n` as text, `block` (null without)."""
    fields: tuple[str, ...]
    """What the key's fields are called, in order."""

    @property
    def key_columns(self) -> list[str]:
        """The columns of `frame` that hold the key."""
        return [key_column(index) for index in range(len(self.fields))]

    @cached_property
    def named(self) -> pl.DataFrame:
        """A row per group: `group`, `id`, `key` (text for people), `step`."""
        parts = self.frame.select(STEP, *self.key_columns, BLOCK)
        return pl.DataFrame(
            {
                GROUP: pl.int_range(self.frame.height, dtype=pl.UInt32, eager=True),
                ID: pl.Series([short_id(row) for row in parts.iter_rows()], dtype=pl.String),
                KEY: self._key_text(),
                STEP: _as_integers(self.frame[STEP]),
            }
        )

    def find(self, name: str) -> int:
        """The number of the group whose id (or the beginning of it), or whose key, is `name`.

        Raises:
            UsageError: no group is called so, or several are; it lists some.
        """
        named = self.named
        matches = named.filter(pl.col(KEY) == name)
        if matches.is_empty():
            matches = named.filter(pl.col(ID).str.starts_with(name)) if name else matches
        if matches.height == 1:
            return int(matches[GROUP][0])
        if matches.is_empty():
            shown = ", ".join(named[ID].head(5).to_list())
            raise UsageError(
                f"there is no group {name!r}", hint=f"a group is named by its id or its key; ids: {shown} ..."
            )
        shown = ", ".join(
            f"{row[ID]} (step {row[STEP]})" if row[STEP] is not None else row[ID]
            for row in matches.head(5).iter_rows(named=True)
        )
        raise UsageError(f"{matches.height} groups are called {name!r}", hint=f"name one by its id: {shown}")

    def _key_text(self) -> pl.Series:
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
        return self.frame.select((text + block.fill_null("")).alias(KEY)).to_series()


def key_column(index: int) -> str:
    """The name of the column that holds field number `index` of the key."""
    return f"{KEY}_{index}"


def group_rollouts(
    keys: pl.DataFrame, fields: Sequence[str], group_size: int | None, *, batch_by: Sequence[str] = ()
) -> tuple[pl.DataFrame, Groups, dict[int, int]]:
    """Number the groups and batches of rollouts by first appearance.

    `keys` has `key_0..n` (text), and where they are known `step` and `rollout` (text). With `group_size` a key with
    more rollouts is split into consecutive blocks of that many. A batch is a step, told apart also by `batch_by`.

    Returns the columns `group`, `batch` and `rollout` (where there is one) of the canonical frame, the groups, and
    the odd blocks: group number -> size, for the blocks that are short of `group_size`.
    """
    parts = [key_column(index) for index in range(len(fields))]
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
    firsts = group.to_frame(GROUP).with_row_index(_ROW).group_by(GROUP).agg(pl.col(_ROW).min()).sort(GROUP)[_ROW]
    frame = keys[firsts].select(
        pl.lit(firsts).alias(_ROW),
        BATCH,
        pl.col(STEP) if STEP in keys.columns else pl.lit(None, dtype=pl.String).alias(STEP),
        *parts,
        pl.col(BLOCK) if BLOCK in keys.columns else pl.lit(None, dtype=pl.UInt32).alias(BLOCK),
    )
    return numbered, Groups(frame, tuple(fields)), _odd_blocks(numbered, group_size)


def short_id(parts: tuple[object, ...]) -> str:
    """Ten hex digits from the hash of a group's step, key and block: the same in every run and file."""
    text = json.dumps(parts, ensure_ascii=True, separators=(",", ":"))
    return hashlib.blake2b(text.encode(), digest_size=_ID_BYTES).hexdigest()


def _numbered(frame: pl.DataFrame, columns: list[str]) -> pl.Series:
    """The distinct values of `columns`, numbered by first appearance, as UInt32 a row."""
    values = frame.select(columns)
    firsts = values.with_row_index(_ROW).group_by(columns).agg(pl.col(_ROW).min()).sort(_ROW).with_row_index("number")
    return values.join(firsts, on=columns, how="left", maintain_order="left", nulls_equal=True)["number"]


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
