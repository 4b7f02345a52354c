"""One log under several estimators: how large the advantages are, which signs and ranks change, and in which groups."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from grpo_cli import frame as cf
from grpo_cli.core.steps import advantages

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grpo_cli.core.chain import Estimator


@dataclass(frozen=True)
class Comparison:
    """What several estimators make of one log; the first is what the others are held against."""

    estimators: pl.DataFrame
    """A row per estimator: `estimator`, `rows` with a value, `mean_abs`, `std` (ddof 0), `zero` (share of rows that are
    exactly 0), `sign_changes` (share of rows whose sign, 0 included, is not that of the first) and
    `rank_correlation` (Spearman's, ties at their mean rank, with the first; null where one is constant)."""
    groups: pl.DataFrame
    """A row per group and estimator but the first: `group`, `estimator`, `change` (the mean |difference| from the
    first), `sign_changes` (rows), those that change most first."""


def compare(
    frame: pl.DataFrame,
    estimators: Sequence[Estimator],
    *,
    weights: Sequence[float] | None = None,
    tolerance: float | None = None,
) -> Comparison:
    """Compute the advantages of a canonical frame by each estimator, and compare them with those of the first.

    Raises:
        GrpoAdvError: as `core.steps.advantages`.
    """
    computed = [advantages(frame, one, weights=weights, tolerance=tolerance) for one in estimators]
    first = computed[0]
    rows = [_row(one.spec, values, first) for one, values in zip(estimators, computed, strict=True)]
    groups = [
        _groups(frame[cf.GROUP], one.spec, values, first)
        for one, values in zip(estimators[1:], computed[1:], strict=True)
    ]
    schema = {"mean_abs": pl.Float64, "std": pl.Float64, "zero": pl.Float64, "rows": pl.Int64}
    schema |= {"sign_changes": pl.Float64, "rank_correlation": pl.Float64}
    changed = pl.concat(groups) if groups else _groups(frame[cf.GROUP], "", first, first).clear()
    return Comparison(
        pl.DataFrame(rows, schema_overrides=schema),
        changed.sort("change", "group", descending=[True, False], nulls_last=True, maintain_order=True),
    )


def _row(name: str, values: pl.Series, first: pl.Series) -> dict[str, str | float | int | None]:
    both = pl.DataFrame({"a": values, "b": first}).drop_nulls()
    known = values.drop_nulls()
    changed = both["a"].sign() != both["b"].sign()
    return {
        "estimator": name,
        "rows": known.len(),
        "mean_abs": _float(known.abs().mean()),
        "std": _float(known.std(ddof=0)),
        "zero": _share(int((known == 0).sum()), known.len()),
        "sign_changes": _share(int(changed.sum()), both.height),
        "rank_correlation": _rank_correlation(both["a"], both["b"]),
    }


def _groups(group: pl.Series, name: str, values: pl.Series, first: pl.Series) -> pl.DataFrame:
    rows = pl.DataFrame({"group": group, "a": values, "b": first})
    return (
        rows.group_by("group")
        .agg(
            pl.lit(name).alias("estimator"),
            (pl.col("a") - pl.col("b")).abs().mean().alias("change"),
            (pl.col("a").sign() != pl.col("b").sign()).sum().cast(pl.Int64).alias("sign_changes"),
        )
        .sort("group")
    )


def _rank_correlation(x: pl.Series, y: pl.Series) -> float | None:
    if x.n_unique() < 2 or y.n_unique() < 2:
        return None
    ranks = pl.DataFrame({"x": _near(x).rank("average"), "y": _near(y).rank("average")})
    found = ranks.select(pl.corr("x", "y")).item()
    return None if found is None or found != found else min(1.0, max(-1.0, float(found)))  # noqa: PLR0124 - NaN


def _near(values: pl.Series) -> pl.Series:
    """Rounded to ten digits of their size: rows that one formula makes equal must tie, whatever the last bit says."""
    return values.round_sig_figs(10)


def _share(count: int, of: int) -> float | None:
    return count / of if of else None


def _float(value: object) -> float | None:
    return value if isinstance(value, float) and math.isfinite(value) else None
