"""Arrow values as plain Python values: the ones that JSON knows, as if the record had been a JSONL line.

| Arrow                        | Python                                                                             |
|------------------------------|------------------------------------------------------------------------------------|
| struct, map                  | dict (a map whose keys are no strings, or repeat: a list of pairs)                  |
| any list                     | list                                                                               |
| decimal                      | int where it is whole, else the float of the same digits, else those digits as text |
| binary                       | its text where it is UTF-8, else its bytes in hex                                  |
| date, time, timestamp        | ISO 8601 text; a timestamp with a zone in UTC, with a Z                            |
| dictionary, extension        | what it stands for                                                                 |
"""

from __future__ import annotations

import itertools
import re
import uuid
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from collections.abc import Callable

ArrowArray = Any
"""pyarrow has no type stubs."""


SPELLED_EXTENSIONS: Final = ("arrow.uuid", "arrow.bool8")
"""Extension types whose values are not those that they are stored as."""


def plain(array: ArrowArray, *, keep_null_fields: bool = True) -> list[Any]:
    """The values of `array`, null as None.

    With `keep_null_fields` false, a field of a struct that is null is left out: a Parquet column has every field that
    any of its values has, where a JSONL line has only its own.
    """
    kind = array.type
    if isinstance(array, pa.ChunkedArray):
        return [value for chunk in array.chunks for value in plain(chunk, keep_null_fields=keep_null_fields)]
    if isinstance(kind, pa.BaseExtensionType):
        return _plain_extension(array, keep_null_fields)
    if pa.types.is_dictionary(kind):
        values = plain(array.dictionary, keep_null_fields=keep_null_fields)
        return [None if index is None else values[index] for index in array.indices.to_pylist()]
    if pa.types.is_struct(kind):
        return _plain_struct(array, keep_null_fields)
    if pa.types.is_map(kind):
        keys = plain(elements(array, array.keys), keep_null_fields=keep_null_fields)
        items = plain(elements(array, array.items), keep_null_fields=keep_null_fields)
        return _rows(array, list(zip(keys, items, strict=True)), _as_object)
    if is_list(kind):
        array = with_offsets(array)
        return _rows(array, plain(elements(array, array.values), keep_null_fields=keep_null_fields), list)
    return _plain_leaf(array)


def is_list(kind: pa.DataType) -> bool:
    """Whether values of this type are lists, of whatever flavour."""
    return bool(
        pa.types.is_list(kind)
        or pa.types.is_large_list(kind)
        or pa.types.is_fixed_size_list(kind)
        or pa.types.is_list_view(kind)
        or pa.types.is_large_list_view(kind)
    )


def with_offsets(array: ArrowArray) -> ArrowArray:
    """A list array of any flavour as one with offsets (`list` or `large_list`)."""
    if pa.types.is_list(array.type) or pa.types.is_large_list(array.type):
        return array
    return pc.cast(array, pa.large_list(array.type.value_field))


def elements(array: ArrowArray, values: ArrowArray) -> ArrowArray:
    """The part of `values` (all that a list or map array looks into) that its rows hold."""
    offsets = array.offsets
    start = offsets[0].as_py()
    return values.slice(start, offsets[-1].as_py() - start)


def is_text(kind: pa.DataType) -> bool:
    """Whether values of this type are text."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def is_binary(kind: pa.DataType) -> bool:
    """Whether values of this type are bytes."""
    return bool(
        pa.types.is_binary(kind)
        or pa.types.is_large_binary(kind)
        or pa.types.is_binary_view(kind)
        or pa.types.is_fixed_size_binary(kind)
    )


def storage(array: ArrowArray) -> ArrowArray:
    """`array`, or what it is stored as where its type is an extension."""
    while isinstance(array.type, pa.BaseExtensionType):
        array = array.storage
    return array


def _plain_extension(array: ArrowArray, keep_null_fields: bool) -> list[Any]:
    values = plain(array.storage, keep_null_fields=keep_null_fields)
    if array.type.extension_name == "arrow.uuid":
        stored = array.storage.to_pylist()
        return [None if value is None else str(uuid.UUID(bytes=value)) for value in stored]
    if array.type.extension_name == "arrow.bool8":
        return [None if value is None else bool(value) for value in values]
    return values


def _plain_struct(array: ArrowArray, keep_null_fields: bool) -> list[Any]:
    names = [array.type.field(index).name for index in range(array.type.num_fields)]
    columns = [plain(array.field(index), keep_null_fields=keep_null_fields) for index in range(len(names))]
    rows: list[Any] = [
        {name: value for name, value in zip(names, row, strict=True) if keep_null_fields or value is not None}
        for row in (zip(*columns, strict=True) if columns else ((),) * len(array))
    ]
    if array.null_count:
        rows = [row if valid else None for row, valid in zip(rows, array.is_valid().to_pylist(), strict=True)]
    return rows


def _rows(array: ArrowArray, values: list[Any], make: Callable[[list[Any]], Any]) -> list[Any]:
    offsets = array.offsets.to_pylist()
    first = offsets[0]
    rows = [make(values[start - first : end - first]) for start, end in itertools.pairwise(offsets)]
    if array.null_count:
        rows = [row if valid else None for row, valid in zip(rows, array.is_valid().to_pylist(), strict=True)]
    return rows


def _as_object(pairs: list[tuple[Any, Any]]) -> Any:
    if all(isinstance(key, str) for key, _ in pairs):
        made = dict(pairs)
        if len(made) == len(pairs):
            return made
    return [list(pair) for pair in pairs]


def _plain_leaf(array: ArrowArray) -> list[Any]:
    kind = array.type
    if is_text(kind):
        return _texts(array)
    if is_binary(kind):
        return [None if value is None else _text_or_hex(value) for value in array.to_pylist()]
    if pa.types.is_decimal(kind):
        return [None if value is None else _number(value) for value in array.to_pylist()]
    if pa.types.is_temporal(kind):
        return _times(array)
    return list(array.to_pylist())


def _texts(array: ArrowArray) -> list[Any]:
    try:
        return list(array.to_pylist())
    except UnicodeDecodeError:
        stored = pc.cast(array, pa.large_binary()).to_pylist()
        return [None if value is None else value.decode(errors="replace") for value in stored]


def _text_or_hex(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.hex()


def _number(value: Decimal) -> int | float | str:
    if value == value.to_integral_value():
        return int(value)
    number = float(value)
    return number if Decimal(repr(number)) == value else f"{value:f}".rstrip("0")


_FRACTION: Final = re.compile(r"\.?0+$")


def _times(array: ArrowArray) -> list[Any]:
    kind = array.type
    zone = "Z" if pa.types.is_timestamp(kind) and kind.tz else ""
    try:
        if pa.types.is_timestamp(kind):
            array = pc.cast(array, pa.timestamp(kind.unit))
        if not pa.types.is_duration(kind):
            return [None if value is None else _iso(value) + zone for value in pc.cast(array, pa.string()).to_pylist()]
    except pa.ArrowException:  # a moment that no calendar has: the number that is stored is said
        pass
    return list(array.view(pa.int32() if kind.bit_width == 32 else pa.int64()).to_pylist())


def _iso(value: str) -> str:
    text = value.replace(" ", "T", 1)
    return _FRACTION.sub("", text) if "." in text else text
