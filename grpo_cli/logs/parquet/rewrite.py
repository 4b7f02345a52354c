"""The careful way of writing a Parquet file back: pyarrow decodes and encodes it, row group by row group.

It serves where column chunks cannot be copied: rows are left out, or a column gives way to another. Kept are values,
types, row-group sizes, key-value and field metadata, and for each column its codec, whether it has a dictionary,
statistics and a page index. Pages are cut anew, and a bloom filter or the level of a codec is lost.

Memory is that of one row group.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, BinaryIO, Final

import pyarrow as pa
import pyarrow.parquet as pq

from grpo_cli.errors import InputError, OutputError
from grpo_cli.logs.fields import Field
from grpo_cli.logs.parquet.chunks import INT96, Chunk
from grpo_cli.logs.parquet.metadata import arrow_schema, told
from grpo_cli.logs.parquet.opened import Opened, check_values, opened
from grpo_cli.logs.parquet.read import names

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import polars as pl

    from grpo_cli.logs.files.source import LogFile

PLAIN_CODEC: Final = "zstd"
"""The codec of a column in a file that has none yet."""

_WRITTEN_CODECS: Final = {"none", "snappy", "gzip", "zstd", "brotli", "lz4"}


def append(
    file: LogFile, target: BinaryIO, columns: pl.DataFrame, metadata: Mapping[str, str], *, replace: bool
) -> None:
    """Write `file` to `target` with `columns` (a row a row) as its last columns.

    With `replace`, a column of the same name gives way and the new one takes its place. `metadata` is stored under
    `grpo-adv`.

    Raises:
        InputError: the file is at fault.
        OutputError: a column has the name of one that is there.
        OSError: `target` cannot be written.
    """
    with opened(file) as source:
        check_rows(source, columns.height)
        check_names(source, columns, replace=replace)
        schema = source.parquet.schema_arrow
        for field in arrow_schema(columns):
            at = schema.get_field_index(field.name)
            schema = schema.append(field) if at < 0 else schema.set(at, field)
        key_values = told(source.parquet.metadata.metadata or {}, columns, metadata)
        new = schema.with_metadata(key_values)
        settings = _settings(source, new, replaced=[name for name in columns.columns if name in source.names])

    def joined() -> Iterator[pa.Table]:
        row = 0
        for table in _row_groups(file):
            added = table_of(columns.slice(row, len(table)))
            row += len(table)
            for field in added.schema:
                at = table.schema.get_field_index(field.name)
                column = added.column(field.name)
                table = table.append_column(field, column) if at < 0 else table.set_column(at, field, column)  # noqa: PLW2901 - columns are added to it
            yield table

    _write(target, new, settings, joined())


def keep(file: LogFile, target: BinaryIO, mask: pl.Series) -> None:
    """Write `file` to `target` with only the rows where `mask` is true; row groups without one are left out.

    Raises:
        InputError: the file is at fault.
        OSError: `target` cannot be written.
    """
    with opened(file) as source:
        check_rows(source, mask.len())
        schema = source.parquet.schema_arrow.with_metadata(source.parquet.metadata.metadata)
        settings = _settings(source, schema)

    def kept() -> Iterator[pa.Table]:
        row = 0
        for table in _row_groups(file):
            some = table.filter(mask.slice(row, len(table)).to_arrow())
            row += len(table)
            if len(some):
                yield some

    _write(target, schema, settings, kept())


def table_of(columns: pl.DataFrame) -> pa.Table:
    """New columns as the Arrow table that is written."""
    return columns.to_arrow().cast(arrow_schema(columns))


def check_rows(source: Opened, rows: int) -> None:
    """Raise `InputError` where the file does not have as many rows as when it was read."""
    if source.rows != rows:
        raise InputError(
            "changed while it was read", file=source.file.name, hint="run it again when nothing writes to the file"
        )


def check_names(source: Opened, columns: pl.DataFrame, *, replace: bool) -> None:
    """Raise `OutputError` where a column would come a second time."""
    for name in columns.columns:
        count = source.parquet.schema_arrow.names.count(name)
        if count and not replace:
            raise OutputError(
                f"{source.file.name} has a column {name} already",
                hint="choose another name with --column, or replace it with --force",
            )
        if count > 1:
            raise InputError(
                f"{count} columns have this name",
                file=source.file.name,
                column=name,
                hint="choose another with --column",
            )


def _row_groups(file: LogFile) -> Iterator[pa.Table]:
    """The row groups of `file`. A fault of whoever takes them is not one of the file: it is not raised in here."""
    with opened(file, [Field.named(name) for name in names(file)]) as source:
        for group in range(source.parquet.num_row_groups):
            try:
                table = source.parquet.read_row_group(group)
                check_values(table)
            except pa.ArrowNotImplementedError:  # over 2 GiB of text within lists or structs
                table = pa.Table.from_batches(source.batches(groups=[group]), source.parquet.schema_arrow)
            yield table


def _settings(source: Opened, schema: pa.Schema, replaced: list[str] | None = None) -> dict[str, Any]:
    """The options of pyarrow's writer that store `schema` the way the file is stored, going by its first row group."""
    chunks = source.chunks
    new = codec_of(chunks)
    if not chunks:
        return {"compression": new}
    old = dict(_by_field(source.parquet.schema_arrow, chunks))
    options: dict[str, Any] = {
        "compression": {},
        "use_dictionary": [],
        "write_statistics": [],
        "column_encoding": {},
        "write_page_index": any(chunk.page_index for chunk in chunks),
        "use_deprecated_int96_timestamps": any(chunk.physical_type == INT96 for chunk in chunks),
        "sorting_columns": (None if replaced else source.parquet.metadata.row_group(0).sorting_columns) or None,
    }
    for at, paths in _by_field(schema, leaf_paths(schema)):
        same = at in old and schema.field(at).name not in (replaced or ())
        for path, chunk in zip(paths, old[at] if same else [None] * len(paths), strict=True):
            options["compression"][path] = chunk.codec if chunk else new
            if chunk is None or chunk.dictionary:
                options["use_dictionary"].append(path)
            elif chunk.encoding:
                options["column_encoding"][path] = chunk.encoding
            if chunk is None or chunk.statistics:
                options["write_statistics"].append(path)
    options["column_encoding"] = options["column_encoding"] or None
    return options


def codec_of(chunks: Sequence[Chunk]) -> str:
    """The codec of a new column: the commonest one of the file, as pyarrow's writer calls it."""
    codecs = Counter(chunk.codec for chunk in chunks)
    return next((codec for codec, _ in codecs.most_common() if codec in _WRITTEN_CODECS), PLAIN_CODEC)


def _by_field(schema: pa.Schema, leaves: Sequence[Any]) -> Iterator[tuple[int, Sequence[Any]]]:
    """`leaves`, one for each leaf column of `schema`, by the number of the field that they are in."""
    start = 0
    for at, field in enumerate(schema):
        end = start + _leaf_count(field.type)
        yield at, leaves[start:end]
        start = end


def _leaf_count(kind: pa.DataType) -> int:
    if isinstance(kind, pa.BaseExtensionType):
        return _leaf_count(kind.storage_type)
    if kind.num_fields == 0 or pa.types.is_dictionary(kind):
        return 1
    return sum(_leaf_count(kind.field(index).type) for index in range(kind.num_fields))


def leaf_paths(schema: pa.Schema) -> list[str]:
    """The paths of the leaf columns that pyarrow writes for `schema`."""
    sink = pa.BufferOutputStream()
    pq.ParquetWriter(sink, schema).close()
    written = pq.ParquetFile(pa.BufferReader(sink.getvalue())).schema
    return [written.column(index).path for index in range(len(written.names))]


def _write(target: BinaryIO, schema: pa.Schema, settings: Mapping[str, Any], tables: Iterator[pa.Table]) -> None:
    # the Arrow schema that the input carries is in the metadata already, and pyarrow would write its own
    writer = pq.ParquetWriter(target, schema, store_schema=False, **settings)
    try:
        for table in tables:
            writer.write_table(table, row_group_size=max(len(table), 1))
        if schema.metadata:
            writer.add_key_value_metadata(schema.metadata)
        writer.close()
    finally:
        writer.is_open = False  # a writer that failed must not try to close, and fail again, when it is collected
