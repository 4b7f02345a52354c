"""`groups` by status, by a condition, by prompt, and with histograms."""

from __future__ import annotations


def keys(ran) -> list[str]:
    assert ran.code == 0, ran.err
    return [row["key"] for row in ran.rows]


def test_statuses(grpo, log):
    asked = ("groups", log(a=[0, 1], b=[1, 1], c=[0, 0], d=[1]), "--format", "json", "--status")
    assert keys(grpo(*asked, "mixed")) == ["a"]
    assert keys(grpo(*asked, "zero-variance,singleton")) == ["b", "c", "d"]
    grpo(*asked, "dead").refused("'dead' is no status", "zero-variance")


def test_a_condition_over_the_columns_that_are_shown(grpo, log):
    asked = ("groups", log(a=[0, 1, 1], b=[1, 1], c=[0, 0]), "--format", "json", "--where")
    assert keys(grpo(*asked, "mean > 0.2 and n = 3")) == ["a"]
    assert keys(grpo(*asked, "key in ('b', 'c') or passed = 2")) == ["a", "b", "c"]
    assert keys(grpo(*asked, "mean > 5")) == []
    assert keys(grpo(*asked, "mean < 1", "--status", "zero-variance")) == ["c"]
    grpo(*asked, "meen > 5").refused("there is no column meen", "did you mean mean")
    grpo(*asked, "mean >").refused("mean >")


def test_how_many_passed_by_an_outcome(grpo, log):
    rows = [
        {"prompt_id": prompt, "reward": reward, "correct": right}
        for prompt, reward, right in (("w", -0.1, 0), ("w", -0.2, 0), ("s", 0.9, 1), ("s", -0.2, 0))
    ]
    ran = grpo("groups", log(*rows), "--outcome", "correct", "--format", "json")
    assert [(row["key"], row["passed"], row["judged"]) for row in ran.rows] == [("w", 0, 2), ("s", 1, 2)]
    phantom = ("--where", "passed = 0 and status = 'mixed'")
    assert keys(grpo("groups", "x.jsonl", "--outcome", "correct", *phantom, "--format", "json")) == ["w"]


def test_histograms_share_their_bins(grpo, log):
    ran = grpo("groups", log(a=[0, 1, 1], b=[1, None], c=[0, 0]), "--format", "json")
    assert [row["rewards"] for row in ran.rows] == [[1, 2], [0, 1], [2, 0]]
    ran = grpo("groups", log(a=[at / 8 for at in range(9)], b=[0.5]), "--format", "json")
    assert [row["rewards"] for row in ran.rows] == [[1, 1, 1, 1, 1, 1, 1, 2], [0, 0, 0, 0, 1, 0, 0, 0]]


def test_by_prompt_the_groups_of_all_steps_are_one_row(grpo, log):
    rows = [
        {"prompt_id": prompt, "step": step, "reward": reward}
        for prompt, step, rewards in (("p", 1, (0, 0)), ("q", 1, (1, 1)), ("p", 2, (0, 1)))
        for reward in rewards
    ]
    p, q = grpo("groups", log(*rows), "--by", "prompt", "--format", "json").rows
    assert (p["key"], p["groups"], p["n"], p["mean"], p["means"], p["status"]) == ("p", 2, 4, 0.25, [0, 0.5], "mixed")
    assert (p["mixed"], p["all_fail"], p["within_group_std"], p["rewards"]) == (1, 1, 0.25, [3, 1])
    assert (q["groups"], q["status"], q["means"]) == (1, "all-pass", [1])
    stepless = grpo("groups", "x.jsonl", "--step", "none", "--format", "json").rows
    assert [row["id"] for row in (p, q)] == [row["id"] for row in stepless]


def test_a_histogram_is_drawn_beside_each_group(terminal, log):
    ran = terminal("groups", log(a=[0, 1, 1, 1], b=[0, 0, 0, 0]), "-q", columns=140, env={"NO_COLOR": "1"})
    lines = ran.out.splitlines()
    assert lines[0].split()[-1] == "rewards"
    assert lines[2].endswith("▃█")
    assert lines[3].endswith("█")
