from __future__ import annotations

import math

import pytest


def test_a_group_typed_in(grpo):
    ran = grpo("explain", "1,0,1,0,1,0,1,0")
    assert ran.code == 0
    lines = ran.out.splitlines()
    assert "8 rewards: grpo, (r - mean) / std (ddof 0)" in lines[0]
    for name, value in (("mean", "0.5"), ("std", "0.5"), ("sample std", "0.5345")):
        (line,) = [line for line in lines if line.startswith(f"  {name} ")]
        assert line.removeprefix(f"  {name} ").split()[0] == value
    rows = [line.split() for line in lines[-8:]]
    assert [row[1:] for row in rows] == [["1", "1", "0.9354"], ["0", "-1", "-0.9354"]] * 4


def test_the_root_of_three(grpo):
    assert "1.732" in grpo("explain", "0,1,0,0").out


@pytest.mark.parametrize("rewards", ["-1,1", "-1,1,-1", "-.5,1e0", "-1e-3,1"])
def test_a_negative_reward_may_come_first(grpo, rewards):
    ran = grpo("explain", rewards)
    assert ran.code == 0, ran.err
    assert "status" in ran.out


def test_missing_rewards_typed_in(grpo):
    ran = grpo("explain", "1,null,0,")
    assert ran.code == 0
    assert "2 scored of 4" in ran.out
    assert [line.split() for line in ran.out.splitlines()][-4:] == [
        ["1", "1", "1", "0.7071"], ["2", "-", "-", "-"], ["3", "0", "-1", "-0.7071"], ["4", "-", "-", "-"],
    ]  # fmt: skip


def test_the_status_is_told(grpo):
    (line,) = [line for line in grpo("explain", "0,0").out.splitlines() if line.startswith("  status ")]
    assert line.split()[-1] == "all-fail"


def test_a_long_list_is_a_list_and_no_file_name(grpo):
    assert grpo("explain", ",".join(["0.25", "0.75"] * 400)).code == 0


def test_the_numbers_are_those_of_compute(grpo, log):
    path = log(a=[0.5, 0.25, 1, 0], b=[1, 1])
    (written, *_) = grpo("compute", path, "-o", "-", "-e", "rloo").advantages
    out = grpo("explain", path, "--key", "a", "-e", "rloo").out
    assert f"{written:.4g}" in out
    assert math.isclose(written, 0.5 - (0.25 + 1 + 0) / 3)


def test_a_group_is_named_by_key_or_id_or_is_the_widest(grpo, log):
    path = log(narrow=[0, 0.1], wide=[0, 5], dead=[1, 1])
    assert ": wide: " in grpo("explain", path).out.splitlines()[0]
    ids = {row["key"]: row["id"] for row in grpo("groups", path, "--format", "json").rows}
    for name in ("dead", ids["dead"], ids["dead"][:5]):
        assert ": dead: " in grpo("explain", path, "--key", name).out.splitlines()[0]
    grpo("explain", path, "--key", "nobody").refused("no group 'nobody'", "ids: ")


def test_a_name_that_fits_two_groups_is_refused(grpo, log):
    rows = [{"prompt_id": "p", "step": step, "reward": reward} for step in (1, 2) for reward in (0, 1)]
    grpo("explain", log(*rows), "--key", "p").refused("2 groups are called 'p'", "step 1")


def test_what_cannot_be_explained_is_said(grpo):
    grpo("explain", "1,inf").refused("infinite")
    grpo("explain", "1,x,0").refused("1,x,0")
    grpo("explain", "5").refused("5")
    grpo("explain", "1,0", "-e", "nope").refused("nope")
    grpo("explain", "1,0", "-e", "opo").refused("length")
