from __future__ import annotations

import polars as pl
import pytest

from grpo_cli.core.comparison import compare
from grpo_cli.core.estimators import resolve


def frame(*groups):
    rows = [(number, reward) for number, rewards in enumerate(groups) for reward in rewards]
    return pl.DataFrame(
        {"group": [g for g, _ in rows], "batch": [0] * len(rows), "reward_0": [r for _, r in rows]},
        schema={"group": pl.UInt32, "batch": pl.UInt32, "reward_0": pl.Float64},
    )


def rows(comparison):
    return {row["estimator"]: row for row in comparison.estimators.to_dicts()}


def test_an_estimator_agrees_with_itself():
    found = compare(frame([1, 0, 0, 1], [0.5, 0.25]), [resolve("grpo"), resolve("dr-grpo")])
    first = rows(found)["grpo"]
    assert (first["sign_changes"], first["rank_correlation"]) == (0.0, pytest.approx(1.0))
    assert found.groups["estimator"].unique().to_list() == ["dr-grpo"]


def test_sizes_by_hand():
    # grpo gives 1, -1, -1, 1 and 0, 0; dr-grpo 0.5, -0.5, -0.5, 0.5 and 0, 0.
    found = rows(compare(frame([1, 0, 0, 1], [1, 1]), [resolve("grpo"), resolve("dr-grpo")]))
    assert found["grpo"]["mean_abs"] == pytest.approx(4 / 6)
    assert found["dr-grpo"]["mean_abs"] == pytest.approx(2 / 6)
    assert found["dr-grpo"]["std"] == pytest.approx((4 * 0.25 / 6) ** 0.5)
    assert found["dr-grpo"]["zero"] == pytest.approx(2 / 6)
    assert found["dr-grpo"]["rows"] == 6


def test_signs_that_change_count_zero_as_one():
    # Against the batch mean 0.5 the group of ones rises above 0: two rows of four change.
    found = compare(frame([1, 1], [0.5, -0.5]), [resolve("dr-grpo"), resolve("batch-norm")])
    assert rows(found)["batch-norm"]["sign_changes"] == pytest.approx(3 / 4)
    assert found.groups.select("group", "sign_changes").sort("group").rows() == [(0, 2), (1, 1)]


def test_ranks_are_those_of_spearman():
    # dr-grpo: 0.5 -0.5 | 1 -1; grpo: 1 -1 | 1 -1. Ranks 3 2 4 1 and 3.5 1.5 3.5 1.5: r = 4 / sqrt(20).
    found = rows(compare(frame([1, 0], [2, 0]), [resolve("dr-grpo"), resolve("grpo")]))
    assert found["grpo"]["rank_correlation"] == pytest.approx(4 / 20**0.5)


def test_constant_advantages_have_no_rank_correlation():
    found = rows(compare(frame([1, 1], [0, 0]), [resolve("grpo"), resolve("dr-grpo")]))
    assert found["dr-grpo"]["rank_correlation"] is None


def test_the_group_that_changes_most_comes_first():
    found = compare(frame([1, 0], [10, 0], [3, 0]), [resolve("grpo"), resolve("dr-grpo"), resolve("rloo")])
    changes = found.groups.select("group", "estimator", "change").rows()
    assert changes[0] == (1, "rloo", pytest.approx(9.0))
    assert changes[1] == (1, "dr-grpo", pytest.approx(4.0))
    assert [change for *_, change in changes] == sorted((change for *_, change in changes), reverse=True)


def test_rows_without_a_number_are_left_out():
    found = rows(compare(frame([1, 0, None], [0.5, 0.25, 1]), [resolve("trl"), resolve("verl")]))
    assert (found["trl/grpo"]["rows"], found["verl/grpo"]["rows"]) == (6, 3)
    assert found["verl/grpo"]["sign_changes"] == 0.0
