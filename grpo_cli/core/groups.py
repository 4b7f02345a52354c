"""Group statistics and status: one function for a row per group, per batch, or per prompt over the run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import polars as pl

from grpo_cli import frame as cf
from grpo_cli.core import chain, rewards
from grpo_cli.core.moments import constant
from grpo_cli.frame import Status

if TYPE_CHECKING:
    from collections.abc import Sequence

TOLERANCE = chain.TOLERANCE
"""Relative spread up to which a group is zero-variance, unless another is asked for."""

# Squares of differences between these bounds stay in the range of a float64; others are scaled up or down.
_SMALL, _LARGE = 1e-100, 1e100
_UP, _DOWN = 2.0**600, 2.0**-600

COUNTS = {status.value: status.value.replace("-", "_") for status in Status}
"""For each status the name of the column that counts its groups: one that SQL reads as a name."""

ZERO_VARIANCE = [status.value for status in Status if status.zero_variance]


def summary(
    frame: pl.DataFrame,
    *,
    by: Literal["group", "batch"] | pl.Series = "group",
    weights: Sequence[float] | None = None,
    tolerance: float = TOLERANCE,
    pass_threshold: float | None = None,
) -> pl.DataFrame:
    """Statistics of the rewards: a row per group, per batch, or per prompt, sorted by its number.

    Args:
        frame: a canonical frame. Rows of one rollout count once.
        by: `group`, `batch`, or a series that gives for each group number the number of what it belongs to
            (its prompt); the series' name becomes the column's name.
        weights: one for each reward column; None weighs each 1.
        tolerance: a group with two scored rewards or more is zero-variance where
            max - min <= max(tolerance * max(|min|, |max|), 1e-8); 0 means exactly constant.
        pass_threshold: the reward at which a rollout passes. None takes `pass_threshold_of(frame)`. An
            `outcome` column is used instead wherever the frame has one.

    Returns:
        | column               | what                                                                   |
        |----------------------|------------------------------------------------------------------------|
        | `group` or other     | the number of the group, batch or prompt                               |
        | `batch`              | by group only: the batch it is in                                      |
        | `groups`             | not by group: how many groups there are                                |
        | `n`, `scored`        | rollouts, and those with a reward                                      |
        | `mean`, `min`, `max` | of the scored rewards; null where there are none                       |
        | `std`, `sample_std`  | ddof 0 and ddof 1; the latter null for fewer than two                  |
        | `judged`, `passed`   | scored rollouts known to pass or fail, and those that pass             |
        | `pass_rate`          | passed / judged; all three null where no threshold or outcome is known |
        | `status`             | a value of `frame.Status`, by the rewards of all the row's rollouts    |
        | `within_group_std`   | not by group: mean of the groups' `std`, groups with two scored or more|
        | `mixed`, `all_pass` ..| not by group: how many groups have each status, columns by `COUNTS`   |

        All numbers are equal to exact arithmetic to 1e-12 of the spread, whatever the offset of the rewards
        and the order of the rows. A std beyond the range of a float64 is null. Never NaN, never -0.0.
    """
    rollouts = rewards.one_row_per_rollout(frame)
    reward = reward_of(rollouts, weights)
    if pass_threshold is None:
        pass_threshold = _threshold_of(reward)
    rows = pl.DataFrame(
        [rollouts[cf.GROUP], rollouts[cf.BATCH], reward]
        + ([rollouts[cf.OUTCOME]] if cf.OUTCOME in rollouts.columns else [])
    )
    groups = _statistics(rows, cf.GROUP, tolerance, pass_threshold)
    if isinstance(by, str) and by == cf.GROUP:
        return groups
    if isinstance(by, str):
        key = cf.BATCH
    else:
        key = by.name or "prompt"
        rows = rows.with_columns(by.gather(rows[cf.GROUP]).alias(key))
        groups = groups.with_columns(by.gather(groups[cf.GROUP]).alias(key))
    pooled = _statistics(rows, key, tolerance, pass_threshold)
    return pooled.join(_of_the_groups(groups, key), on=key, how="left", maintain_order="left").select(
        key, "groups", pl.exclude(key, "groups", *COUNTS.values()), *COUNTS.values()
    )


def reward_of(frame: pl.DataFrame, weights: Sequence[float] | None = None) -> pl.Series:
    """The total reward a row, null where it is missing or the row is not scored, and never -0.0."""
    reward = rewards.total(frame, weights)
    if cf.SCORED in frame.columns:
        reward = reward.set(frame[cf.SCORED].not_(), None)
    return reward.to_frame().select(pl.when(pl.first() == 0).then(0.0).otherwise(pl.first()).alias(cf.REWARD))[
        cf.REWARD
    ]


def pass_threshold_of(frame: pl.DataFrame, weights: Sequence[float] | None = None) -> float | None:
    """The reward at which a rollout passes: 1 where all rewards are 0 or 1, or all -1 or 1; else None."""
    return _threshold_of(reward_of(frame, weights))


def account(groups: pl.DataFrame) -> pl.DataFrame:
    """How many groups, and rollouts in them, have each status: a row per status, in the order of `Status`.

    Args:
        groups: a summary by group, or by anything else that has a status.

    Returns:
        Columns `status`, `groups`, `rollouts`, `group_share`, `rollout_share`; shares of nothing are null.
    """
    counted = groups.group_by("status").agg(pl.len().alias("groups"), pl.col("n").sum().alias("rollouts"))
    every = pl.DataFrame({"status": [status.value for status in Status]})
    table = every.join(counted, on="status", how="left", maintain_order="left").with_columns(
        pl.col("groups", "rollouts").fill_null(0).cast(pl.Int64)
    )
    return table.with_columns(
        _shares(table["groups"]).alias("group_share"), _shares(table["rollouts"]).alias("rollout_share")
    )


def is_zero_variance() -> pl.Expr:
    """Of a summary: true for a row of two scored rewards or more that are equal within the tolerance."""
    return pl.col("status").is_in(ZERO_VARIANCE)


def is_nearly_constant() -> pl.Expr:
    """Of a summary: zero-variance within the tolerance, yet not exactly constant."""
    return is_zero_variance() & (pl.col("min") < pl.col("max"))


def is_phantom() -> pl.Expr:
    """Of a summary with outcomes: every rollout failed, and yet the rewards differ."""
    return (pl.col("passed") == 0) & (pl.col("judged") > 0) & (pl.col("status") == Status.MIXED.value)


def _threshold_of(reward: pl.Series) -> float | None:
    lowest = reward.min()
    if lowest is None:
        return None
    other = 0.0 if lowest >= 0 else -1.0  # type: ignore[operator]  # of a Float64 series
    return 1.0 if ((reward == other) | (reward == 1.0)).all() else None


def _statistics(rows: pl.DataFrame, key: str, tolerance: float, threshold: float | None) -> pl.DataFrame:
    """The table of `summary` up to `status`, for rows of `key`, `reward` and perhaps `outcome`."""
    if not rows[key].is_sorted():
        rows = rows.sort(key, maintain_order=True)
    rows = rows.with_columns(pl.col(key).set_sorted())  # sorted keys are runs: no hashing, and any order agrees
    counts = [
        pl.len().cast(pl.Int64).alias("n"),
        pl.col(cf.REWARD).count().cast(pl.Int64).alias("scored"),
        pl.col(cf.REWARD).min().alias("min"),
        pl.col(cf.REWARD).max().alias("max"),
        *_pass_counts(rows, threshold),
    ]
    if key == cf.GROUP:
        counts.append(pl.col(cf.BATCH).first())
    table = rows.group_by(key).agg(counts).sort(key)
    table = table.hstack(_moments(rows, key, table))
    table = table.with_columns(
        pl.when(pl.col("judged") > 0).then(pl.col("passed") / pl.col("judged")).alias("pass_rate"),
    )
    return table.select(
        key,
        *([cf.BATCH] if key == cf.GROUP else []),
        *("n", "scored", "mean", "std", "sample_std", "min", "max", "judged", "passed", "pass_rate"),
        _status(tolerance).alias("status"),
    )


def _pass_counts(rows: pl.DataFrame, threshold: float | None) -> list[pl.Expr]:
    scored = pl.col(cf.REWARD).is_not_null()
    if cf.OUTCOME in rows.columns:
        judged, passed = scored & pl.col(cf.OUTCOME).is_not_null(), scored & pl.col(cf.OUTCOME)
    elif threshold is not None:
        judged, passed = scored, pl.col(cf.REWARD) >= threshold
    else:
        nothing = pl.lit(None, dtype=pl.Int64)
        return [nothing.alias("judged"), nothing.alias("passed")]
    return [judged.sum().cast(pl.Int64).alias("judged"), passed.sum().cast(pl.Int64).alias("passed")]


def _moments(rows: pl.DataFrame, key: str, table: pl.DataFrame) -> pl.DataFrame:
    """`mean`, `std` and `sample_std` of each run of `key`, from the distances to the run's lowest reward.

    The mean of equal rewards is then that reward, and an offset costs no digits. Where a distance or its
    square would leave the range of a float64, the rewards are first scaled by a power of two, which is exact.
    """
    spread = pl.col("max") - pl.col("min")
    scale = pl.when(spread > _LARGE).then(_DOWN).when((spread > 0) & (spread < _SMALL)).then(_UP).otherwise(1.0)
    scaling = table.select("min", scale.alias("scale"))
    of_row = rows[key].rle_id()
    if (scaling["scale"] == 1.0).all():
        distance = rows[cf.REWARD] - scaling["min"].gather(of_row)
    else:
        by_row = scaling[of_row].with_columns(rows[cf.REWARD])
        reward, lowest = (pl.col(column) * pl.col("scale") for column in (cf.REWARD, "min"))
        distance = by_row.select(reward - lowest).to_series()
    distances = pl.DataFrame([rows[key], distance.alias("distance")])
    moments = distances.group_by(key).agg(pl.col("distance").mean(), pl.col("distance").var(ddof=0).alias("variance"))
    sample_variance = pl.col("variance") * pl.col("scored") / (pl.col("scored") - 1)
    back = 1.0 / pl.col("scale")
    return (
        moments.sort(key)
        .hstack(scaling)
        .hstack(table.select("scored", "max"))
        .select(
            # Rounding must not carry the mean past the greatest reward.
            pl.min_horizontal((pl.col("min") * pl.col("scale") + pl.col("distance")) * back, "max").alias("mean"),
            (pl.col("variance").sqrt() * back).alias("std"),
            (pl.when(pl.col("scored") >= 2).then(sample_variance).sqrt() * back).alias("sample_std"),
        )
        .with_columns(pl.when(pl.col("std", "sample_std").is_finite()).then(pl.col("std", "sample_std")))
        # Polars may call the variance of nothing at all 0.
        .with_columns(std=pl.when(pl.col("mean").is_not_null()).then("std"))
    )


def _status(tolerance: float) -> pl.Expr:
    return (
        pl.when(pl.col("scored") == 0)
        .then(pl.lit(Status.UNSCORED.value))
        .when(pl.col("scored") == 1)
        .then(pl.lit(Status.SINGLETON.value))
        .when(~constant(pl.col("min"), pl.col("max"), tolerance))
        .then(pl.lit(Status.MIXED.value))
        .when((pl.col("judged") > 0) & (pl.col("passed") == pl.col("judged")))
        .then(pl.lit(Status.ALL_PASS.value))
        .when((pl.col("judged") > 0) & (pl.col("passed") == 0))
        .then(pl.lit(Status.ALL_FAIL.value))
        .otherwise(pl.lit(Status.TIED.value))
    )


def _of_the_groups(groups: pl.DataFrame, key: str) -> pl.DataFrame:
    """What `summary` says of the groups of a batch or a prompt."""
    return groups.group_by(key).agg(
        pl.len().cast(pl.Int64).alias("groups"),
        pl.col("std").filter(pl.col("scored") >= 2).mean().alias("within_group_std"),
        *((pl.col("status") == status).sum().cast(pl.Int64).alias(name) for status, name in COUNTS.items()),
    )


def _shares(counts: pl.Series) -> pl.Series:
    """Each count as a part of their sum; Polars divides by a single number inexactly (3 / 10 is not 0.3)."""
    whole = counts.sum()
    return pl.Series([count / whole if whole else None for count in counts], dtype=pl.Float64)
