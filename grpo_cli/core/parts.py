"""Each reward column by itself: how much of it there is, how it spreads, and how much of the signal comes from it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from grpo_cli import frame as cf
from grpo_cli.core import rewards
from grpo_cli.core.groups import TOLERANCE, reward_of, summary
from grpo_cli.core.within import correlation, variance_shares
from grpo_cli.frame import Status

if TYPE_CHECKING:
    from collections.abc import Sequence


def reward_columns(
    frame: pl.DataFrame,
    names: Sequence[str],
    *,
    weights: Sequence[float] | None = None,
    tolerance: float = TOLERANCE,
) -> pl.DataFrame:
    """A row per reward column, in the order of the log.

    Args:
        frame: a canonical frame.
        names: what `reward_0..k` are called in the log.
        weights: one for each; None weighs each 1.
        tolerance: as for `groups.summary`.

    Returns:
        Columns `column`, `weight`; `count` and `missing` rollouts, less those taken out; `mean`, `std` and
        `sample_std` (ddof 0 and 1) over rollouts, `min`, `max`; `within_group_std` (mean of the groups' std, ddof 0);
        `mixed_share` (groups in which it differs, as a part of all groups); `variance_share` (its part of the
        within-group variance of the total, weight included; the parts add to 1, and a negative one works against
        the total). A constant column is one whose `min` is its `max`. Null where there is nothing to go by.
    """
    weights = [1.0] * len(names) if weights is None else weights
    rollouts = rewards.one_row_per_rollout(frame)
    shares = _shares(rollouts, weights, tolerance)
    parts = cf.reward_parts(rollouts)
    rows = [
        {"column": name, "weight": weight} | _alone(rollouts, part, tolerance) | {"variance_share": share}
        for name, weight, part, share in zip(names, weights, parts, shares, strict=True)
    ]
    counts = ("count", "missing")
    schema = {name: pl.Int64() if name in counts else pl.Float64() for name in _COLUMNS}
    return pl.DataFrame(rows, schema | {"column": pl.String()}, orient="row")


def reward_correlations(frame: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    """How the reward columns go together within groups: a row and a column per reward column, Pearson's r.

    Each pair is over the groups in which both differ; null where there is none.
    """
    rollouts = rewards.one_row_per_rollout(frame)
    values = [_scored(rollouts, part)[part] for part in cf.reward_parts(rollouts)]
    group = rollouts[cf.GROUP]
    columns = {
        name: pl.Series([correlation(group, other, value) for other in values], dtype=pl.Float64)
        for name, value in zip(names, values, strict=True)
    }
    return pl.DataFrame({"column": pl.Series(list(names), dtype=pl.String)} | columns)


_COLUMNS = (
    *("column", "weight", "count", "missing", "mean", "std", "sample_std", "min", "max"),
    *("within_group_std", "mixed_share", "variance_share"),
)


def _alone(rollouts: pl.DataFrame, part: str, tolerance: float) -> dict[str, float | None]:
    """The statistics of one reward column."""
    scored = _scored(rollouts, part)
    alone = scored.select(cf.GROUP, cf.BATCH, pl.col(part).alias(cf.reward_part(0)))
    count = alone[cf.reward_part(0)].count()
    taken_out = int(rollouts[cf.SCORED].not_().sum()) if cf.SCORED in rollouts.columns else 0
    found: dict[str, float | None] = {"count": count, "missing": len(rollouts) - taken_out - count}
    if not count:
        return found
    last = alone[cf.GROUP].max()
    assert isinstance(last, int)
    one = pl.repeat(0, last + 1, dtype=pl.UInt32, eager=True).alias("all")
    row = summary(alone, by=one, tolerance=tolerance).row(0, named=True)
    found |= {name: row[name] for name in ("mean", "std", "sample_std", "min", "max", "within_group_std")}
    return found | {"mixed_share": row["mixed"] / row["groups"]}


def _shares(rollouts: pl.DataFrame, weights: Sequence[float], tolerance: float) -> list[float | None]:
    """The variance shares over the groups whose total differs."""
    groups = summary(rollouts, weights=weights, tolerance=tolerance)
    mixed = groups.filter(pl.col("status") == Status.MIXED)[cf.GROUP]
    kept = rollouts.filter(pl.col(cf.GROUP).is_in(mixed.implode()))
    parts = [kept[part] * weight for part, weight in zip(cf.reward_parts(kept), weights, strict=True)]
    return variance_shares(kept[cf.GROUP], reward_of(kept, weights), parts)


def _scored(rollouts: pl.DataFrame, part: str) -> pl.DataFrame:
    """The rollouts with this reward made null where they are not scored."""
    if cf.SCORED not in rollouts.columns:
        return rollouts
    return rollouts.with_columns(pl.when(cf.SCORED).then(part).alias(part))
