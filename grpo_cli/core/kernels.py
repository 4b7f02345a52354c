"""The few formulas that are not a mean and a std: leave-one-out std, group mean as a scale, pass@k, Beta densities."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Callable

    from grpo_cli.core.arithmetic import Rows
    from grpo_cli.core.chain import Step
    from grpo_cli.core.moments import Moments, Partition


def std_of_others(x: pl.Series, stats: Moments, ddof: int, rows: Rows) -> pl.Series:
    """For each row the std of the others in its group, in units of `stats`; 0 where they are constant or too few.

    Taking a row out of the sum of squares, M2 - (x - mean)^2 n / (n - 1), loses every digit where that row is what
    spreads the group (7 x 0.35 and one 0.95: NeMo-RL pull request 4161). Only a single highest or lowest row can do
    so, since two as far out leave half of M2 behind: for those two the statistics are taken anew without them.
    """
    part, c = stats.part, stats.deviations
    n = part.spread(stats["count"])
    left = pl.lit(part.spread(stats["m2"])) - pl.lit(c).pow(2) * (n / (n - 1))
    room = pl.lit(n) - (1 + ddof)
    usable = (room > 0) & ~pl.lit(part.spread(stats["dead"]))
    std = pl.select(pl.when(usable).then((left.clip(lower_bound=0.0) / room).sqrt()).otherwise(0.0)).to_series()
    ends = part.aggregate({"c": c}, pl.col("c").min().alias("low"), pl.col("c").max().alias("high"))
    for end in ("low", "high"):
        at = (c == part.spread(ends[end])).fill_null(value=False).arg_true()
        at = at.filter(part.numbers.gather(at).is_first_distinct())
        others = rows.moments(_without(x, at), part, by_spread=True)
        taken = others.std(ddof) * (others["unit"] / stats["unit"])
        std = std.scatter(at, taken.fill_null(0.0).gather(part.numbers.gather(at)))
    return std


def _without(x: pl.Series, at: pl.Series) -> pl.Series:
    out = pl.repeat(False, len(x), eager=True).scatter(at, True)
    return pl.select(pl.when(~out).then(x)).to_series()


def _group_mean(step: Step, x: pl.Series, rows: Rows, stats: Moments | None) -> tuple[Partition, pl.Series]:
    """The group's mean as a scale (MaxRL): plus eps; without eps a mean of 0 or less gives exactly 0."""
    if stats is None or stats.part is not rows.groups:
        stats = rows.moments(x, rows.groups, by_spread=False)
    mean = stats.mean() / rows.shrink
    positive = pl.when(mean > 0).then(mean).otherwise(float("inf"))
    scale = pl.select(mean + step.eps if step.eps else positive).to_series()
    if rows.singleton == "reward":
        scale = pl.select(pl.when(stats["lone"]).then(1.0).otherwise(scale)).to_series()
    return rows.groups, scale


SCALES: dict[str, Callable[[Step, pl.Series, Rows, Moments | None], tuple[Partition, pl.Series]]] = {
    "mean": _group_mean,
}
"""Divisors that are not a std: for each part one number, in the scale of the rewards."""

KERNELS: dict[str, Callable[[pl.Series, Step, Rows], pl.Series]] = {}
"""Whole steps that are not (x - centre) / scale."""
