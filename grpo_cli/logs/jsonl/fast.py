"""The fast reader: Polars reads the wanted fields of a block at once, and guards say which lines it may be believed on.

Whatever it returns equals what the reference reader finds. A line that a guard does not clear is read again by the
reference; a block where Polars fails, or where many lines are not cleared, is read by it as a whole. What is known of
Polars 2.1 and guarded here:

- Of a name that comes twice it takes the first value. So every name must be spelt once a line, and not hidden by an
  escape: the matches of all names and of such escapes together must be as many as there are names. Where no
  value is missing, each name is there, and none can be there twice.
- A missing value may be null or absent, and an absent one misspelt: the reference looks.
- It spells numbers in keys its own way (small, huge, negative zero), and objects and lists; a lone surrogate becomes
  NUL. Such keys are believed where the line shows that they are strings or integers, objects and lists are read from
  the line, and others left to the reference.
- It reads 1,024 levels of nesting.
- It refuses what is not JSON, NaN, Infinity, byte-order marks, what is not UTF-8, booleans and strings as numbers,
  integers beyond float64: then the reference reads the block.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from grpo_cli.logs.fields import Each, Name
from grpo_cli.logs.files.pool import in_order
from grpo_cli.logs.format import Kind, OnBadLine, Records, Want
from grpo_cli.logs.jsonl import blocks as stream
from grpo_cli.logs.jsonl import guards, nested
from grpo_cli.logs.jsonl.columns import NumberColumn
from grpo_cli.logs.jsonl.known import remember, signature
from grpo_cli.logs.jsonl.lines import MAX_DEPTH, Names, record
from grpo_cli.logs.jsonl.reference import Reader

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from grpo_cli.logs.files.source import LogFile
    from grpo_cli.logs.jsonl.blocks import Block

_MOST_DOUBTED = 0.5
"""Share of the lines of a block up to which they are read again one by one, and not the block as a whole."""

_SPACE = " \t\r"
_LINE = "line"
_MATCHES = "matches"
_LENGTH = "length"

_ODD_KEY = r"^(?:[\[{]|-?[0-9]{16}|-0$|-?0\.000)"


@dataclass(frozen=True)
class Plan:
    """How Polars is asked for the wants of a file."""

    schema: Mapping[str, pl.DataType]
    values: list[pl.Expr]
    """A column per want, named as it was asked for."""
    guards: tuple[str, str]
    """Match every name on the way to a want, and every escape that may hide a part of one. The first is quick
    and takes more escapes for such, the second is exact."""
    names: int
    """How many matches a line has where every name is there once."""
    keys: Mapping[str, str]
    """For each KEY and CODE want: the name that its value follows in the line."""

    @classmethod
    def of(cls, wants: Iterable[tuple[str, Want]]) -> Plan | None:
        """The plan for these wants; None where Polars cannot be asked for them in a way that can be guarded."""
        tree: dict[str, Any] = {}
        names: list[str] = []
        values: list[pl.Expr] = []
        keys: dict[str, str] = {}
        for column, want in wants:
            dtype = _dtype(want)
            path = want.field.names
            if dtype is None or not guards.all_plain(path):
                return None
            if not _plant(tree, path, dtype, names):
                return None
            value = pl.col(path[0])
            for name in path[1:]:
                value = value.struct.field(name)
            values.append(value.alias(column))
            if want.kind is not Kind.NUMBER:
                keys[column] = path[-1]
        if not names or len(set(names)) < len(names):
            return None
        return cls(_schema(tree), values, (guards.quick(names), guards.exact(names)), len(names), keys)


def _dtype(want: Want) -> pl.DataType | None:
    parts = want.field.parts
    if all(isinstance(part, Name) for part in parts):
        return {Kind.KEY: pl.String(), Kind.CODE: pl.String(), Kind.NUMBER: pl.Float64()}.get(want.kind)
    if want.kind is Kind.NUMBER and isinstance(parts[-1], Each):
        return pl.List(pl.Float64) if all(isinstance(part, Name) for part in parts[:-1]) else None
    return None


def _plant(tree: dict[str, Any], path: tuple[str, ...], dtype: pl.DataType, names: list[str]) -> bool:
    """Put a path into the tree of types; False where it runs across another one."""
    for name in path[:-1]:
        if name not in tree:
            names.append(name)
        tree = tree.setdefault(name, {})
        if not isinstance(tree, dict):
            return False
    last = path[-1]
    if last not in tree:
        names.append(last)
    return bool(tree.setdefault(last, dtype) == dtype)


def _schema(tree: Mapping[str, Any]) -> dict[str, pl.DataType]:
    return {name: pl.Struct(_schema(inner)) if isinstance(inner, dict) else inner for name, inner in tree.items()}


@dataclass(frozen=True)
class Parsed:
    """What Polars read of a block, and which rows the reference has to read again."""

    frame: pl.DataFrame
    doubted: list[tuple[int, int, bytes]]
    """Row in `frame`, number of the line counted from the block's first (0), and the line."""


def parse(block: Block, plan: Plan) -> Parsed | None:
    """The wants of `block`; None where the reference has to read it."""
    try:
        frame, lines = pl.collect_all(
            [
                pl.scan_ndjson(block.data, schema=dict(plan.schema)).select(plan.values),
                pl.scan_lines(block.data, name=_LINE).select(
                    pl.col(_LINE).str.count_matches(plan.guards[0]).alias(_MATCHES),
                    pl.col(_LINE).str.len_bytes().alias(_LENGTH),
                ),
            ],
            engine="streaming",
        )
        return _believed(block, plan, frame, lines)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
        return None


def _believed(block: Block, plan: Plan, frame: pl.DataFrame, lines: pl.DataFrame) -> Parsed | None:
    lines = lines.with_row_index()
    text: pl.DataFrame | None = None
    if lines.height != frame.height:
        text = _text(block)
        lines = lines.filter(text[_LINE].str.strip_chars(_SPACE) != "")
        if lines.height != frame.height:
            return None
    doubts = [_is_missing(frame[name]) for name in frame.columns]
    crowded = lines[_MATCHES] != plan.names
    odd = {name: _is_odd(frame[name]) for name in plan.keys}
    long = lines[_LENGTH] > 2 * MAX_DEPTH
    if crowded.any() or long.any() or any(mask.any() for mask in odd.values()):
        text = _text(block) if text is None else text
        line = text[_LINE].gather(lines["index"])
        if crowded.any():
            doubts.append(crowded & (line.str.count_matches(plan.guards[1]) != plan.names))
        if long.any():
            doubts.append(long & (line.str.count_matches(r"[\[{]") > MAX_DEPTH))
        for name, mask in odd.items():
            frame, unread = _mended(frame, name, mask, line, plan.keys[name])
            doubts.append(unread)
    rows = pl.select(pl.any_horizontal(doubts)).to_series().arg_true()
    if rows.len() > _MOST_DOUBTED * frame.height:
        return None
    return _with_lines(block, frame, rows.to_list(), lines["index"].gather(rows).to_list())


def _is_odd(key: pl.Series) -> pl.Series:
    """Where Polars may spell a key in its own way."""
    return (key.str.contains(_ODD_KEY) | key.str.contains("\0", literal=True)).fill_null(value=False)


def _text(block: Block) -> pl.DataFrame:
    return pl.scan_lines(block.data, name=_LINE).collect()


def _is_missing(values: pl.Series) -> pl.Series:
    if values.dtype == pl.List(pl.Float64):
        return values.list.eval(pl.element().is_null()).list.any().fill_null(value=True)
    return values.is_null()


def _mended(
    frame: pl.DataFrame, name: str, odd: pl.Series, line: pl.Series, spelt: str
) -> tuple[pl.DataFrame, pl.Series]:
    """The frame with odd keys read from the lines where they are objects or lists, and which are still doubted."""
    if not odd.any():
        return frame, odd
    odd &= ~_is_plain(line, frame[name], spelt)
    rows = odd.arg_true()
    if not rows.len():
        return frame, odd
    keys = _put(frame[name], rows.to_list(), nested.canonical(line.gather(rows), spelt))
    return frame.with_columns(keys.alias(name)), odd & keys.is_null()


def _is_plain(line: pl.Series, key: pl.Series, name: str) -> pl.Series:
    """Where the key is a string without NUL, or an integer, in the line."""
    value = rf'"{guards.pattern(name)}"[ \t]*:[ \t]*(?:"|-?[0-9]+[ \t]*[,}}])'
    return line.str.contains(value) & ~key.str.contains("\0", literal=True)


def _with_lines(block: Block, frame: pl.DataFrame, rows: list[int], at: list[int]) -> Parsed | None:
    if not rows:
        return Parsed(frame, [])
    lines = block.lines()
    doubted = [(row, index, lines[index]) for row, index in zip(rows, at, strict=True)]
    if not all(isinstance(record(line), dict) for *_, line in doubted):
        return None
    return Parsed(frame, doubted)


class FastReader(Reader):
    """The reference reader, with blocks that Polars has read put in their place."""

    def __init__(self, file: LogFile, wants: Mapping[str, Want], on_bad_line: OnBadLine) -> None:
        """Start with nothing read."""
        super().__init__(file, wants, on_bad_line)
        self._placed = False

    def place(self, block: Block, parsed: Parsed) -> None:
        """Take what Polars has read of `block`."""
        if self.failed:
            return
        self._placed = True
        self.note_head(block)
        for column in self.columns.values():
            column.flush()
        for _, index, line in parsed.doubted:
            self.take_line(block.line + index, line)
        rows = [row for row, *_ in parsed.doubted]
        for name, column in self.columns.items():
            values = parsed.frame[name]
            if rows:
                values = _put(values, rows, column.taken())
            if isinstance(column, NumberColumn):
                column.extend_numbers(values)
            else:
                column.extend(values)
        self.records += parsed.frame.height - len(rows)

    def result(self) -> Records:
        """What was found, once the suspected misspellings have been looked for in all records."""
        suspects = Names(name for misspelling in self.misspellings for name in misspelling.suspects())
        if self._placed and suspects and not self.failed:
            for number, line in stream.numbered(stream.blocks(self.file)):
                if suspects.may_have(line) and isinstance(found := record(line), dict):
                    for misspelling in self.misspellings:
                        misspelling.look(found, number)
        return super().result()

    @property
    def has_text_numbers(self) -> bool:
        """Whether numbers have come as strings: then every later value has to be looked at."""
        return any(isinstance(column, NumberColumn) and column.is_text for column in self.columns.values())


def _put(values: pl.Series, rows: list[int], new: pl.Series) -> pl.Series:
    """`values` with those at `rows` (ascending) replaced."""
    order = pl.Series(range(values.len()), dtype=pl.UInt32).scatter(rows, range(values.len(), values.len() + len(rows)))
    return pl.concat([values, new]).gather(order)


def read(
    file: LogFile,
    wants: Mapping[str, Want],
    on_bad_line: OnBadLine,
    size: int = stream.BLOCK,
    least: int = stream.LEAST,
) -> Records:
    """The wanted fields of every record of `file`: what `reference.read` gives, sooner."""
    before = signature(file)
    plan = Plan.of(wants.items())
    reader = FastReader(file, wants, on_bad_line)
    for block, parsed in _parsed(stream.blocks(file, size), plan, least):
        if parsed is None or reader.has_text_numbers:
            reader.take(block)
        else:
            reader.place(block, parsed)
    found = reader.result()
    remember(file, before, found.bad)
    return found


def _parsed(blocks: Iterator[Block], plan: Plan | None, least: int) -> Iterator[tuple[Block, Parsed | None]]:
    """Each block with what Polars made of it; the next ones are parsed while one is in use."""
    if plan is None:
        yield from ((block, None) for block in blocks)
        return
    yield from in_order(lambda block: parse(block, plan) if len(block.data) >= least else None, blocks)
