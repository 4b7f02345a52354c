"""A log that is still being written: its last line may be torn, and its last file may have no end yet.

Only what is unfinished is left out. A bad line with others after it was not cut short by the end of the file, and is an
error as ever.
"""

from __future__ import annotations

import gzip
from dataclasses import replace
from typing import TYPE_CHECKING

from grpo_cli.errors import InputError
from grpo_cli.logs.jsonl.blocks import blocks
from grpo_cli.logs.jsonl.lines import Bad, record
from grpo_cli.logs.rollouts import format_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from grpo_cli.logs.files.source import Found, LogFile
    from grpo_cli.logs.format import OnBadLine, Records, Want

_PARQUET_ENDS = (b"PAR1", b"PARE")
_PIECE = 1 << 20


def finished(found: Found) -> Found:
    """The files without those that have no end yet: Parquet without a footer, a cut compressed file.

    Raises:
        InputError: none has.
    """
    files = tuple(file for file in found.files if _is_whole(file))
    left_out = [file.name for file in found.files if file not in files]
    if not files:
        raise InputError("still being written: there is nothing to read yet", file=left_out[0])
    return replace(
        found, files=files, notes=(*found.notes, *(f"left out {name}: still being written" for name in left_out))
    )


def read_live(file: LogFile, wants: Mapping[str, Want], on_bad_line: OnBadLine) -> tuple[Records, str | None]:
    """The wanted fields of every record, and a note where the last line is unfinished and was left out.

    Raises:
        InputError: another line is bad.
    """
    if on_bad_line == "skip":
        return format_of(file).read(file, wants, on_bad_line), None
    records = format_of(file).read(file, wants, "skip")
    if not records.bad:
        return records, None
    if len(records.bad) > 1 or not _ends_torn(file):
        return format_of(file).read(file, wants, "error"), None
    (number,) = records.bad
    records.bad = []
    return records, f"left out line {number} of {file.name}: the last one, and unfinished"


def _is_whole(file: LogFile) -> bool:
    if file.format == "parquet":
        with file.path.open("rb") as stream:
            size = stream.seek(0, 2)
            stream.seek(max(size - 4, 0))
            return size >= 12 and stream.read() in _PARQUET_ENDS
    match file.compression:
        case None:
            return True
        case "gzip":
            return _unpacks_gzip(file)
        case "zstd":
            return _unpacks_zstd(file)


def _unpacks_gzip(file: LogFile) -> bool:
    try:
        with gzip.open(file.path) as stream:
            while stream.read(_PIECE):
                pass
    except EOFError:
        return False
    except OSError:  # damaged: the reader says how
        return True
    return True


def _unpacks_zstd(file: LogFile) -> bool:
    import pyarrow as pa

    try:
        with pa.CompressedInputStream(pa.OSFile(str(file.path)), "zstd") as stream:
            while stream.read(_PIECE):
                pass
    except OSError as error:
        return "truncated" not in str(error).lower()
    return True


def _ends_torn(file: LogFile) -> bool:
    """Whether the last line has no end, and is the beginning of something."""
    last = b""
    for block in blocks(file):
        last = block.lines()[-1]
    found = record(last)
    return not last.endswith(b"\n") and isinstance(found, Bad) and found.torn
