"""One account of a whole log: its sizes, where the signal is, and how the rewards spread within and between groups."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from grpo_cli import frame as cf
from grpo_cli.core import rewards
from grpo_cli.core.groups import (
    COUNTS,
    is_nearly_constant,
    is_phantom,
    is_zero_variance,
    pass_threshold_of,
    reward_of,
    summary,
)
from grpo_cli.core.notes import commonest_size
from grpo_cli.core.within import correlation
from grpo_cli.frame import Status

if TYPE_CHECKING:
    from collections.abc import Sequence

QUANTILES = {"reward_p10": 0.1, "reward_p25": 0.25, "reward_median": 0.5, "reward_p75": 0.75, "reward_p90": 0.9}

ZERO_STD = 1e-8
"""`torch.isclose(std, 0)`: the absolute tolerance of TRL's `frac_reward_zero_std`."""


def figures(
    frame: pl.DataFrame,
    groups: pl.DataFrame,
    *,
    weights: Sequence[float] | None = None,
    pass_threshold: float | None = None,
    advantage: pl.Series | None = None,
) -> pl.DataFrame:
    """The figures of a log in one row, under names that can be used in a condition.

    Args:
        frame: a canonical frame.
        groups: its summary by group.
        weights: one for each reward column, as for the summary.
        pass_threshold: as for the summary.
        advantage: an advantage a row; None leaves the figures about it null.

    Returns:
        One row. Figures that do not apply are null.

        - `rows`, `rollouts`: rows of the log, and rollouts, fewer where one has several rows
        - `scored`, `missing`, `taken_out`: rollouts with a reward, without one, and excluded by a condition
        - `groups`, `batches`: how many
        - `size_min`, `size_commonest`, `size_max`: rollouts in a group; `odd_sizes`: groups not of the commonest size
        - `mixed`, `all_pass`, `all_fail`, `tied`, `singleton`, `unscored`: groups of each status
        - `zero_variance`, `nearly_constant`: groups without a spread, and those of them not exactly constant
        - `zero_variance_share`, `informative_share`: zero-variance and mixed groups as parts of all groups
        - `zero_variance_rollout_share`, `informative_rollout_share`: the same of all rollouts
        - `frac_reward_zero_std`: scored rollouts whose group's sample std is at most 1e-8, lone ones too, as a part
          of all (TRL's metric of that name)
        - `constant_at_lowest`, `constant_at_highest`, `constant_between`: zero-variance groups by their value: the
          log's lowest reward, its highest, or another; null where these two are one
        - `phantom`: groups where every rollout fails by its outcome and yet the rewards differ
        - `reward_mean`, `reward_min`, `reward_p10`, `reward_p25`, `reward_median`, `reward_p75`, `reward_p90`,
          `reward_max`: over scored rollouts, quantiles interpolated linearly
        - `rollout_std`, `rollout_sample_std`: over all scored rollouts, whatever their group, with ddof 0 and 1
        - `within_group_std`: mean of the groups' std (ddof 0), over groups with two scored rollouts or more
        - `group_mean`, `between_group_std`: mean and std (ddof 0) of the groups' means, each group once
        - `pass_threshold`: the reward at which a rollout passes; null where an outcome says it
        - `pass_rate`, `rollout_pass_rate`: mean of the groups' pass rates, and passed by judged rollouts
        - `mean_abs_advantage`, `nonzero_advantage_share`: over rows with an advantage
        - `length_mean`, `length_correlation`: mean length, and its correlation with the reward within mixed groups
    """
    rollouts = rewards.one_row_per_rollout(frame)
    reward = reward_of(rollouts, weights)
    whole = _whole(frame, weights)
    taken_out = int(rollouts[cf.SCORED].not_().sum()) if cf.SCORED in rollouts.columns else 0
    row: dict[str, int | float | None] = {
        "rows": len(frame),
        "rollouts": len(rollouts),
        "scored": reward.count(),
        "missing": reward.null_count() - taken_out,
        "taken_out": taken_out,
        "groups": len(groups),
        "batches": frame[cf.BATCH].n_unique(),
    }
    row |= _sizes(groups) | _statuses(groups) | _constants(groups)
    row["phantom"] = len(groups.filter(is_phantom())) if cf.OUTCOME in frame.columns else None
    row |= {
        "reward_mean": whole["mean"],
        "reward_min": whole["min"],
        **{name: reward.quantile(at, "linear") for name, at in QUANTILES.items()},
        "reward_max": whole["max"],
        "rollout_std": whole["std"],
        "rollout_sample_std": whole["sample_std"],
        "within_group_std": whole["within_group_std"],
    }
    row |= _between(groups)
    row |= _passes(frame, groups, weights, pass_threshold)
    row |= _advantages(advantage) | _lengths(rollouts, groups, reward)
    counts = {name for name, value in row.items() if name in _COUNTS}
    return pl.DataFrame([row], {name: pl.Int64() if name in counts else pl.Float64() for name in row}, orient="row")


def shortfall(groups: pl.DataFrame, size: int) -> pl.DataFrame:
    """What became of the rollouts, where every group should have `size`: one row.

    Returns:
        Columns `found` and `expected` rollouts, `short` (groups with fewer than `size`), and three averages of the
        pass rate: `rollout_pass_rate` (each rollout once), `pass_rate` (each group once) and `missing_as_fail` (each
        group once, rollouts that it lacks taken as failed). Null where it is not known which pass.
    """
    judged = groups.filter(pl.col("judged").is_not_null())
    failed = judged["passed"] / pl.select(pl.max_horizontal(judged["n"], size)).to_series()
    row = {
        "found": _total(groups["n"]),
        "expected": size * len(groups),
        "short": len(groups.filter(pl.col("n") < size)),
        **_rates(groups),
        "missing_as_fail": _mean(failed),
    }
    counts = ("found", "expected", "short")
    return pl.DataFrame([row], {name: pl.Int64() if name in counts else pl.Float64() for name in row}, orient="row")


_COUNTS = {
    *("rows", "rollouts", "scored", "missing", "taken_out", "groups", "batches"),
    *("size_min", "size_commonest", "size_max", "odd_sizes", *COUNTS.values(), "zero_variance", "nearly_constant"),
    *("constant_at_lowest", "constant_at_highest", "constant_between", "phantom"),
}


def _whole(frame: pl.DataFrame, weights: Sequence[float] | None) -> dict[str, float | None]:
    """The summary of all rollouts as one, or nulls for an empty log."""
    one = pl.repeat(0, _numbers(frame), dtype=pl.UInt32, eager=True).alias("log")
    table = summary(frame, by=one, weights=weights)
    return dict.fromkeys(table.columns) if table.is_empty() else table.row(0, named=True)


def _numbers(frame: pl.DataFrame) -> int:
    last = frame[cf.GROUP].max()
    return last + 1 if isinstance(last, int) else 0


def _sizes(groups: pl.DataFrame) -> dict[str, int | float | None]:
    if groups.is_empty():
        return dict.fromkeys(("size_min", "size_commonest", "size_max", "odd_sizes"))
    commonest = commonest_size(groups)
    smallest, largest = groups.select(pl.col("n").min().alias("min"), pl.col("n").max().alias("max")).row(0)
    return {
        "size_min": smallest,
        "size_commonest": commonest,
        "size_max": largest,
        "odd_sizes": _total(groups["n"] != commonest),
    }


def _statuses(groups: pl.DataFrame) -> dict[str, int | float | None]:
    marks = groups.select("n", "scored", "status", "sample_std", zero=is_zero_variance(), near=is_nearly_constant())
    mixed = marks["status"] == Status.MIXED
    rollouts = _total(marks["n"])
    # TRL sets the std of a lone rollout to 0, and takes the mean over rows.
    no_std = (marks["scored"] > 0) & (marks["sample_std"].fill_null(0.0) <= ZERO_STD)
    return {
        **{name: _total(marks["status"] == status) for status, name in COUNTS.items()},
        "zero_variance": _total(marks["zero"]),
        "nearly_constant": _total(marks["near"]),
        "zero_variance_share": _part(_total(marks["zero"]), len(marks)),
        "informative_share": _part(_total(mixed), len(marks)),
        "zero_variance_rollout_share": _part(_total(marks["n"].filter(marks["zero"])), rollouts),
        "informative_rollout_share": _part(_total(marks["n"].filter(mixed)), rollouts),
        "frac_reward_zero_std": _part(_total(marks["scored"].filter(no_std)), _total(marks["scored"])),
    }


def _constants(groups: pl.DataFrame) -> dict[str, int | float | None]:
    """Zero-variance groups by value, for rewards of any kind: too hard, too easy, or stuck in between."""
    lowest, highest = groups["min"].min(), groups["max"].max()
    constant = groups.filter(is_zero_variance())
    if lowest == highest:
        return dict.fromkeys(("constant_at_lowest", "constant_at_highest", "constant_between"))
    at_lowest, at_highest = _total(constant["min"] == lowest), _total(constant["max"] == highest)
    return {
        "constant_at_lowest": at_lowest,
        "constant_at_highest": at_highest,
        "constant_between": len(constant) - at_lowest - at_highest,
    }


def _between(groups: pl.DataFrame) -> dict[str, int | float | None]:
    """The groups' means, summarised as if each were a rollout."""
    means = groups.select(
        pl.lit(0, dtype=pl.UInt32).alias(cf.GROUP),
        pl.lit(0, dtype=pl.UInt32).alias(cf.BATCH),
        pl.col("mean").alias(cf.reward_part(0)),
    )
    spread = {"mean": None, "std": None} if means.is_empty() else summary(means).row(0, named=True)
    return {"group_mean": spread["mean"], "between_group_std": spread["std"]}


def _passes(
    frame: pl.DataFrame, groups: pl.DataFrame, weights: Sequence[float] | None, threshold: float | None
) -> dict[str, int | float | None]:
    if threshold is None:
        threshold = pass_threshold_of(frame, weights)
    return {"pass_threshold": None if cf.OUTCOME in frame.columns else threshold, **_rates(groups)}


def _rates(groups: pl.DataFrame) -> dict[str, int | float | None]:
    return {
        "pass_rate": _mean(groups["pass_rate"]),
        "rollout_pass_rate": _part(_total(groups["passed"]), _total(groups["judged"])),
    }


def _advantages(advantage: pl.Series | None) -> dict[str, int | float | None]:
    known = pl.Series([], dtype=pl.Float64) if advantage is None else advantage.drop_nulls()
    return {
        "mean_abs_advantage": _mean(known.abs()),
        "nonzero_advantage_share": _part(_total(known != 0), len(known)),
    }


def _lengths(rollouts: pl.DataFrame, groups: pl.DataFrame, reward: pl.Series) -> dict[str, int | float | None]:
    if cf.LENGTH not in rollouts.columns:
        return {"length_mean": None, "length_correlation": None}
    mixed = groups.filter(pl.col("status") == Status.MIXED)[cf.GROUP]
    kept = rollouts[cf.GROUP].is_in(mixed.implode())
    group, length = rollouts[cf.GROUP].filter(kept), rollouts[cf.LENGTH].filter(kept)
    return {
        "length_mean": _mean(rollouts[cf.LENGTH]),
        "length_correlation": correlation(group, length, reward.filter(kept)),
    }


def _part(some: float, whole: float) -> float | None:
    return some / whole if whole else None


def _total(values: pl.Series) -> int:
    return int(values.sum())


def _mean(values: pl.Series) -> float | None:
    mean = values.mean()
    return mean if isinstance(mean, float) else None
