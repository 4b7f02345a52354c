"""pass@k against counting by hand and by enumeration, and its average over groups."""

from __future__ import annotations

import itertools
import math

import polars as pl
import pytest

from grpo_cli.core import passk
from grpo_cli.core.groups import summary
from grpo_cli.errors import UsageError
from grpo_cli.frame import check


def frame(*rewards: list[float | None]) -> pl.DataFrame:
    ids = [number for number, values in enumerate(rewards) for _ in values]
    return check(
        pl.DataFrame(
            {
                "group": pl.Series(ids, dtype=pl.UInt32),
                "batch": pl.Series([0] * len(ids), dtype=pl.UInt32),
                "reward_0": pl.Series([value for values in rewards for value in values], dtype=pl.Float64),
            }
        )
    )


@pytest.mark.parametrize(("n", "c"), [(1, 0), (1, 1), (5, 0), (5, 2), (6, 3), (6, 6)])
def test_both_are_what_drawing_every_subset_gives(n, c):
    marks = [1] * c + [0] * (n - c)
    for k in range(1, n + 1):
        subsets = list(itertools.combinations(marks, k))
        assert passk.pass_at_k(n, c, k) == pytest.approx(sum(map(max, subsets)) / len(subsets), abs=1e-15)
        assert passk.pass_hat_k(n, c, k) == pytest.approx(sum(map(min, subsets)) / len(subsets), abs=1e-15)
    assert passk.pass_at_k(n, c, n + 1) is None
    assert passk.pass_hat_k(n, c, n + 1) is None


def test_large_groups_do_not_overflow():
    assert passk.pass_at_k(4096, 1, 1024) == 0.25
    assert passk.pass_at_k(4096, 0, 4096) == 0.0


def test_partial_rewards_pass_at_a_threshold():
    rows = frame([0.2, 0.9, 1.0, 1.3, 0], [0, 0, 0.4, 0.4, 0])
    ks = [1, 2, 4, 5]
    table = passk.per_group(summary(rows, pass_threshold=1.0), ks)
    assert [table[f"pass@{k}"].to_list() for k in ks] == [[0.4, 0.0], [0.7, 0.0], [1.0, 0.0], [1.0, 0.0]]
    overall = passk.at_thresholds(rows, ks, [1.0, 0.4])
    assert overall.select("threshold", "k", "pass_at_k").head(4).rows() == [
        (1.0, 1, 0.2),
        (1.0, 2, 0.35),
        (1.0, 4, 0.5),
        (1.0, 5, 0.5),
    ]
    assert overall.row(4, named=True)["pass_at_k"] == pytest.approx((3 / 5 + 2 / 5) / 2)


def test_a_threshold_is_of_the_reward_even_where_there_is_an_outcome():
    rows = frame([0.2, 0.9]).with_columns(outcome=pl.Series([True, True]))
    assert passk.at_thresholds(rows, [1], [0.5])["pass_at_k"].to_list() == [0.5]


def test_k_above_n_is_null_and_counted():
    groups = summary(frame([0, 0, 0], [1, 0, 0, 0, 0, 0, 0, 0]))
    table = passk.per_group(groups, [1, 4, 8])
    assert table.select("pass@1", "pass@4", "pass@8").rows() == [(0.0, None, None), (0.125, 0.5, 1.0)]
    assert passk.over_groups(groups, [1, 8, 9]).rows() == [
        (1, 2, 0, 0.0625, 0.0, pytest.approx(0.0625 + 12.706204736174704 * 0.0625), 0.0625),
        (8, 1, 1, 1.0, None, None, 0.0),
        (9, 0, 2, None, None, None, None),
    ]


def test_missing_rewards_are_no_rollouts_of_k():
    groups = summary(frame([1, 0, None, None]))
    assert passk.per_group(groups, [2, 3]).select("pass@2", "pass@3").rows() == [(1.0, None)]


def test_the_interval_is_over_groups_and_stays_between_0_and_1():
    groups = summary(frame(*[[1, 0]] * 5, *[[0, 0]] * 3, *[[1, 1]] * 2))
    row = passk.over_groups(groups, [1]).row(0, named=True)
    rates = [0.5] * 5 + [0.0] * 3 + [1.0] * 2
    mean = sum(rates) / 10
    std = math.sqrt(sum((rate - mean) ** 2 for rate in rates) / 9)
    reach = 2.2621571627409915 * std / math.sqrt(10)
    assert (row["low"], row["high"]) == (pytest.approx(mean - reach), pytest.approx(mean + reach))


def test_scipy_gives_the_same_interval():
    stats = pytest.importorskip("scipy.stats")
    groups = summary(frame(*([1] * c + [0] * (8 - c) for c in [0, 1, 3, 3, 4, 6, 8, 2])))
    row = passk.over_groups(groups, [4], 0.9).row(0, named=True)
    values = passk.per_group(groups, [4])["pass@4"].to_list()
    low, high = stats.t.interval(0.9, len(values) - 1, loc=sum(values) / len(values), scale=stats.sem(values))
    assert (row["low"], row["high"]) == (pytest.approx(low, rel=1e-9), pytest.approx(min(high, 1.0), rel=1e-9))


def test_what_is_refused():
    with pytest.raises(UsageError, match="k is 0"):
        passk.per_group(summary(frame([1, 0])), [0])
    with pytest.raises(UsageError, match="not known which rollouts pass") as refused:
        passk.over_groups(summary(frame([0.1, 0.2])), [1])
    assert "--pass-threshold" in str(refused.value.hint)
