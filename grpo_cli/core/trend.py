"""A log over its steps: how the rewards and the signal in them change, a row per step or per bin of steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from grpo_cli import frame as cf
from grpo_cli.core import rewards
from grpo_cli.core.groups import COUNTS, TOLERANCE, is_zero_variance, summary

if TYPE_CHECKING:
    from collections.abc import Sequence

SHARES = {status: f"{name}_share" for status, name in COUNTS.items()}
"""For each status the name of the column with its share of the groups."""


def trend(
    frame: pl.DataFrame,
    groups: pl.DataFrame,
    bins: pl.Series,
    *,
    weights: Sequence[float] | None = None,
    tolerance: float = TOLERANCE,
    advantage: pl.Series | None = None,
) -> pl.DataFrame:
    """A row per bin of groups, by its number.

    Args:
        frame: a canonical frame.
        groups: its summary by group.
        bins: for each group number the number of its bin: the place of its step.
        weights: one for each reward column, as for the summary.
        tolerance: as for the summary.
        advantage: an advantage a row; None leaves `mean_abs_advantage` null.

    Returns:
        Columns, null where they do not apply:

        - `bin`: its number
        - `groups`, `rollouts`, `scored`, `missing`: counts; rollouts that a condition takes out are not missing
        - `reward_mean`: over scored rollouts
        - `within_group_std`: mean of the groups' std (ddof 0), over groups with two scored rollouts or more
        - `pass_rate`: mean of the groups' pass rates
        - `zero_variance_share`, and `mixed_share`, `all_pass_share` ... for each status: parts of the groups
        - `mean_abs_advantage`: over rows with an advantage
        - `length_mean`: over rollouts with a length
    """
    bins = bins.alias("bin")
    pooled = summary(frame, by=bins, weights=weights, tolerance=tolerance)
    of_groups = (
        groups.with_columns(bins.gather(groups[cf.GROUP]).alias("bin"))
        .group_by("bin")
        .agg(
            pl.col("pass_rate").mean(),
            is_zero_variance().mean().alias("zero_variance_share"),
            *((pl.col("status") == status).mean().alias(name) for status, name in SHARES.items()),
        )
    )
    rollouts = rewards.one_row_per_rollout(frame)
    of_rollouts = (
        pl.DataFrame(
            {
                "bin": bins.gather(rollouts[cf.GROUP]),
                "length": _or_nulls(rollouts, cf.LENGTH, pl.Float64()),
                "taken_out": _or_nulls(rollouts, cf.SCORED, pl.Boolean()).not_().fill_null(value=False),
            }
        )
        .group_by("bin")
        .agg(pl.col("length").mean().alias("length_mean"), pl.col("taken_out").sum())
    )
    table = pooled.select("bin", "groups", "n", "scored", "mean", "within_group_std")
    for other in (of_groups, of_rollouts, _advantages(frame, bins, advantage)):
        table = table.join(other, on="bin", how="left", maintain_order="left")
    return table.select(
        "bin",
        "groups",
        pl.col("n").alias("rollouts"),
        "scored",
        (pl.col("n") - pl.col("scored") - pl.col("taken_out").cast(pl.Int64)).alias("missing"),
        pl.col("mean").alias("reward_mean"),
        "within_group_std",
        "pass_rate",
        "zero_variance_share",
        *SHARES.values(),
        "mean_abs_advantage",
        "length_mean",
    )


def _advantages(frame: pl.DataFrame, bins: pl.Series, advantage: pl.Series | None) -> pl.DataFrame:
    values = pl.repeat(None, len(frame), dtype=pl.Float64, eager=True) if advantage is None else advantage
    table = pl.DataFrame({"bin": bins.gather(frame[cf.GROUP]), "mean_abs_advantage": values.abs()})
    return table.group_by("bin").agg(pl.col("mean_abs_advantage").mean())


def _or_nulls(frame: pl.DataFrame, column: str, dtype: pl.DataType) -> pl.Series:
    if column in frame.columns:
        return frame[column]
    return pl.repeat(None, len(frame), dtype=dtype, eager=True)
