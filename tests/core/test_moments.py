"""Statistics of parts: which rows are together, in what units, and when values count as one."""

from __future__ import annotations

import math

import polars as pl
import pytest

from grpo_cli.core.moments import Partition, constant, moments


def of(values, numbers=None, **options):
    part = Partition(pl.Series(numbers or [0] * len(values), dtype=pl.UInt32))
    return moments(pl.Series(values, dtype=pl.Float64), part, **({"by_spread": False, "tolerance": 0} | options))


def test_parts_keep_their_order_and_gaps_are_closed():
    part = Partition(pl.Series([7, 2, 7, 5], dtype=pl.UInt32))
    assert part.size == 3
    assert part.numbers.to_list() == [2, 0, 2, 1]
    table = part.aggregate({"x": pl.Series([1.0, 2.0, 3.0, 4.0])}, pl.col("x").sum())
    assert table["x"].to_list() == [2.0, 4.0, 4.0]
    assert part.spread(table["x"]).to_list() == [4.0, 2.0, 4.0, 4.0]


def test_no_rows():
    assert Partition(pl.Series([], dtype=pl.UInt32)).size == 0
    assert of([]).std(0).to_list() == []


def test_mean_and_std():
    stats = of([1.0, 2.0, 6.0, 5.0, 5.0], [0, 0, 0, 1, 1])
    assert stats.mean().to_list() == [3.0, 5.0]
    assert stats.std(0).to_list() == pytest.approx([math.sqrt(14 / 3), 0])
    assert stats.std(1).to_list() == pytest.approx([math.sqrt(7), 0])
    assert stats["dead"].to_list() == [False, True]


def test_nulls_are_in_no_statistic():
    stats = of([1.0, None, 3.0, None], [0, 0, 0, 1])
    assert stats["count"].to_list() == [2, 0]
    assert stats.mean().to_list() == [2.0, None]
    assert stats.deviations.to_list() == [-1.0, None, 1.0, None]


def test_one_value_is_alone_and_has_no_std():
    stats = of([4.0])
    assert (stats["lone"][0], stats["dead"][0], stats.std(0)[0]) == (True, False, 0)


def test_in_units_of_the_spread():
    stats = of([10.0, 14.0, 12.0], by_spread=True)
    assert stats["unit"].to_list() == [4.0]
    assert stats.deviations.to_list() == [-0.5, 0.5, 0.0]
    assert stats.mean().to_list() == [12.0]


def test_a_unit_of_one_unless_that_is_out_of_range():
    assert of([0.0, 3.0])["unit"].to_list() == [1.0]
    assert of([0.0, 1e-200])["unit"][0] == pytest.approx(1e-200, rel=1)
    assert math.log2(of([0.0, 1e-200])["unit"][0]).is_integer()


def test_weights():
    stats = of([1.0, 4.0], weights=pl.Series([2.0, 1.0]))
    assert stats.mean().to_list() == [2.0]
    assert stats.std(1).to_list() == pytest.approx([math.sqrt((2 * 1 + 1 * 4) / 2)])
    nothing = of([1.0, 4.0], weights=pl.Series([0.0, 0.0]))
    assert nothing.std(0).to_list() == [0.0]


@pytest.mark.parametrize(
    ("low", "high", "tolerance", "same"),
    [
        (1, 1, 0, True),
        (1, math.nextafter(1, 2), 0, False),
        (0, 1e-8, 5e-7, True),
        (0, 1.1e-8, 5e-7, False),
        (0, 1e-9, 0, False),
        (1e6, 1e6 + 0.5, 5e-7, True),
        (1e6, 1e6 + 0.6, 5e-7, False),
        (-1e6 - 0.5, -1e6, 5e-7, True),
        (0.5, 1, 0.5, True),
    ],
)
def test_when_values_count_as_one(low, high, tolerance, same):
    assert pl.select(constant(pl.lit(float(low)), pl.lit(float(high)), tolerance)).item() is same


def test_a_variance_is_never_a_difference_of_squares():
    stats = of([1e8, 1e8 + 1, 1e8 + 2], tolerance=0)
    assert stats.std(1).to_list() == [1.0]
