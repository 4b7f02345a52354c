"""Table: what every command hands to `render`, and how a table looks on a terminal."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl


class Kind(Enum):
    """What a column holds: decides alignment, digits and what may be elided."""

    KEY = auto()
    """A prompt key or other text from the log: elided on a terminal where it must be, never in a pipe."""
    ID = auto()
    """A short name that is typed back into a command: never elided."""
    COUNT = auto()
    """A whole number."""
    NUMBER = auto()
    """A real number: four significant digits on a terminal, all of them in machine formats."""
    SHARE = auto()
    """A part of one: a percentage on a terminal, the fraction in machine formats."""
    STATUS = auto()
    """A `frame.Status`: a glyph and a colour on a terminal, the word in machine formats."""
    TEXT = auto()
    """Words of our own (a formula, a description): wrapped on a terminal."""
    SPARK = auto()
    """A list of numbers, drawn as a row of bars on a terminal; JSON lists in machine formats."""


@dataclass(frozen=True)
class Table:
    """A frame to be shown: `columns` names its columns in order, and says what each one holds.

    `narrow` lists columns that a terminal may leave out where it is too narrow, first to go first; machine formats
    always carry every column.
    """

    name: str
    frame: pl.DataFrame
    columns: Mapping[str, Kind]
    narrow: tuple[str, ...] = ()
