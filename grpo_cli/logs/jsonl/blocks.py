"""The bytes of a JSONL file in blocks of whole lines, and a stream to write them: plain, gzip, zstd.

A block knows where it begins (offset in the uncompressed bytes, number of its first line), so that every
reader built on it can name a line. Memory is bounded by a block, or by the longest line where that is longer.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO, Protocol, cast

from grpo_cli.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from grpo_cli.logs.files.source import Compression, LogFile

BLOCK = 4 << 20
"""Bytes of a block: more makes the kernel map new memory for each, less makes the fixed costs of a block show."""

LEAST = 1 << 16
"""Bytes of a block below which Python is as fast as Polars."""

GZIP_LEVEL = 6
_ZSTD_BUFFER = 1 << 20


@dataclass(frozen=True, slots=True)
class Block:
    """Whole lines of a file; only the file's last line may lack its newline."""

    data: bytes
    offset: int
    """Where `data` begins in the uncompressed file."""
    line: int
    """The number of its first line, from 1."""
    height: int
    """How many lines it has."""

    @classmethod
    def of(cls, data: bytes, offset: int = 0, line: int = 1) -> Block:
        """The block of these lines."""
        return cls(data, offset, line, data.count(b"\n") + (not data.endswith(b"\n") if data else 0))

    def lines(self) -> list[bytes]:
        r"""Its lines, each with its `\n` where it has one."""
        return io.BytesIO(self.data).readlines()

    def __iter__(self) -> Iterator[bytes]:
        """Its lines, one at a time."""
        return iter(io.BytesIO(self.data))


class Sink(Protocol):
    """What blocks are written to."""

    def write(self, data: bytes, /) -> int | None:
        """Write all of `data`."""


def blocks(file: LogFile, size: int = BLOCK) -> Iterator[Block]:
    """The blocks of `file`, the next one being read and decompressed while one is in use.

    Raises:
        InputError: the file cannot be opened or read, or its compressed data is damaged or ends early.
    """
    return _ahead(_blocks(file, size))


def _blocks(file: LogFile, size: int) -> Iterator[Block]:
    offset, line = 0, 1
    with _faults(file), contextlib.ExitStack() as stack:
        stream = _opened(file, stack)
        whole_lines = _at_places if file.compression is None and stream.seekable() else _in_sequence
        for data in whole_lines(stream, size):
            block = Block.of(data, offset, line)
            yield block
            file.passed(len(data), block.height)
            offset += len(data)
            line += block.height


def _in_sequence(stream: BinaryIO, size: int) -> Iterator[bytes]:
    while data := stream.read(size):
        yield data if data.endswith(b"\n") else data + stream.readline()


def _at_places(stream: BinaryIO, size: int) -> Iterator[bytes]:
    """The same, but the end of a block is looked for first: its bytes are then read into one piece of memory."""
    start = 0
    while True:
        stream.seek(start + size - 1)
        stream.readline()
        end = stream.tell()
        stream.seek(start)
        if not (data := stream.read(end - start)):
            return
        yield data
        start += len(data)


def _opened(file: LogFile, stack: contextlib.ExitStack) -> BinaryIO:
    """The uncompressed bytes of `file`."""
    raw = stack.enter_context(file.path.open("rb"))
    match file.compression:
        case None:
            return raw
        case "gzip":
            return cast("BinaryIO", stack.enter_context(gzip.GzipFile(fileobj=raw)))
        case "zstd":
            import pyarrow as pa

            stream = pa.CompressedInputStream(pa.PythonFile(raw, mode="r"), "zstd")
            return cast("BinaryIO", stack.enter_context(io.BufferedReader(stream, _ZSTD_BUFFER)))


@contextlib.contextmanager
def _faults(file: LogFile) -> Iterator[None]:
    """Say what is wrong with a file in our words."""
    try:
        yield
    except EOFError:
        raise _cut(file) from None
    except (gzip.BadGzipFile, zlib.error) as error:
        raise InputError(f"damaged gzip data ({error})", file=file.name) from None
    except OSError as error:
        if file.compression == "zstd" and error.errno is None:
            if "truncated" in str(error).lower():
                raise _cut(file) from None
            raise InputError(f"damaged zstd data ({error})", file=file.name) from None
        raise InputError(f"cannot be read ({error.strerror or error})", file=file.name) from None


def _cut(file: LogFile) -> InputError:
    return InputError(
        "compressed data ends early",
        file=file.name,
        hint="the file is still being written, or was not copied whole",
    )


def _ahead(blocks: Iterator[Block]) -> Iterator[Block]:
    first = next(blocks, None)
    if first is None:
        return
    second = next(blocks, None)
    if second is None:  # one block: no thread is worth its start
        yield first
        return
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1, thread_name_prefix="read-ahead") as pool:
        waiting = pool.submit(next, blocks, None)
        yield first
        block: Block | None = second
        while block is not None:
            yield block
            block = waiting.result()
            waiting = pool.submit(next, blocks, None)


@contextlib.contextmanager
def packed(target: BinaryIO, compression: Compression | None) -> Iterator[Sink]:
    """A stream into `target` that compresses. `target` stays open.

    The same input gives the same bytes: no time and no name in the gzip header.
    """
    match compression:
        case None:
            yield target
        case "gzip":
            with gzip.GzipFile(filename="", mode="wb", compresslevel=GZIP_LEVEL, fileobj=target, mtime=0) as stream:
                yield stream
        case "zstd":
            import pyarrow as pa

            with pa.CompressedOutputStream(pa.PythonFile(_KeptOpen(target), mode="w"), "zstd") as stream:
                yield stream


class _KeptOpen:
    """A binary file that pyarrow may close without closing the one behind it."""

    def __init__(self, target: BinaryIO) -> None:
        self._target = target
        self.closed = False

    def write(self, data: bytes) -> int:
        return self._target.write(data)

    def flush(self) -> None:
        self._target.flush()

    def close(self) -> None:
        self.closed = True


def numbered(blocks: Iterable[Block]) -> Iterator[tuple[int, bytes]]:
    """Each line with its number, blank ones too."""
    for block in blocks:
        yield from enumerate(block, block.line)
