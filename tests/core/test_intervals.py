"""Student's t against published values, and against scipy where there is one."""

from __future__ import annotations

import math

import polars as pl
import pytest

from grpo_cli.core.intervals import mean_interval, t_quantile


@pytest.mark.parametrize(
    ("probability", "freedom", "value"),
    [
        (0.975, 1, 12.706204736174704),  # tan(0.475 pi)
        (0.975, 2, 4.302652729749464),  # 0.95 / sqrt(2 * 0.975 * 0.025)
        (0.95, 2, 2.919985580353726),
        (0.75, 1, 1.0),
        (0.975, 10, 2.228138851986),
        (0.975, 30, 2.042272456301),
        (0.995, 5, 4.032142983557),
        (0.975, 100_000, 1.959987708),
        (0.5, 3, 0.0),
    ],
)
def test_known_quantiles(probability, freedom, value):
    assert t_quantile(probability, freedom) == pytest.approx(value, rel=1e-9)


def test_two_degrees_of_freedom_have_a_closed_form():
    for probability in (0.6, 0.9, 0.99, 0.9999):
        closed = (2 * probability - 1) / math.sqrt(2 * probability * (1 - probability))
        assert t_quantile(probability, 2) == pytest.approx(closed, rel=1e-12)


def test_an_interval_by_hand():
    # Mean 3, sample std sqrt(2.5), n = 5, t(0.975, 4) = 2.7764451051977987.
    reach = 2.7764451051977987 * math.sqrt(2.5) / math.sqrt(5)
    assert mean_interval(pl.Series([1.0, 2.0, None, 3.0, 4.0, 5.0])) == pytest.approx((3.0, 3 - reach, 3 + reach))


def test_too_few_values_and_equal_ones():
    assert mean_interval(pl.Series([], dtype=pl.Float64)) == (None, None, None)
    assert mean_interval(pl.Series([None], dtype=pl.Float64)) == (None, None, None)
    assert mean_interval(pl.Series([0.7])) == (0.7, None, None)
    assert mean_interval(pl.Series([0.1] * 9)) == (0.1, 0.1, 0.1)


def test_scipy_agrees():
    stats = pytest.importorskip("scipy.stats")
    for freedom in (1, 2, 3, 7, 31, 500, 20_000):
        for probability in (0.6, 0.95, 0.975, 0.9995):
            assert t_quantile(probability, freedom) == pytest.approx(stats.t.ppf(probability, freedom), rel=1e-9)
