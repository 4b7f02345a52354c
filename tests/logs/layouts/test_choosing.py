from __future__ import annotations

import pytest

from grpo_cli.errors import InputError, UsageError
from grpo_cli.logs.layouts.choosing import choose
from grpo_cli.logs.layouts.reading import Asked
from grpo_cli.logs.layouts.table import PLAIN, recognise


def chosen(*records, **asked):
    names = list(dict.fromkeys(name for record in records for name in record))
    return choose(Asked(**asked), recognise(names, records), names, list(records), "x.jsonl")


def rows(count=8, **columns):
    """Records whose fields are functions of their number, or constant."""
    return [{name: value(at) if callable(value) else value for name, value in columns.items()} for at in range(count)]


def key(reading):
    return ", ".join(reading.key_names)


def test_known_names_in_their_order():
    reading = chosen(*rows(problem_id=lambda at: at // 4, prompt=lambda at: "pq"[at // 4], score=1.0, acc=1.0, step=3))
    assert (key(reading), str(reading.rewards[0][0]), str(reading.step)) == ("problem_id", "score", "step")
    assert reading.why == {"key": "known name", "reward": "known name", "step": "known name"}
    assert {(one.role, one.name) for one in reading.not_taken} == {("key", "prompt"), ("reward", "acc")}
    assert reading.flags() == "-g problem_id -r score --step step"


def test_an_id_that_is_another_for_each_row_gives_way_to_the_prompt():
    reading = chosen(*rows(task_id=lambda at: f"t{at}", prompt=lambda at: "pq"[at // 4], reward=1.0))
    assert key(reading) == "prompt"
    assert reading.why["key"] == "known name; task_id is another for each row"


def test_an_id_that_is_one_for_all_rows_gives_way_to_the_prompt():
    reading = chosen(*rows(task_id="gsm8k", prompt=lambda at: f"p{at // 4}", reward=1.0))
    assert key(reading) == "prompt"
    assert "task_id is one for all rows" in reading.why["key"]


@pytest.mark.parametrize("prompt", ["same for all", lambda at: f"p{at}"])
def test_where_the_prompt_tells_no_more_the_id_stays(prompt):
    assert key(chosen(*rows(problem_id=lambda at: at, prompt="same for all", reward=1.0))) == "problem_id"
    assert key(chosen(*rows(problem_id=lambda at: at, prompt=lambda at: f"p{at}", reward=1.0))) == "problem_id"
    assert key(chosen(*rows(prompt_id=lambda at: at, prompt=prompt, reward=1.0))) == "prompt_id"


def test_one_group_alone_keeps_its_id_though_two_completions_are_alike():
    reading = chosen(*rows(4, problem_id="a", messages=lambda at: [{"content": at // 2}], reward=1.0))
    assert key(reading) == "problem_id"


def test_weak_ids_are_keys_only_where_they_repeat():
    assert key(chosen(*rows(id=lambda at: at // 4, prompt="p", reward=1.0))) == "id"
    assert key(chosen(*rows(id=lambda at: at, prompt=lambda at: at // 4, reward=1.0))) == "prompt"
    alone = chosen(*rows(id=lambda at: at, reward=1.0))
    assert (key(alone), alone.why["key"]) == ("id", "known name, though it is another for each row")


def test_a_uid_of_verl_is_cut_in_any_log():
    reading = chosen(*rows(uid=lambda at: f"g{at // 4}_{at % 4}_0", reward=1.0))
    assert (key(reading), reading.why["key"]) == ("uid[:-2]", "uid is GROUP_ROLLOUT_OUTPUT")
    assert reading.flags() == "-g 'uid[:-2]' -r reward --step none"


def test_other_letter_cases_are_known_and_two_of_them_are_not_decided():
    assert key(chosen(*rows(Prompt_ID="a", REWARD=1.0))) == "Prompt_ID"
    with pytest.raises(InputError, match="Reward and REWARD are both called reward"):
        chosen(*rows(prompt_id="a", Reward=1.0, REWARD=0.0))
    assert str(chosen(*rows(prompt_id="a", Reward=1.0, reward=0.0)).rewards[0][0]) == "reward"


def test_several_fields_called_like_rewards_ask():
    with pytest.raises(InputError, match="2 fields may be rewards") as error:
        chosen(*rows(prompt_id="a", maths_reward=1.0, format_reward=1.0))
    assert "-r maths_reward=1 -r format_reward=1" in error.value.hint
    one = chosen(*rows(prompt_id="a", maths_reward=1.0))
    assert (str(one.rewards[0][0]), one.why["reward"]) == ("maths_reward", "called like a reward function")


def test_a_verdict_beside_a_part_asks_and_a_total_does_not():
    with pytest.raises(InputError, match=r"\(acc, format_reward\)"):
        chosen(*rows(prompt_id="a", acc=1.0, format_reward=0.5))
    total = chosen(*rows(prompt_id="a", acc=1.0, format_reward=0.5, reward=1.5))
    assert [str(field) for field, _ in total.rewards] == ["reward"]
    assert ("reward", "format_reward", "reward comes first") in total.not_taken


def test_rewards_that_are_objects_or_lists_show_how_they_are_named():
    with pytest.raises(InputError, match="reward holds objects") as error:
        chosen(*rows(prompt_id="a", reward={"acc": 1.0, "fmt": 0.5}))
    assert "-r 'reward.acc', -r 'reward.fmt'" in error.value.hint
    with pytest.raises(InputError, match="reward holds lists of numbers") as error:
        chosen(*rows(prompt_id="a", reward=[0.0, 1.0]))
    assert "-r 'reward[]'" in error.value.hint
    assert "-r 'reward[sum]'" in error.value.hint


def test_what_was_asked_for_is_taken_and_wildcards_are_spread():
    reading = chosen(
        *rows(a=1, b=2, parts={"x": 1.0, "y.z": 0.0}, step=1), group_by=["a,b", "file"], reward=["parts.*=0.5"]
    )
    assert reading.key_names == ["a", "b", "file"]
    assert [(str(field), weight) for field, weight in reading.rewards] == [("parts.x", 0.5), ('parts."y.z"', 0.5)]
    assert set(reading.why.values()) == {"asked for", "known name"}
    divided = chosen(*rows(n=lambda at: at, reward=1.0), group_by=["n//4"])
    assert divided.key_names == ["n//4"]


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"group_by": [""]}, "empty field"),
        ({"group_by": ["a//0"]}, "divided by 0"),
        ({"reward": [""]}, "--reward is empty"),
        ({"reward": ["reward=inf"]}, "finite"),
        ({"reward": ["reward.*"]}, "holds no fields"),
        ({"step": "path"}, "no path says a step"),
        ({"length": ""}, "--length is empty"),
        ({"rollout_id": ""}, "--rollout-id is empty"),
    ],
)
def test_what_cannot_be_asked_for(asked, said):
    with pytest.raises(UsageError, match=said):
        chosen(*rows(prompt_id="a", reward=1.0), **asked)


def test_lengths_and_logged_advantages_of_lists():
    reading = chosen(*rows(prompt_id="a", reward=1.0, token_ids=[1, 2, 3], advantages=[0.5, 0.5]))
    assert (str(reading.length), str(reading.logged)) == ("token_ids[len]", "advantages[0]")


def test_the_plain_layout_takes_any_log():
    assert recognise(["anything"], [{"anything": 1}]) == PLAIN
