"""Two logs put side by side by prompt."""

from __future__ import annotations

import math

import polars as pl
import pytest

from grpo_cli.core import diff
from grpo_cli.core.groups import summary
from grpo_cli.frame import check


def by_prompt(prompts: dict[str, list[float | None]]) -> pl.DataFrame:
    """A summary with a row per prompt, named in `key`."""
    ids = [number for number, values in enumerate(prompts.values()) for _ in values]
    frame = check(
        pl.DataFrame(
            {
                "group": pl.Series(ids, dtype=pl.UInt32),
                "batch": pl.Series([0] * len(ids), dtype=pl.UInt32),
                "reward_0": pl.Series([value for values in prompts.values() for value in values], dtype=pl.Float64),
            }
        )
    )
    return summary(frame).with_columns(pl.Series("key", list(prompts), dtype=pl.String))


BEFORE = by_prompt({"a": [0, 0], "b": [1, 1], "c": [1, 0], "d": [0, 1], "gone": [1, 0], "e": [0, 0], "f": [None]})
AFTER = by_prompt({"d": [0, 0], "c": [1, 1], "new": [1], "b": [1, 0], "a": [1, 0], "e": [0, 0], "f": [1, 1]})
PAIRS = diff.pair(BEFORE, AFTER, ["key"])


def test_prompts_are_paired_by_their_key_in_the_order_of_the_first_log():
    assert PAIRS.both["key"].to_list() == ["a", "b", "c", "d", "e", "f"]
    assert (PAIRS.only_before, PAIRS.only_after) == (1, 1)
    assert PAIRS.both["mean_before"].to_list() == [0.0, 1.0, 0.5, 0.5, 0.0, None]
    assert PAIRS.both["mean_after"].to_list() == [0.5, 0.5, 1.0, 0.0, 0.0, 1.0]
    assert PAIRS.both["change"].to_list() == [0.5, -0.5, 0.5, -0.5, 0.0, None]


def test_which_prompts_turned():
    assert PAIRS.both["solved"].to_list() == [True, False, False, False, False, None]
    assert PAIRS.both["lost"].to_list() == [False, False, False, True, False, None]
    assert PAIRS.both["regained"].to_list() == [True, True, False, False, False, False]


def test_the_change_has_a_paired_interval():
    row = diff.change(PAIRS).row(0, named=True)
    # Changes 0.5, -0.5, 0.5, -0.5, 0: mean 0, sample std 0.5, n = 5, t(0.975, 4) = 2.7764451051977987.
    reach = 2.7764451051977987 * 0.5 / math.sqrt(5)
    assert row == {
        "prompts": 6,
        "only_before": 1,
        "only_after": 1,
        "scored": 5,
        "mean_before": pytest.approx(0.4),
        "mean_after": pytest.approx(0.4),
        "change": 0.0,
        "low": pytest.approx(-reach),
        "high": pytest.approx(reach),
        "pass_rate_before": pytest.approx(0.4),
        "pass_rate_after": pytest.approx(0.4),
        "solved": 1,
        "lost": 1,
        "regained": 2,
    }


def test_scipy_gives_the_same_interval():
    stats = pytest.importorskip("scipy.stats")
    scored = PAIRS.both.drop_nulls("change")
    wanted = stats.ttest_rel(scored["mean_after"].to_list(), scored["mean_before"].to_list()).confidence_interval(0.9)
    row = diff.change(PAIRS, 0.9).row(0, named=True)
    assert (row["low"], row["high"]) == (pytest.approx(wanted.low, rel=1e-9), pytest.approx(wanted.high, rel=1e-9))


def test_the_prompts_that_moved_most_come_first():
    moved = diff.movers(
        diff.pair(
            by_prompt({"a": [0.5], "b": [0.9], "c": [0.1], "d": [None]}),
            by_prompt({"a": [0.6], "b": [0.1], "c": [0.3], "d": [1]}),
            ["key"],
        )
    )
    assert moved["key"].to_list() == ["b", "c", "a"]


def test_transitions_are_a_matrix_of_statuses():
    table = diff.transitions(PAIRS)
    assert table.rows() == [
        ("mixed", 0, 1, 1, 0, 0, 0),
        ("all-pass", 1, 0, 0, 0, 0, 0),
        ("all-fail", 1, 0, 1, 0, 0, 0),
        ("tied", 0, 0, 0, 0, 0, 0),
        ("singleton", 0, 0, 0, 0, 0, 0),
        ("unscored", 0, 1, 0, 0, 0, 0),
    ]
    assert table.columns == ["before", "mixed", "all-pass", "all-fail", "tied", "singleton", "unscored"]


def test_nothing_in_common():
    pairs = diff.pair(by_prompt({"a": [1, 0]}), by_prompt({"b": [1, 0], "c": [1, 0]}), ["key"])
    row = diff.change(pairs).row(0, named=True)
    assert (row["prompts"], row["only_before"], row["only_after"], row["regained"]) == (0, 1, 2, 0)
    assert [row[name] for name in ("mean_before", "change", "low", "solved", "pass_rate_after")] == [None] * 5
    assert diff.movers(pairs).is_empty()


def test_without_pass_and_fail_nothing_is_called_solved():
    pairs = diff.pair(by_prompt({"a": [0.1, 0.1]}), by_prompt({"a": [0.1, 0.7]}), ["key"])
    row = diff.change(pairs).row(0, named=True)
    assert (row["solved"], row["lost"], row["regained"]) == (None, None, 1)


def test_a_prompt_in_two_rows_is_refused():
    twice = pl.concat([BEFORE, BEFORE])
    with pytest.raises(ValueError, match="one row for each prompt"):
        diff.pair(twice, AFTER, ["key"])
