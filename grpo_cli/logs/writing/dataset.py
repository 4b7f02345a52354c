"""A training set beside a log: which of its rows are of prompts that the log has, and that were chosen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from grpo_cli.errors import InputError, UsageError, did_you_mean
from grpo_cli.logs.format import Kind, Want
from grpo_cli.logs.grouping import key_column
from grpo_cli.logs.layouts.keys import Key
from grpo_cli.logs.rollouts import format_of
from grpo_cli.logs.writing.keeping import Kept

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grpo_cli.logs.files.source import LogFile

_SHOWN = 60


@dataclass(frozen=True)
class Matched:
    """The rows of a training set, held against the prompts of a log."""

    kept: list[Kept]
    rows: int
    unknown: int
    """Rows of prompts that the log does not have."""
    absent: int
    """Chosen prompts that no row has."""

    @property
    def stays(self) -> int:
        """How many rows stay."""
        return sum(int(one.mask.sum()) for one in self.kept)


def matched(
    files: Sequence[LogFile], fields: Sequence[str], prompts: pl.DataFrame, chosen: pl.Series, key: str | None
) -> Matched:
    """Which rows of the training set in `files` are of chosen prompts.

    Args:
        files: the training set.
        fields: what the fields of the log's key are called.
        prompts: the prompts of the log, with the text of their key's fields in `key_0..n`.
        chosen: for each of them whether it was chosen.
        key: the fields of the training set that hold the key, with commas; None: they are called as in the log.

    Raises:
        InputError: the training set does not have the fields, or none of the log's prompts.
        UsageError: `key` does not name as many fields as the log's key has.
    """
    columns = [key_column(at) for at in range(len(fields))]
    if not columns:
        raise UsageError("the groups of this log have no key but the step", hint="name the prompt's with --group-by")
    verdicts = prompts.select(*columns, chosen.alias("chosen"))
    kept: list[Kept] = []
    found: list[pl.DataFrame] = []
    for file in files:
        table = _keys(file, fields, key, columns).join(
            verdicts.with_row_index("prompt"), on=columns, how="left", maintain_order="left"
        )
        kept.append(Kept(file, table["chosen"].fill_null(value=False)))
        found.append(table)
    rows = pl.concat(found)
    if rows["prompt"].null_count() == rows.height:
        shown = [_spelled(frame, columns) for frame in (prompts, rows)]
        raise InputError(
            f"none of its {rows.height} rows has a prompt of the log: it has {shown[1]}, and the log {shown[0]}",
            file=files[0].name,
            hint="its values must be the same in both: name its field with --dataset-key, the log's with --group-by",
        )
    there = rows.filter("chosen")["prompt"].n_unique()
    return Matched(kept, rows.height, rows["prompt"].null_count(), int(chosen.sum()) - there)


def _keys(file: LogFile, fields: Sequence[str], key: str | None, columns: Sequence[str]) -> pl.DataFrame:
    """The key of each row of a file, as text."""
    names = format_of(file).names(file)
    texts = list(fields) if key is None else [key] if key in names else [part.strip() for part in key.split(",")]
    if len(texts) != len(fields):
        raise UsageError(
            f"--dataset-key names {len(texts)} fields, and the key of the log has {len(fields)}: {', '.join(fields)}"
        )
    keys = [Key.parse(text, names) for text in texts]
    for one in keys:
        if one.field.top not in names:
            hint = (
                f"name its field that holds the prompt's key with --dataset-key; {did_you_mean(one.field.top, names)}"
            )
            raise InputError(
                f"no field {one.field.top!r}, which is the prompt's key in the log", file=file.name, hint=hint
            )
    wants = {column: Want(one.field, Kind.KEY) for column, one in zip(columns, keys, strict=True)}
    frame = format_of(file).read(file, wants, "error").frame
    return frame.select(one.apply(column).alias(column) for column, one in zip(columns, keys, strict=True))


def _spelled(frame: pl.DataFrame, columns: Sequence[str]) -> str:
    """The first key, short enough for a message."""
    text = " ".join(str(frame[column].drop_nulls().first()) for column in columns)
    return repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}...")
