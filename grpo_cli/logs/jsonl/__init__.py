"""JSONL: a record a line. Reading takes the wanted fields, writing leaves every other byte alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, BinaryIO

from grpo_cli.logs.jsonl import fast, fast_splice, pick, reference

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl

    from grpo_cli.logs.fields import Field
    from grpo_cli.logs.files.source import LogFile
    from grpo_cli.logs.format import OnBadLine, Records, Want

SAMPLE = 1000
"""How many records are looked at for the names of a file."""


class Jsonl:
    """`logs.format.Format` for JSONL, plain or compressed."""

    def names(self, file: LogFile) -> list[str]:
        """The top-level fields of the first records, by first appearance."""
        return list(dict.fromkeys(name for record in self.sample(file, SAMPLE) for name in record))

    def sample(self, file: LogFile, limit: int, only: Sequence[str] | None = None) -> list[dict[str, Any]]:
        """The first records."""
        return reference.sample(file, limit, only)

    def read(self, file: LogFile, wants: Mapping[str, Want], on_bad_line: OnBadLine) -> Records:
        """The wanted fields of every record."""
        return fast.read(file, wants, on_bad_line)

    def locate(self, file: LogFile, record: int) -> int:
        """The number of the line that record number `record` (from 0) is on."""
        return reference.locate(file, record)

    def values(self, file: LogFile, records: Sequence[int], fields: Sequence[Field]) -> list[list[Any]]:
        """For each of `records` (ascending, from 0), the values of `fields`."""
        return reference.values(file, records, fields)

    def picked(self, file: LogFile, records: Sequence[int], fields: Sequence[Field]) -> list[tuple[int, list[Any]]]:
        """For each of `records` (ascending, from 0), its line and the values of `fields`."""
        return pick.picked(file, records, fields)

    def append(
        self,
        file: LogFile,
        target: BinaryIO,
        columns: pl.DataFrame,
        metadata: Mapping[str, str],  # noqa: ARG002 - JSONL has no place for it
        *,
        replace: bool,
    ) -> None:
        """Write the file with one more field a record for each column. JSONL has no place for `metadata`."""
        fast_splice.append(file, target, columns, replace=replace)

    def keep(self, file: LogFile, target: BinaryIO, mask: pl.Series) -> None:
        """Write the file with only the records where `mask` is true."""
        pick.keep(file, target, mask)
