"""The few centres and scales that are not a mean and a std: leave-one-out, best row, group mean, Beta density."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import polars as pl

from grpo_cli.core import ksets
from grpo_cli.errors import RowError

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
    for end in ("low", "high"):
        at = _first_at(c, part, end)
        others = rows.moments(_without(x, at), part, by_spread=True)
        taken = others.std(ddof) * (others["unit"] / stats["unit"])
        std = std.scatter(at, taken.fill_null(0.0).gather(part.numbers.gather(at)))
    return std


def lead_of_best(stats: Moments) -> pl.Series:
    """The best row of each group less its second best, 0 for the other rows; in units of `stats`."""
    part, c = stats.part, stats.deviations
    best = _first_at(c, part, "high")
    second = part.aggregate({"c": _without(c, best)}, pl.col("c").max())["c"]
    lead = c.gather(best) - second.gather(part.numbers.gather(best))
    nothing = pl.select(pl.when(c.is_not_null()).then(0.0)).to_series()
    return nothing.scatter(best, lead.fill_null(0.0))


def moving_average(x: pl.Series, decay: float) -> pl.Series:
    """For each row the moving average of the rows before it, 0 at first (prime-rl algo/rae.py, one agent)."""
    rows = x.is_not_null().arg_true()
    before = x.gather(rows).shift(1, fill_value=0.0)
    return pl.repeat(None, len(x), dtype=pl.Float64, eager=True).scatter(
        rows, before.ewm_mean(alpha=1 - decay, adjust=False)
    )


def _first_at(c: pl.Series, part: Partition, end: str) -> pl.Series:
    """The first row of each part that is its lowest or highest value."""
    extreme = pl.col("c").min() if end == "low" else pl.col("c").max()
    at = (c == part.spread(part.aggregate({"c": c}, extreme)["c"])).fill_null(value=False).arg_true()
    return at.filter(part.numbers.gather(at).is_first_distinct())


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
    alone = {"reward": 1.0, "over-eps": step.eps}.get(rows.singleton)
    if alone is not None:
        scale = pl.select(pl.when(stats["lone"]).then(alone).otherwise(scale)).to_series()
    return rows.groups, scale


def _std_and_mean(step: Step, x: pl.Series, rows: Rows, stats: Moments | None) -> tuple[Partition, pl.Series]:
    """The product (std + eps) (mean + eps) of the group (the std-and-mean form in the MaxRL code)."""
    own = rows.moments(x, rows.groups, by_spread=True) if stats is None or stats.part is not rows.groups else stats
    std = own.std(step.ddof) * own["unit"] / rows.shrink
    product = (std + step.eps) * (own.mean() / rows.shrink + step.eps)
    return rows.groups, pl.select(pl.when(product != 0).then(product).otherwise(1.0)).to_series()


def _batch_nonzero(_: Step, x: pl.Series, rows: Rows, __: Moments | None) -> tuple[Partition, pl.Series]:
    """The share of rows in the batch whose reward is not 0 (GPG: verl compute_gpg_outcome_advantage)."""
    share = rows.batches.aggregate({"x": x}, (pl.col("x") != 0).sum() / pl.col("x").count())["x"]
    return rows.batches, pl.select(pl.when(share > 0).then(share).otherwise(1.0)).to_series()


def _beta_pdf(_: Step, x: pl.Series, rows: Rows, stats: Moments | None) -> tuple[Partition, pl.Series]:
    """The Beta density at the group's mean, fitted to the means of the batch (BNPO, arXiv 2506.02864).

    alpha = 1 + a / 3 and beta = 1 + b / 3, at least 1, where Beta(a, b) has the mean and the sample variance of the
    group means; the density is at least 1e-6. Where the means do not spread there is none to fit, and it is 1.
    """
    beyond = ((x < 0) | (x > 1)).arg_true()
    if len(beyond):
        raise RowError(
            f"the reward is {x[int(beyond[0])]}, and a Beta density is about rewards between 0 and 1",
            row=int(beyond[0]),
            hint="choose another estimator, or a reward that is between 0 and 1",
        )
    own = rows.moments(x, rows.groups, by_spread=False) if stats is None else stats
    mean = own.mean()
    batch = rows.groups.aggregate({"b": rows.batches.numbers}, pl.col("b").first())["b"]
    table = pl.DataFrame({"b": batch, "p": mean})
    fits = []
    for (number,), part in table.drop_nulls().group_by("b"):
        alpha, beta = _beta_fit(part["p"])
        log_beta = math.lgamma(alpha) + math.lgamma(beta) - math.lgamma(alpha + beta)
        fits.append((number, alpha - 1, beta - 1, log_beta))
    schema = {"b": table.schema["b"], "a1": pl.Float64(), "b1": pl.Float64(), "log": pl.Float64()}
    table = table.join(pl.DataFrame(fits, schema=schema, orient="row"), on="b", how="left", maintain_order="left")
    p = pl.col("p")
    left = pl.when(pl.col("a1") > 0).then(pl.col("a1") * p.log()).otherwise(0.0)
    right = pl.when(pl.col("b1") > 0).then(pl.col("b1") * (1 - p).log()).otherwise(0.0)
    density = (left + right - pl.col("log")).exp().clip(lower_bound=1e-6)
    return rows.groups, table.select(density.fill_null(1.0).alias("density")).to_series()


def _beta_fit(means: pl.Series) -> tuple[float, float]:
    mean, var = means.mean(), means.var(ddof=1)
    if not isinstance(mean, float) or not isinstance(var, float) or var <= 1e-24:
        return 1.0, 1.0
    total = mean * (1 - mean) / var - 1
    return max(1.0, 1 + mean * total / 3), max(1.0, 1 + (1 - mean) * total / 3)


SCALES: dict[str, Callable[[Step, pl.Series, Rows, Moments | None], tuple[Partition, pl.Series]]] = {
    "mean": _group_mean,
    "std-and-mean": _std_and_mean,
    "batch-nonzero": _batch_nonzero,
    "beta-pdf": _beta_pdf,
}
"""Divisors that are not a std: for each part one number, in the scale of the rewards."""


KERNELS: dict[str, Callable[[pl.Series, Step, Rows], pl.Series]] = {
    "passk": ksets.passk,
    "pkpo": ksets.pkpo,
    "pkpo-loo": ksets.pkpo_loo,
}
"""Whole steps that are not (x - centre) / scale."""
