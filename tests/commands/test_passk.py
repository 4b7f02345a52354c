"""pass@k and pass^k: over groups, per group, by threshold."""

from __future__ import annotations

import pytest


def test_a_k_above_the_size_is_null_and_said(grpo, log):
    path = log(short=[0, 0, 0], long=[1, 0, 0, 0, 0, 0, 0, 0])
    ran = grpo("passk", path, "--k", "1,4,8", "--table", "rows", "--format", "json")
    short, long = ran.rows
    assert [short[f"pass@{k}"] for k in (1, 4, 8)] == [0, None, None]
    assert [long[f"pass@{k}"] for k in (1, 4, 8)] == [0.125, 0.5, 1]
    assert "1 of 2 groups has fewer than 8 rollouts: no pass@8 there, and not in its mean" in ran.err
    one, _, eight = grpo("passk", path, "--k", "1,4,8", "--format", "json").rows
    assert (one["groups"], one["too_small"], one["pass_at_k"]) == (2, 0, 0.0625)
    assert (eight["groups"], eight["too_small"], eight["pass_at_k"], eight["low"]) == (1, 1, 1, None)
    assert (one["pass_hat_k"], eight["pass_hat_k"]) == (0.0625, 0)


def test_thresholds_for_partial_rewards(grpo, log):
    path = log(algebra=[0.2, 0.9, 1.0, 1.3, 0], logic=[0, 0, 0.4, 0.4, 0])
    grpo("passk", path, "--k", "1").refused("not known which rollouts pass", "--pass-threshold")
    rows = grpo("passk", path, "--k", "1,2,4,5", "--thresholds", "1,0.4", "--format", "json").rows
    assert [(row["threshold"], row["k"], row["pass_at_k"]) for row in rows] == [
        (1, 1, 0.2),
        (1, 2, 0.35),
        (1, 4, 0.5),
        (1, 5, 0.5),
        (0.4, 1, 0.5),
        (0.4, 2, pytest.approx((0.9 + 0.7) / 2)),
        (0.4, 4, 1),
        (0.4, 5, 1),
    ]


def test_k_is_the_powers_of_two_up_to_the_commonest_size_by_default(grpo, log):
    assert [row["k"] for row in grpo("passk", log(a=[0, 1] * 3, b=[0, 1] * 3), "--format", "json").rows] == [1, 2, 4]


def test_a_prompt_is_all_its_groups(grpo, log):
    rows = [{"prompt_id": "p", "step": step, "reward": reward} for step in (1, 2) for reward in (0, step - 1)]
    asked = ("passk", log(*rows), "--k", "1,4", "--format", "json")
    assert [row["groups"] for row in grpo(*asked).rows] == [2, 0]
    by_prompt = grpo(*asked, "--by", "prompt").rows
    assert [(row["groups"], row["pass_at_k"]) for row in by_prompt] == [(1, 0.25), (1, 1)]
    (row,) = grpo(*asked, "--by", "prompt", "--table", "rows").rows
    assert (row["groups"], row["judged"], row["pass@1"]) == (2, 4, 0.25)


def test_a_mean_lies_in_its_interval_as_scipy_has_it(grpo, log):
    stats = pytest.importorskip("scipy.stats")
    passed = [0, 1, 1, 2, 3, 3]
    groups = {f"g{at}": [1] * count + [0] * (4 - count) for at, count in enumerate(passed)}
    (row,) = grpo("passk", log(**groups), "--k", "1", "--format", "json").rows
    rates = [count / 4 for count in passed]
    low, high = stats.t.interval(0.95, 5, sum(rates) / 6, stats.sem(rates))
    assert [row["low"], row["high"]] == pytest.approx([low, high], rel=1e-9)


@pytest.mark.parametrize("k", ["0", "1.5", "x", "", "nan", "1,,2"])
def test_what_is_no_k_is_refused(grpo, log, k):
    grpo("passk", log(a=[0, 1]), "--k", k).refused("--k")
