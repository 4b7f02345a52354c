"""Correlations and shares inside groups, against the textbook formulas in plain Python."""

from __future__ import annotations

import math
import random
import statistics

import polars as pl
import pytest

from grpo_cli.core.within import correlation, correlations, variance_shares

GROUP = pl.Series([0, 0, 0, 0, 1, 1, 1, 2, 2, 2], dtype=pl.UInt32)
LENGTH = pl.Series([10, 20, 30, 40, 12, 24, 36, 15, 25, 35], dtype=pl.Float64)
REWARD = pl.Series([0.1, 0.3, 0.2, 0.6, 1, 1, 1, 0.9, 0.5, 0.1])


def centred(group: list[int], values: list[float]) -> list[float]:
    means = {g: statistics.fmean(v for h, v in zip(group, values, strict=True) if h == g) for g in group}
    return [value - means[g] for g, value in zip(group, values, strict=True)]


def test_pearson_by_group_and_within_groups():
    table = correlations(GROUP, LENGTH, REWARD)
    assert table["group"].to_list() == [0, 1, 2]
    assert table["correlation"].to_list() == [pytest.approx(0.8366600265340756), None, pytest.approx(-1.0)]
    # Group 1 has no spread of rewards, and its lengths do not count either.
    keep = [0, 1, 2, 3, 7, 8, 9]
    x = centred([GROUP[i] for i in keep], [LENGTH[i] for i in keep])
    y = centred([GROUP[i] for i in keep], [REWARD[i] for i in keep])
    by_hand = sum(map(lambda a, b: a * b, x, y)) / math.hypot(*x) / math.hypot(*y)
    assert correlation(GROUP, LENGTH, REWARD) == pytest.approx(by_hand, rel=1e-12)


def test_the_order_of_rows_and_an_offset_do_not_matter():
    order = list(range(len(GROUP)))
    random.Random(1).shuffle(order)
    whole = correlation(GROUP, LENGTH, REWARD)
    assert correlation(GROUP[order], LENGTH[order], REWARD[order]) == pytest.approx(whole, rel=1e-12)
    assert correlation(GROUP, LENGTH + 2**30, REWARD) == pytest.approx(whole, rel=1e-12)
    assert correlation(GROUP, LENGTH * 1e300, REWARD * 1e-300) == pytest.approx(whole, rel=1e-12)
    assert correlation(GROUP, REWARD, REWARD) == pytest.approx(1.0, abs=1e-15)
    assert correlation(GROUP, REWARD, -REWARD) == pytest.approx(-1.0, abs=1e-15)


def test_a_constant_has_no_correlation():
    constant = pl.Series([0.1] * 10)
    assert correlation(GROUP, constant, REWARD) is None
    assert correlation(GROUP, GROUP.cast(pl.Float64), REWARD) is None, "constant in every group"
    assert correlation(GROUP[:0], constant[:0], REWARD[:0]) is None
    assert correlations(GROUP, constant, REWARD)["correlation"].to_list() == [None] * 3


def test_rollouts_without_one_of_the_two_are_left_out():
    some = pl.Series([10, None, 30, 40, None, None, None, 15, 25, None], dtype=pl.Float64)
    keep = some.is_not_null()
    assert correlation(GROUP, some, REWARD) == correlation(GROUP.filter(keep), some.filter(keep), REWARD.filter(keep))


def test_scipy_gives_the_same_correlation():
    stats = pytest.importorskip("scipy.stats")
    wanted = stats.pearsonr(LENGTH[:4].to_list(), REWARD[:4].to_list()).statistic
    assert correlations(GROUP, LENGTH, REWARD)["correlation"][0] == pytest.approx(wanted, rel=1e-12)
    keep = [0, 1, 2, 3, 7, 8, 9]
    x, y = (centred([GROUP[i] for i in keep], [values[i] for i in keep]) for values in (LENGTH, REWARD))
    assert correlation(GROUP, LENGTH, REWARD) == pytest.approx(stats.pearsonr(x, y).statistic, rel=1e-12)


def test_shares_of_the_variance_add_to_one():
    group = pl.Series([0] * 4, dtype=pl.UInt32)
    correct, length = pl.Series([1.0, 1.0, 0.0, 0.0]), pl.Series([0.0, 40.0, 90.0, 170.0])
    shares = variance_shares(group, correct + length, [correct, length])
    assert shares == [pytest.approx(-0.006863547635539324), pytest.approx(1.0068635476355392)]
    shares = variance_shares(group, (correct + length) * 1e306, [correct * 1e306, length * 1e306])
    assert shares == [pytest.approx(-0.006863547635539324), pytest.approx(1.0068635476355392)]


def test_a_missing_part_counts_as_zero_where_there_is_a_total():
    group = pl.Series([0, 0, 0], dtype=pl.UInt32)
    total = pl.Series([1.5, 0.0, None])
    parts = [pl.Series([1.0, 0.0, None]), pl.Series([0.5, None, None])]
    assert variance_shares(group, total, parts) == [pytest.approx(2 / 3), pytest.approx(1 / 3)]


def test_a_constant_part_has_no_share_and_a_constant_total_no_shares():
    total = pl.Series([0.1] * 10)
    assert variance_shares(GROUP, total, [total]) == [None]
    assert variance_shares(GROUP, REWARD + 5.0, [REWARD, pl.Series([5.0] * 10)]) == [pytest.approx(1.0), 0.0]
    assert variance_shares(GROUP[:0], total[:0], [total[:0]]) == [None]
