"""An estimator as one plain Polars expression, for use inside a query: windows over groups and batches, no Python.

The numbers are those of `core.steps` to the rounding of a float64. What a plain expression cannot do exactly (the std
of the others, kernels over sets of k, token weights) is refused; `grpo_cli.advantages` does it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from grpo_cli.core.moments import FLOOR
from grpo_cli.core.moments import constant as is_constant
from grpo_cli.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grpo_cli.core.chain import Estimator, Step

_MISSING = ("null", "zero-advantage", "zero-reward", "propagate")
_SINGLETON = ("zero", "reward", "null")
_GROUP, _BATCH = 0, 1


def expression(
    estimator: Estimator, rewards: Sequence[tuple[pl.Expr, float]], group: Sequence[str], batch: Sequence[str]
) -> pl.Expr:
    """The advantage as an expression.

    Args:
        estimator: what to compute.
        rewards: the reward columns with their weights; NaN counts as missing.
        group: the columns that tell groups apart, those of the batch among them.
        batch: the columns that tell batches apart; none: all rows are one.

    Raises:
        UsageError: a plain expression cannot give these numbers.
    """
    _refuse(estimator)
    parts = [(column.cast(pl.Float64).fill_nan(None), weight) for column, weight in rewards]
    known = [part.is_not_null() for part, _ in parts]
    over = (list(group), list(batch))
    x: pl.Expr
    if estimator.per_part:
        made = [_chain(estimator, _filled(part, estimator), over) for part, _ in parts]
        some = pl.any_horizontal(value.is_not_null() for value, _ in made)
        summed = pl.sum_horizontal(value * weight for (value, _), (_, weight) in zip(made, parts, strict=True))
        x, lost = pl.when(some).then(summed), pl.any_horizontal(gone for _, gone in made)
    else:
        there = pl.all_horizontal(known) if estimator.missing == "propagate" else pl.any_horizontal(known)
        total = pl.when(there).then(pl.sum_horizontal(part * weight for part, weight in parts))
        x, lost = _chain(estimator, _filled(total, estimator), over)
    if estimator.whiten is not None:
        x, lost = _stepped(estimator.whiten, x, lost, over, estimator)
    if estimator.missing == "propagate":
        x = pl.when(~lost).then(x)
    if estimator.missing == "zero-advantage":
        x = pl.when(~pl.any_horizontal(known)).then(0.0).otherwise(x)
    return pl.when(x == 0).then(0.0).when(x.is_finite()).then(x).alias("advantage")


def _refuse(estimator: Estimator) -> None:
    shaped = estimator.threshold is not None or estimator.clip or estimator.clip_after or estimator.length_penalty
    steps = estimator.chain
    if "baseline" in estimator.needs and not estimator.baseline_field:
        raise UsageError(f"{estimator.spec} needs a column of baselines", hint="as in baseline='greedy_reward'")
    plain = all(_is_plain(step) for step in steps) and not shaped
    if not plain or estimator.missing not in _MISSING or estimator.singleton not in _SINGLETON:
        why = (
            "it is no chain of plain windows"
            if not plain
            else f"its rule for missing rewards is {estimator.missing}, for groups of one {estimator.singleton}"
        )
        raise UsageError(
            f"{estimator.spec} is not a plain expression: {why}",
            hint="grpo_cli.advantages(frame, ...) computes it",
        )


def _is_plain(step: Step) -> bool:
    centres = ("none", "mean", "loo", "batch-mean", "batch-loo", "field")
    known = step.subtract in centres or step.subtract.startswith("quantile:")
    scales = ("none", "group-std", "batch-std", "batch-std-centered", "group-std-centered", "mean")
    own = step.weighting == "rows" and step.lone_batch == "keep" and step.zero_up_to < 0
    return known and step.divide in scales and own and not step.kernel


def _filled(x: pl.Expr, estimator: Estimator) -> pl.Expr:
    return x.fill_null(0.0) if estimator.missing == "zero-reward" else x


_Lost = pl.Expr
"""Which rows have no number under the rule `propagate`."""


def _chain(estimator: Estimator, x: pl.Expr, over: tuple[list[str], list[str]]) -> tuple[pl.Expr, _Lost]:
    lost = x.is_null()
    for step in estimator.steps:
        x, lost = _stepped(step, x, lost, over, estimator)
    return x, lost


def _stepped(
    step: Step, x: pl.Expr, lost: _Lost, over: tuple[list[str], list[str]], estimator: Estimator
) -> tuple[pl.Expr, _Lost]:
    """The values after a step, and what is lost: all that shares a statistic with what was, and what the step lost."""
    values = _step(step, x, over, estimator)
    if estimator.missing != "propagate":
        return values, lost
    for taken, columns in ((step.over_group, over[_GROUP]), (step.over_batch, over[_BATCH])):
        if taken:
            lost = lost.any().over(columns) if columns else lost.any()
    return values, lost | (values.is_null() & x.is_not_null())


class _Window:
    """The statistics of `x` over some columns."""

    def __init__(self, x: pl.Expr, over: list[str], tolerance: float) -> None:
        self.x, self.over = x, over
        self.count = self.of(x.count())
        self.low, self.high = self.of(x.min()), self.of(x.max())
        self.dead = (self.count > 1) & is_constant(self.low, self.high, tolerance, FLOOR)

    def of(self, statistic: pl.Expr) -> pl.Expr:
        return statistic.over(self.over) if self.over else statistic

    def centred(self) -> pl.Expr:
        above = self.x - self.low
        return pl.when(self.dead & self.x.is_not_null()).then(0.0).otherwise(above - self.of(above.mean()))

    def std(self, ddof: int) -> pl.Expr:
        above = self.x - self.low
        usable = (self.count > ddof) & ~self.dead & (self.count > 1)
        return pl.when(usable).then(self.of(above.std(ddof=ddof))).otherwise(0.0)


def _step(step: Step, x: pl.Expr, over: tuple[list[str], list[str]], estimator: Estimator) -> pl.Expr:
    group = _Window(x, over[_GROUP], estimator.tolerance)
    batch = _Window(x, over[_BATCH], estimator.tolerance)
    centre = _centre(step, x, group, batch, estimator)
    if step.divide == "none":
        return centre
    if step.divide == "mean":
        mean = group.low + group.of((x - group.low).mean())
        scale = mean + step.eps if step.eps else pl.when(mean > 0).then(mean).otherwise(float("inf"))
        lone = group.count == 1
        return centre / (pl.when(lone).then(1.0).otherwise(scale) if estimator.singleton == "reward" else scale)
    window = batch if step.divide.startswith("batch-") else group
    if step.divide.endswith("-centered"):
        window = _Window(centre, window.over, estimator.tolerance)
    std = window.std(step.ddof)
    if estimator.singleton == "reward" and step.divide == "group-std":
        std = pl.when(group.count == 1).then(1.0).otherwise(std)
    return centre / pl.when(std > 0).then(_softened(step, std)).otherwise(1.0)


def _centre(step: Step, x: pl.Expr, group: _Window, batch: _Window, estimator: Estimator) -> pl.Expr:
    if step.subtract == "none":
        return x
    if step.subtract == "field":
        return x - pl.col(estimator.baseline_field).cast(pl.Float64)
    window = batch if step.subtract.startswith("batch-") else group
    centre = window.centred()
    if step.subtract.startswith("quantile:"):
        share = float(step.subtract.removeprefix("quantile:"))
        centre = (
            pl.when(window.dead & x.is_not_null())
            .then(0.0)
            .otherwise(x - window.of(x.quantile(share, interpolation="linear")))
        )
    if step.subtract.endswith("loo"):
        centre = centre * pl.when(window.count > 1).then(window.count / (window.count - 1)).otherwise(1.0)
    if window is batch:
        return centre
    lone = (group.count == 1) & x.is_not_null()
    instead = {"zero": pl.lit(0.0), "reward": x, "null": pl.lit(None, pl.Float64)}[estimator.singleton]
    return pl.when(lone).then(instead).otherwise(centre)


def _softened(step: Step, std: pl.Expr) -> pl.Expr:
    match step.eps_mode:
        case "add":
            return std + step.eps
        case "add-var":
            return (std * std + step.eps).sqrt()
        case "clamp-var":
            return pl.max_horizontal(std, pl.lit(step.eps**0.5))
        case _:
            return pl.max_horizontal(std, pl.lit(step.eps))
