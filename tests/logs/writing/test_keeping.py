"""From a verdict a rollout to records that stay, and to the files that hold them."""

from __future__ import annotations

import polars as pl
import pytest

from grpo_cli.errors import InputError
from grpo_cli.logs.files.source import find
from grpo_cli.logs.layouts.reading import Asked
from grpo_cli.logs.opening import Selection, open_log
from grpo_cli.logs.writing.keeping import kept_records, write_kept
from grpo_cli.logs.writing.output import plan


@pytest.fixture
def write(tmp_path):
    def make(name: str, *lines: str) -> str:
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines))
        return str(tmp_path / name)

    return make


def masks(log, kept: list[bool]) -> list[list[bool]]:
    return [one.mask.to_list() for one in kept_records(log, pl.Series(kept, dtype=pl.Boolean))]


def test_a_record_a_rollout(write):
    one = write("1.jsonl", '{"uid": "a", "reward": 1}', '{"uid": "b", "reward": 0}')
    two = write("2.jsonl", '{"uid": "a", "reward": 0}')
    log = open_log(find([one, two]), Asked(group_by=["uid"]))
    assert masks(log, [True, False, True]) == [[True, False], [True]]


def test_rollouts_of_other_steps_do_not_stay(write):
    lines = [f'{{"uid": "a", "step": {step}, "reward": 1}}' for step in (1, 2, 1, 3)]
    log = open_log(find([write("x.jsonl", *lines)]), Asked(group_by=["uid"]), Selection(steps="1:2"))
    assert masks(log, [True, False, True]) == [[True, False, True, False]]


def test_a_record_of_several_rollouts_stays_whole_or_goes(write):
    path = write("x.jsonl", '{"uid": "a", "s": [1, 0]}', '{"uid": "b", "s": []}', '{"uid": "c", "s": [1]}')
    log = open_log(find([path]), Asked(group_by=["uid"], reward=["s[]"]))
    assert masks(log, [True, True, False]) == [[True, False, False]]
    with pytest.raises(InputError, match=r"x.jsonl:1: this record holds rollouts of several groups"):
        masks(log, [True, False, True])


def test_a_file_of_which_nothing_stays_is_written_only_where_that_is_wanted(write, tmp_path):
    paths = [write(f"{at}.jsonl", f'{{"uid": "{at}", "reward": 1}}') for at in (1, 2)]
    found = find(paths)
    kept = kept_records(open_log(found, Asked(group_by=["uid"])), pl.Series([False, True]))
    targets = plan(found.files, output=f"{tmp_path}/out/", word="filtered")
    assert [target.path.name for target in write_kept(kept, targets)] == ["2.jsonl"]
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["2.jsonl"]
    targets = plan(found.files, output=f"{tmp_path}/all/", word="filtered")
    assert len(write_kept(kept, targets, empty=True)) == 2
    assert (tmp_path / "all/1.jsonl").read_bytes() == b""
