"""Keeping some records of files and leaving out the others: whole, byte for byte (value for value in Parquet)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from grpo_cli.errors import InputError
from grpo_cli.logs.rollouts import format_of
from grpo_cli.logs.writing.write_back import write_each

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import BinaryIO

    from grpo_cli.logs.files.source import LogFile
    from grpo_cli.logs.rollouts import Part, RolloutLog
    from grpo_cli.logs.writing.output import Target


@dataclass(frozen=True)
class Kept:
    """Which records of a file stay."""

    file: LogFile
    mask: pl.Series
    """A Boolean a record."""


def kept_records(log: RolloutLog, kept: pl.Series) -> list[Kept]:
    """For each file of the log which records stay, given a Boolean a row of its frame.

    A rollout that was not selected from the files (`--steps`) does not stay, nor does a record that holds none.

    Raises:
        InputError: a record holds rollouts of which some stay and some do not: it cannot be cut in two.
    """
    rollouts = kept
    if log.kept is not None:
        place = (log.kept.cum_sum().cast(pl.Int64) - 1).clip(lower_bound=0)
        rollouts = log.kept & kept.gather(place) if kept.len() else log.kept
    found, at = [], 0
    for part in log.parts:
        found.append(Kept(part.file, _of_records(part, rollouts.slice(at, part.rollouts))))
        at += part.rollouts
    return found


def write_kept(kept: Sequence[Kept], targets: Sequence[Target], *, empty: bool = False) -> list[Target]:
    """Write what stays of each file to its target; return the targets that were written.

    A file of which nothing stays is not written, unless `empty` files are wanted. Blank lines, and lines that are no
    records, stay where their file is written.

    Raises:
        OutputError: something cannot be written; every file is then as it was.
        BrokenPipeError: the reader of standard output has gone.
    """
    of_file = {target.file: target for target in targets}
    pairs = [(one, of_file[one.file]) for one in kept if empty or one.mask.any()]

    def write(at: int, stream: BinaryIO) -> None:
        one, _ = pairs[at]
        format_of(one.file).keep(one.file, stream, one.mask)

    written = [target for _, target in pairs]
    write_each(written, write)
    return written


def _of_records(part: Part, rollouts: pl.Series) -> pl.Series:
    """A Boolean a record of the file from one a rollout."""
    if part.lengths is None:
        return rollouts
    record = pl.select(pl.int_range(part.lengths.len()).repeat_by(pl.lit(part.lengths))).to_series().explode()
    held = pl.DataFrame({"record": record.drop_nulls(), "kept": rollouts})
    found = held.group_by("record").agg(pl.col("kept").any().alias("some"), pl.col("kept").all().alias("all"))
    torn = found.filter(pl.col("some") != pl.col("all"))["record"].min()
    if isinstance(torn, int):
        raise InputError(
            "this record holds rollouts of several groups, some to keep and some not, and cannot be cut in two",
            file=part.file.name,
            line=format_of(part.file).locate(part.file, torn),
            hint="--emit ids names the groups to keep",
        )
    every = pl.DataFrame({"record": pl.int_range(part.lengths.len(), eager=True)})
    return every.join(found, on="record", how="left", maintain_order="left")["some"].fill_null(value=False)
