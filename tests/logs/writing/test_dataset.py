"""A training set held against the prompts of a log."""

from __future__ import annotations

import polars as pl
import pytest

from grpo_cli.errors import InputError, UsageError
from grpo_cli.logs.files.source import find
from grpo_cli.logs.writing.dataset import matched


@pytest.fixture
def train(tmp_path):
    def write(*lines: str):
        (tmp_path / "train.jsonl").write_text("".join(f"{line}\n" for line in lines))
        return find([str(tmp_path / "train.jsonl")]).files

    return write


def test_rows_of_chosen_prompts(train):
    files = train('{"uid": "b"}', '{"uid": "a", "x": 1}', '{"uid": 7}', '{"uid": "a", "x": 2}', '{"uid": "z"}', "{}")
    prompts = pl.DataFrame({"key_0": ["a", "b", "7", "c"]})
    found = matched(files, ["uid"], prompts, pl.Series([True, False, True, True]), None)
    assert found.kept[0].mask.to_list() == [False, True, True, True, False, False]
    assert (found.rows, found.stays, found.unknown, found.absent) == (6, 3, 2, 1)


def test_a_key_of_several_fields_under_other_names(train):
    files = train('{"env": "x", "n": 1}', '{"env": "y", "n": 1}')
    prompts = pl.DataFrame({"key_0": ["x", "y"], "key_1": ["1", "2"]})
    found = matched(files, ["task", "id"], prompts, pl.Series([True, True]), "env, n")
    assert found.kept[0].mask.to_list() == [True, False]
    with pytest.raises(UsageError, match="names 1 fields, and the key of the log has 2: task, id"):
        matched(files, ["task", "id"], prompts, pl.Series([True, True]), "env")


def test_chat_messages_are_one_key_however_they_are_spelled(train):
    files = train('{"prompt": [{"content": "Hi", "role": "user"}]}')
    prompts = pl.DataFrame({"key_0": ['[{"content":"Hi","role":"user"}]']})
    assert matched(files, ["prompt"], prompts, pl.Series([True]), None).stays == 1


def test_what_cannot_be_matched_is_refused(train):
    files = train('{"id": "a"}')
    prompts = pl.DataFrame({"key_0": ["x" * 100]})
    with pytest.raises(InputError, match="no field 'uid', which is the prompt's key in the log"):
        matched(files, ["uid"], prompts, pl.Series([True]), None)
    with pytest.raises(
        InputError, match=r"none of its 1 rows has a prompt of the log: it has 'a', and the log 'x{60}...'"
    ):
        matched(files, ["uid"], prompts, pl.Series([True]), "id")
    with pytest.raises(UsageError, match="no key but the step"):
        matched(files, [], pl.DataFrame({"prompt": [0]}), pl.Series([True]), None)
