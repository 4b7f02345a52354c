"""Parquet: a record a row. Loads pyarrow only when a file is opened."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, BinaryIO

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl

    from grpo_cli.logs.fields import Field
    from grpo_cli.logs.files.source import LogFile
    from grpo_cli.logs.format import OnBadLine, Records, Want


class Parquet:
    """`logs.format.Format` for Parquet."""

    def names(self, file: LogFile) -> list[str]:
        """The top-level columns, in the order of the file."""
        from grpo_cli.logs.parquet import read

        return read.names(file)

    def sample(self, file: LogFile, limit: int, only: Sequence[str] | None = None) -> list[dict[str, Any]]:
        """The first rows as plain values; only the columns that are asked for are decoded."""
        from grpo_cli.logs.parquet import read

        return read.sample(file, limit, only)

    def read(self, file: LogFile, wants: Mapping[str, Want], on_bad_line: OnBadLine) -> Records:  # noqa: ARG002 - every row of a Parquet file is a record
        """The wanted fields of every row."""
        from grpo_cli.logs.parquet import read

        return read.read(file, wants)

    def locate(self, file: LogFile, record: int) -> int:  # noqa: ARG002 - a record is a row
        """The row, counted from 1."""
        return record + 1

    def values(self, file: LogFile, records: Sequence[int], fields: Sequence[Field]) -> list[list[Any]]:
        """For each of `records` (ascending, from 0), the plain values of `fields`."""
        from grpo_cli.logs.parquet import read

        return read.values(file, records, fields)

    def picked(self, file: LogFile, records: Sequence[int], fields: Sequence[Field]) -> list[tuple[int, list[Any]]]:
        """For each of `records` (ascending, from 0), its row counted from 1 and the plain values of `fields`."""
        values = self.values(file, records, fields)
        return [(record + 1, found) for record, found in zip(records, values, strict=True)]

    def append(
        self, file: LogFile, target: BinaryIO, columns: pl.DataFrame, metadata: Mapping[str, str], *, replace: bool
    ) -> str | None:
        """Write the file with one more column for each of `columns`.

        Returns:
            None; or why the file had to be written anew, where its bytes could not be copied.
        """
        from grpo_cli.logs.parquet import append, rewrite

        if replace and not set(columns.columns).isdisjoint(self.names(file)):
            reason: str | None = "a column of it is replaced"
        else:
            reason = append.append(file, target, columns, metadata)
        if reason is not None:
            rewrite.append(file, target, columns, metadata, replace=replace)
        return reason

    def keep(self, file: LogFile, target: BinaryIO, mask: pl.Series) -> None:
        """Write the file with only the rows where `mask` is true."""
        from grpo_cli.logs.parquet import rewrite

        rewrite.keep(file, target, mask)
