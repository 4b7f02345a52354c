"""The way of a `Field` into an Arrow array, and the conversion of what is there: `logs.fields` over whole columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from grpo_cli.logs.fields import Each, Element, Name, Part, Reduce
from grpo_cli.logs.parquet.arrays import ValueFault
from grpo_cli.logs.parquet.plain import ArrowArray, elements, is_list, plain, storage, with_offsets

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grpo_cli.logs.parquet.convert import Conversion


def walk(array: ArrowArray, parts: Sequence[Part], conversion: Conversion, absent: int = 0) -> pl.Series:
    """`array`, a value a record, as the column that `conversion` makes of what `parts` lead to.

    `absent` of the nulls of `array` stand for fields that are not there. With `[]` the column is one of lists.

    Raises:
        ValueFault: a value that cannot be what is wanted; `at` is the record.
    """
    if not parts:
        return conversion.of(array, absent)
    part, rest = parts[0], parts[1:]
    array = storage(array)
    kind = array.type
    match part:
        case Name(name) if pa.types.is_struct(kind) and kind.get_field_index(name) >= 0:
            inner = pc.struct_field(array, kind.get_field_index(name))
            return walk(inner, rest, conversion, absent)
        case Name(name) if pa.types.is_map(kind):
            inner, gone = _of_map(array, name)
            return walk(inner, rest, conversion, absent + gone)
        case Element(index) if is_list(kind):
            inner, gone = _element(with_offsets(array), index)
            return walk(inner, rest, conversion, absent + gone)
        case Each() if is_list(kind):
            return _each(with_offsets(array), rest, conversion)
        case Reduce(how):
            return conversion.reduced(array, how)
    return nothing(len(array), absent + len(array) - array.null_count, parts, conversion)


def nothing(rows: int, absent: int, parts: Sequence[Part], conversion: Conversion) -> pl.Series:
    """Nulls for `rows` records where there is nothing that `parts` could lead to: `absent` in so many, else null."""
    column = conversion.of(pa.nulls(rows), absent).cast(conversion.dtype)
    for part in parts:
        if isinstance(part, Each):
            column = pl.Series([None] * rows, dtype=pl.List(column.dtype))
    return column


def _of_map(array: ArrowArray, name: str) -> tuple[ArrowArray, int]:
    """The value of key `name` of each map, the last where it comes twice; and how many maps do not have it."""
    keys = plain(elements(array, array.keys))
    items = elements(array, array.items)
    offsets = array.offsets.to_pylist()
    at: list[int | None] = []
    for row in range(len(array)):
        span = range(offsets[row + 1] - offsets[0] - 1, offsets[row] - offsets[0] - 1, -1)
        at.append(next((place for place in span if keys[place] == name), None))
    return items.take(pa.array(at, pa.int64())), at.count(None) - array.null_count


def _element(array: ArrowArray, index: int) -> tuple[ArrowArray, int]:
    """Element `index` of each list, and how many lists have no such element."""
    offsets = pl.Series(pl.from_arrow(array.offsets)).cast(pl.Int64)
    start, end = offsets.head(len(array)), offsets.tail(len(array))
    at = (start if index >= 0 else end) + index
    valid = pl.Series(pl.from_arrow(array.is_valid()))
    there = (at >= start) & (at < end)
    taken = pl.select(pl.when(there & valid).then(at)).to_series().to_arrow()
    return array.values.take(taken), int((valid & ~there).sum())


def _each(array: ArrowArray, rest: Sequence[Part], conversion: Conversion) -> pl.Series:
    """A list a record of what `rest` leads to from each element."""
    offsets = pl.Series(pl.from_arrow(array.offsets)).cast(pl.Int64)
    offsets = offsets - offsets[0]
    if array.null_count:
        conversion.of(pa.nulls(array.null_count))  # a record without a list counts as one null
    try:
        values = walk(elements(array, array.values), rest, conversion)
    except ValueFault as fault:
        fault.at = int(offsets.search_sorted(fault.at, side="right")) - 1
        raise
    mask = array.is_null() if array.null_count else None
    lists = pa.LargeListArray.from_arrays(offsets.to_arrow(), values.to_arrow(), mask=mask)
    return pl.Series(pl.from_arrow(lists)).cast(pl.List(values.dtype))
