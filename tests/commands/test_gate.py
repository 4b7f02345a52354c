"""Checks for a pipeline: what holds, what fails, and with which exit code."""

from __future__ import annotations

import pytest


@pytest.fixture
def half_dead(log):
    return log(a=[0, 1, 0, 1], b=[1, 1, 1, 1], c=[1, 0, 0, None], d=[0, 0])


@pytest.mark.parametrize(
    ("bound", "value", "holds", "fails"),
    [
        ("--max-zero-variance", 0.5, "0.5", "0.49"),
        ("--max-missing", 1, "1", "0"),
        ("--max-singletons", 0, "0", None),
        ("--min-groups", 4, "4", "5"),
        ("--fail-on", None, "rollouts > 14", "rollouts > 13"),
    ],
)
def test_each_bound_includes_its_own_value(grpo, half_dead, bound, value, holds, fails):
    ran = grpo("gate", half_dead, bound, holds, "--format", "json")
    assert ran.code == 0, ran.err
    (row,) = ran.rows
    assert row["ok"] is True
    assert value is None or row["value"] == value
    if fails is not None:
        ran = grpo("gate", half_dead, bound, fails, "--format", "json")
        assert ran.code == 1
        assert [row["ok"] for row in ran.rows] == [False]
        assert "grpo-adv: 1 of 1 check failed: " in ran.err


def test_every_check_is_shown_and_the_failed_ones_are_named(grpo, half_dead):
    ran = grpo(
        "gate", half_dead, "--expect-size", 4, "--min-groups", 2, "--max-zero-variance", 0.25, "--format", "table"
    )
    assert ran.code == 1
    assert [line.split()[-1] for line in ran.out.splitlines()[2:]] == ["FAILED", "FAILED", "ok"]
    assert "2 of 3 checks failed" in ran.err
    assert "zero-variance share of groups 0.5, bound 0.25" in ran.err
    assert "groups without 4 rollouts 1, bound 0" in ran.err


def test_conditions_name_the_figures_of_stats(grpo, half_dead):
    (figures,) = grpo("stats", half_dead, "--format", "json").rows
    for name, value in figures.items():
        if value is not None:
            assert grpo("gate", half_dead, "--fail-on", f"{name} > {value}").code == 0, name
            assert grpo("gate", half_dead, "--fail-on", f"{name} <= {value}").code == 1, name
    grpo("gate", half_dead, "--fail-on", "reward_meen < 1").refused("no column reward_meen", "did you mean reward_mean")
    grpo("gate", half_dead, "--fail-on", "reward_mean <").refused("reward_mean <")


def test_a_figure_that_is_not_known_fails(grpo, half_dead):
    ran = grpo("gate", half_dead, "--fail-on", "phantom > 0")
    assert ran.code == 1
    assert "one that is not known fails its check" in ran.err


def test_phantom_groups_can_be_gated(grpo, log):
    rows = [{"prompt_id": "p", "reward": reward, "correct": 0} for reward in (-0.1, -0.2)]
    asked = ("gate", log(*rows), "--outcome", "correct", "--fail-on")
    assert grpo(*asked, "phantom > 0").code == 1
    assert grpo(*asked, "phantom > 1").code == 0


def test_nothing_to_check_is_wrong_use(grpo, half_dead):
    grpo("gate", half_dead).refused("nothing to check", "--max-zero-variance 0.5")
    grpo("gate", half_dead, "--max-zero-variance", "1.5").refused("--max-zero-variance")


def test_a_run_that_goes_on(grpo, log):
    path = log(a=[1, 0])
    path.write_bytes(path.read_bytes() + b'{"prompt')
    grpo("gate", path, "--min-groups", 1).refused("x.jsonl:3")
    assert grpo("gate", path, "--min-groups", 1, "--live").code == 0


def test_in_a_shell(shell, log):
    log(a=[1, 1], b=[1, 0])
    ran = shell("grpo-adv gate x.jsonl --max-zero-variance 0.4 -q > /dev/null || echo dead: $?")
    assert ran.out == "dead: 1\n"
