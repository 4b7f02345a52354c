from __future__ import annotations

import pytest


def test_a_row_per_estimator(grpo, log):
    path = log(a=[1, 0, 0, 1], b=[1, 1])
    ran = grpo("compare", path, "-e", "grpo", "-e", "dr-grpo", "-e", "trl/rloo", "--format", "json")
    assert ran.code == 0, ran.err
    assert [row["estimator"] for row in ran.rows] == ["grpo", "dr-grpo", "trl/rloo"]
    assert [row["mean_abs"] for row in ran.rows] == pytest.approx([4 / 6, 2 / 6, 8 / 18])
    assert ran.rows[1]["sign_changes"] == 0
    assert "r - mean of the others" in ran.rows[2]["formula"]


def test_the_groups_that_change_most(grpo, log):
    path = log(narrow=[0.1, 0], wide=[9, 0])
    ran = grpo("compare", path, "-e", "grpo", "-e", "dr-grpo", "--by-group", "--format", "json")
    assert [(row["key"], row["estimator"]) for row in ran.rows] == [("wide", "dr-grpo"), ("narrow", "dr-grpo")]
    assert ran.rows[0]["change"] == pytest.approx(3.5)
    shown = grpo("compare", path, "-e", "grpo", "-e", "dr-grpo", "--groups", "1", "--format", "table").out
    assert "wide" in shown
    assert "narrow" not in shown


def test_machine_formats_hold_one_table(grpo, log):
    ran = grpo("compare", log(a=[1, 0]), "-e", "grpo", "-e", "rloo", "--format", "csv")
    assert len(ran.out.splitlines()) == 3


@pytest.mark.parametrize("estimators", [[], ["-e", "grpo"], ["-e", "grpo", "-e", "grpo"]])
def test_it_takes_two(grpo, log, estimators):
    grpo("compare", log(a=[1, 0]), *estimators).refused("name two estimators")


def test_baselines_of_two_fields_are_refused(grpo, log):
    path = log({"prompt_id": "a", "reward": 1, "x": 0, "y": 0})
    grpo("compare", path, "-e", "remax:baseline=x", "-e", "remax:baseline=y").refused("x and y")


def test_an_estimator_that_needs_lengths(grpo, log):
    rows = [{"prompt_id": "a", "reward": r, "length": n} for r, n in ((1, 3), (0, 1))]
    ran = grpo("compare", log(*rows), "-e", "dr-grpo", "-e", "opo", "--format", "json")
    assert [row["mean_abs"] for row in ran.rows] == [0.5, 0.5]
    grpo("compare", log(a=[1, 0], name="y.jsonl"), "-e", "grpo", "-e", "opo").refused("length")
