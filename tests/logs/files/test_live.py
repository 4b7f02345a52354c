"""What is left out of a log that is still being written, and what is not."""

from __future__ import annotations

import gzip
from pathlib import PurePath

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from grpo_cli.errors import InputError
from grpo_cli.logs.fields import Field
from grpo_cli.logs.files.live import finished, read_live
from grpo_cli.logs.files.source import Found, LogFile
from grpo_cli.logs.format import Kind, Want

WANTS = {"r": Want(Field.parse("r"), Kind.NUMBER)}
WHOLE = b'{"r": 1}\n{"r": 0}\n'


@pytest.fixture
def file(tmp_path):
    def make(data: bytes, kind="jsonl", compression=None, name="log") -> LogFile:
        (tmp_path / name).write_bytes(data)
        return LogFile(tmp_path / name, name, kind, compression, PurePath(name))

    return make


@pytest.mark.parametrize("tail", [b"{", b'{"r": 1', b'{"r": "\xc3', b'{"r": 1}, ', b"\x00\x00"])
def test_a_torn_last_line_is_left_out(file, tail):
    records, note = read_live(file(WHOLE + tail), WANTS, "error")
    assert records.frame["r"].to_list() == [1, 0]
    assert (records.bad, note) == ([], "left out line 3 of log: the last one, and unfinished")
    records, _ = read_live(file(gzip.compress(WHOLE + tail), compression="gzip"), WANTS, "error")
    assert records.frame.height == 2


def test_a_whole_last_line_counts_with_or_without_its_end(file):
    for data in (WHOLE, WHOLE[:-1]):
        records, note = read_live(file(data), WANTS, "error")
        assert (records.frame.height, note) == (2, None)


@pytest.mark.parametrize(
    "data",
    [
        b'{"r": 1\n' + WHOLE,  # torn, and then glued over
        WHOLE + b'{"r": 1\n',  # it has its end, so it will not get better
        b"bad\n" + WHOLE + b'{"r',
        WHOLE + b"[1]",  # whole, and no record
    ],
)
def test_any_other_bad_line_is_an_error(file, data):
    with pytest.raises(InputError):
        read_live(file(data), WANTS, "error")


def test_files_without_an_end_are_left_out(file, tmp_path):
    pq.write_table(pa.table({"r": list(range(1000))}), tmp_path / "whole.parquet")
    data = (tmp_path / "whole.parquet").read_bytes()
    packed = gzip.compress(WHOLE * 500)
    zstd = pa.compress(WHOLE * 5000, codec="zstd", asbytes=True)
    whole = [
        file(data, "parquet", name="a"),
        file(WHOLE, name="b"),
        file(packed, compression="gzip", name="c"),
        file(zstd, compression="zstd", name="d"),
    ]
    cut = [
        file(data[:-5], "parquet", name="e"),
        file(packed[:-20], compression="gzip", name="f"),
        file(zstd[:-9], compression="zstd", name="g"),
        file(b"PAR1", "parquet", name="h"),
    ]
    found = finished(Found((*whole, *cut), ("said before",)))
    assert list(found.files) == whole
    assert found.notes == ("said before", *(f"left out {name}: still being written" for name in "efgh"))
    with pytest.raises(InputError, match="e: still being written"):
        finished(Found(tuple(cut), ()))
