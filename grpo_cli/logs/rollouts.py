"""RolloutLog: the files of a log opened as one, as rollouts in numbered groups; and the way back into the files."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, BinaryIO

import polars as pl

from grpo_cli.errors import InputError, RowError
from grpo_cli.logs.shapes import fold, record_of

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterator, Mapping, Sequence

    from grpo_cli.logs.files.source import LogFile
    from grpo_cli.logs.format import Format
    from grpo_cli.logs.grouping import Groups
    from grpo_cli.logs.layouts.reading import Reading


@dataclass(frozen=True)
class Part:
    """One file's share of a log."""

    file: LogFile
    names: Sequence[str]
    """The top-level fields of all its records."""
    records: int
    rollouts: int
    bad: Sequence[int]
    """The numbers of the lines that are no records and were skipped."""
    lengths: pl.Series | None
    """How many rollouts each record holds; None: one each."""


@dataclass(frozen=True)
class NewFields:
    """What is written back: a column a field, a row for each row of the frame."""

    columns: pl.DataFrame
    metadata: Mapping[str, Any]
    """How they were made, as JSON has it: kept in the file where its format has a place for it."""
    replace: bool = False
    """Whether fields of the same names give way."""


@dataclass(frozen=True)
class RolloutLog:
    """A log: its rollouts as the canonical frame, its groups, and where they came from."""

    parts: Sequence[Part]
    reading: Reading
    frame: pl.DataFrame
    """The canonical frame, of the rollouts that were selected."""
    groups: Groups
    notes: Sequence[str]
    missing: Mapping[str, Counter[str]]
    """For each reward field: how many values were absent, null or NaN."""
    odd_blocks: Mapping[int, int] = field(default_factory=dict)
    """Group number -> size, for the blocks that are short of --group-size."""
    group_size: int | None = None
    """--group-size, where keys were split into blocks."""
    kept: pl.Series | None = None
    """Which rollouts of the files are in `frame`; None: all."""

    @property
    def names(self) -> list[str]:
        """The top-level fields of all files."""
        return list(dict.fromkeys(name for part in self.parts for name in part.names))

    @property
    def bad_lines(self) -> int:
        """How many lines were skipped because they are no records."""
        return sum(len(part.bad) for part in self.parts)

    def locate(self, row: int) -> tuple[str, int]:
        """The file and line (a row for Parquet) that row number `row` of the frame came from."""
        return locate(self.parts, row if self.kept is None else int(self.kept.arg_true()[row]))

    @contextmanager
    def locating(self) -> Iterator[None]:
        """Within it, an error that names a row of the frame names its file and line instead."""
        try:
            yield
        except RowError as error:
            file, line = self.locate(error.row)
            raise InputError(error.message, file=file, line=line, hint=error.hint) from error

    def append(self, part: Part, target: BinaryIO, fields: NewFields) -> None:
        """Write one file of the log to `target` with its new fields; JSONL comes as plain text."""
        rows = self._of_part(part, fields.columns)
        folded = pl.DataFrame([fold(column, part.lengths) for column in rows])
        format_of(part.file).append(part.file, target, folded, fields.metadata, replace=fields.replace)

    @cached_property
    def _starts(self) -> dict[LogFile, tuple[int, int]]:
        """Where each file begins: among the rollouts of all files, and among those that were selected."""
        starts: dict[LogFile, tuple[int, int]] = {}
        at = selected = 0
        for part in self.parts:
            starts[part.file] = at, selected
            here = part.rollouts if self.kept is None else int(self.kept.slice(at, part.rollouts).sum())
            at, selected = at + part.rollouts, selected + here
        return starts

    def _of_part(self, part: Part, columns: pl.DataFrame) -> pl.DataFrame:
        """A row for every rollout of one file: null for those that were not selected."""
        at, selected = self._starts[part.file]
        if self.kept is None:
            return columns.slice(at, part.rollouts)
        kept = self.kept.slice(at, part.rollouts)
        place = pl.select(pl.when(kept).then(kept.cum_sum().cast(pl.Int64) - 1 + selected)).to_series()
        return columns.select(pl.all().gather(pl.lit(place)))


def format_of(file: LogFile) -> Format:
    """The format that reads and writes `file`; pyarrow is loaded only by Parquet."""
    if file.format == "parquet":
        from grpo_cli.logs.parquet import Parquet

        return Parquet()
    from grpo_cli.logs.jsonl import Jsonl

    return Jsonl()


def locate(parts: Sequence[Part], rollout: int) -> tuple[str, int]:
    """The file and line that rollout number `rollout` of all files came from."""
    for part in parts:
        if rollout < part.rollouts:
            record = record_of(rollout, part.lengths)
            return part.file.name, format_of(part.file).locate(part.file, record)
        rollout -= part.rollouts
    raise IndexError(rollout)
