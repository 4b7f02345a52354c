"""The fast way of adding columns to a Parquet file: its own bytes are copied, new pages and a new footer follow.

    PAR1 | column chunks, page indexes, bloom filters, as they are | new column chunks | new footer | its length | PAR1

Nothing of the file is decoded, so it takes about as long as copying the file, and what is in it cannot change. The new
columns are encoded by pyarrow into a small file of their own with the same row groups, out of which they are lifted.
"""

from __future__ import annotations

import errno
import os
import stat
from itertools import groupby
from typing import TYPE_CHECKING, BinaryIO, Final

import pyarrow as pa
import pyarrow.parquet as pq

from grpo_cli.errors import InputError
from grpo_cli.logs.parquet.footer import LENGTH, MAGIC, CannotAppendError, Lifted, join, parse
from grpo_cli.logs.parquet.metadata import arrow_schema, told
from grpo_cli.logs.parquet.opened import faults, opened
from grpo_cli.logs.parquet.rewrite import check_names, check_rows, codec_of, table_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import polars as pl

    from grpo_cli.logs.files.source import LogFile

_COPY: Final = 64 << 20
"""Bytes that the kernel copies in one call: an interruption waits for it to end."""
_BUFFER: Final = 1 << 20

_NO_KERNEL_COPY: Final = {errno.EXDEV, errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP, errno.EBADF, errno.EPERM}


def append(file: LogFile, target: BinaryIO, columns: pl.DataFrame, metadata: Mapping[str, str]) -> str | None:
    """Write `file` to `target` with `columns` (a row a row) as its last columns; `metadata` goes under `grpo-adv`.

    Returns:
        None; or why it cannot be done this way, and then nothing has been written.

    Raises:
        InputError: the file is at fault.
        OutputError: a column has the name of one that is there.
        OSError: `target` cannot be written.
    """
    with opened(file) as source:
        check_rows(source, columns.height)
        check_names(source, columns, replace=False)
        groups = source.parquet.metadata
        sizes = [groups.row_group(group).num_rows for group in range(groups.num_row_groups)]
        key_values = groups.metadata or {}
        names = [*source.parquet.schema_arrow.names, *columns.columns]
        length, footer, chunks = source.end, source.footer, source.chunks
    small = _encoded(columns, sizes, codec_of(chunks), page_index=any(chunk.page_index for chunk in chunks))
    try:
        lifted = Lifted(small, length)
        joined = join(parse(footer), lifted, told(key_values, columns, metadata))
        _check(joined, names, columns.height)
    except CannotAppendError as reason:
        return str(reason)
    copy(file, target, length)
    target.writelines((lifted.body, joined, len(joined).to_bytes(LENGTH, "little"), MAGIC))
    return None


def copy(file: LogFile, target: BinaryIO, length: int) -> None:
    """Write the first `length` bytes of `file` to `target`, in the kernel where both are files on a disk.

    Raises:
        InputError: the file is shorter.
        OSError: `target` cannot be written.
    """
    with faults(file):
        source = file.path.open("rb", buffering=0)
    with source:
        at = _copied_by_kernel(file, source.fileno(), target, length)
        if at:
            source.seek(at)
        while at < length:
            with faults(file):
                piece = source.read(min(_BUFFER, length - at))
            if not piece:
                raise InputError("became shorter while it was copied", file=file.name)
            target.write(piece)
            at += len(piece)
            file.passed(len(piece), 0)


def _copied_by_kernel(file: LogFile, source: int, target: BinaryIO, length: int) -> int:
    """How many bytes could be copied without passing through this program."""
    try:
        descriptor = target.fileno()
    except (OSError, AttributeError):  # not a file at all
        return 0
    if not hasattr(os, "copy_file_range") or not stat.S_ISREG(os.fstat(descriptor).st_mode):
        return 0
    target.flush()
    at = 0
    while at < length:
        try:
            copied = os.copy_file_range(source, descriptor, min(_COPY, length - at), offset_src=at)
        except OSError as error:
            if error.errno not in _NO_KERNEL_COPY:
                raise
            break
        if copied == 0:
            break
        at += copied
        file.passed(copied, 0)
    target.seek(0, os.SEEK_CUR)  # a buffered stream must learn that its file has moved on
    return at


def _encoded(columns: pl.DataFrame, sizes: Sequence[int], codec: str, *, page_index: bool) -> bytes:
    """A Parquet file of nothing but `columns`, in row groups of these sizes."""
    sink = pa.BufferOutputStream()
    with pq.ParquetWriter(
        sink, arrow_schema(columns), compression=codec, write_page_index=page_index, store_schema=False
    ) as writer:
        row = 0
        for size, count in _runs(sizes):
            writer.write_table(table_of(columns.slice(row, size * count)), row_group_size=max(size, 1))
            row += size * count
    return bytes(sink.getvalue())


def _runs(sizes: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Sizes that follow one another alike, with their number: pyarrow makes those row groups in one call."""
    for size, run in groupby(sizes):
        count = len(list(run))
        if size:
            yield size, count
        else:
            yield from [(0, 1)] * count


def _check(footer: bytes, names: Sequence[str], rows: int) -> None:
    """Read the new footer as any reader would, before anything is written."""
    end = MAGIC + footer + len(footer).to_bytes(LENGTH, "little") + MAGIC
    try:
        metadata = pq.read_metadata(pa.BufferReader(end))
        fits = metadata.num_rows == rows and metadata.schema.to_arrow_schema().names == names
    except (pa.ArrowException, OSError):
        fits = False
    if not fits:
        raise CannotAppendError("its footer is of an unknown kind")
