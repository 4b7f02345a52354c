"""The figures of a log, by hand and by Python's own statistics."""

from __future__ import annotations

import math
import statistics
from typing import Any

import polars as pl
import pytest

from grpo_cli.core import stats
from grpo_cli.core.groups import summary
from grpo_cli.frame import check


def frame(*rewards: list[float | None], **more: Any) -> pl.DataFrame:
    ids = [number for number, values in enumerate(rewards) for _ in values]
    columns = {
        "group": pl.Series(ids, dtype=pl.UInt32),
        "batch": pl.Series([0] * len(ids), dtype=pl.UInt32),
        "reward_0": pl.Series([value for values in rewards for value in values], dtype=pl.Float64),
    }
    return check(pl.DataFrame(columns | more))


def figures(rows: pl.DataFrame, **options: Any) -> dict[str, Any]:
    return stats.figures(rows, summary(rows, pass_threshold=options.get("pass_threshold")), **options).row(
        0, named=True
    )


def some(found: dict[str, Any], *names: str) -> list[Any]:
    return [found[name] for name in names]


def test_spread_within_groups_is_not_spread_over_rollouts():
    found = figures(frame([7, 7, 7, 7], [-3, -3, -3, -3]))
    assert found["within_group_std"] == 0.0
    assert found["rollout_sample_std"] == pytest.approx(5.345224838248488)
    assert found["rollout_std"] == 5.0
    assert found["between_group_std"] == 5.0
    assert some(found, "reward_mean", "group_mean", "zero_variance", "zero_variance_share") == [2.0, 2.0, 2, 1.0]


def test_counts_sizes_and_statuses():
    rows = frame([1, 0, 1], [1, 1, 1], [0, 0], [1], [None, None], scored=pl.Series([True] * 8 + [False] + [True] * 2))
    found = figures(rows)
    assert some(found, "rows", "rollouts", "scored", "missing", "taken_out", "groups", "batches") == [
        *(11, 11, 8, 2, 1, 5, 1)
    ]
    assert some(found, "size_min", "size_commonest", "size_max", "odd_sizes") == [1, 3, 3, 3]
    assert some(found, "mixed", "all_pass", "all_fail", "tied", "singleton", "unscored") == [1, 1, 1, 0, 0, 2]
    assert some(found, "zero_variance_share", "informative_share") == [0.4, 0.2]
    assert some(found, "zero_variance_rollout_share", "informative_rollout_share") == [5 / 11, 3 / 11]


def test_a_rollout_of_several_rows_is_one():
    found = figures(frame([1, 1, 1, 0], rollout=pl.Series([1, 1, 1, 2], dtype=pl.UInt32)))
    assert some(found, "rows", "rollouts", "reward_mean", "rollout_pass_rate") == [4, 2, 0.5, 0.5]


def test_quantiles_are_those_of_the_scored_rewards():
    values = [0.3, 0.1, 0.9, 0.4, 0.8, 0.2, 0.7, 0.6, 1.0, 0.5, 0.0]
    found = figures(frame(values, [None]))
    deciles = statistics.quantiles(values, n=10, method="inclusive")
    assert some(found, "reward_min", "reward_median", "reward_max") == [0.0, 0.5, 1.0]
    assert some(found, "reward_p10", "reward_p90") == [pytest.approx(deciles[0]), pytest.approx(deciles[8])]
    quartiles = statistics.quantiles(values, n=4, method="inclusive")
    assert some(found, "reward_p25", "reward_p75") == [pytest.approx(quartiles[0]), pytest.approx(quartiles[2])]
    assert found["rollout_std"] == pytest.approx(statistics.pstdev(values))


def test_frac_reward_zero_std_is_of_rollouts_and_counts_lone_ones():
    # Sample stds: 0 and 0.7071; 1e-9 is close to zero; a lone rollout has std 0. The unscored one is left out.
    found = figures(frame([1, 1, 1], [1, 0], [0, 1e-9], [1], [None]))
    assert found["frac_reward_zero_std"] == 6 / 8
    assert some(found, "zero_variance", "nearly_constant") == [2, 1]


def test_constant_groups_by_their_value():
    found = figures(frame([0] * 4, [1] * 4, [1, 0, 1, 0], [0.5] * 4))
    names = ("constant_at_lowest", "constant_at_highest", "constant_between")
    assert some(found, "groups", "zero_variance", "zero_variance_share", *names) == [4, 3, 0.75, 1, 1, 1]
    assert some(figures(frame([1, 1], [1, 1])), *names) == [None, None, None]


def test_phantoms_need_an_outcome():
    rewards = [[-0.1, -0.2, -0.3, -0.4], [0.9, -0.2, -0.3, 0.6]]
    outcome = pl.Series([False] * 4 + [True, False, False, True])
    found = figures(frame(*rewards, outcome=outcome))
    assert some(found, "phantom", "pass_rate", "pass_threshold", "mixed") == [1, 0.25, None, 2]
    assert some(figures(frame(*rewards), pass_threshold=0.5), "phantom", "pass_rate", "pass_threshold") == [
        *(None, 0.25, 0.5)
    ]


def test_advantages():
    rows = frame([1, 0, 1, 0], [1, 1])
    found = figures(rows, advantage=pl.Series([1.0, -1.0, 1.0, -1.0, 0.0, None]))
    assert some(found, "mean_abs_advantage", "nonzero_advantage_share") == [0.8, 0.8]
    assert some(figures(rows), "mean_abs_advantage", "nonzero_advantage_share") == [None, None]


def test_length_and_reward_within_groups():
    rewards = [[0.1, 0.3, 0.2, 0.6], [1, 1, 1], [0.9, 0.5, 0.1]]
    length = pl.Series([10, 20, 30, 40, 12, 24, 36, 15, 25, 35], dtype=pl.Float64)
    found = figures(frame(*rewards, length=length))
    assert found["length_correlation"] == pytest.approx(-0.05572782125753531, rel=1e-12)
    assert found["length_mean"] == pytest.approx(24.7)
    # Equal but for a rounding error: it must not enter as a spread.
    noisy = [rewards[0], [0.3, 0.1 + 0.2, 0.3], rewards[2]]
    assert figures(frame(*noisy, length=length))["length_correlation"] == pytest.approx(-0.05572782125753531, rel=1e-12)
    assert figures(frame([1, 1], length=pl.Series([1.0, 2.0])))["length_correlation"] is None


def test_an_empty_log_and_an_unscored_one_have_nulls_and_no_nan():
    empty = figures(frame())
    assert some(empty, "rows", "groups", "zero_variance") == [0, 0, 0]
    assert some(empty, "zero_variance_share", "reward_mean", "within_group_std", "size_min") == [None] * 4
    unscored = figures(frame([None] * 1200))
    assert some(unscored, "missing", "unscored", "zero_variance_share") == [1200, 1, 0.0]
    assert not any(math.isnan(value) for value in unscored.values() if value is not None)
    assert some(unscored, "reward_mean", "rollout_std", "group_mean", "frac_reward_zero_std", "pass_rate") == [None] * 5


def test_rollouts_that_were_lost():
    groups = summary(frame([1, 1, 0, 0], [1, 1]))
    assert stats.shortfall(groups, 4).row(0, named=True) == {
        "found": 6,
        "expected": 8,
        "short": 1,
        "pass_rate": 0.75,
        "rollout_pass_rate": pytest.approx(2 / 3),
        "missing_as_fail": 0.5,
    }
    assert stats.shortfall(summary(frame([0.1, 0.2])), 4)["missing_as_fail"].to_list() == [None]
