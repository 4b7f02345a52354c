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
    from collections.abc import Callable, Mapping

MAGIC: Final = b"PAR1"
"""What a Parquet file begins and ends with."""

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
    """A footer, its row groups as trees.

    Raises:
        CannotAppendError: it is not one, or is of a kind to which nothing can be added.
    """
    try:
        footer, _ = read_struct(raw, lists=(ROW_GROUPS,))
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


def join(old: Struct, new: Struct, key_values: Mapping[bytes, bytes]) -> bytes:
    """The footer `old` with the columns of `new` after its own, and the entries `key_values` set.

    The two have the same row groups; the chunks of `new` are where their offsets say (see `Lifted`).
    """
    root, *own = elements(old[SCHEMA])
    _, *added = elements(new[SCHEMA])
    children = read_struct(next(elements(new[SCHEMA])))[0][_CHILDREN]
    tree = read_struct(root)[0]
    tree[_CHILDREN] = with_integer(tree[_CHILDREN], integer(tree[_CHILDREN]) + integer(children))
    joined = dict(old)
    joined[SCHEMA] = list_of(STRUCT, [write_struct(tree), *own, *added])
    groups = [_joined_group(*pair) for pair in zip(row_groups(old), row_groups(new), strict=True)]
    joined[ROW_GROUPS] = Value(LIST, structs=groups)
    joined[KEY_VALUES] = _key_values(old.get(KEY_VALUES, list_of(STRUCT, ())), key_values)
    if COLUMN_ORDERS in old:
        joined[COLUMN_ORDERS] = extended(old[COLUMN_ORDERS], elements(new[COLUMN_ORDERS]))
    return write_struct(dict(sorted(joined.items())))


def _joined_group(old: Struct, new: Struct) -> Struct:
    chunks = list(elements(new[_COLUMNS]))
    sizes = [read_struct(read_struct(chunk)[0][_META_DATA].raw)[0] for chunk in chunks]
    joined = dict(old)
    joined[_COLUMNS] = extended(old[_COLUMNS], chunks)
    for total, size in ((_GROUP_SIZE, _CHUNK_SIZE), (_GROUP_COMPRESSED, _CHUNK_COMPRESSED)):
        if total in old:
            joined[total] = with_integer(old[total], integer(old[total]) + sum(integer(meta[size]) for meta in sizes))
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


class Lifted:
    """The column chunks of a small file, to be put into another file at `offset`.

    `footer` is the footer of the small file with its offsets made right, `body` what stands at `offset`.
    """

    def __init__(self, file: bytes, footer: Struct, offset: int) -> None:
        """Move the pages and page indexes of `file` (all of it, `footer` at its end)."""
        self._file = file
        self._start = len(MAGIC)
        self._shift = offset - self._start
        chunks = [[read_struct(raw)[0] for raw in elements(group[_COLUMNS])] for group in row_groups(footer)]
        pages_end = self._end_of_pages(chunks)
        self._offset = offset
        self._parts = [file[self._start : pages_end]]
        self._size = pages_end - self._start
        moved = [
            {**group, _COLUMNS: list_of(STRUCT, [write_struct(self._moved(chunk)) for chunk in there])}
            for group, there in zip(row_groups(footer), chunks, strict=True)
        ]
        self.footer: Struct = {**footer, ROW_GROUPS: Value(LIST, structs=moved)}

    @property
    def body(self) -> bytes:
        """The pages, and their indexes after them."""
        return b"".join(self._parts)

    def _end_of_pages(self, chunks: list[list[Struct]]) -> int:
        ends = [self._start]
        for chunk in (chunk for group in chunks for chunk in group):
            meta = read_struct(chunk[_META_DATA].raw)[0]
            starts = [integer(meta[number]) for number in _PAGE_OFFSETS if number in meta]
            ends.append(min(start for start in starts if start) + integer(meta[_CHUNK_COMPRESSED]))
        return max(ends)

    def _moved(self, chunk: Struct) -> Struct:
        moved = dict(chunk)
        meta = read_struct(chunk[_META_DATA].raw)[0]
        for number in _PAGE_OFFSETS:
            if number in meta:
                meta[number] = self._shifted(meta[number])
        moved[_META_DATA] = Value(STRUCT, write_struct(meta))
        moved[_FILE_OFFSET] = self._shifted(chunk[_FILE_OFFSET])
        self._move_index(moved, _COLUMN_INDEX, _COLUMN_INDEX_SIZE, lambda raw: raw)
        self._move_index(moved, _OFFSET_INDEX, _OFFSET_INDEX_SIZE, self._shifted_pages)
        return moved

    def _move_index(self, chunk: Struct, at: int, size: int, change: Callable[[bytes], bytes]) -> None:
        if at not in chunk:
            return
        start = integer(chunk[at])
        raw = change(self._file[start : start + integer(chunk[size])])
        chunk[at] = with_integer(chunk[at], self._offset + self._size)
        chunk[size] = with_integer(chunk[size], len(raw))
        self._parts.append(raw)
        self._size += len(raw)

    def _shifted_pages(self, raw: bytes) -> bytes:
        index = read_struct(raw)[0]
        pages = [read_struct(page)[0] for page in elements(index[_PAGES])]
        for page in pages:
            page[_PAGE_OFFSET] = self._shifted(page[_PAGE_OFFSET])
        index[_PAGES] = list_of(STRUCT, map(write_struct, pages))
        return write_struct(index)

    def _shifted(self, value: Value) -> Value:
        """An offset in the new file; 0 stands for none."""
        at = integer(value)
        return with_integer(value, at + self._shift) if at else value
