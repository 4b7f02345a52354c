"""A key longer than is kept groups, is found and is shown as any other, in both formats and in every shape."""

from __future__ import annotations

import json

import polars as pl
import pytest

from grpo_cli.logs.files.source import find
from grpo_cli.logs.layouts.reading import Asked
from grpo_cli.logs.opening import Selection, open_log

LONG = [f"{name} {'is a long prompt ' * 8}" for name in ("this", "that")]
MESSAGES = [[{"role": "user", "content": text}] for text in LONG]


def log(path, records, **selection):
    if path.suffix == ".parquet":
        pl.DataFrame(records).write_parquet(path, row_group_size=3)
    else:
        path.write_text("".join(f"{json.dumps(record)}\n" for record in records))
    return open_log(find([str(path)]), Asked(group_by=["prompt"], reward=["r"], step="none"), Selection(**selection))


def rows(keys):
    return [{"prompt": key, "r": float(at)} for at, key in enumerate(keys)]


@pytest.mark.parametrize("suffix", [".jsonl", ".parquet"])
def test_texts_are_shown_whole(tmp_path, suffix):
    one, other = LONG
    groups = log(tmp_path / f"x{suffix}", rows([one, other, one, "short", other])).groups
    assert groups.named["key"].to_list() == [one, other, "short"]
    assert groups.called(pl.Series([2, 0]))["key"].to_list() == ["short", one]
    assert groups.find(other) == 1
    assert groups.find("short") == 2
    assert groups.find(groups.named["id"][1]) == 1


@pytest.mark.parametrize("suffix", [".jsonl", ".parquet"])
def test_messages_are_shown_as_canonical_json(tmp_path, suffix):
    one, other = MESSAGES
    found = log(tmp_path / f"x{suffix}", rows([one, other, one]))
    assert found.frame["group"].to_list() == [0, 1, 0]
    expected = [json.dumps(key, sort_keys=True, separators=(",", ":")) for key in (one, other)]
    assert found.groups.named["key"].to_list() == expected


def test_the_id_is_the_same_in_both_formats(tmp_path):
    ids = [log(tmp_path / f"x{suffix}", rows(LONG)).groups.named["id"].to_list() for suffix in (".jsonl", ".parquet")]
    assert ids[0] == ids[1]


def test_an_element_of_a_list_is_shown(tmp_path):
    path = tmp_path / "x.jsonl"
    one, other = LONG
    path.write_text(json.dumps({"prompts": [one, other, one], "r": [0, 1, 2]}) + "\n")
    found = open_log(find([str(path)]), Asked(group_by=["prompts[]"], reward=["r[]"], step="none"))
    assert found.frame["group"].to_list() == [0, 1, 0]
    assert found.groups.named["key"].to_list() == [one, other]


def test_rows_that_are_left_out_do_not_shift_the_texts(tmp_path):
    path = tmp_path / "x.jsonl"
    records = [{"prompt": key, "r": 1.0, "step": step} for step, key in enumerate([LONG[0], LONG[1], LONG[1]])]
    path.write_text("not a record\n" + "".join(f"{json.dumps(record)}\n" for record in records))
    asked = Asked(group_by=["prompt"], reward=["r"], step="step")
    found = open_log(find([str(path)]), asked, Selection(steps="1:2", on_bad_line="skip"))
    assert found.groups.named["key"].to_list() == [LONG[1], LONG[1]]
