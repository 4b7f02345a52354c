from __future__ import annotations

import gzip
import io
import os
import sys
import threading

import pytest

from grpo_cli.errors import InputError, UsageError
from grpo_cli.logs.files import source
from grpo_cli.logs.files.source import find, natural, split_suffixes

LINE = b'{"prompt_id": "a", "reward": 1}\n'


def written(folder, name, data=LINE):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def test_natural_order_counts_numbers():
    assert sorted(["10.jsonl", "2.jsonl", "1.jsonl", "a.jsonl"], key=natural) == [
        "1.jsonl",
        "2.jsonl",
        "10.jsonl",
        "a.jsonl",
    ]


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("a.jsonl", ("a", ".jsonl")),
        ("a.b.jsonl.gz", ("a.b", ".jsonl.gz")),
        ("a.parquet", ("a", ".parquet")),
        ("a.PARQUET", ("a", ".PARQUET")),
        ("log", ("log", "")),
        ("log.gz", ("log", ".gz")),
        ("log.txt", ("log.txt", "")),
    ],
)
def test_split_suffixes(name, parts):
    assert split_suffixes(name) == parts


def test_the_first_bytes_tell_the_format_and_not_the_name(tmp_path):
    plain = written(tmp_path, "liar.jsonl.gz")
    packed = written(tmp_path, "liar.jsonl", gzip.compress(LINE))
    (file,) = find([str(plain)]).files
    assert (file.format, file.compression) == ("jsonl", None)
    (file,) = find([str(packed)]).files
    assert (file.format, file.compression) == ("jsonl", "gzip")


def test_a_folder_is_searched_in_natural_order_without_what_is_no_log(tmp_path):
    for name in (
        "step_10/r.jsonl",
        "step_2/r.jsonl",
        ".hidden.jsonl",
        ".cache/x.jsonl",
        "notes.txt",
        "step_2/r.jsonl.tmp",
    ):
        written(tmp_path, name)
    files = find([str(tmp_path)]).files
    assert [str(file.relative) for file in files] == ["step_2/r.jsonl", "step_10/r.jsonl"]
    assert files[0].name == str(tmp_path / "step_2/r.jsonl")


def test_a_folder_leaves_out_what_an_earlier_run_wrote_and_says_so(tmp_path):
    written(tmp_path, "a.jsonl")
    written(tmp_path, "a.advantages.jsonl")
    written(tmp_path, "alone.advantages.jsonl")
    found = find([str(tmp_path)])
    assert [str(file.relative) for file in found.files] == ["a.jsonl", "alone.advantages.jsonl"]
    assert found.notes == (f"{tmp_path}: left out a.advantages.jsonl written by an earlier run (*.advantages.*)",)


def test_globs_and_files_keep_the_order_they_are_named_in(tmp_path):
    for name in ("b.jsonl", "a10.jsonl", "a9.jsonl"):
        written(tmp_path, name)
    files = find([str(tmp_path / "b.jsonl"), str(tmp_path / "a*.jsonl")]).files
    assert [file.path.name for file in files] == ["b.jsonl", "a9.jsonl", "a10.jsonl"]


def test_a_name_with_glob_signs_that_exists_is_a_file(tmp_path):
    path = written(tmp_path, "run[1].jsonl")
    assert find([str(path)]).files[0].path == path


def test_one_file_named_twice_is_read_once(tmp_path):
    path = written(tmp_path, "a.jsonl")
    (tmp_path / "link.jsonl").symlink_to(path)
    found = find([str(path), str(tmp_path / "link.jsonl")])
    assert len(found.files) == 1
    assert "is the same file as" in found.notes[0]


def test_standard_input_and_pipes_are_read_through_a_file_that_is_taken_away(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(LINE)))
    (file,) = find(["-"]).files
    assert file.is_stdin
    assert file.path.read_bytes() == LINE
    source.remove_spooled()
    assert not file.path.exists()

    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    thread = threading.Thread(target=lambda: pipe.write_bytes(LINE))
    thread.start()
    (file,) = find([str(pipe)]).files
    thread.join()
    assert file.path.read_bytes() == LINE
    source.remove_spooled()


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "empty"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "a Git LFS pointer"),
        (b"PK\x03\x04....", "a zip archive"),
        (b"\x80\x02}q\x00.", "a Python pickle"),
        (b"<!DOCTYPE html>\n<html>", "an HTML page"),
        (b"SQLite format 3\0", "an SQLite database"),
        (b"\xff\xfe{\0", "UTF-16"),
        (b'{"a": 1}\0\0\0', "binary data"),
        (b"\x00\x01\x02", "binary data"),
        (b'{\n  "a": 1\n}\n', "spread over several lines"),
    ],
)
def test_what_is_no_log_is_named_for_what_it_is(tmp_path, data, said):
    path = written(tmp_path, "x.jsonl", data)
    with pytest.raises(InputError) as caught:
        find([str(path)])
    assert caught.value.message.startswith(f"{path}: ")
    assert said in caught.value.message


def test_a_json_array_is_refused_with_the_way_to_make_lines_of_it(tmp_path):
    path = written(tmp_path, "x.json", b'[\n{"a": 1}\n]')
    with pytest.raises(InputError, match="one JSON array") as caught:
        find([str(path)])
    assert "jq -c '.[]'" in caught.value.hint


def test_a_parquet_name_on_something_else_is_refused(tmp_path):
    path = written(tmp_path, "x.parquet", LINE)
    with pytest.raises(InputError, match="not a Parquet file"):
        find([str(path)])


def test_what_is_not_there_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"absent\.jsonl: no such file"):
        find([str(tmp_path / "absent.jsonl")])
    with pytest.raises(UsageError, match="no file matches"):
        find([str(tmp_path / "*.jsonl")])
    with pytest.raises(UsageError, match="no log in this folder"):
        find([str(tmp_path)])
    (tmp_path / "dangling.jsonl").symlink_to(tmp_path / "gone")
    with pytest.raises(InputError, match="a symbolic link to nothing"):
        find([str(tmp_path / "dangling.jsonl")])
