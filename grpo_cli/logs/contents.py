"""What every top-level field of a log holds: types, nulls, distinct values; and records that are wholly alike."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import polars as pl

from grpo_cli.logs.fields import Field
from grpo_cli.logs.format import Kind, Want
from grpo_cli.logs.layouts.places import hive
from grpo_cli.logs.rollouts import format_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grpo_cli.logs.files.source import LogFile

WHOLE: Final = 256 << 20
"""Bytes up to which a log is read whole: every value of it goes through memory."""
PACKED: Final = 8
"""How much larger a compressed file is taken to be."""
RECORDS: Final = 10_000
"""Of a larger log, how many records of each file are looked at."""

_TYPES: Final = {
    '"': "text",
    "[": "list",
    "{": "object",
    "t": "true/false",
    "f": "true/false",
}


@dataclass
class Content:
    """One top-level field over all records."""

    name: str
    types: dict[str, int] = field(default_factory=dict)
    """How many values are of each type."""
    missing: int = 0
    """How many records have null, or no such field."""
    hashes: list[pl.Series] = field(default_factory=list)

    @property
    def distinct(self) -> int:
        """How many unlike values there are, null left out."""
        return pl.concat(self.hashes).n_unique() if self.hashes else 0

    @property
    def type(self) -> str:
        """The types, commonest first."""
        return "/".join(sorted(self.types, key=lambda name: (-self.types[name], name))) or "null"


@dataclass(frozen=True)
class Contents:
    """The fields of a log, by first appearance."""

    fields: list[Content]
    records: int
    """How many records were looked at."""
    repeated: int
    """How many of them are wholly like an earlier one."""
    whole: bool
    """Whether these are all records."""


def contents(files: Sequence[LogFile], names: Sequence[str]) -> Contents:
    """Look at the fields `names` of every record of `files`; of a large log, at the first records of each file."""
    whole = sum(_bytes(file) for file in files) <= WHOLE
    found = {name: Content(name) for name in names}
    records: list[pl.Series] = []
    for file in files:
        texts = _texts(file, names, whole=whole)
        constants = hive(file)
        for name, content in found.items():
            column = texts[name]
            if name in constants and column.null_count() == column.len():
                column = pl.Series(name, [json.dumps(constants[name])] * column.len(), dtype=pl.String)
            _add(content, column)
        records.append(texts.hash_rows() if names else pl.Series([], dtype=pl.UInt64))
    rows = pl.concat(records)
    return Contents(list(found.values()), rows.len(), rows.len() - rows.n_unique(), whole)


def _bytes(file: LogFile) -> int:
    size = file.path.stat().st_size
    return size * PACKED if file.compression or file.format == "parquet" else size


def _texts(file: LogFile, names: Sequence[str], *, whole: bool) -> pl.DataFrame:
    """Each field as JSON text, a row a record."""
    if whole:
        wants = {name: Want(Field.named(name), Kind.JSON) for name in names}
        return format_of(file).read(file, wants, "skip").frame
    sample = format_of(file).sample(file, RECORDS)
    return pl.DataFrame(
        {
            name: [json.dumps(record[name]) if record.get(name) is not None else None for record in sample]
            for name in names
        },
        schema=dict.fromkeys(names, pl.String),
    )


def _add(content: Content, texts: pl.Series) -> None:
    there = texts.drop_nulls()
    content.missing += texts.len() - there.len()
    if not there.len():
        return
    content.hashes.append(there.hash().unique())
    first = pl.col("text").str.slice(0, 1)
    kind = (
        pl.when(first.is_in(list(_TYPES)))
        .then(first.replace(_TYPES))
        .when(pl.col("text").str.contains(r"^-?\d+$"))
        .then(pl.lit("whole number"))
        .otherwise(pl.lit("number"))
    )
    counts = there.to_frame("text").select(kind.alias("kind")).to_series().value_counts()
    for name, count in counts.iter_rows():
        content.types[name] = content.types.get(name, 0) + count
