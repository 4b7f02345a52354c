from __future__ import annotations

import polars as pl

from grpo_cli.logs.grouping import group_rollouts
from grpo_cli.logs.prompts import Prompts


def groups(step=None, size=None, **keys):
    columns = {f"key_{at}": values for at, values in enumerate(keys.values())} | ({"step": step} if step else {})
    return group_rollouts(pl.DataFrame(columns), list(keys), size)[1]


def test_a_prompt_is_its_groups_of_every_step():
    prompts = Prompts.of(groups(step=["1", "1", "2", "3"], uid=["a", "b", "a", "c"]))
    assert prompts.of_group.to_list() == [0, 1, 0, 2]
    assert prompts.named["key"].to_list() == ["a", "b", "c"]
    assert prompts.ids.to_list() == groups(uid=["a", "b", "c"]).named["id"].to_list()
    assert prompts.matching(prompts.ids[0][:6]).to_list() == [0, 2]
    assert prompts.matching("no id").to_list() == prompts.matching("").to_list() == []


def test_blocks_of_one_key_are_one_prompt():
    prompts = Prompts.of(groups(uid=["a"] * 4 + ["b"] * 2, size=2))
    assert prompts.of_group.to_list() == [0, 0, 1]
    assert prompts.named["key"].to_list() == ["a", "b"]


def test_several_fields_are_all_part_of_it():
    prompts = Prompts.of(groups(step=["1", "2", "2"], env=["x", "x", "y"], uid=["a", "a", "a"]))
    assert prompts.of_group.to_list() == [0, 0, 1]
    assert prompts.named.select("key", "key_0", "key_1").rows() == [
        ("env=x uid=a", "x", "a"),
        ("env=y uid=a", "y", "a"),
    ]


def test_without_a_key_there_is_one_prompt():
    prompts = Prompts.of(group_rollouts(pl.DataFrame({"step": ["1", "2"]}), [], None)[1])
    assert prompts.of_group.to_list() == [0, 0]
    assert prompts.named["key"].to_list() == ["all"]
    assert len(prompts.ids) == 1
