"""Two logs paired by prompt: what changed, in which prompts, and which became what."""

from __future__ import annotations

import pytest


@pytest.fixture
def two(log):
    log(
        *({"prompt_id": "a", "step": 1, "reward": reward} for reward in (0, 0)),
        *({"prompt_id": "b", "step": 1, "reward": reward} for reward in (1, 0)),
        *({"prompt_id": "c", "step": 1, "reward": reward} for reward in (1, 1)),
        *({"prompt_id": "gone", "step": 1, "reward": reward} for reward in (1, 1)),
        name="before.jsonl",
    )
    log(
        *({"prompt_id": "b", "step": 7, "reward": reward} for reward in (0, 0)),
        *({"prompt_id": "a", "step": 7, "reward": reward} for reward in (1, 1, 0, 1)),
        *({"prompt_id": "c", "step": 7, "reward": reward} for reward in (1, 1)),
        *({"prompt_id": "new", "step": 7, "reward": reward} for reward in (1, 1)),
        name="after.jsonl",
    )
    return "diff", "before.jsonl", "after.jsonl"


def test_prompts_that_moved_most_come_first(grpo, two):
    ran = grpo(*two, "--format", "json")
    assert [(row["key"], row["change"]) for row in ran.rows] == [("a", 0.75), ("b", -0.5), ("c", 0)]
    a, b, c = ran.rows
    assert (a["n_before"], a["n_after"], a["status_before"], a["status_after"]) == (2, 4, "all-fail", "mixed")
    assert (a["solved"], a["lost"], a["regained"]) == (True, False, True)
    assert (b["solved"], b["lost"], b["regained"]) == (False, True, False)
    assert (c["solved"], c["lost"], c["regained"]) == (False, False, False)
    groups = grpo("groups", "after.jsonl", "--by", "prompt", "--format", "json").rows
    assert a["id"] == next(row["id"] for row in groups if row["key"] == "a")


def test_the_change_has_a_paired_interval(grpo, two):
    stats = pytest.importorskip("scipy.stats")
    (row,) = grpo(*two, "--table", "summary", "--format", "json").rows
    assert (row["prompts"], row["only_before"], row["only_after"]) == (3, 1, 1)
    assert (row["solved"], row["lost"], row["regained"]) == (1, 1, 1)
    after, before = [0.75, 0, 1], [0, 0.5, 1]
    found = stats.ttest_rel(after, before)
    assert row["change"] == pytest.approx(0.25 / 3)
    low, high = found.confidence_interval(0.95)
    assert [row["low"], row["high"]] == pytest.approx([low, high], rel=1e-9)


def test_which_status_became_which(grpo, two):
    rows = {row["before"]: row for row in grpo(*two, "--table", "transitions", "--format", "json").rows}
    assert rows["all-fail"]["mixed"] == rows["mixed"]["all-fail"] == rows["all-pass"]["all-pass"] == 1
    assert sum(value for row in rows.values() for name, value in row.items() if name != "before") == 3


def test_the_report_for_people(terminal, two):
    ran = terminal(*two, columns=80, env={"NO_COLOR": "1"})
    assert ran.code == 0
    for words in (
        "3 in both logs, 1 only before, 1 only after",
        "0.5 before, 0.5833 after: +0.08333, 95 % interval",
        "1 prompt: none passed before, some do after",
        "Statuses before (down) and after (across)",
        "Prompts that moved most",
    ):
        assert words in ran.out, ran.out
    assert max(map(len, ran.out.splitlines())) <= 80


def test_each_log_may_be_a_folder(grpo, log):
    log(a=[0, 1], name="one/1.jsonl")
    log(b=[0, 1], name="one/2.jsonl")
    log(a=[1, 1], b=[0, 1], name="two/1.jsonl")
    assert len(grpo("diff", "one", "two", "--format", "json").rows) == 2


def test_logs_without_a_prompt_in_common_are_refused(grpo, log):
    log(a=[0, 1], name="1.jsonl")
    log(b=[0, 1], name="2.jsonl")
    grpo("diff", "1.jsonl", "2.jsonl").refused("no prompt in common", "'a'", "'b'", "--group-by")
    grpo("diff", "1.jsonl").refused("missing argument 'B'")


def test_without_pass_and_fail_solved_is_not_known(grpo, log):
    log(a=[0.5, 0.2], name="1.jsonl")
    log(a=[0.5, 0.7], name="2.jsonl")
    ran = grpo("diff", "1.jsonl", "2.jsonl", "--format", "json")
    assert [(row["solved"], row["lost"], row["regained"]) for row in ran.rows] == [(None, None, False)]
    assert "solved" not in grpo("diff", "1.jsonl", "2.jsonl", "--format", "table").out.split("Prompts that moved")[0]
