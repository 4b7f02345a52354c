"""How the rewards of each group lie between the least and the greatest of the log."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import polars as pl

from grpo_cli import frame as cf
from grpo_cli.core import rewards
from grpo_cli.core.groups import reward_of

if TYPE_CHECKING:
    from collections.abc import Sequence

BINS = 8


def histograms(
    frame: pl.DataFrame, *, by: pl.Series | None = None, weights: Sequence[float] | None = None, bins: int = BINS
) -> pl.Series:
    """For each group (or what `by` says each group number belongs to) how many rewards lie in each bin.

    The bins are as wide as each other, from the log's least reward to its greatest, the same for every group. Where
    the log has fewer distinct rewards than `bins`, there are as many bins as that.

    Returns:
        A series `rewards` of lists of counts, by group number.
    """
    rollouts = rewards.one_row_per_rollout(frame)
    reward = reward_of(rollouts, weights)
    number = rollouts[cf.GROUP] if by is None else by.gather(rollouts[cf.GROUP])
    count = max(1, min(bins, reward.drop_nulls().n_unique()))
    low, high = reward.min(), reward.max()
    place = pl.lit(0.0)
    if isinstance(low, float) and isinstance(high, float) and high > low:
        unit = _unit(low, high)
        place = (pl.col("reward") * unit - low * unit) / (high * unit - low * unit)
    at = (place * count).floor().clip(0, count - 1)
    table = pl.DataFrame({"number": number, "reward": reward})
    counted = table.group_by("number").agg(
        pl.concat_list(
            *(((at == index) & pl.col("reward").is_not_null()).sum().cast(pl.Int64) for index in range(count))
        ).alias("rewards")
    )
    return counted.sort("number")["rewards"]


def _unit(low: float, high: float) -> float:
    """What brings a spread to where neither it nor its reciprocal leaves the range of a float64."""
    if high / 2 - low / 2 > sys.float_info.max / 4:
        return 0.5
    return 2.0**600 if max(abs(low), abs(high)) < sys.float_info.min * 2.0**400 else 1.0
