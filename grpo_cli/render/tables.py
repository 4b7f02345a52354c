"""Table: what every command hands to `render`, and how a table looks on a terminal."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING, Any, NamedTuple

from rich.text import Span, Text

from grpo_cli.frame import Status
from grpo_cli.render import charts, digits
from grpo_cli.render.text import Charset, elide, width, wrap

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

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
    HISTOGRAM = auto()
    """A list of counts, drawn as bars that begin at zero, with a gap for none; JSON lists in machine formats."""
    BAR = auto()
    """A part of one, drawn as a bar on a terminal; the fraction in machine formats."""


@dataclass(frozen=True)
class Table:
    """A frame to be shown: `columns` names its columns in order, and says what each one holds.

    `name` is the plural of what a row is ("groups"). `narrow` lists columns that a terminal may leave out where it
    is too narrow, first to go first; machine formats always carry every column.
    """

    name: str
    frame: pl.DataFrame
    columns: Mapping[str, Kind]
    narrow: tuple[str, ...] = ()


class Drawing(NamedTuple):
    """A table as lines for a terminal."""

    lines: list[Text]
    left_out: list[str]
    """The columns that found no room."""


GAP = "  "
BAR_WIDTH = 16
SPARK_WIDTH = 40
_RIGHT = (Kind.COUNT, Kind.NUMBER, Kind.SHARE)
# How narrow a column may become before others are left out for it, and at the last.
_ELASTIC = {Kind.KEY: (16, 4), Kind.TEXT: (24, 8), Kind.SPARK: (12, 4), Kind.HISTOGRAM: (8, 4), Kind.BAR: (8, 4)}
# What a table keeps longest, where it must leave out even what is not in `narrow`.
_ORDER = [
    Kind.ID,
    Kind.KEY,
    Kind.STATUS,
    Kind.COUNT,
    Kind.SHARE,
    Kind.NUMBER,
    Kind.TEXT,
    Kind.SPARK,
    Kind.HISTOGRAM,
    Kind.BAR,
]

_GLYPHS = {
    Status.MIXED: ("◐", "~", "green"),
    Status.ALL_PASS: ("✓", "+", "cyan"),
    Status.ALL_FAIL: ("✗", "x", "red"),
    Status.TIED: ("=", "=", "magenta"),
    Status.SINGLETON: ("·", ".", "dim"),
    Status.UNSCORED: ("?", "?", "dim"),
}


class _Column:
    """One column: its values, the room that it wants, and its cells in the room that it gets."""

    def __init__(self, name: str, kind: Kind, values: Sequence[Any], charset: Charset, limit: int | None) -> None:
        self.name, self.kind, self.values, self.charset = name, kind, values, charset
        self.header = "" if kind is Kind.BAR else charset.visible(name)
        self.cells = [
            "-" if value is None and kind is not Kind.BAR else cell
            for value, cell in zip(values, _cells(kind, values, charset, limit), strict=True)
        ]
        self.wanted = max(1, width(self.header), *map(width, self.cells))

    def least(self, *, at_the_last: bool) -> int:
        """The columns of the terminal that it cannot do without."""
        if self.kind not in _ELASTIC:
            return self.wanted
        return min(self.wanted, max(_ELASTIC[self.kind][at_the_last], 0 if at_the_last else width(self.header)))

    def fitted(self, room: int) -> list[list[str]]:
        """The lines of each cell in `room` columns of a terminal."""
        match self.kind:
            case Kind.TEXT | Kind.ID:
                return [wrap(cell, room) for cell in self.cells]
            case Kind.SPARK if room < self.wanted:
                sparks = [charts.spark(v or [], width=room, unicode=self.charset.unicode) for v in self.values]
                return [["-" if v is None else spark] for v, spark in zip(self.values, sparks, strict=True)]
            case Kind.HISTOGRAM if room < self.wanted:
                return [[_histogram(v, room, self.charset)] for v in self.values]
            case Kind.BAR if room < self.wanted:
                return [[charts.bar(v or 0, room, unicode=self.charset.unicode)] for v in self.values]
            case _:
                return [[elide(cell, room, where="middle", ellipsis=self.charset.ellipsis)] for cell in self.cells]

    def padded(self, text: str, room: int) -> str:
        """A line of a cell, or the header, as wide as the column."""
        pad = " " * (room - width(text))
        return pad + text if self.kind in _RIGHT else text + pad

    def style(self, row: int, colour: str) -> str:
        """How the cell looks; `colour` is that of the row's status."""
        return "dim" if self.values[row] is None else colour if self.kind in (Kind.STATUS, Kind.BAR) else ""


def draw(table: Table, *, room: int | None, charset: Charset) -> Drawing:
    """The table as lines of at most `room` columns; with None, nothing is cut, wrapped or left out."""
    columns = [_Column(name, kind, table.frame[name].to_list(), charset, room) for name, kind in table.columns.items()]
    columns, left_out = (columns, []) if room is None else _chosen(columns, table.narrow, room)
    rooms = _rooms(columns, room)
    names = [elide(column.header, wide, ellipsis=charset.ellipsis) for column, wide in zip(columns, rooms, strict=True)]
    lines = [
        _line([(c.padded(name, wide), "bold") for c, name, wide in zip(columns, names, rooms, strict=True)]),
        Text(charset.rule * (sum(rooms) + len(GAP) * (len(rooms) - 1)), "dim", no_wrap=True),
    ]
    colours = _colours(table)
    cells = [
        [[cell] for cell in column.cells] if room is None else column.fitted(wide)
        for column, wide in zip(columns, rooms, strict=True)
    ]
    for row in range(table.frame.height):
        blocks = [(c, of_column[row], wide) for c, of_column, wide in zip(columns, cells, rooms, strict=True)]
        for i in range(max(len(block) for _, block, _ in blocks)):
            pieces = [
                (column.padded(block[i] if i < len(block) else "", wide), column.style(row, colours[row]))
                for column, block, wide in blocks
            ]
            lines.append(_line(pieces))
    return Drawing(lines, left_out)


def _line(pieces: Sequence[tuple[str, str]]) -> Text:
    """Padded cells and their styles as one line."""
    plain = GAP.join(piece for piece, _ in pieces).rstrip()
    spans, start = [], 0
    for piece, style in pieces:
        # Padding has no style, so that a copied line has no more than it shows.
        if style and piece.strip():
            lead = len(piece) - len(piece.lstrip())
            spans.append(Span(start + lead, start + len(piece.rstrip()), style))
        start += len(piece) + len(GAP)
    return Text(plain, spans=spans, no_wrap=True)


def status_text(status: Status, *, unicode: bool = True) -> Text:
    """The word with its glyph before it, in its colour: the glyph alone says it where there is no colour."""
    glyph, ascii_glyph, style = _GLYPHS[status]
    return Text(f"{glyph if unicode else ascii_glyph} {status.value}", style, no_wrap=True)


def _colours(table: Table) -> list[str]:
    """The colour of each row's status."""
    for name, kind in table.columns.items():
        if kind is Kind.STATUS:
            return [_GLYPHS[Status(v)][2] if v in _GLYPHS else "" for v in table.frame[name]]
    return [""] * table.frame.height


def _cells(kind: Kind, values: Sequence[Any], charset: Charset, limit: int | None) -> list[str]:
    match kind:
        case Kind.NUMBER:
            return digits.aligned(values)
        case Kind.SHARE:
            return digits.percents(values)
        case Kind.SPARK:
            at_most = None if limit is None else SPARK_WIDTH
            return [charts.spark(v or [], width=at_most, unicode=charset.unicode) for v in values]
        case Kind.HISTOGRAM:
            return [_histogram(v, None, charset) for v in values]
        case Kind.BAR:
            return [charts.bar(v or 0, BAR_WIDTH, unicode=charset.unicode) for v in values]
        case Kind.STATUS:
            return [_status_cell(v, charset) for v in values]
        case _:
            return [_spelled(v, charset, limit) for v in values]


def _histogram(counts: Sequence[int] | None, room: int | None, charset: Charset) -> str:
    counts = counts or []
    bars = [count or None for count in counts]
    return charts.spark(bars, lo=0, hi=max(counts, default=0), width=room, unicode=charset.unicode)


def _status_cell(value: object, charset: Charset) -> str:
    if value in _GLYPHS:
        return status_text(Status(str(value)), unicode=charset.unicode).plain
    return _spelled(value, charset, None)


def _spelled(value: object, charset: Charset, limit: int | None) -> str:
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case float():
            return digits.number(value)
    text = str(value)
    # What a whole line could not show need not be made visible: a prompt may be a megabyte long.
    if limit is not None and len(text) > 8 * limit:
        text = text[: 4 * limit] + charset.ellipsis + text[-4 * limit :]
    return charset.visible(text)


def _chosen(columns: list[_Column], narrow: Sequence[str], room: int) -> tuple[list[_Column], list[str]]:
    """The columns that find room: first the `narrow` ones go, then drawings, numbers and words from the right."""
    left_out: list[str] = []

    def leave_out(name: str) -> None:
        left_out.append(name)
        columns[:] = [column for column in columns if column.name != name]

    for name in narrow:
        if len(columns) > 1 and any(c.name == name for c in columns) and _least(columns, at_the_last=False) > room:
            leave_out(name)
    while len(columns) > 1 and _least(columns, at_the_last=True) > room:
        # Of the least telling kind the one furthest right.
        leave_out(max(enumerate(columns), key=lambda numbered: (_ORDER.index(numbered[1].kind), numbered[0]))[1].name)
    return columns, left_out


def _least(columns: Sequence[_Column], *, at_the_last: bool) -> int:
    return sum(c.least(at_the_last=at_the_last) for c in columns) + len(GAP) * (len(columns) - 1)


def _rooms(columns: Sequence[_Column], room: int | None) -> list[int]:
    """How wide each column becomes: what it wants, or a fair part of what is there."""
    if room is None or _wanted(columns) <= room:
        return [column.wanted for column in columns]
    at_the_last = _least(columns, at_the_last=False) > room
    rooms = [min(column.least(at_the_last=at_the_last), room) for column in columns]
    spare = room - sum(rooms) - len(GAP) * (len(columns) - 1)
    while spare > 0:
        growing = [i for i, column in enumerate(columns) if rooms[i] < column.wanted]
        share = max(spare // len(growing), 1)
        for i in growing[:spare]:
            more = min(share, columns[i].wanted - rooms[i])
            rooms[i] += more
            spare -= more
    return rooms


def _wanted(columns: Sequence[_Column]) -> int:
    return sum(column.wanted for column in columns) + len(GAP) * (len(columns) - 1)
