"""Some records of a file by their number, and the bytes of some: without reading the others as JSON.

The file has been read before, so it is known which of its lines are records (`known`). Then it is enough to know where
lines begin: Polars finds their lengths, a gigabyte in half a second, and the wanted ones are read from their places.
A packed file has no places to go to: its lines are counted as they come.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO

import polars as pl

from grpo_cli.logs.jsonl import blocks as stream
from grpo_cli.logs.jsonl import splice
from grpo_cli.logs.jsonl.known import RecordTest, bad_lines, changed
from grpo_cli.logs.jsonl.lines import record, stripped

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from grpo_cli.logs.fields import Field
    from grpo_cli.logs.files.source import LogFile

_AT_ONCE = 1 << 20


def picked(file: LogFile, wanted: Sequence[int], fields: Sequence[Field]) -> list[tuple[int, list[Any]]]:
    """The number of its line, and the values of `fields`, for each of the `wanted` records (ascending, from 0).

    A value that is not there is `MISSING`.

    Raises:
        InputError: the file does not hold these records.
    """
    found: list[tuple[int, list[Any]]] = []
    for number, line in _lines(file, wanted):
        one = record(line)
        if not isinstance(one, dict):
            raise changed(file)
        found.append((number, [field.of(one) for field in fields]))
    return found


def keep(file: LogFile, target: BinaryIO, mask: pl.Series) -> None:
    """Write `file` to `target` without the records where `mask` is false. Blank and bad lines stay.

    Raises:
        InputError: the file does not hold as many records as `mask` has values.
    """
    lines = _Lines.of(file)
    if lines is None:
        splice.keep(file, target, mask)
        return
    if lines.records.len() != mask.len():
        raise changed(file)
    left_out = pl.DataFrame({"place": lines.records.filter(~mask.cast(pl.Boolean))}).with_columns(
        (pl.col("place").cast(pl.Int64).diff() != 1).fill_null(value=True).cum_sum().alias("run")
    )
    runs = left_out.group_by("run", maintain_order=True).agg(pl.first("place").alias("first"), pl.last("place"))
    at = 0
    with file.path.open("rb") as source:
        for first, last in runs.select("first", "place").iter_rows():
            _copy(file, source, target, at, lines.starts[first])
            at = lines.starts[last] + lines.lengths[last]
        _copy(file, source, target, at, lines.size)


def _copy(file: LogFile, source: BinaryIO, target: BinaryIO, start: int, end: int) -> None:
    if start < end:
        source.seek(start)
    while start < end:
        data = source.read(min(end - start, _AT_ONCE))
        if not data:
            raise changed(file)
        target.write(data)
        start += len(data)


def _lines(file: LogFile, wanted: Sequence[int]) -> Iterator[tuple[int, bytes]]:
    """The number and the bytes of the line of each of the `wanted` records."""
    lines = _Lines.of(file) if wanted else None
    if lines is None:
        yield from _lines_streamed(file, wanted)
        return
    if wanted[-1] >= lines.records.len():
        raise changed(file)
    with file.path.open("rb") as source:
        for place in lines.records.gather(list(wanted)):
            source.seek(lines.starts[place])
            yield place + 1, source.read(lines.lengths[place])


def _lines_streamed(file: LogFile, wanted: Sequence[int]) -> Iterator[tuple[int, bytes]]:
    is_record, left = RecordTest(file), deque(wanted)
    index = -1
    for number, line in stream.numbered(stream.blocks(file)) if wanted else ():
        index += is_record(number, line)
        while left and left[0] == index:
            left.popleft()
            yield number, line
        if not left:
            return
    if left:
        raise changed(file)


@dataclass(frozen=True)
class _Lines:
    """Where the lines of a plain file are."""

    lengths: pl.Series
    """The bytes of each line, its end included."""
    starts: pl.Series
    records: pl.Series
    """The lines (from 0) that are records."""
    size: int

    @classmethod
    def of(cls, file: LogFile) -> _Lines | None:
        """The lines of `file`; None where they have to be counted as they come."""
        bad = bad_lines(file)
        if file.compression is not None or bad is None:
            return None
        line = pl.col("line")
        try:
            found = (
                pl.scan_lines(file.path, name="line")
                .select(line.str.len_bytes().cast(pl.Int64).alias("length") + 1, line.str.starts_with("{").alias("is"))
                .collect(engine="streaming")
            )
            size = file.path.stat().st_size
            with file.path.open("rb") as source:
                source.seek(max(size - 1, 0))
                cut = source.read(1) != b"\n"
        except (pl.exceptions.PolarsError, OSError):  # not UTF-8, for one
            return None
        lengths = found["length"]
        if cut and lengths.len():
            lengths[-1] -= 1
        # Polars takes \r\n for one line end and hides the \r: the lengths are then too short.
        if lengths.sum() != size:
            return None
        starts = lengths.cum_sum() - lengths
        return cls(lengths, starts, _records(file, found["is"], starts, lengths, bad), size)


def _records(
    file: LogFile, is_plain: pl.Series, starts: pl.Series, lengths: pl.Series, bad: Collection[int]
) -> pl.Series:
    """The lines (from 0) that are records: neither bad nor blank. Those that begin with a brace are not blank."""
    is_record = is_plain.clone()
    with file.path.open("rb") as source:
        for place in is_plain.not_().arg_true():
            source.seek(starts[place])
            is_record[place] = bool(stripped(source.read(lengths[place])))
    for number in bad:
        is_record[number - 1] = False
    return is_record.arg_true()
