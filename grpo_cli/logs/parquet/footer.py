"""The footer of a Parquet file with more columns in it. Everything else in it stays as it is, byte for byte.

    FileMetaData   2 schema: [SchemaElement]   4 row_groups: [RowGroup]   5 key_value_metadata: [KeyValue]
                   7 column_orders: [ColumnOrder]   8 encryption_algorithm
    SchemaElement  5 num_children               KeyValue  1 key  2 value
    RowGroup       1 columns: [ColumnChunk]     2 total_byte_size   6 total_compressed_size
    ColumnChunk    1 file_path   2 file_offset   3 meta_data: ColumnMetaData
                   4, 5 offset_index: offset, length   6, 7 column_index: offset, length
    ColumnMetaData 6, 7 total size: uncompressed, compressed
                   9, 10, 11 offset of the first page: data, index, dictionary
    OffsetIndex    1 page_locations: [PageLocation]       PageLocation  1 offset

Source: https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from grpo_cli.logs.parquet.compact import (
    LIST,
    STRUCT,
    Struct,
    Value,
    as_bytes,
    binary,
    elements,
    extended,
    integer,
    list_of,
    read_struct,
    with_integer,
    write_struct,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

MAGIC: Final = b"PAR1"
"""What a Parquet file begins and ends with."""
LENGTH: Final = 4
"""Bytes after the footer that say how long it is."""

SCHEMA: Final = 2
ROW_GROUPS: Final = 4
KEY_VALUES: Final = 5
COLUMN_ORDERS: Final = 7
ENCRYPTION: Final = 8

_CHILDREN: Final = 5
_COLUMNS, _GROUP_SIZE, _GROUP_COMPRESSED = 1, 2, 6
_FILE_PATH, _FILE_OFFSET, _META_DATA = 1, 2, 3
_OFFSET_INDEX, _OFFSET_INDEX_SIZE, _COLUMN_INDEX, _COLUMN_INDEX_SIZE = 4, 5, 6, 7
_CHUNK_SIZE, _CHUNK_COMPRESSED = 6, 7
_PAGE_OFFSETS: Final = (9, 10, 11)
_PAGES, _PAGE_OFFSET = 1, 1


class CannotAppendError(Exception):
    """Why columns cannot be added to a footer: a reason to be shown."""


def parse(raw: bytes) -> Struct:
    """A footer, its row groups as trees whose columns stay encoded.

    Raises:
        CannotAppendError: it is not one, or is of a kind to which nothing can be added.
    """
    try:
        footer, _ = read_struct(raw, lists={ROW_GROUPS: {}})
        if ENCRYPTION in footer:
            raise CannotAppendError("its footer is signed")
        for group in row_groups(footer)[:1]:
            for chunk in elements(group[_COLUMNS]):
                if _FILE_PATH in read_struct(chunk)[0]:
                    raise CannotAppendError("its columns are in other files")
    except (ValueError, LookupError, RecursionError):
        raise CannotAppendError("its footer is of an unknown kind") from None
    return footer


def row_groups(footer: Struct) -> list[Struct]:
    """The row groups of a footer that `parse` gave."""
    return footer[ROW_GROUPS].structs or []


def join(old: Struct, new: Lifted, key_values: Mapping[bytes, bytes]) -> bytes:
    """The footer `old` with the columns of `new` after its own, and the entries `key_values` set.

    The two have the same row groups.
    """
    root, *own = elements(old[SCHEMA])
    new_root, *added = elements(new.footer[SCHEMA])
    children = read_struct(new_root)[0][_CHILDREN]
    tree = read_struct(root)[0]
    tree[_CHILDREN] = with_integer(tree[_CHILDREN], integer(tree[_CHILDREN]) + integer(children))
    joined = dict(old)
    joined[SCHEMA] = list_of(STRUCT, [write_struct(tree), *own, *added])
    groups = [_joined_group(*pair) for pair in zip(row_groups(old), new.groups, strict=True)]
    joined[ROW_GROUPS] = Value(LIST, structs=groups)
    joined[KEY_VALUES] = _key_values(old.get(KEY_VALUES, list_of(STRUCT, ())), key_values)
    if COLUMN_ORDERS in old:
        joined[COLUMN_ORDERS] = extended(old[COLUMN_ORDERS], elements(new.footer[COLUMN_ORDERS]))
    return write_struct(dict(sorted(joined.items())))


def _joined_group(old: Struct, new: Sequence[Chunk]) -> Struct:
    joined = dict(old)
    joined[_COLUMNS] = extended(old[_COLUMNS], [write_struct(chunk.fields) for chunk in new])
    for total, more in (
        (_GROUP_SIZE, sum(chunk.size for chunk in new)),
        (_GROUP_COMPRESSED, sum(chunk.compressed for chunk in new)),
    ):
        if total in old:
            joined[total] = with_integer(old[total], integer(old[total]) + more)
    return joined


def _key_values(old: Value, wanted: Mapping[bytes, bytes]) -> Value:
    """The entries of `old`, in their order, with those of `wanted` that are new or say something else."""
    missing = dict(wanted)
    entries: list[bytes] = []
    for raw in elements(old):
        entry = read_struct(raw)[0]
        value = missing.pop(as_bytes(entry[1]), None)
        if value is None or (2 in entry and as_bytes(entry[2]) == value):
            entries.append(raw)
        else:
            entries.append(write_struct(dict(sorted({**entry, 2: binary(value)}.items()))))
    entries += [write_struct({1: binary(key), 2: binary(value)}) for key, value in missing.items()]
    return list_of(STRUCT, entries)


class Chunk:
    """A column chunk of a small file."""

    def __init__(self, fields: Struct) -> None:
        """Read what the chunk says of its pages."""
        self.fields = fields
        self.meta, _ = read_struct(fields[_META_DATA].raw)
        self.size = integer(self.meta[_CHUNK_SIZE])
        self.compressed = integer(self.meta[_CHUNK_COMPRESSED])

    @property
    def end(self) -> int:
        """Where its pages end; 0 where it has none, being of no rows."""
        offsets = [integer(self.meta[number]) for number in _PAGE_OFFSETS if number in self.meta]
        there = [offset for offset in offsets if offset]
        return min(there) + self.compressed if there else 0

    def move(self, shift: int) -> None:
        """Set its offsets right for a file where its pages stand `shift` bytes further on."""
        for number in _PAGE_OFFSETS:
            if number in self.meta:
                self.meta[number] = _shifted(self.meta[number], shift)
        self.fields[_META_DATA] = Value(STRUCT, write_struct(self.meta))
        self.fields[_FILE_OFFSET] = _shifted(self.fields[_FILE_OFFSET], shift)


class Lifted:
    """The column chunks of a small file, to be put into another file at `offset`.

    `groups` are the chunks of each row group with their offsets made right, `body` what stands at `offset`: the
    pages, and their indexes after them.
    """

    def __init__(self, file: bytes, offset: int) -> None:
        """Move the pages and page indexes of `file`."""
        self._file = file
        self._shift = offset - len(MAGIC)
        self.footer, _ = read_struct(footer_of(file), lists={ROW_GROUPS: {_COLUMNS: {}}})
        self.groups = [[Chunk(fields) for fields in group[_COLUMNS].structs or ()] for group in row_groups(self.footer)]
        chunks = [chunk for group in self.groups for chunk in group]
        self._parts = [file[len(MAGIC) : max((chunk.end for chunk in chunks), default=0)]]
        self._end = offset + len(self._parts[0])
        for chunk in chunks:
            chunk.move(self._shift)
            self._move_index(chunk.fields, _COLUMN_INDEX, _COLUMN_INDEX_SIZE, lambda raw: raw)
            self._move_index(chunk.fields, _OFFSET_INDEX, _OFFSET_INDEX_SIZE, self._moved_pages)
        self.body = b"".join(self._parts)

    def _move_index(self, chunk: Struct, at: int, size: int, change: Callable[[bytes], bytes]) -> None:
        if at not in chunk:
            return
        start = integer(chunk[at])
        raw = change(self._file[start : start + integer(chunk[size])])
        chunk[at] = with_integer(chunk[at], self._end)
        chunk[size] = with_integer(chunk[size], len(raw))
        self._parts.append(raw)
        self._end += len(raw)

    def _moved_pages(self, raw: bytes) -> bytes:
        index, _ = read_struct(raw, lists={_PAGES: {}})
        for page in index[_PAGES].structs or ():
            page[_PAGE_OFFSET] = _shifted(page[_PAGE_OFFSET], self._shift)
        return write_struct(index)


def footer_of(file: bytes) -> bytes:
    """The footer of a whole file."""
    end = len(file) - LENGTH - len(MAGIC)
    return file[end - int.from_bytes(file[end : end + LENGTH], "little") : end]


def _shifted(value: Value, shift: int) -> Value:
    """An offset in the new file; 0 stands for none."""
    at = integer(value)
    return with_integer(value, at + shift) if at else value
