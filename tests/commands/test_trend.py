"""A row per step: what is in it, in which order, and how it is drawn."""

from __future__ import annotations

import pytest


@pytest.fixture
def run(log):
    """Three steps, out of order: 10 is all dead, 9 mixed, 11 lacks a reward."""
    steps = {10: {"a": [0, 0], "b": [1, 1]}, 9: {"a": [0, 1], "b": [0, 1]}, 11: {"a": [1, None], "b": [1, 0]}}
    return log(
        *(
            {"prompt_id": prompt, "step": step, "reward": reward, "length": 10 * step}
            for step, groups in steps.items()
            for prompt, rewards in groups.items()
            for reward in rewards
        )
    )


def test_a_row_a_step_in_order(grpo, run):
    nine, ten, eleven = grpo("trend", run, "--format", "json").rows
    assert [row["step"] for row in (nine, ten, eleven)] == [9, 10, 11]
    assert nine == {
        "step": 9,
        "groups": 2,
        "rollouts": 4,
        "scored": 4,
        "missing": 0,
        "reward_mean": 0.5,
        "within_group_std": 0.5,
        "pass_rate": 0.5,
        "zero_variance_share": 0,
        "mixed_share": 1,
        "all_pass_share": 0,
        "all_fail_share": 0,
        "tied_share": 0,
        "singleton_share": 0,
        "unscored_share": 0,
        "mean_abs_advantage": 1,
        "length_mean": 90,
    }
    assert (ten["zero_variance_share"], ten["all_pass_share"], ten["all_fail_share"]) == (1, 0.5, 0.5)
    assert (ten["within_group_std"], ten["mean_abs_advantage"]) == (0, 0)
    assert (eleven["missing"], eleven["scored"], eleven["singleton_share"]) == (1, 3, 0.5)
    assert eleven["reward_mean"] == pytest.approx(2 / 3)
    assert eleven["pass_rate"] == (1 + 0.5) / 2


def test_bins_pool_steps_that_follow_one_another(grpo, run):
    first, last = grpo("trend", run, "--bin", 2, "--format", "json").rows
    assert (first["step"], first["last_step"], first["groups"], first["rollouts"]) == (9, 10, 4, 8)
    assert first["zero_variance_share"] == 0.5
    assert (last["step"], last["last_step"], last["groups"]) == (11, 11, 2)


def test_steps_that_are_words_keep_their_order(grpo, log):
    rows = [{"prompt_id": "a", "step": step, "reward": 1} for step in ("warm", "cold", "warm")]
    assert [row["step"] for row in grpo("trend", log(*rows), "--format", "json").rows] == ["warm", "cold"]


def test_a_log_without_steps_has_no_trend(grpo, log):
    grpo("trend", log(a=[0, 1])).refused("no step to follow", "--step")


def test_a_sparkline_a_column_and_rows_that_fit_a_terminal(terminal, log):
    rows = [
        {"prompt_id": f"p{prompt}", "step": step, "reward": float(rollout * 25 < step)}
        for step in range(60)
        for prompt in range(2)
        for rollout in range(4)
    ]
    plain = {"NO_COLOR": "1"}
    ran = terminal("trend", log(*rows), columns=80, env=plain)
    assert ran.code == 0
    lines = ran.out.splitlines()
    assert "note: 60 steps, 3 a row: --bin 1 shows each" in lines
    (mean,) = [line for line in lines if line.startswith("reward_mean")]
    assert mean.split()[-1].startswith("▁")
    assert mean.endswith("█")
    assert any(line.split() == ["step", "last_step", *line.split()[2:]] for line in lines)
    assert max(map(len, lines)) <= 80
    assert len(terminal("trend", "x.jsonl", "--bin", "1", "--limit", "0", columns=80, env=plain).out.splitlines()) > 60


def test_the_last_steps_alone(grpo, run):
    assert [row["step"] for row in grpo("trend", run, "--steps", "-2:", "--format", "json").rows] == [10, 11]
