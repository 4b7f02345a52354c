from __future__ import annotations

import pytest


def test_every_estimator_is_listed_with_its_formula_and_source(grpo):
    from grpo_cli.core.estimators import ESTIMATORS

    ran = grpo("estimators", "--format", "json")
    assert ran.code == 0
    assert {row["name"] for row in ran.rows} >= set(ESTIMATORS)
    assert all(row["formula"] and row["source"] for row in ran.rows)


@pytest.mark.parametrize("name", ["grpo", "dr-grpo", "rloo", "lite-ppo"])
def test_what_is_listed_can_be_used(grpo, log, name):
    assert name in grpo("estimators").out
    ran = grpo("compute", log(a=[0, 1, 3], b=[1, 1]), "-o", "-", "-e", name)
    assert ran.code == 0, ran.err
    assert f"; {name}: " in ran.err


def test_an_unknown_estimator_gets_a_suggestion(grpo, log, untouched):
    path = log(a=[0, 1])
    unchanged = untouched()
    grpo("compute", path, "-e", "groo").refused("unknown estimator: groo", "grpo")
    grpo("compute", path, "-e", "grpo:ddof=7").refused("ddof")
    grpo("compute", path, "-e", "grpo:nope=1").refused("nope")
    grpo("compute", path, "--baseline", "nope").refused("nope")
    grpo("compute", path, "--scale", "nope").refused("nope")
    grpo("compute", path, "--ddof", "2").refused("ddof")
    grpo("compute", path, "--eps", "-1").refused("eps")
    grpo("compute", path, "-e", "grpo:ddof=1", "--ddof", "0").refused("two values for ddof")
    unchanged()
