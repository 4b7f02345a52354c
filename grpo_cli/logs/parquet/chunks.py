"""How the column chunks of a file are stored, as the footer says of its first row group.

pyarrow has this too, but there a damaged footer ends the whole program: `RowGroupMetaData.column` lets a C++ exception
through (seen in pyarrow 26). So it is read from the footer's bytes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from grpo_cli.logs.parquet import compact
from grpo_cli.logs.parquet.footer import ROW_GROUPS

if TYPE_CHECKING:
    from collections.abc import Sequence

BYTE_ARRAY: Final = 6
INT96: Final = 3

_CODECS: Final = ("none", "snappy", "gzip", "lzo", "brotli", "lz4", "zstd", "lz4")
_ENCODINGS: Final = {
    5: "DELTA_BINARY_PACKED",
    6: "DELTA_LENGTH_BYTE_ARRAY",
    7: "DELTA_BYTE_ARRAY",
    9: "BYTE_STREAM_SPLIT",
}
_DICTIONARY_ENCODINGS: Final = {2, 8}


@dataclass(frozen=True)
class Chunk:
    """How a column chunk is stored."""

    path: str
    """The names on the way to the leaf column, dots between them."""
    physical_type: int
    codec: str
    """As pyarrow's writer calls it."""
    encoding: str | None
    """One that is neither plain nor a dictionary."""
    values: int
    bytes: int
    """Before compression."""
    dictionary: bool
    statistics: bool
    page_index: bool


def first_chunks(footer: bytes) -> Sequence[Chunk]:
    """The chunks of the first row group; none where there is no row group, or the footer is of an unknown kind."""
    try:
        group = compact.first_of_list(footer, ROW_GROUPS)
        return [] if group is None else [_chunk(raw) for raw in compact.elements(group[1])]
    except (ValueError, LookupError, RecursionError):
        return []


def _chunk(raw: bytes) -> Chunk:
    fields, _ = compact.read_struct(raw)
    meta, _ = compact.read_struct(fields[3].raw)
    encodings = {compact.unsigned(raw) >> 1 for raw in compact.elements(meta[2])}
    names = [compact.as_bytes(compact.Value(compact.BINARY, raw)).decode() for raw in compact.elements(meta[3])]
    dictionary = 11 in meta or bool(encodings & _DICTIONARY_ENCODINGS)
    return Chunk(
        path=".".join(names),
        physical_type=compact.integer(meta[1]),
        codec=_CODECS[compact.integer(meta[4])],
        encoding=None if dictionary else next((_ENCODINGS[code] for code in encodings if code in _ENCODINGS), None),
        values=compact.integer(meta[5]),
        bytes=compact.integer(meta[6]),
        dictionary=dictionary,
        statistics=12 in meta,
        page_index=4 in fields,
    )
