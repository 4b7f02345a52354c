"""The numbers that `compute` writes, on small logs whose answer is known by hand."""

from __future__ import annotations

import json
from fractions import Fraction
from math import sqrt

import pytest

NEAR = 1e-12
HALF = 1 / sqrt(2)


def near(values, *, within=NEAR):
    return pytest.approx(values, rel=0, abs=within)


def sample_std(rewards):
    """The sample std in exact fractions until the root."""
    values = [Fraction(str(reward)) for reward in rewards]
    mean = sum(values) / len(values)
    return sqrt(sum((value - mean) ** 2 for value in values) / (len(values) - 1))


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ((), [1, -1, 1, -1]),
        (("--ddof", "1"), [sqrt(3) / 2, -sqrt(3) / 2] * 2),
        (("--ddof", "1", "--eps", "1e-4"), [0.5 / (1 / sqrt(3) + 1e-4), -0.5 / (1 / sqrt(3) + 1e-4)] * 2),
        (("--scale", "none"), [0.5, -0.5, 0.5, -0.5]),
        (("-e", "dr-grpo"), [0.5, -0.5, 0.5, -0.5]),
        (("-e", "Dr_GRPO"), [0.5, -0.5, 0.5, -0.5]),
        (("-e", "rloo"), [2 / 3, -2 / 3, 2 / 3, -2 / 3]),
        (("--baseline", "loo", "--scale", "none"), [2 / 3, -2 / 3, 2 / 3, -2 / 3]),
        (("--baseline", "none", "--scale", "none"), [1, 0, 1, 0]),
        (("-e", "grpo:ddof=1"), [sqrt(3) / 2, -sqrt(3) / 2] * 2),
    ],
)
def test_each_estimator_gives_its_formula(grpo, log, options, expected):
    ran = grpo("compute", log(a=[1, 0, 1, 0]), "-o", "-", *options)
    assert ran.code == 0
    assert ran.advantages == near(expected)


def test_one_right_answer_in_four_is_worth_the_root_of_three(grpo, log):
    third = 1 / sqrt(3)
    assert grpo("compute", log(a=[0, 1, 0, 0]), "-o", "-").advantages == near([-third, sqrt(3), -third, -third])


@pytest.mark.parametrize("value", [0.1, 0.2, 0.7, 1 / 3, 1.81, 36743.6, -0.3, 1e-300, 1e300])
@pytest.mark.parametrize("options", [(), ("--ddof", "1"), ("--scale", "none"), ("-e", "rloo"), ("-e", "lite-ppo")])
def test_a_constant_group_gets_exactly_zero_however_it_rounds(grpo, log, value, options):
    ran = grpo("compute", log(a=[value] * 3, b=[value] * 7), "-o", "-", *options)
    assert [str(advantage) for advantage in ran.advantages] == ["0.0"] * 10


def test_float_noise_is_no_signal_unless_asked_for(grpo, log):
    path = log(noise=[0.3, 0.1 + 0.2], live=[0.1, 0.1, 0.2])
    ran = grpo("compute", path, "-o", "-")
    assert ran.advantages[:2] == [0.0, 0.0]
    assert ran.advantages[2:] == near([-HALF, -HALF, sqrt(2)])
    assert "--tolerance" in ran.err, "what was taken as equal is said, with the option that undoes it"
    assert grpo("compute", path, "-o", "-", "--tolerance", "0").advantages[:2] == near([-1, 1])


def test_a_small_spread_is_a_spread_and_eps_decides(grpo, log):
    path = log(a=[0.8, 0.80001], b=[3, 3.00001])
    assert grpo("compute", path, "-o", "-", "--ddof", "1").advantages == near([-HALF, HALF] * 2)
    ran = grpo("compute", path, "-o", "-", "--ddof", "1", "--eps", "1e-6")
    assert ran.advantages == near([-0.6194967155, 0.6194967155] * 2, within=1e-9)
    ran = grpo("compute", path, "-o", "-", "--ddof", "1", "--eps", "1e-4")
    assert ran.advantages == near([-0.0466979559, 0.0466979559] * 2, within=1e-9)
    assert "eps" in ran.err.split("note: ", 1)[1], "that eps is no small thing beside these stds is said"


def test_leave_one_out_never_divides_by_the_std_of_equal_others(grpo, log):
    path = log(a=[0, 0, 2], b=[0.5, 0.5, 0.5])
    assert grpo("compute", path, "-o", "-", "-e", "rloo").advantages == near([-1, -1, 2, 0, 0, 0])
    ran = grpo("compute", path, "-o", "-", "--baseline", "loo", "--scale", "loo-std")
    assert max(map(abs, ran.advantages)) <= 10


def test_the_scale_of_the_batch(grpo, log):
    path = log(low=[1, 0, 0, 0], high=[10, 0, 5, 5])
    std = sample_std([1, 0, 0, 0, 10, 0, 5, 5])
    expected = [value / std for value in (0.75, -0.25, -0.25, -0.25, 5, -5, 0, 0)]
    assert grpo("compute", path, "-o", "-", "--scale", "batch-std", "--ddof", "1").advantages == near(expected)


def test_a_batch_is_a_step_where_there_are_steps(grpo, log):
    rows = [{"prompt_id": key, "step": step, "reward": reward}
            for step, key, rewards in ((1, "a", [0, 1]), (1, "b", [0, 3]), (2, "a", [0, 10]), (2, "b", [0, 10]))
            for reward in rewards]  # fmt: skip
    ran = grpo("compute", log(*rows), "-o", "-", "--scale", "batch-std", "--ddof", "1")
    first, second = sample_std([0, 1, 0, 3]), sample_std([0, 10, 0, 10])
    assert ran.advantages == near(
        [-0.5 / first, 0.5 / first, -1.5 / first, 1.5 / first, -5 / second, 5 / second, -5 / second, 5 / second]
    )


def test_zero_variance_is_a_matter_of_the_group_whatever_the_scale(grpo, log):
    ran = grpo("compute", log(flat=[1, 1, 1, 1], split=[1, 0, 1, 0]), "-o", "-", "--scale", "batch-std")
    assert ran.advantages[:4] == [0.0] * 4
    assert "1 of 2 groups (50 %) carries no signal" in ran.err


def test_groups_of_unequal_size_in_any_order(grpo, log):
    rows = [
        ("u", 1),
        ("v", 0),
        ("u", 0),
        ("w", 1),
        ("v", 1),
        ("u", 0),
        ("w", 0),
        ("v", 1),
        ("u", 1),
        ("w", 1),
        ("v", 1),
    ]
    path = log(*({"prompt_id": key, "reward": reward} for key, reward in rows))
    ran = grpo("compute", path, "-o", "-", "--scale", "none")
    means = {"u": 0.5, "v": 0.75, "w": 2 / 3}
    assert [(record["prompt_id"], record["reward"]) for record in ran.records] == rows
    assert ran.advantages == near([reward - means[key] for key, reward in rows])
    assert "group sizes run from 3 to 4" in ran.err
    assert "w: 3" in ran.err


def test_a_lone_rollout_gets_zero_and_is_counted_apart(grpo, log):
    path = log(a=[1], b=[0.7], c=[1, 0])
    ran = grpo("compute", path, "-o", "-")
    assert ran.advantages == [0.0, 0.0, 1.0, -1.0]
    assert "2 singleton" in ran.err
    for how, expected in (("reward", [1.0, 0.7]), ("null", [None, None])):
        assert grpo("compute", path, "-o", "-", "--singleton", how).advantages[:2] == expected
    grpo("compute", path, "-o", "-", "--singleton", "error").refused("x.jsonl:1:")


def test_one_rollout_of_several_rows_counts_once(grpo, log):
    rows = [("a", "r1", 1)] * 3 + [("a", "r2", 0), ("b", "r3", 0.25)] + [("b", "r4", 0.75)] * 2
    records = [{"prompt_id": key, "rollout_id": rollout, "reward": reward} for key, rollout, reward in rows]
    ran = grpo("compute", log(*records), "-o", "-", "--rollout-id", "rollout_id", "--scale", "none")
    assert ran.advantages == near([0.5, 0.5, 0.5, -0.5, -0.25, 0.25, 0.25])
    assert "2 groups of 2 " in ran.err
    bad = [*records[:2], records[3], {**records[0], "reward": 0.0}]
    grpo("compute", log(*bad), "-o", "-", "--rollout-id", "rollout_id").refused("x.jsonl:4:", "one rollout differ")


def test_an_id_wins_over_the_text_of_the_prompt(grpo, log):
    rows = [{"prompt": "Name a prime.", "prompt_id": key, "reward": reward}
            for key, rewards in (("p", [1, 0, 0, 0]), ("q", [1, 1, 1, 0])) for reward in rewards]  # fmt: skip
    path = log(*rows)
    assert "2 groups of 4 by prompt_id" in grpo("compute", path, "-o", "-").err
    ran = grpo("compute", path, "-o", "-", "-g", "prompt")
    assert "1 group of 8 by prompt" in ran.err
    assert ran.advantages == near([1, -1, -1, -1, 1, 1, 1, -1])


def test_a_prompt_seen_at_two_steps_is_two_groups(grpo, log):
    rows = [{"step": step, "prompt_id": "p", "reward": reward}
            for step, rewards in ((1, [0, 0, 0, 1]), (2, [1, 1, 1, 0])) for reward in rewards]  # fmt: skip
    path = log(*rows)
    ran = grpo("compute", path, "-o", "-", "--scale", "none")
    assert ran.advantages == near([-0.25, -0.25, -0.25, 0.75, 0.25, 0.25, 0.25, -0.75])
    merged = grpo("compute", path, "-o", "-", "--scale", "none", "--step", "none")
    assert merged.advantages == near([-0.5, -0.5, -0.5, 0.5, 0.5, 0.5, 0.5, -0.5])


@pytest.mark.parametrize("missing", ['"reward": null', '"reward": NaN', '"other": 1'])
def test_a_missing_reward_is_not_zero(grpo, log, missing):
    lines = ['{"prompt_id": "a", "reward": 1}', f'{{"prompt_id": "a", {missing}}}', '{"prompt_id": "a", "reward": 0}',
             '{"prompt_id": "a", "reward": 0}', f'{{"prompt_id": "b", {missing}}}']  # fmt: skip
    ran = grpo("compute", log(*lines), "-o", "-", "--scale", "none")
    assert ran.advantages == [near(2 / 3), None, near(-1 / 3), near(-1 / 3), None]
    assert "2 of 5 rollouts have no reward" in ran.err


def test_what_missing_rewards_get_can_be_said(grpo, log):
    path = log(a=[None, -1, -1, None])
    assert grpo("compute", path, "-o", "-").advantages == [None, 0.0, 0.0, None]
    assert grpo("compute", path, "-o", "-", "--missing", "zero-advantage").advantages == [0.0, 0.0, 0.0, 0.0]
    assert grpo("compute", path, "-o", "-", "--missing", "zero-reward").advantages == near([1, -1, -1, 1])
    assert grpo("compute", path, "-o", "-", "--missing", "propagate").advantages == [None] * 4
    grpo("compute", path, "-o", "-", "--missing", "error").refused("x.jsonl:1:")


def test_several_weighted_rewards(grpo, log):
    rows = [("m", 1, 0), ("m", 0, None), ("m", None, 3), ("n", None, None), ("n", 1, 2), ("n", 1, 0)]
    records = [{"prompt_id": key, "acc": acc, "fmt": fmt} for key, acc, fmt in rows]
    ran = grpo("compute", log(*records), "-o", "-", "-r", "acc", "-r", "fmt=0.5", "--scale", "none")
    mean = (1 + 0 + 1.5) / 3
    assert ran.advantages == [near(1 - mean), near(-mean), near(1.5 - mean), None, near(0.5), near(-0.5)]
    assert "fmt" in ran.err


def test_each_reward_can_be_normalised_by_itself(grpo, log):
    rows = [(1, 10), (0, 10), (1, None), (0, 40)]
    records = [{"prompt_id": "m", "acc": acc, "len": length} for acc, length in rows]
    ran = grpo("compute", log(*records), "-o", "-", "-r", "acc", "-r", "len", "-e", "gdpo:whiten=none")
    low, high = -HALF, sqrt(2)
    assert ran.advantages == near([1 + low, -1 + low, 1, -1 + high])


def test_rollouts_can_be_left_out_by_a_condition(grpo, log):
    rows = [("ok", 4), ("ok", 8), ("ok", 6), ("judge_failed", 0)]
    path = log(*({"prompt_id": "f", "status": status, "reward": reward} for status, reward in rows))
    ran = grpo("compute", path, "-o", "-", "--unscored-if", "status <> 'ok'", "--scale", "none")
    assert ran.advantages == [*near([-2, 2, 0]).expected, None]
    groups = grpo("groups", path, "--format", "json", "--unscored-if", "status <> 'ok'").rows
    assert (groups[0]["n"], groups[0]["scored"], groups[0]["mean"]) == (4, 3, 6.0)


@pytest.mark.parametrize(
    "condition",
    ["", "1 = 1", "true", "((", "nope = 1", "reward", "reward; 1", "status = 1", "status.x = 1", "unnest(status)", "*"],
)
def test_what_is_no_condition_is_refused(grpo, log, condition):
    path = log({"prompt_id": "a", "reward": 1, "status": "ok"}, {"prompt_id": "a", "reward": 0, "status": "é"})
    grpo("compute", path, "-o", "-", "--unscored-if", condition).refused("--unscored-if")


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--pass-threshold", "nan"),
        ("--tolerance", "nan"),
        ("--tolerance", "-1"),
        ("--eps", "inf"),
        ("--group-size", "0"),
        ("-r", "reward=nan"),
        ("-r", "a..b"),
        ("-g", ""),
        ("-g", ","),
        ("--step", "nope"),
        ("--layout", "nope"),
    ],
)
def test_options_that_make_no_sense_are_refused(grpo, log, option, value):
    grpo("compute", log(a=[1, 0]), "-o", "-", option, value).refused()


def test_every_reward_the_same_is_said(grpo, log):
    ran = grpo("compute", log(a=[1, 1, 1], b=[1, 1, 1], c=[1, 1, 1]), "-o", "-")
    assert ran.advantages == [0.0] * 9
    assert "all 9 rewards are 1" in ran.err


def test_nothing_but_missing_rewards(grpo, log):
    ran = grpo("compute", log(a=[None] * 1200), "-o", "-")
    assert ran.advantages == [None] * 1200
    assert "none of 1200 rollouts has a reward" in ran.err.replace(",", "")


def test_a_key_with_more_rollouts_is_split_into_blocks(grpo, log):
    path = log(a=[0, 2, 1, 5, 3])
    ran = grpo("compute", path, "-o", "-", "--group-size", "2", "--scale", "none")
    assert ran.advantages == near([-1, 1, -2, 2, 0])
    assert "blocks of 2" in ran.err


def test_the_outcome_says_what_passed_where_rewards_are_shaped(grpo, log):
    rows = [("wrong", -0.1, 0), ("wrong", -0.4, 0), ("right", 0.9, 1), ("right", -0.3, 0)]
    path = log(*({"prompt_id": key, "reward": reward, "ok": passed} for key, reward, passed in rows))
    ran = grpo("groups", path, "--format", "json", "--outcome", "ok")
    assert [(row["key"], row["pass_rate"], row["status"]) for row in ran.rows] == [
        ("wrong", 0.0, "mixed"),
        ("right", 0.5, "mixed"),
    ]


def test_only_some_steps(grpo, log):
    rows = [{"step": step, "prompt_id": "p", "reward": reward} for step in (1, 2, 3) for reward in (0, step)]
    ran = grpo("compute", log(*rows), "-o", "-", "--scale", "none", "--steps", "2:3")
    assert ran.advantages == [None, None, -1.0, 1.0, -1.5, 1.5]


def test_the_result_does_not_depend_on_the_order_of_rows(grpo, log):
    rewards = {"a": [0.1, 0.2, 0.30000000000000004, 1e6], "b": [1e15, 1e15 + 1, 1e15 + 3]}
    rows = [{"prompt_id": key, "reward": reward} for key, values in rewards.items() for reward in values]
    forth = grpo("compute", log(*rows), "-o", "-", "--tolerance", "0").records
    back = grpo("compute", log(*rows[::-1]), "-o", "-", "--tolerance", "0").records
    assert [r["advantage"] for r in back[::-1]] == near([r["advantage"] for r in forth])
    assert forth[4]["advantage"] == near((-4 / 3) / sqrt(14 / 9)), "an offset costs no digits"


def test_what_was_done_is_kept_in_the_parquet_file(grpo, parquet, here):
    import pyarrow.parquet as pq

    path = parquet({"prompt_id": ["a", "a"], "reward": [1.0, 0.0]})
    assert grpo("compute", path, "--ddof", "1", "--eps", "1e-6", "-q").code == 0
    made = json.loads(pq.read_metadata(here / "x.advantages.parquet").metadata[b"grpo-adv"])
    assert made["column"] == "advantage"
    assert made["reading"] == "-g prompt_id -r reward --step none"
    text = json.dumps(made["estimator"])
    assert '"ddof": 1' in text
    assert '"eps": 1e-06' in text


def test_advantages_beyond_the_range_of_a_float_are_null_and_counted(grpo, log):
    big = 1.7976931348623157e308
    ran = grpo("compute", log(a=[big, -big, -big, big, big]), "-e", "rloo", "-o", "-")
    assert [value is None for value in ran.advantages] == [False, True, True, False, False]
    assert "2 advantages are null: they were beyond the range of a 64-bit float" in ran.err


def test_a_second_run_in_place_never_doubles_the_field(grpo, log):
    path = log(a=[1, 0])
    assert grpo("compute", path, "-i", "-q").code == 0
    assert grpo("compute", path, "-i", "-q").code == 0
    ran = grpo("compute", path, "-i", "-q")
    assert ran.code == 2
    assert "has a field 'advantage_grpo' already" in ran.err
    assert grpo("compute", path, "-i", "-q", "--force").code == 0
    assert path.read_text().count("advantage_grpo") == 2
