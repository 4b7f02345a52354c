"""Arrow arrays and Polars columns: the way from one to the other, and values that many rows share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from grpo_cli.logs.parquet.plain import ArrowArray, is_list, is_text

if TYPE_CHECKING:
    from collections.abc import Sequence


class ValueFault(Exception):  # noqa: N818 - never leaves this package
    """A value that cannot be what is wanted: its place in the array, and in the file once it is known."""

    def __init__(self, at: int, message: str, hint: str) -> None:
        """Keep what is wrong and what to do about it."""
        super().__init__(message)
        self.at, self.message, self.hint = at, message, hint


def series(array: ArrowArray) -> pl.Series:
    """`array` as Polars has it; nothing but nulls where text is expected is text too."""
    made = pl.from_arrow(array)
    assert isinstance(made, pl.Series)
    return made.cast(pl.String) if made.dtype == pl.Null and is_text(array.type) else made


def strings(values: Sequence[str | None]) -> pl.Series:
    """Text as Polars has it, also where there is none."""
    return pl.Series(values, dtype=pl.String)


def gathered(values: pl.Series, encoded: ArrowArray) -> pl.Series:
    """`values`, one for each entry of the dictionary that `used(encoded)` gives, put where its indices say."""
    return values.gather(series(pc.cast(encoded.indices, pa.int64())).cast(pl.UInt32))


def used(array: ArrowArray) -> ArrowArray:
    """The dictionary of `array`, with null for the entries that no row uses: they are nobody's fault."""
    entries = array.dictionary
    used = pc.is_in(pa.array(range(len(entries)), array.indices.type), value_set=pc.unique(array.indices))
    return pc.if_else(used, entries, pa.scalar(None, entries.type))


def encoded(array: ArrowArray) -> ArrowArray | None:
    """`array` as a dictionary, where pyarrow or Polars can make one that keeps unlike values apart."""
    if pa.types.is_nested(array.type):
        return _encoded_nested(array)
    try:
        if isinstance(array.type, pa.BaseExtensionType):
            stored = array.storage.dictionary_encode()
            entries = pa.ExtensionArray.from_storage(array.type, stored.dictionary)
            return pa.DictionaryArray.from_arrays(stored.indices, entries)
        return array.dictionary_encode()
    except pa.ArrowNotImplementedError:
        return None


def _encoded_nested(array: ArrowArray) -> ArrowArray | None:
    if not _is_comparable(array.type):
        return None
    array.validate(full=True)  # Polars takes text on trust
    rows = pl.DataFrame({"value": pl.from_arrow(array)}).with_row_index("row")
    first = rows.select(pl.col("row").min().over("value"))["row"]
    distinct = first.unique().sort()
    indices = distinct.search_sorted(first)
    return pa.DictionaryArray.from_arrays(indices.to_arrow(), array.take(distinct.to_arrow()))


def _is_comparable(kind: pa.DataType) -> bool:
    """Whether Polars tells all values of this nested type apart (it takes -0.0 for 0.0)."""
    if is_list(kind):
        return _is_comparable(kind.value_type)
    if pa.types.is_struct(kind):
        return kind.num_fields > 0 and all(_is_comparable(kind.field(at).type) for at in range(kind.num_fields))
    return is_text(kind) or bool(pa.types.is_integer(kind) or pa.types.is_boolean(kind))
