"""What a file format gives: records in, fields out, one more field back. It sees records, never shapes.

A record is a JSONL line or a Parquet row. `Want` says which value of it is wanted and as what; `Records` is what
one pass over a file found. JSONL and Parquet implement `Format`; everything above speaks only to that.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter  # noqa: TC003 - a dataclass field
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import TYPE_CHECKING, Any, BinaryIO, Literal, Protocol

from grpo_cli.logs.fields import Field  # noqa: TC001 - dataclass fields are read at run time by their users

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl

    from grpo_cli.logs.files.source import LogFile

OnBadLine = Literal["error", "skip"]


class Kind(Enum):
    """What a wanted value is read as."""

    KEY = auto()
    """String: what the value spells (see `spell`). Null where it is null or absent."""

    NUMBER = auto()
    """Float64: numbers, booleans as 1 and 0, a column of numeric strings. Null where null, absent or NaN."""

    CODE = auto()
    """Categorical (see `codes`): what a KEY would be, held once for all rows that have it, and a long text by its
    digest. Null where that is null."""

    JSON = auto()
    """String: the value as JSON text. Null where it is null or absent."""


@dataclass(frozen=True)
class Want:
    """A field, and what it is wanted as. With `[]` in the field the column is a list of those."""

    field: Field
    kind: Kind


@dataclass
class Records:
    """What one pass over a file found: a row per record, in file order."""

    frame: pl.DataFrame
    """A column per want, named as it was asked for."""
    names: list[str]
    """The top-level fields of all records, by first appearance."""
    bad: list[int] = field(default_factory=list)
    """The numbers of the lines that are no records and were skipped."""
    missing: dict[str, Counter[str]] = field(default_factory=dict)
    """For each NUMBER want: how many values were `absent`, `null` or `nan`."""
    text_numbers: list[str] = field(default_factory=list)
    """The NUMBER wants whose values were all numeric strings."""


class Format(Protocol):
    """A kind of file. Every method raises `InputError` that names file and line where the file is at fault."""

    def names(self, file: LogFile) -> list[str]:
        """The top-level fields, by first appearance (for JSONL those of the first records)."""

    def sample(self, file: LogFile, limit: int, only: Sequence[str] | None = None) -> list[dict[str, Any]]:
        """The first records as Python values; bad lines are passed over. `only` these top-level fields."""

    def read(self, file: LogFile, wants: Mapping[str, Want], on_bad_line: OnBadLine) -> Records:
        """The wanted fields of every record."""

    def locate(self, file: LogFile, record: int) -> int:
        """The line (a row for Parquet), counted from 1, on which record number `record` (from 0) stands."""

    def values(self, file: LogFile, records: Sequence[int], fields: Sequence[Field]) -> list[list[Any]]:
        """For each of `records` (ascending, from 0), the values of `fields` as Python values."""

    def picked(self, file: LogFile, records: Sequence[int], fields: Sequence[Field]) -> list[tuple[int, list[Any]]]:
        """For each of `records` (ascending, from 0), its line (see `locate`) and the values of `fields`.

        In a file that has been read, only these lines are read as JSON.
        """

    def append(
        self,
        file: LogFile,
        target: BinaryIO,
        columns: pl.DataFrame,
        metadata: Mapping[str, str],
        *,
        replace: bool,
    ) -> str | None:
        """Write the file to `target` with one more field a record for each column (a row a record).

        Returns None; or why it could not be done the fast way, which the person should know.

        JSONL is written as plain text, however the file is packed: whoever opened `target` packs it.

        With `replace`, a top-level field of the same name gives way; without it there is none.
        Columns are Float64, Int64, Boolean or String, or lists of these.
        """

    def keep(self, file: LogFile, target: BinaryIO, mask: pl.Series) -> None:
        """Write the file to `target` with only the records where `mask` (a Boolean a record) is true.

        Blank lines, and lines that are no records, stay.
        """


def spell(value: object) -> str | None:
    """What a key spells: `7`, `7.0` and `"7"` are one key, `"007"` another; objects and lists as canonical JSON.

    A lone surrogate, which UTF-8 cannot carry, becomes NUL and four hex digits, and so does NUL itself: unlike
    keys stay unlike. `render.text` shows both as escapes. Null and NaN spell nothing.
    """
    match value:
        case None:
            return None
        case str():
            return _without_surrogates(value)
        case bool():
            return "true" if value else "false"
        case float():
            if math.isnan(value):
                return None
            return str(int(value)) if value.is_integer() else repr(value)
        case int():
            return str(value)
        case _:
            canonical = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
            return _without_surrogates(canonical)


def text_number(text: str) -> float | None:
    """The number that a numeric string says (`1`, `-0.5e3`, `nan`, `inf`, `True`); None where it says none."""
    stripped = text.strip()
    if stripped in _WORDS:
        return _WORDS[stripped]
    return float(stripped) if _NUMBER.fullmatch(stripped) else None


_WORDS = {"True": 1.0, "true": 1.0, "False": 0.0, "false": 0.0}
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|[+-]?inf(?:inity)?|[+-]?nan", re.IGNORECASE | re.ASCII)


def _without_surrogates(text: str) -> str:
    if text.isascii() and "\0" not in text:
        return text
    return "".join(f"\0{ord(c):04x}" if c == "\0" or "\ud800" <= c <= "\udfff" else c for c in text)
