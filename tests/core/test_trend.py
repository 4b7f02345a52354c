"""Figures a bin of groups, against the same worked out by hand."""

from __future__ import annotations

import polars as pl
import pytest

from grpo_cli.core.groups import summary
from grpo_cli.core.trend import trend


def frame(**columns) -> pl.DataFrame:
    types = {"group": pl.UInt32, "batch": pl.UInt32, "reward_0": pl.Float64, "length": pl.Float64, "scored": pl.Boolean}
    return pl.DataFrame({name: pl.Series(values, dtype=types[name]) for name, values in columns.items()})


def of_bins(rollouts: pl.DataFrame, bins: list[int], advantage=None) -> list[dict]:
    return trend(rollouts, summary(rollouts), pl.Series(bins, dtype=pl.UInt32), advantage=advantage).rows(named=True)


def test_bins_pool_their_groups():
    rollouts = frame(
        group=[0, 0, 1, 1, 2, 2, 2],
        batch=[0, 0, 0, 0, 1, 1, 1],
        reward_0=[0, 1, 1, 1, 0, 0, None],
        length=[10, 20, 30, None, 1, 2, 3],
    )
    first, second = of_bins(rollouts, [0, 0, 1], pl.Series([-1.0, 1, 0, 0, 0, 0, None]))
    assert (first["groups"], first["rollouts"], first["scored"], first["missing"]) == (2, 4, 4, 0)
    assert (first["reward_mean"], first["within_group_std"], first["pass_rate"]) == (0.75, 0.25, 0.75)
    assert (first["mixed_share"], first["all_pass_share"], first["zero_variance_share"]) == (0.5, 0.5, 0.5)
    assert (first["mean_abs_advantage"], first["length_mean"]) == (0.5, 20)
    assert (second["rollouts"], second["scored"], second["missing"], second["all_fail_share"]) == (3, 2, 1, 1)
    assert (second["mean_abs_advantage"], second["length_mean"]) == (0, 2)


def test_what_does_not_apply_is_null():
    (row,) = of_bins(frame(group=[0, 0], batch=[0, 0], reward_0=[None, None]), [0])
    assert row["missing"] == 2
    for name in ("reward_mean", "within_group_std", "pass_rate", "mean_abs_advantage", "length_mean"):
        assert row[name] is None, name


def test_rollouts_that_are_taken_out_are_not_missing():
    rollouts = frame(group=[0, 0, 0], batch=[0] * 3, reward_0=[1, 0, None], scored=[True, False, True])
    (row,) = of_bins(rollouts, [0])
    assert (row["rollouts"], row["scored"], row["missing"]) == (3, 1, 1)


def test_the_order_of_rows_does_not_matter():
    rollouts = frame(group=[0, 1, 0, 1], batch=[0] * 4, reward_0=[0.1, 0.7, 0.2, 0.3])
    mixed = rollouts[[3, 2, 1, 0]]
    assert of_bins(rollouts, [0, 1]) == [pytest.approx(row) for row in of_bins(mixed, [0, 1])]
