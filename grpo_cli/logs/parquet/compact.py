"""Thrift's compact protocol, as far as a footer needs it: structs as trees whose leaves stay the bytes they were.

A struct is a dict of field number -> `Value`, in the order of the file. A value keeps its encoded bytes, so a field
that this program has never heard of survives, and only what is changed is encoded anew. (Apache's own Python library
reads into classes that drop the fields they do not know, and cannot step over bytes that are not UTF-8.)

Source: https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

TRUE: Final = 1
FALSE: Final = 2
BYTE: Final = 3
I16: Final = 4
I64: Final = 6
DOUBLE: Final = 7
BINARY: Final = 8
LIST: Final = 9
SET: Final = 10
STRUCT: Final = 12
UUID: Final = 13


@dataclass(frozen=True, slots=True)
class Value:
    """An encoded value. Whether a boolean is true is in its type, and its bytes are empty."""

    type: int
    raw: bytes = b""
    structs: list[Struct] | None = None
    """In place of the bytes: the elements of a list of structs that was asked for as such."""


Struct = dict[int, Value]
Lists = Mapping[int, "Lists"]
"""Fields that are lists of structs to be read too, and the same for their elements."""


def read_struct(data: bytes, at: int = 0, lists: Lists = MappingProxyType({})) -> tuple[Struct, int]:
    """The struct that begins at `at`, and where it ends; `lists` are read into, all else stays encoded.

    Raises:
        ValueError, IndexError: it is not one.
    """
    fields: Struct = {}
    number = 0
    while head := data[at]:
        at += 1
        if head >> 4:
            number += head >> 4
        else:
            zigzag, at = read_varint(data, at)
            number = (zigzag >> 1) ^ -(zigzag & 1)
        if number in lists:
            structs, at = _read_structs(data, at, lists[number])
            fields[number] = Value(LIST, structs=structs)
        else:
            end = _end(data, at, head & 15)
            fields[number] = Value(head & 15, data[at:end])
            at = end
    return fields, at + 1


def first_of_list(data: bytes, number: int) -> Struct | None:
    """The first element of the list of structs that is field `number` of a struct; None where it is empty.

    What comes after it is not looked at.
    """
    before, at = 0, 0
    while head := data[at]:
        at += 1
        if not head >> 4:
            raise ValueError
        before += head >> 4
        if before == number:
            kind, count, at = _list_head(data, at)
            if kind != STRUCT:
                raise ValueError
            return read_struct(data, at)[0] if count else None
        at = _end(data, at, head & 15)
    return None


def _read_structs(data: bytes, at: int, lists: Lists) -> tuple[list[Struct], int]:
    kind, count, at = _list_head(data, at)
    if kind != STRUCT:
        raise ValueError
    structs = []
    for _ in range(count):
        fields, at = read_struct(data, at, lists)
        structs.append(fields)
    return structs, at


def write_struct(fields: Struct) -> bytes:
    """The struct, encoded."""
    parts: list[bytes] = []
    before = 0
    for number, value in fields.items():
        step = number - before
        parts.append(bytes((step << 4 | value.type,)) if 0 < step < 16 else bytes((value.type,)) + _zigzag(number))
        parts.append(value.raw if value.structs is None else list_of(STRUCT, map(write_struct, value.structs)).raw)
        before = number
    return b"".join((*parts, b"\0"))


def integer(value: Value) -> int:
    """An integer value of any width."""
    zigzag, _ = read_varint(value.raw, 0)
    return (zigzag >> 1) ^ -(zigzag & 1)


def unsigned(raw: bytes) -> int:
    """A number of variable length."""
    return read_varint(raw, 0)[0]


def with_integer(old: Value, new: int) -> Value:
    """An integer value of the same width."""
    return Value(old.type, _zigzag(new))


def elements(value: Value) -> Iterator[bytes]:
    """The encoded elements of a list."""
    kind, count, at = _list_head(value.raw, 0)
    for _ in range(count):
        end = _end(value.raw, at, kind)
        yield value.raw[at:end]
        at = end


def extended(value: Value, more: Iterable[bytes]) -> Value:
    """A list with more elements, encoded ones, at its end."""
    kind, count, at = _list_head(value.raw, 0)
    more = list(more)
    return Value(value.type, b"".join((list_head(kind, count + len(more)), value.raw[at:], *more)))


def list_of(kind: int, encoded: Iterable[bytes]) -> Value:
    """A list of encoded elements."""
    encoded = list(encoded)
    return Value(LIST, b"".join((list_head(kind, len(encoded)), *encoded)))


def binary(value: bytes) -> Value:
    """Bytes or text as a value."""
    return Value(BINARY, _varint(len(value)) + value)


def as_bytes(value: Value) -> bytes:
    """What a binary value holds."""
    size, at = read_varint(value.raw, 0)
    return value.raw[at : at + size]


def list_head(kind: int, count: int) -> bytes:
    """What stands before the elements of a list."""
    return bytes((count << 4 | kind,)) if count < 15 else bytes((0xF0 | kind,)) + _varint(count)


def read_varint(data: bytes, at: int) -> tuple[int, int]:
    """An unsigned number of variable length at `at`, and where it ends."""
    value = shift = 0
    while (byte := data[at]) > 127:
        value |= (byte & 127) << shift
        shift += 7
        at += 1
    return value | byte << shift, at + 1


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def _zigzag(value: int) -> bytes:
    return _varint(value << 1 if value >= 0 else ~(value << 1))


def _list_head(data: bytes, at: int) -> tuple[int, int, int]:
    """The type and number of a list's elements, and where the first one begins."""
    head = data[at]
    if head >> 4 < 15:
        return head & 15, head >> 4, at + 1
    count, at = read_varint(data, at + 1)
    return head & 15, count, at


_FIXED: Final = {TRUE: 0, FALSE: 0, BYTE: 1, DOUBLE: 8, UUID: 16}


def _end(data: bytes, at: int, kind: int) -> int:
    """Where the value that begins at `at` ends."""
    if I16 <= kind <= I64:
        while data[at] > 127:
            at += 1
        return at + 1
    if kind == STRUCT:
        return _struct_end(data, at)
    if kind == BINARY:
        size, at = read_varint(data, at)
        if size > len(data) - at:
            raise ValueError
        return at + size
    if kind in (LIST, SET):
        kind, count, at = _list_head(data, at)
        if kind in (TRUE, FALSE):
            return at + count  # in a list, a boolean is a byte
        for _ in range(count):
            at = _end(data, at, kind)
        return at
    if kind not in _FIXED:
        raise ValueError
    return at + _FIXED[kind]


def _struct_end(data: bytes, at: int) -> int:
    """Where a struct ends: `_end` of every field, spelled out because a footer has millions of them."""
    while head := data[at]:
        at += 1
        if head < 16:
            while data[at] > 127:
                at += 1
            at += 1
        kind = head & 15
        if I16 <= kind <= I64:
            while data[at] > 127:
                at += 1
            at += 1
        elif kind == BINARY:
            size = data[at]
            if size > 127:
                size, at = read_varint(data, at)
                at += size
            else:
                at += size + 1
        elif kind == STRUCT:
            at = _struct_end(data, at)
        elif kind > FALSE:
            at = _end(data, at, kind)
    return at + 1
