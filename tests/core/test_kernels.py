"""The scales and centres that are not a mean and a std."""

from __future__ import annotations

import math

import polars as pl
import pytest

from grpo_cli.core import kernels
from grpo_cli.core.arithmetic import Rows
from grpo_cli.core.chain import Step
from grpo_cli.core.moments import Partition
from grpo_cli.errors import RowError


def rows(group, batch=None, singleton="zero"):
    parts = (Partition(pl.Series(ids, dtype=pl.UInt32)) for ids in (group, batch or [0] * len(group)))
    return Rows(*parts, length=None, baseline=None, tolerance=0, singleton=singleton)


def series(values):
    return pl.Series("reward", values, dtype=pl.Float64)


def others(values):
    mean = sum(values) / len(values)
    return math.sqrt(sum((v - mean) ** 2 for v in values) / (len(values) - 1))


def test_the_std_of_the_others():
    x, about = series([1.0, 2.0, 4.0, None, 3.0]), rows([0] * 5)
    stats = about.moments(x, about.groups, by_spread=True)
    std = kernels.std_of_others(x, stats, 1, about) * stats["unit"][0]
    assert std.to_list()[:3] == pytest.approx([others([2, 4, 3]), others([1, 4, 3]), others([1, 2, 3])], rel=1e-14)
    assert std[4] == pytest.approx(others([1, 2, 4]), rel=1e-14)


def test_the_std_of_others_that_are_equal_is_exactly_zero():
    x, about = series([0.35] * 7 + [0.95] + [0.3, 0.7]), rows([0] * 8 + [1] * 2)
    std = kernels.std_of_others(x, about.moments(x, about.groups, by_spread=True), 1, about)
    assert std[7] == 0
    assert std.to_list()[8:] == [0, 0]
    assert std[0] > 0


def test_the_lead_of_the_best():
    x, about = series([1.0, 5.0, 3.0, 2.0, 2.0, 7.0]), rows([0, 0, 0, 1, 1, 2])
    lead = kernels.lead_of_best(about.moments(x, about.groups, by_spread=False))
    assert lead.to_list() == [0, 2, 0, 0, 0, 0]


def test_the_moving_average_is_of_the_rows_before():
    assert kernels.moving_average(series([1.0, None, 0.0, 2.0]), 0.5).to_list() == [0.0, None, 0.5, 0.25]


def test_the_share_of_rewards_that_are_not_zero_is_of_the_batch():
    part, share = kernels.SCALES["batch-nonzero"](
        Step(), series([1, 0, 0, -2, 0, 0, None]), rows([0] * 7, [0, 0, 0, 0, 1, 1, 1]), None
    )
    assert part.spread(share).to_list() == [0.5] * 4 + [1.0] * 3


def density(p, means):
    """Beta density by the gamma function, fitted as the BNPO paper says."""
    n = len(means)
    mean = sum(means) / n
    var = sum((m - mean) ** 2 for m in means) / (n - 1)
    total = mean * (1 - mean) / var - 1
    a, b = max(1, 1 + mean * total / 3), max(1, 1 + (1 - mean) * total / 3)
    return p ** (a - 1) * (1 - p) ** (b - 1) * math.gamma(a + b) / (math.gamma(a) * math.gamma(b))


def test_the_beta_density_is_fitted_to_the_means_of_the_batch():
    x = series([1, 0, 0, 0, 1, 1, 1, 0, 1, 0])
    _, scale = kernels.SCALES["beta-pdf"](Step(), x, rows([0] * 4 + [1] * 4 + [2] * 2), None)
    means = [0.25, 0.75, 0.5]
    assert scale.to_list() == pytest.approx([density(p, means) for p in means], rel=1e-12)


def test_each_batch_has_its_own_density():
    x = series([1, 0, 0, 0, 1, 1, 1, 0, 1, 0, 0, 0])
    _, scale = kernels.SCALES["beta-pdf"](Step(), x, rows([0] * 4 + [1] * 4 + [2] * 4, [0] * 8 + [1] * 4), None)
    assert scale.to_list() == pytest.approx([density(0.25, [0.25, 0.75]), density(0.75, [0.25, 0.75]), 1.0], rel=1e-12)


def test_a_density_needs_rewards_between_0_and_1():
    with pytest.raises(RowError, match="between 0 and 1") as caught:
        kernels.SCALES["beta-pdf"](Step(), series([1.0, -0.5]), rows([0, 0]), None)
    assert caught.value.row == 1


def test_a_mean_that_is_not_positive_divides_everything_away():
    _, scale = kernels.SCALES["mean"](Step(), series([1, 0, -1, 0]), rows([0, 0, 1, 1]), None)
    assert scale.to_list() == [0.5, math.inf]
    _, softened = kernels.SCALES["mean"](Step(eps=0.1), series([1, 0, -1, 0]), rows([0, 0, 1, 1]), None)
    assert softened.to_list() == pytest.approx([0.6, -0.4])
