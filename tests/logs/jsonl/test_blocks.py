from __future__ import annotations

import gzip
import threading
import zlib
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grpo_cli.errors import InputError
from grpo_cli.logs.files.source import LogFile
from grpo_cli.logs.jsonl.blocks import Block, blocks, numbered, packed

LINES = b"".join(b'{"n": %d, "text": "%s"}\n' % (n, b"x" * (n % 97)) for n in range(3000))


def zstd_of(data: bytes) -> bytes:
    return pa.compress(data, codec="zstd", asbytes=True)


@settings(deadline=None)
@given(st.binary(max_size=200).map(lambda b: b.replace(b"\0", b"\n")), st.integers(1, 50))
def test_blocks_are_whole_lines_that_join_to_the_file(tmp_path_factory, data, size):
    path = tmp_path_factory.getbasetemp() / "generated"
    path.write_bytes(data)
    found = list(blocks(LogFile(path, "x", "jsonl", None, Path("x")), size))
    assert b"".join(block.data for block in found) == data
    assert all(block.data.endswith(b"\n") for block in found[:-1])
    for block in found:
        assert data[block.offset :].startswith(block.data)
        assert block.line == data[: block.offset].count(b"\n") + 1
        assert b"".join(block.lines()) == block.data


def test_lines_are_numbered_from_one_and_blank_ones_count(log):
    file = log(b"a\n\nb\r\nc")
    assert list(numbered(blocks(file))) == [(1, b"a\n"), (2, b"\n"), (3, b"b\r\n"), (4, b"c")]
    assert Block.of(b"").lines() == []


@pytest.mark.parametrize("size", [100, 5000, 1 << 20])
def test_compressed_files_of_one_and_of_several_members(log, size):
    members = [LINES[:12345], LINES[12345:]]
    for compression, compressed in [
        ("gzip", gzip.compress(LINES)),
        ("gzip", b"".join(map(gzip.compress, members))),
        ("zstd", zstd_of(LINES)),
        ("zstd", b"".join(map(zstd_of, members))),
    ]:
        assert b"".join(block.data for block in blocks(log(compressed, compression), size)) == LINES


def test_an_empty_file_has_no_blocks(log):
    assert list(blocks(log(b""))) == []
    assert list(blocks(log(gzip.compress(b""), "gzip"))) == []


@pytest.mark.parametrize("compression", ["gzip", "zstd"])
@pytest.mark.parametrize("left", [3, 11, 0.5, -9, -1])
def test_a_compressed_file_that_is_cut_short_is_an_error(log, compression, left):
    packed = gzip.compress(LINES) if compression == "gzip" else zstd_of(LINES)
    cut = packed[: int(len(packed) * left)] if isinstance(left, float) else packed[:left]
    with pytest.raises(InputError, match=r"log.jsonl: compressed data ends early"):
        list(blocks(log(cut, compression), 1000))


@pytest.mark.parametrize("compression", ["gzip", "zstd"])
def test_damaged_compressed_data_is_an_error(log, compression):
    packed = bytearray(gzip.compress(LINES) if compression == "gzip" else zstd_of(LINES))
    for bad in (bytes(packed) + b"garbage", b"not compressed at all"):
        with pytest.raises(InputError, match=rf"log.jsonl: damaged {compression} data"):
            list(blocks(log(bad, compression)))


def test_a_missing_file_and_a_folder_are_errors(log):
    file = log(b"")
    file.path.unlink()
    with pytest.raises(InputError, match=r"log.jsonl: cannot be read .No such file"):
        list(blocks(file))
    file.path.mkdir()
    with pytest.raises(InputError, match=r"log.jsonl: cannot be read .Is a directory"):
        list(blocks(file))


def test_a_reader_that_stops_early_leaves_no_thread_behind(log):
    before = threading.active_count()
    some = blocks(log(LINES), 1000)
    next(some)
    next(some)
    some.close()
    assert threading.active_count() == before


@pytest.mark.parametrize("compression", [None, "gzip", "zstd"])
def test_what_is_packed_reads_back_and_is_reproducible(log, written, compression):
    def write(target):
        with packed(target, compression) as sink:
            for at in range(0, len(LINES), 1000):
                sink.write(LINES[at : at + 1000])

    data = written(write)
    assert data == written(write)
    if compression == "gzip":
        assert data[3] == 0, "no file name in the header"
        assert data[4:8] == bytes(4), "no time in the header"
        assert zlib.decompress(data, 31) == LINES
    if compression:
        assert len(data) < len(LINES) / 4
    assert b"".join(block.data for block in blocks(log(data, compression))) == LINES
