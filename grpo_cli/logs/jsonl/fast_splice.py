"""The fast splice: Polars puts the values into the lines of a block at once, where guards allow it.

What it writes equals what the reference splice writes, byte for byte; a block that a guard does not clear is left to
that. It works on files of which it is known which lines are records, and on blocks in which every line is one, ends
with a brace and with one and the same line end, and has none of the new names, nor an escape that may hide one.
"""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

import polars as pl

from grpo_cli.logs.files.pool import in_order
from grpo_cli.logs.jsonl import blocks as stream
from grpo_cli.logs.jsonl import guards
from grpo_cli.logs.jsonl.splice import Splicer, json_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from grpo_cli.logs.files.source import LogFile
    from grpo_cli.logs.jsonl.blocks import Block

_LINE = "line"
_SPLICED = "spliced"
_EMPTY = r"^[ \t\x{feff}]*\{[ \t\r]*\}$"
_SMALL = 1e-4
"""Below this Polars and Python spell a number differently: 9e-5, 9e-05."""
_ESCAPED = r'["\\\x00-\x1f]'


class Task(NamedTuple):
    """A block, and the number of its first record if no line before it is blank."""

    block: Block
    at: int


def append(
    file: LogFile,
    target: BinaryIO,
    columns: pl.DataFrame,
    *,
    replace: bool,
    size: int = stream.BLOCK,
    least: int = stream.LEAST,
) -> None:
    """Write `file` to `target` with a field for each of `columns` in each record: as `splice.append`, but sooner."""
    splicer = Splicer(file, columns, replace=replace)
    if splicer.holds_record.bad is None or not guards.all_plain(columns.columns):
        target.writelines(map(splicer.splice, stream.blocks(file, size)))
    else:
        target.writelines(_spliced(splicer, stream.blocks(file, size), least))
    splicer.finish()


def _spliced(splicer: Splicer, blocks: Iterator[Block], least: int) -> Iterator[bytes | memoryview]:
    expected = 0

    def tasks() -> Iterator[Task]:
        nonlocal expected
        for block in blocks:
            task = Task(block, expected)
            expected += block.height
            yield task

    def work(task: Task) -> memoryview | None:
        return splice(task, splicer) if len(task.block.data) >= least else None

    for task, ahead in in_order(work, tasks()):
        block, before = task.block, splicer.at
        moved = task.at != before  # blank or bad lines came before: it was given the values of other records
        done = work(Task(block, before)) if moved and ahead is not None else ahead
        if done is None:
            yield splicer.splice(block)
        else:
            splicer.at += block.height
            yield done
        expected += splicer.at - before - block.height


def splice(task: Task, splicer: Splicer) -> memoryview | None:
    """The block with the fields in it; None where the reference has to do it."""
    block = task.block
    values = splicer.columns.slice(task.at, block.height)
    line_end = _line_end(block)
    if line_end is None or values.height < block.height or splicer.holds_record.any_bad(block.line, block.height):
        return None
    texts = _texts(values, splicer.keys)
    line = pl.col(_LINE)
    names = splicer.columns.columns
    try:
        found = (
            pl.scan_lines(block.data, name=_LINE)
            .select(
                line,
                pl.concat_str(line.str.strip_suffix("}"), pl.lit(texts), pl.lit("}")).alias(_SPLICED),
                crowded=line.str.contains(guards.quick(names)),
                odd=~line.str.ends_with("}") | line.str.contains(_EMPTY),
            )
            .collect(engine="streaming")
        )
        if found["odd"].any():
            return None
        if found["crowded"].any() and found.filter("crowded")[_LINE].str.contains(guards.exact(names)).any():
            return None
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
        return None
    out = io.BytesIO()
    found.select(_SPLICED).write_csv(out, include_header=False, quote_style="never", line_terminator=line_end)
    whole = out.getbuffer()
    whole = whole if block.data.endswith(b"\n") else whole[: -len(line_end)]
    grown = int(texts.str.len_bytes().sum())
    return whole if len(whole) == len(block.data) + grown else None


def _line_end(block: Block) -> str | None:
    """The one line end of a block."""
    if b"\r" not in block.data:  # much quicker than to count them
        return "\n"
    returns = block.data.count(b"\r")
    newlines = block.data.count(b"\n")
    return "\r\n" if returns == newlines == block.data.count(b"\r\n") else None


def _texts(values: pl.DataFrame, keys: list[bytes]) -> pl.Series:
    """What goes in before each line's closing brace."""
    parts = [
        part for column, key in zip(values, keys, strict=True) for part in (pl.lit(f", {key.decode()}"), _json(column))
    ]
    return pl.select(pl.concat_str(parts)).to_series()


def _json(values: pl.Series) -> pl.Series:
    """Each value as `json_text` has it."""
    dtype = values.dtype
    if dtype == pl.Float64:
        return _json_of_floats(values)
    if dtype.is_integer() or dtype == pl.Boolean:
        return values.cast(pl.String).fill_null("null")
    if dtype == pl.String and not values.str.contains(_ESCAPED).any():
        return pl.select(pl.concat_str(pl.lit('"'), values, pl.lit('"'))).to_series().fill_null("null")
    return pl.Series([json_text(value).decode() for value in values], dtype=pl.String)


def _json_of_floats(values: pl.Series) -> pl.Series:
    texts = values.cast(pl.String).set(values.is_finite().not_(), "null").fill_null("null")
    small = ((values != 0) & (values.abs() < _SMALL)).fill_null(value=False)
    if not small.any():
        return texts
    return texts.scatter(small.arg_true(), [json.dumps(value) for value in values.filter(small)])
