"""Advantages over sets of k rollouts: pass@k, and PKPO."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import polars as pl

from grpo_cli.errors import RowError

if TYPE_CHECKING:
    from collections.abc import Callable

    from grpo_cli.core.arithmetic import Rows
    from grpo_cli.core.chain import Step


def _counted(x: pl.Series, rows: Rows) -> pl.DataFrame:
    """The group's count `n` and hits `c` for each row of binary rewards."""
    wrong = ((x != 0) & (x != 1)).arg_true()
    if len(wrong):
        raise RowError(
            f"the reward is {x[int(wrong[0])]}, and pass@k is about rewards that are 0 or 1",
            row=int(wrong[0]),
            hint="choose another reward column, or turn it into 0 and 1: passk:threshold=0.5",
        )
    counts = rows.groups.aggregate({"x": x}, pl.col("x").count().alias("n"), pl.col("x").sum().alias("c"))
    return pl.DataFrame({"x": x, "n": rows.groups.spread(counts["n"]), "c": rows.groups.spread(counts["c"])})


def _looked_up(table: pl.DataFrame, keys: list[str], values: Callable[..., float | None]) -> pl.Series:
    """A value for each row from its whole-number keys, computed once for each different set of them."""
    some = table.select(keys).unique().drop_nulls()
    found = some.with_columns(value=pl.Series([values(*row) for row in some.iter_rows()], dtype=pl.Float64))
    return table.join(found, on=keys, how="left", maintain_order="left")["value"]


def passk(x: pl.Series, step: Step, rows: Rows) -> pl.Series:
    """The analytic pass@k advantage of binary rewards (Pass@k Training, arXiv 2508.10751); null where n < k."""
    k = step.k or 1

    def advantage(reward: float, n: int, hits: float) -> float | None:
        if n < k:
            return None
        c = int(hits)
        rho = 1 - Fraction(math.comb(n - c, k), math.comb(n, k))
        top = 1 - rho
        if not reward:
            top -= Fraction(math.comb(n - c - 1, k - 1), math.comb(n - 1, k - 1))
        std = math.sqrt(rho * (1 - rho))
        return float(top) / (std + step.eps) if top else 0.0

    return _looked_up(_counted(x, rows), ["x", "n", "c"], advantage)


def pkpo_loo(x: pl.Series, step: Step, rows: Rows) -> pl.Series:
    """pass@k credit of the hits less the mean credit of the others (the pkpo of the MaxRL code); null where n < k."""
    k = step.k or 1

    def advantage(reward: float, n: int, hits: float) -> float | None:
        if n < k or n == 1:
            return None
        c = int(hits)
        credit = Fraction(math.comb(n - c, k - 1), math.comb(n - 1, k - 1))
        own = credit if reward else Fraction(0)
        return float(own - (c * credit - own) / (n - 1))

    return _looked_up(_counted(x, rows), ["x", "n", "c"], advantage)


def pkpo(x: pl.Series, step: Step, rows: Rows) -> pl.Series:
    """s^(loo-1) of PKPO (arXiv 2505.15201): the mean over k-sets with the row of max - max without it.

    In order of reward, a row adds r_i - r_q to the C(q, k - 2) sets whose second best is at place q < i, so the sum is
    r_i sum_q w_q - sum_q w_q r_q, w_q = C(q, k - 2) / C(n, k): running sums. For k = 1 it is r / n. Null where n < k.
    """
    k = step.k or 1
    stats = rows.moments(x, rows.groups, by_spread=False)
    count, part = stats["count"], rows.groups
    if k == 1:
        return x / part.spread(count)
    start = pl.lit(stats.deviations) + part.spread(stats["mean"])
    low = pl.when(pl.lit(part.spread(stats["dead"]))).then(pl.lit(x) * 0.0).otherwise(start)
    table = pl.select(g=part.numbers, row=pl.int_range(len(x)), d=low, n=part.spread(count.cast(pl.Int64)))
    table = table.drop_nulls().sort("g", "d", "row").with_columns(q=pl.int_range(pl.len()).over("g"))

    def weight(n: int, q: int) -> float | None:
        return math.comb(q, k - 2) / math.comb(n, k) if n >= k else None

    table = table.with_columns(w=_looked_up(table, ["n", "q"], weight))
    w, d = pl.col("w"), pl.col("d")
    before_w = (w.cum_sum().over("g") - w).alias("w_before")
    before_s = ((w * d).cum_sum().over("g") - w * d).alias("s_before")
    unit = part.spread(stats["unit"])
    table = table.select("row", value=d * before_w - before_s).sort("row")
    values = pl.repeat(None, len(x), dtype=pl.Float64, eager=True).scatter(table["row"], table["value"])
    return values * unit
