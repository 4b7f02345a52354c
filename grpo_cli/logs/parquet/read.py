"""Records out of a Parquet file: only the wanted columns, batch by batch, so that memory follows rows."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, Any

import polars as pl
import pyarrow as pa

from grpo_cli.errors import InputError
from grpo_cli.logs.fields import Field
from grpo_cli.logs.format import Records, Want
from grpo_cli.logs.parquet.arrays import ValueFault
from grpo_cli.logs.parquet.convert import Conversion, conversion
from grpo_cli.logs.parquet.numbers import Numbers
from grpo_cli.logs.parquet.opened import Opened, opened
from grpo_cli.logs.parquet.plain import plain
from grpo_cli.logs.parquet.walk import nothing, walk

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from grpo_cli.logs.files.source import LogFile


def names(file: LogFile) -> list[str]:
    """The top-level columns, in the order of the file."""
    with opened(file) as source:
        return list(source.names)


def sample(file: LogFile, limit: int, only: Sequence[str] | None = None) -> list[dict[str, Any]]:
    """The first `limit` rows as plain values (`logs.parquet.plain`), of the columns `only` if they are given."""
    there = names(file)
    asked = there if only is None else [name for name in there if name in set(only)]
    with opened(file, [Field.named(name) for name in asked]) as source:
        if not asked:
            return [{} for _ in range(min(limit, source.rows))]
        records: list[dict[str, Any]] = []
        for batch in source.batches(limit):
            records += _rows(source, batch.slice(0, limit - len(records)), asked)
            if len(records) >= limit:
                break
        return records


def read(file: LogFile, wants: Mapping[str, Want]) -> Records:
    """The wanted fields of every row. A column that this file does not have is null, and counted as absent.

    Raises:
        InputError: the file cannot be read, or a value is not what is wanted; it names the row, from 1.
    """
    conversions = {name: conversion(want) for name, want in wants.items()}
    with opened(file, [want.field for want in wants.values()], shared_texts=True) as source:
        fields = dict(zip(wants, source.fields, strict=True))
        chunks: dict[str, list[pl.Series]] = {name: [] for name in wants}
        row = 0
        for batch in source.batches():
            for name, field in fields.items():
                if field.top in source.names:
                    chunks[name].append(_converted(source, batch, field, conversions[name], row))
            row += len(batch)
        if source.paths and row != source.rows:
            raise InputError(f"its end promises {source.rows} rows, and there are {row}", file=file.name)
        columns = [
            pl.concat(found) if found else nothing(source.rows, source.rows, fields[name].parts, conversions[name])
            for name, found in chunks.items()
        ]
        frame = pl.DataFrame(columns, schema=list(wants)) if wants else pl.DataFrame(height=source.rows)
        numbers = {name: made for name, made in conversions.items() if isinstance(made, Numbers)}
        return Records(
            frame=frame,
            names=list(source.names),
            missing={name: made.missing for name, made in numbers.items()},
            text_numbers=[name for name, made in numbers.items() if made.is_text],
        )


def values(file: LogFile, records: Sequence[int], fields: Sequence[Field]) -> list[list[Any]]:
    """For each of `records` (ascending, from 0), the plain values of `fields`; `MISSING` where there is none.

    Only the row groups that hold one of the records are read.
    """
    with opened(file, fields) as source:
        found = [
            [field.of(row) for field in source.fields]
            for first, group, inside in _groups(source, records)
            for row in _picked(source, group, [record - first for record in inside])
        ]
        if len(found) != len(records):
            raise InputError(f"there is no row {records[len(found)] + 1}", file=file.name)
        return found


def _converted(source: Opened, batch: Any, field: Field, into: Conversion, row: int) -> pl.Series:
    try:
        return walk(source.column(batch, field.top), field.parts[1:], into)
    except ValueFault as fault:
        raise InputError(
            fault.message,
            file=source.file.name,
            line=row + fault.at + 1,
            column=str(field),
            hint=fault.hint,
        ) from None


def _groups(source: Opened, records: Sequence[int]) -> Iterator[tuple[int, int, Sequence[int]]]:
    """The first row, the number and the records of each row group that holds any of `records`."""
    first = done = 0
    for group in range(source.parquet.num_row_groups):
        end = first + source.parquet.metadata.row_group(group).num_rows
        until = bisect_left(records, end)
        if until > done:
            yield first, group, records[done:until]
        first, done = end, until


def _picked(source: Opened, group: int, inside: Sequence[int]) -> list[dict[str, Any]]:
    """Rows of one row group, by their place in it."""
    tops = [name for name in source.names if name in {field.top for field in source.fields}]
    if not tops:
        return [{} for _ in inside]
    rows: list[dict[str, Any]] = []
    first = done = 0
    for batch in source.batches(groups=[group]):
        until = bisect_left(inside, first + len(batch))
        here = [at - first for at in inside[done:until]]
        if here:
            rows += _rows(source, batch.take(pa.array(here, pa.int64())), tops)
        first, done = first + len(batch), until
        if done == len(inside):
            break
    return rows


def _rows(source: Opened, batch: Any, tops: Sequence[str]) -> list[dict[str, Any]]:
    columns = [plain(source.column(batch, name)) for name in tops]
    return [dict(zip(tops, row, strict=True)) for row in zip(*columns, strict=True)]
