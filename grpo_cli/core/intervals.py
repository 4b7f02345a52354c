"""The confidence interval of a mean, by Student's t."""

from __future__ import annotations

import math
import statistics
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import polars as pl

CONFIDENCE = 0.95


class Interval(NamedTuple):
    """A mean and where the true one may be; the ends are None for fewer than two values."""

    mean: float | None
    low: float | None
    high: float | None


def mean_interval(values: pl.Series, confidence: float = CONFIDENCE) -> Interval:
    """The mean of `values` and its two-sided t interval: mean -+ t(n - 1) * std / sqrt(n). Nulls are left out."""
    values = values.drop_nulls()
    count = len(values)
    if not count:
        return Interval(None, None, None)
    first = values[0]
    away = values - first  # equal values then have exactly their own mean, and no spread
    mean = first + away.sum() / count
    if count < 2:
        return Interval(mean, None, None)
    std = away.std(ddof=1)
    assert isinstance(std, float)
    reach = t_quantile(0.5 + confidence / 2, count - 1) * std / math.sqrt(count)
    return Interval(mean, mean - reach, mean + reach)


@cache
def t_quantile(probability: float, freedom: int) -> float:
    """The value that Student's t with `freedom` degrees of freedom is below with `probability` (0.5 to 1).

    By bisection on the distribution function, to the last bits of a float64.
    """
    if probability <= 0.5:
        return 0.0
    low, high = 0.0, max(1.0, statistics.NormalDist().inv_cdf(probability))
    while _t_below(high, freedom) < probability:
        low, high = high, 2 * high
    while (middle := (low + high) / 2) not in {low, high}:
        if _t_below(middle, freedom) < probability:
            low = middle
        else:
            high = middle
    return high


def _t_below(value: float, freedom: int) -> float:
    """P(t < value) for value > 0: 1 - I_x(v/2, 1/2) / 2 with x = v / (v + t^2) (Abramowitz and Stegun 26.7.1)."""
    return 1 - _incomplete_beta(freedom / (freedom + value * value), freedom / 2, 0.5) / 2


def _incomplete_beta(x: float, a: float, b: float) -> float:
    """The regularized incomplete beta function I_x(a, b), by its continued fraction (A. and S. 26.5.8)."""
    if x in {0.0, 1.0}:
        return x
    if x > (a + 1) / (a + b + 2):  # where the fraction converges slowly, that of the complement is quick
        return 1 - _incomplete_beta(1 - x, b, a)
    log_front = a * math.log(x) + b * math.log1p(-x) + math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    return math.exp(log_front) / (a * _fraction(x, a, b))


def _fraction(x: float, a: float, b: float) -> float:
    """1 + d1/(1 + d2/(1 + ...)), from the front by Lentz's method."""
    result, numerator, denominator = 1.0, 1.0, 0.0
    for step in range(1, 10_000):
        m = step // 2
        if step % 2:
            term = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        else:
            term = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        denominator = 1 / (1 + term * denominator)
        numerator = 1 + term / numerator
        result *= numerator * denominator
        if abs(numerator * denominator - 1) < 1e-16:
            break
    return result
