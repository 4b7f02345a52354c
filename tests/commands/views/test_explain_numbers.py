"""The numbers that `explain` puts into its formulas, and the frameworks side by side."""

from __future__ import annotations

import pytest


def line(ran, name):
    (found,) = [line.split(maxsplit=1)[1].strip() for line in ran.out.splitlines() if line.split(" ")[2:3] == [name]]
    value, _, formula = found.partition(" ")
    return value, formula.strip()


def test_the_lesson(grpo):
    ran = grpo("explain", "1,0,1,0")
    assert ran.code == 0
    assert line(ran, "mean") == ("0.5", "(1 + 0 + 1 + 0) / 4")
    assert line(ran, "std") == ("0.5", "sqrt((2 x (1 - 0.5)^2 + 2 x (0 - 0.5)^2) / 4), ddof 0")
    assert line(ran, "A_1") == ("1", "(1 - 0.5) / 0.5")
    assert line(ran, "A_2") == ("-1", "(0 - 0.5) / 0.5")
    assert "A_3" not in ran.out


def test_a_framework_shows_its_eps(grpo):
    ran = grpo("explain", "0,1,0,0", "--like", "trl")
    assert line(ran, "A_2") == ("1.5", "(1 - 0.25) / 0.5001")
    assert "(std + 0.0001) (ddof 1)" in ran.out


def test_leave_one_out_has_a_centre_a_row(grpo):
    ran = grpo("explain", "1,0,0.5,0.25", "-e", "rloo")
    assert line(ran, "A_1") == ("0.75", "1 - 0.25")
    assert line(ran, "A_2") == ("-0.5833", "0 - 0.5833")


def test_two_steps_are_told_one_after_the_other(grpo):
    ran = grpo("explain", "1,0,0,0", "-e", "reinforce++-baseline")
    assert line(ran, "x_1") == ("0.75", "1 - 0.25")
    assert line(ran, "A_1") == ("1.732", "(0.75 - 0) / 0.433")


def test_pass_at_k_has_its_binomials(grpo):
    # n = 8, c = 3, k = 2: rho = 1 - 10 / 28.
    ran = grpo("explain", "1,0,0,1,1,0,0,0", "-e", "passk:k=2")
    assert line(ran, "rho") == ("0.6429", "1 - C(5, 2) / C(8, 2)")
    assert "(1 - 0.6429) / 0.4792" in ran.out
    assert "0.7454" in ran.out


def test_long_lists_are_short(grpo):
    ran = grpo("explain", ",".join(["0.25", "0.75"] * 400))
    assert line(ran, "mean")[1] == "(400 x 0.25 + 400 x 0.75) / 800"
    ran = grpo("explain", ",".join(str(number / 64) for number in range(64)))
    assert line(ran, "mean")[1].startswith("(0 + 0.01562 + ... + ")


def test_no_formula_is_said_twice(grpo):
    ran = grpo("explain", "1,0,1,0")
    assert ran.out.count("(r - mean) / std") == 1


def test_a_rounding_fault_of_a_framework_is_said(grpo):
    assert "float32" in grpo("explain", "0.1,0.1,0.1", "--like", "openrlhf").out
    assert "float32" not in grpo("explain", "0.1,0.1,0.2", "--like", "openrlhf").out


EVERY = (
    "grpo dr-grpo rloo rloo-normalized grpo-loo lite-ppo batch-norm reinforce++ reinforce++-baseline grpo-whitened gdpo"
)
EVERY += " gpg maxrl qae bnpo passk:k=2 passk-max pkpo:k=2 raw"


@pytest.mark.parametrize("spec", EVERY.split())
def test_every_estimator_is_explained(grpo, spec):
    ran = grpo("explain", "1,0,1,1,0", "-e", spec)
    assert ran.code == 0, ran.err
    assert "made" not in ran.out
    rows = grpo("explain", "1,0,1,1,0", "-e", spec, "--format", "json").rows
    assert len(rows) == 5
    assert all(row["advantage"] is not None for row in rows)


def test_all_frameworks_side_by_side(grpo):
    ran = grpo("explain", "1,0,1,0,1,0,1,0", "--like", "all", "--format", "json")
    assert ran.code == 0, ran.err
    hits = {row["estimator"]: row["r=1"] for row in ran.rows}
    assert len(hits) > 25
    assert hits["open-instruct/dr-grpo"] == 0.5
    assert hits["trl/grpo"] == pytest.approx(0.935239, abs=1e-6)
    assert hits["trl-async/grpo"] == pytest.approx(1, abs=1e-6)
    assert hits["verl/grpo"] == pytest.approx(0.935413, abs=1e-6)
    assert hits["nemo-rl/grpo-loo"] == pytest.approx(1.069043, abs=1e-5)
    assert all(row["r=0"] == pytest.approx(-row["r=1"]) for row in ran.rows if row["estimator"].startswith("trl"))


def test_one_estimator_of_all_frameworks(grpo):
    rows = grpo("explain", "1,0,null", "--like", "all", "-e", "rloo", "--format", "json").rows
    assert {row["estimator"] for row in rows} >= {"trl/rloo", "verl/rloo", "nemo-rl/rloo"}
    assert {row["estimator"]: row["missing"] for row in rows}["trl/rloo"] == 0.0
    grpo("explain", "1,0", "--like", "all", "-e", "nope").refused("no framework has an estimator nope")


def test_like_all_is_for_rewards_and_like_auto_for_logs(grpo, log):
    grpo("explain", log(a=[1, 0]), "--like", "all").refused("--like all is for rewards typed in")
    grpo("explain", "1,0", "--like", "auto").refused("--like auto is for logs")
