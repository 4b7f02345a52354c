"""pass@k: the chance that at least one of k rollouts passes; and pass^k: that all k do.

Both are the unbiased estimators over the n rollouts that were drawn, of which c passed:
pass@k = 1 - C(n-c, k) / C(n, k) (Chen et al. 2021, arXiv 2107.03374, equation 1) and
pass^k = C(c, k) / C(n, k) (Yao et al. 2024, arXiv 2406.12045, section 3). For k > n neither is defined.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

import polars as pl

from grpo_cli.core.groups import summary
from grpo_cli.core.intervals import CONFIDENCE, mean_interval
from grpo_cli.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def pass_at_k(n: int, c: int, k: int) -> float | None:
    """The chance that one or more of k passes, where c of n did; None for k > n. Exact to the last bit."""
    if k > n:
        return None
    return (math.comb(n, k) - math.comb(n - c, k)) / math.comb(n, k)


def pass_hat_k(n: int, c: int, k: int) -> float | None:
    """The chance that all of k pass, where c of n did; None for k > n."""
    return None if k > n else math.comb(c, k) / math.comb(n, k)


def per_group(groups: pl.DataFrame, ks: Sequence[int]) -> pl.DataFrame:
    """`groups` (a summary) with a column `pass@K` for every k; null where fewer than k rollouts were judged.

    Raises:
        UsageError: a k is below 1, or it is not known which rollouts pass.
    """
    _check(groups, ks)
    return _with(groups, pass_at_k, {f"pass@{k}": k for k in ks})


def over_groups(groups: pl.DataFrame, ks: Sequence[int], confidence: float = CONFIDENCE) -> pl.DataFrame:
    """A row per k: the mean of pass@k over the groups that have k rollouts, each group counting once.

    Args:
        groups: a summary, by group or by prompt.
        ks: the numbers of rollouts.
        confidence: of the t interval, which is over groups and cut at 0 and 1.

    Returns:
        Columns `k`, `groups` (that the means are over), `too_small` (groups with fewer than k judged rollouts,
        left out), `pass_at_k`, `low`, `high`, `pass_hat_k`. Null where no group has k; the interval for fewer than two.

    Raises:
        UsageError: a k is below 1, or it is not known which rollouts pass.
    """
    _check(groups, ks)
    table = _with(groups, pass_at_k, {f"at{k}": k for k in ks})
    table = _with(table, pass_hat_k, {f"hat{k}": k for k in ks})
    rows = []
    for k in ks:
        at, every = (mean_interval(table[f"{name}{k}"], confidence) for name in ("at", "hat"))
        enough = len(table) - table[f"at{k}"].null_count()
        low, high = (None if end is None else min(max(end, 0.0), 1.0) for end in (at.low, at.high))
        rows.append((k, enough, len(table) - enough, at.mean, low, high, every.mean))
    number, share = pl.Int64(), pl.Float64()
    schema = {"k": number, "groups": number, "too_small": number, "pass_at_k": share, "low": share, "high": share}
    return pl.DataFrame(rows, schema | {"pass_hat_k": share}, orient="row")


def at_thresholds(
    frame: pl.DataFrame,
    ks: Sequence[int],
    thresholds: Sequence[float],
    *,
    by: Literal["group"] | pl.Series = "group",
    weights: Sequence[float] | None = None,
    confidence: float = CONFIDENCE,
) -> pl.DataFrame:
    """`over_groups` of a canonical frame for each pass threshold: its table with a column `threshold` in front.

    `by` may be a series that gives for each group number its prompt, as for `groups.summary`. An `outcome` column is
    left aside: thresholds are for rewards.
    """
    rewards = frame.drop("outcome", strict=False)
    tables = [
        over_groups(summary(rewards, by=by, weights=weights, pass_threshold=threshold), ks, confidence).select(
            pl.lit(threshold, dtype=pl.Float64).alias("threshold"), pl.all()
        )
        for threshold in thresholds
    ]
    return pl.concat(tables)


def _check(groups: pl.DataFrame, ks: Sequence[int]) -> None:
    for k in ks:
        if k < 1:
            raise UsageError(f"k is {k}, and should be 1 or more", hint="as in --k 1,2,4,8")
    if len(groups) and groups["judged"].null_count() == len(groups):
        raise UsageError(
            "it is not known which rollouts pass",
            hint="give --pass-threshold X (a rollout passes with reward >= X) or --outcome FIELD",
        )


def _with(
    groups: pl.DataFrame, estimator: Callable[[int, int, int], float | None], columns: dict[str, int]
) -> pl.DataFrame:
    """`groups` with a column of `estimator` for each k: worked out once for each pair of judged and passed."""
    pairs = groups.select("judged", "passed").drop_nulls().unique()
    for column, k in columns.items():
        values = [estimator(n, c, k) for n, c in pairs.select("judged", "passed").iter_rows()]
        pairs = pairs.with_columns(pl.Series(column, values, dtype=pl.Float64))
    return groups.join(pairs, on=["judged", "passed"], how="left", maintain_order="left")
