from __future__ import annotations

import hashlib

import polars as pl
import pytest

from grpo_cli.errors import UsageError
from grpo_cli.logs.codes import coded
from grpo_cli.logs.grouping import group_rollouts


def grouped(keys, fields=("prompt_id",), group_size=None):
    frame, groups, odd = group_rollouts(pl.DataFrame(keys), fields, group_size)
    return frame, groups, odd


def test_groups_are_numbered_by_first_appearance():
    frame, groups, _ = grouped({"key_0": ["b", "a", "b", "c", "a"]})
    assert frame["group"].to_list() == [0, 1, 0, 2, 1]
    assert frame["batch"].to_list() == [0] * 5
    assert groups.named["key"].to_list() == ["b", "a", "c"]
    assert groups.frame["row"].to_list() == [0, 1, 3]


def test_the_step_is_part_of_the_key_and_makes_the_batch():
    frame, groups, _ = grouped({"key_0": ["a", "a", "a", "b"], "step": ["1", "2", "1", "2"]})
    assert frame["group"].to_list() == [0, 1, 0, 2]
    assert frame["batch"].to_list() == [0, 1, 0, 1]
    assert groups.named["step"].to_list() == [1, 2, 2]
    assert len(set(groups.named["id"])) == 3


def test_steps_that_are_no_numbers_stay_text():
    _, groups, _ = grouped({"key_0": ["a", "a"], "step": ["01", "2"]})
    assert groups.named["step"].to_list() == ["01", "2"]


def test_several_fields_are_named_in_the_key():
    _, groups, _ = grouped({"key_0": ["x", "x"], "key_1": ["1", "2"]}, ("env", "id"))
    assert groups.named["key"].to_list() == ["env=x id=1", "env=x id=2"]


def test_keys_that_only_look_alike_together_stay_apart():
    frame, _, _ = grouped({"key_0": ["a", "a b"], "key_1": ["b c", "c"]}, ("x", "y"))
    assert frame["group"].to_list() == [0, 1]


def test_blocks_split_a_key_in_order_and_the_odd_one_is_told():
    frame, groups, odd = grouped({"key_0": ["a", "b", "a", "a", "a", "a", "b"]}, group_size=2)
    assert frame["group"].to_list() == [0, 1, 0, 2, 2, 3, 1]
    assert groups.named["key"].to_list() == ["a", "b", "a #2", "a #3"]
    assert odd == {3: 1}


def test_blocks_count_rollouts_and_not_rows():
    keys = {"key_0": ["a"] * 5, "rollout": ["r1", "r1", "r2", "r3", "r4"]}
    frame, _, odd = grouped(keys, group_size=2)
    assert frame["group"].to_list() == [0, 0, 0, 1, 1]
    assert odd == {}


def test_an_id_depends_on_its_own_key_alone():
    hashed = hashlib.blake2b(b'[null,"b",null]', digest_size=5).hexdigest()
    _, one, _ = grouped({"key_0": ["a", "b"]})
    _, other, _ = grouped({"key_0": ["c", "b"]})
    assert one.named["id"][1] == other.named["id"][1] == hashed
    assert len(one.named["id"][1]) == 10


def test_a_group_is_found_by_key_by_id_and_by_the_beginning_of_its_id():
    _, groups, _ = grouped({"key_0": ["a", "b", "a"], "step": ["1", "1", "2"]})
    assert groups.find("b") == 1
    assert groups.find(groups.named["id"][2]) == 2
    assert groups.find(groups.named["id"][1][:6]) == 1
    with pytest.raises(UsageError, match="2 groups are called 'a'"):
        groups.find("a")
    with pytest.raises(UsageError, match="there is no group 'zz'"):
        groups.find("zz")


def test_codes_of_keys_met_before_are_numbered_by_their_first_row():
    held = pl.concat([coded(pl.Series([key])) for key in "cab"])  # keeps the numbering of codes alive
    frame, groups, _ = grouped({"key_0": ["b", "a", "b", "c", "z", "a"]})
    assert frame["group"].to_list() == [0, 1, 0, 2, 3, 1]
    assert groups.named["key"].to_list() == ["b", "a", "c", "z"]
    assert held.to_list() == ["c", "a", "b"]
