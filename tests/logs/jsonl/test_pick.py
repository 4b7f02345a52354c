from __future__ import annotations

import gzip

import polars as pl
import pytest

from grpo_cli.errors import InputError
from grpo_cli.logs.fields import Field
from grpo_cli.logs.format import Kind, Want
from grpo_cli.logs.jsonl import fast, pick
from grpo_cli.logs.jsonl.reference import records

FILES = {
    "plain": b'{"a": 1}\n{"a": 2}\n{"a": 3}\n{"a": 4}\n',
    "no final newline": b'{"a": 1}\n{"a": 2}\n{"a": 3}',
    "blank lines": b'\n{"a": 1}\n\n  \t\n{"a": 2}\n{}\n\n',
    "indented": b'  {"a": 1}\n\t{"a": 2}\n',
    "bad lines": b'bad\n{"a": 1}\n[1, 2]\n{"a": 2}\n{"a": 3, "b\n',
    "bad at the end": b'{"a": 1}\n{"a": 2}\n{"a": 3, "b',
    "byte-order mark": b'\xef\xbb\xbf{"a": 1}\n{"a": 2}\n',
    "carriage returns": b'{"a": 1}\r\n\r\n{"a": 2}\r\nbad\r\n{"a": 3}\r\n',
    "one line with a carriage return": b'{"a": 1}\n{"a": 2}\r\n{"a": 3}\n',
    "not UTF-8": b'{"a": 1}\n{"a": "\xff"}\n{"a": 2}\n',
    "other letters": '{"a": "é🎉"}\n{"a": "\u2028"}\n'.encode(),
}


@pytest.fixture(params=["read before", "not read before", "packed"])
def file_of(request, log):
    """A file that holds the given bytes."""

    def make(data: bytes):
        packed = request.param == "packed"
        file = log(gzip.compress(data), "gzip") if packed else log(data)
        if request.param != "not read before":
            fast.read(file, {"a": Want(Field.parse("a"), Kind.JSON)}, "skip")
        return file

    return make


@pytest.mark.parametrize("name", FILES)
def test_the_same_records_and_lines_as_the_reference(file_of, name):
    file = file_of(FILES[name])
    every = list(records(file))
    for wanted in ([at for at in range(len(every)) if at % 2], list(range(len(every))), [len(every) - 1]):
        found = pick.picked(file, wanted, [Field.parse("a")])
        assert [(line, values[0]) for line, values in found] == [
            (every[at][0], Field.parse("a").of(every[at][1])) for at in wanted
        ]


@pytest.mark.parametrize("name", FILES)
def test_the_same_bytes_are_kept_as_by_the_reference(file_of, written, name):
    file = file_of(FILES[name])
    lines = gzip.decompress(file.path.read_bytes()) if file.compression else FILES[name]
    lines = [line + b"\n" for line in lines.split(b"\n")]
    lines[-1] = lines[-1][:-1]
    numbers = [number for number, _ in records(file)]
    for chosen in range(2 ** len(numbers)):
        mask = [bool(chosen >> at & 1) for at in range(len(numbers))]
        gone = {number for number, stays in zip(numbers, mask, strict=True) if not stays}
        expected = b"".join(line for number, line in enumerate(lines, 1) if number not in gone)
        mask = pl.Series(mask, dtype=pl.Boolean)
        assert written(lambda target, mask=mask: pick.keep(file, target, mask)) == expected


def test_one_record_may_be_wanted_twice_and_none_at_all(file_of):
    file = file_of(FILES["plain"])
    assert pick.picked(file, [1, 1, 3], [Field.parse("a")]) == [(2, [2]), (2, [2]), (4, [4])]
    assert pick.picked(file, [], [Field.parse("a")]) == []


def test_a_file_that_does_not_hold_them_is_an_error(file_of, written):
    file = file_of(FILES["plain"])
    for rows in (3, 5):
        with pytest.raises(InputError, match="changed while it was read"):
            written(lambda target, rows=rows: pick.keep(file, target, pl.Series([True] * rows)))
    with pytest.raises(InputError, match="changed while it was read"):
        pick.picked(file, [4], [])


def test_a_file_that_changed_after_it_was_read_is_read_anew(log):
    file = log(FILES["plain"])
    fast.read(file, {"a": Want(Field.parse("a"), Kind.JSON)}, "skip")
    file.path.write_bytes(b"bad\n" + FILES["plain"])
    assert pick.picked(file, [0], [Field.parse("a")]) == [(2, [1])]
