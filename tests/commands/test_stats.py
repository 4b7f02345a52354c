"""One account of a log: what its figures are, and what a person reads."""

from __future__ import annotations

import statistics
from pathlib import Path

import pytest

BUGCASES = Path(__file__).resolve().parents[3] / "shared" / "bugcases"


def figures(ran) -> dict:
    assert ran.code == 0, ran.err
    (row,) = ran.rows
    return row


def test_the_figures_of_a_small_log(grpo, log):
    path = log(mixed=[0, 1, 1, 1], dead=[0, 0, 0, 0], won=[1, 1, 1], lone=[1], gone=[None, None])
    row = figures(grpo("stats", path, "--format", "json"))
    expected = {
        "rows": 14,
        "rollouts": 14,
        "scored": 12,
        "missing": 2,
        "groups": 5,
        "size_min": 1,
        "size_commonest": 4,
        "size_max": 4,
        "odd_sizes": 3,
        "mixed": 1,
        "all_pass": 1,
        "all_fail": 1,
        "tied": 0,
        "singleton": 1,
        "unscored": 1,
        "zero_variance": 2,
        "zero_variance_share": 0.4,
        "informative_share": 0.2,
        "informative_rollout_share": 4 / 14,
        "frac_reward_zero_std": 8 / 12,
        "reward_mean": 7 / 12,
        "reward_min": 0,
        "reward_median": 1,
        "reward_max": 1,
        "rollout_std": statistics.pstdev([0, 1, 1, 1, 0, 0, 0, 0, 1, 1, 1, 1]),
        "within_group_std": statistics.mean([3**0.5 / 4, 0, 0]),
        "between_group_std": statistics.pstdev([0.75, 0, 1, 1]),
        "pass_threshold": 1,
        "pass_rate": (0.75 + 0 + 1 + 1) / 4,
        "rollout_pass_rate": 7 / 12,
        "nonzero_advantage_share": 4 / 12,
    }
    assert (row["length_mean"], row["length_correlation"], row["phantom"]) == (None, None, None)
    assert {name: row[name] for name in expected} == pytest.approx(expected, rel=1e-12)
    # grpo over [0, 1, 1, 1]: -sqrt(3), and 1 / sqrt(3) three times; the other nine scored rollouts have 0
    assert row["mean_abs_advantage"] == pytest.approx((3**0.5 + 3 / 3**0.5) / 12, rel=1e-12)


def test_the_advantages_are_those_of_the_estimator_that_is_named(grpo, log):
    path = log(a=[0, 1], b=[0, 4])
    assert figures(grpo("stats", path, "--format", "json"))["mean_abs_advantage"] == 1
    centred = figures(grpo("stats", path, "-e", "dr-grpo", "--format", "json"))
    assert centred["mean_abs_advantage"] == (0.5 + 0.5 + 2 + 2) / 4


def test_the_length_and_how_it_goes_with_the_reward_within_groups(grpo, log):
    rows = [
        {"prompt_id": prompt, "reward": reward, "num_tokens": tokens}
        for prompt, reward, tokens in (
            ("a", 0, 10),
            ("a", 1, 20),
            ("b", 1, 110),
            ("b", 0, 120),
            ("c", 1, 5),
            ("c", 1, 9),
        )
    ]
    row = figures(grpo("stats", log(*rows), "--format", "json"))
    assert row["length_mean"] == pytest.approx(274 / 6)
    assert row["length_correlation"] == pytest.approx(0, abs=1e-12)  # +1 in a, -1 in b, and c says nothing


def test_a_row_for_each_reward_column_and_their_correlations(grpo, log):
    rows = [
        {"prompt_id": "essay", "correct": right, "len_score": score}
        for right, score in ((1, 0), (1, 40), (0, 90), (0, 170))
    ]
    asked = ("stats", log(*rows), "-r", "correct", "-r", "len_score", "--format", "json")
    correct, length = grpo(*asked, "--table", "rewards").rows
    assert (correct["column"], length["column"]) == ("correct", "len_score")
    assert correct["variance_share"] == pytest.approx(-0.006863547635539324, rel=1e-12)
    assert length["variance_share"] == pytest.approx(1.0068635476355392, rel=1e-12)
    first, second = grpo(*asked, "--table", "correlations").rows
    assert (
        first["len_score"] == second["correct"] == pytest.approx(statistics.correlation([1, 1, 0, 0], [0, 40, 90, 170]))
    )


def test_what_other_group_sizes_would_give(grpo, log):
    rows = grpo("stats", log(a=[0, 1, 0, 0], b=[1, 1, 1, 1]), "--table", "sizes", "--format", "json").rows
    two, four, eight = rows[:3]
    assert (two["size"], two["extrapolated"]) == (2, 0)
    assert two["informative_share"] == pytest.approx((0.5 + 0) / 2)  # of six pairs in a, three hold the 1
    assert (four["informative_share"], four["extrapolated"]) == (0.5, 0)
    assert eight["extrapolated"] == 2
    assert 0.5 < eight["informative_share"] < 1


def test_the_account_for_people_has_it_all_in_80_columns(terminal, log):
    rows = [
        {"prompt_id": f"p{prompt}", "step": 1, "reward": float(prompt % 4 > rollout), "fmt": 0.5 * rollout}
        for prompt in range(8)
        for rollout in range(4)
    ]
    ran = terminal("stats", log(*rows), "-r", "reward", "-r", "fmt=0.1", columns=80, env={"NO_COLOR": "1"})
    assert ran.code == 0
    for words in (
        "rollouts   32, 32 scored",
        "groups     8 in 1 step, 4 rollouts each",
        "within_group_std",
        "between_group_std",
        "frac_reward_zero_std",
        "mean |A|",
        "Reward columns",
        "variance_share",
        "Correlations",
    ):
        assert words in ran.out, words
    assert max(map(len, ran.out.splitlines())) <= 80


def test_stuck_groups_are_told_apart_where_nothing_says_what_passes(grpo, log):
    path = log(never=[0, 0], always=[1, 1], mid=[1, 0], stuck=[0.5, 0.5])
    row = figures(grpo("stats", path, "--format", "json"))
    assert [row[f"constant_{where}"] for where in ("at_lowest", "at_highest", "between")] == [1, 1, 1]
    assert (
        "1 at the lowest reward (0), 1 at the highest (1), 1 in between" in grpo("stats", path, "--format", "table").out
    )


def test_a_group_that_fails_throughout_with_different_rewards_is_a_phantom(grpo, log):
    rows = [
        {"prompt_id": prompt, "reward": reward, "correct": right}
        for prompt, reward, right in (("wrong", -0.1, 0), ("wrong", -0.2, 0), ("some", 0.9, 1), ("some", -0.2, 0))
    ]
    ran = grpo("stats", log(*rows), "--outcome", "correct", "--format", "json")
    assert figures(ran)["phantom"] == 1
    assert "every rollout fails and yet the rewards differ (wrong)" in ran.err


def test_every_reward_equal_is_said(grpo, log):
    ran = grpo("stats", log(a=[1] * 3, b=[1] * 3, c=[1] * 3), "--format", "json")
    assert "all 9 rewards are 1: is the reward column broken?" in ran.err
    assert figures(ran)["zero_variance_share"] == 1


def test_missing_rewards_are_counted_by_reason(grpo, log):
    path = log(
        '{"prompt_id": "a"}', '{"prompt_id": "a", "reward": null}', '{"prompt_id": "a", "reward": NaN}', a=[1, 0]
    )
    ran = grpo("stats", path, "--format", "table")
    assert "5, 2 scored, 3 without a reward (reward: 1 absent, 1 null, 1 nan)" in ran.out


def test_a_log_that_is_being_written(grpo, log):
    path = log(a=[1, 0])
    path.write_bytes(path.read_bytes() + b'{"prompt_id": "a", "rew')
    grpo("stats", path).refused("x.jsonl:3", "cut short")
    ran = grpo("stats", path, "--live", "--format", "json")
    assert figures(ran)["rollouts"] == 2
    assert "left out line 3 of x.jsonl: the last one, and unfinished" in ran.err
    glued = log('{"prompt_id": "a", "rew{"prompt_id": "a", "reward": 1}', a=[1, 0])
    grpo("stats", glued, "--live").refused("x.jsonl:1")


@pytest.mark.skipif(not BUGCASES.exists(), reason="needs ../shared")
def test_within_and_across(grpo):
    (case,) = BUGCASES.glob("001-*")
    row = figures(grpo("stats", case / "in.jsonl", "--format", "json"))
    assert row["within_group_std"] == 0
    assert row["rollout_sample_std"] == pytest.approx(5.3452248382484875, rel=1e-12)
    assert row["zero_variance_share"] == 1
    asked = ("-r", "fmt_reward", "-r", "task_reward", "--table", "rewards", "--format", "json")
    fmt, task = grpo("stats", case / "in.jsonl", *asked).rows
    assert (fmt["sample_std"], task["sample_std"]) == (0, pytest.approx(5.3452248382484875, rel=1e-12))


def test_rollouts_that_were_lost_before_they_were_logged(grpo, log):
    path = log(kept=[1, 1, 0, 0], lost=[1, 1])
    (row,) = grpo("stats", path, "--expect-size", 4, "--table", "shortfall", "--format", "json").rows
    assert (row["found"], row["expected"], row["short"]) == (6, 8, 1)
    assert (row["rollout_pass_rate"], row["pass_rate"], row["missing_as_fail"]) == (4 / 6, 0.75, 0.5)
    out = grpo("stats", path, "--expect-size", 4, "--format", "table").out
    assert "6 of 8 rollouts, 1 group short of 4" in out
    grpo("stats", path, "--table", "shortfall", "--format", "json").refused("--expect-size")


@pytest.mark.skipif(not BUGCASES.exists(), reason="needs ../shared")
def test_the_length_of_a_text_and_the_reward(grpo):
    (case,) = BUGCASES.glob("052-*")
    row = figures(grpo("stats", case / "in.jsonl", "--length", "completion[len]", "--format", "json"))
    assert row["length_correlation"] == pytest.approx(-0.05572782125753531, rel=1e-12)


def test_the_length_of_a_text_in_characters(grpo, log, parquet):
    columns = {"prompt_id": ["a"] * 3, "completion": ["x", "xé", "🎉" * 3], "reward": [0.0, 1.0, 2.0]}
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    for path in (log(*rows), parquet(columns)):
        row = figures(grpo("stats", path, "--length", "completion[len]", "--format", "json"))
        assert (row["length_mean"], row["length_correlation"]) == (2, pytest.approx(1))
