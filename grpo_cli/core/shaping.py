"""What is done to rewards before their baseline is taken: threshold, clip, length penalty."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from grpo_cli.core.arithmetic import Rows
    from grpo_cli.core.chain import Estimator


def shaped(reward: pl.Series, estimator: Estimator, rows: Rows) -> pl.Series:
    """The reward that the estimator's steps begin with; null stays null."""
    if estimator.threshold is not None:
        reward = (reward > estimator.threshold).cast(pl.Float64)
    if estimator.clip is not None:
        reward = reward.clip(*estimator.clip)
    if estimator.length_penalty:
        reward = reward - _length_penalty(reward, estimator.length_penalty, rows)
    return reward


def _length_penalty(reward: pl.Series, weight: float, rows: Rows) -> pl.Series:
    """Weight times group mean times length / longest length in the group (prime-rl algo/grpo.py, linear)."""
    length = pl.select(pl.when(reward.is_not_null()).then(rows.length)).to_series()
    longest = rows.groups.aggregate({"length": length}, pl.col("length").max())["length"]
    share = length / rows.groups.spread(longest.replace(0.0, 1.0))
    mean = rows.moments(reward, rows.groups, by_spread=False).mean()
    return rows.groups.spread(mean) * weight * share
