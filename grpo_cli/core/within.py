"""What goes together inside the groups: correlations and shares of the variance, with the groups' own levels taken out.

Over all rollouts a correlation mixes in how hard the prompts are; centred on group means it does not. A group in which
one of the two is constant says nothing about how they go together, and is left out.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Sequence


def correlation(group: pl.Series, x: pl.Series, y: pl.Series) -> float | None:
    """Pearson's r of x and y, centred on their means in each group; None where no group has both spread.

    The three series have a value a rollout; one without x or y is left out.
    """
    _, x, y = _paired(group, x, y)
    return _clipped(_dot(x, y), _dot(x, x), _dot(y, y))


def correlations(group: pl.Series, x: pl.Series, y: pl.Series) -> pl.DataFrame:
    """Pearson's r of x and y in each group: columns `group` and `correlation`, null where one of them is constant."""
    rows, x, y = _paired(group, x, y)
    products = pl.DataFrame([rows, (x * y).alias("xy"), (x * x).alias("xx"), (y * y).alias("yy")])
    summed = products.group_by("group").agg(pl.all().sum())
    found = [(number, _clipped(xy, xx, yy)) for number, xy, xx, yy in summed.iter_rows()]
    known = pl.DataFrame(found, {"group": group.dtype, "correlation": pl.Float64()}, orient="row")
    every = group.unique().sort().alias("group").to_frame()
    return every.join(known, on="group", how="left", maintain_order="left")


def variance_shares(group: pl.Series, total: pl.Series, parts: Sequence[pl.Series]) -> list[float | None]:
    """How much of the within-group variance of `total` comes from each of `parts`, which add up to it.

    A part's share is cov(part, total) / var(total), both centred in their group: the shares add to 1, and one that
    works against the total is negative. A part that is missing where there is a total counts as 0, as in the sum.
    None where no group has a spread.
    """
    rows = pl.DataFrame([group.alias("group"), total.alias("total")]).hstack(
        [part.fill_null(0.0).alias(f"part_{at}") for at, part in enumerate(parts)]
    )
    rows = rows.filter(pl.col("total").is_not_null())
    if not rows["group"].is_sorted():
        rows = rows.sort("group", maintain_order=True)
    # One scale for all: it cancels, and squares of very large rewards stay in range.
    scale = max((_largest(rows[column]) for column in rows.columns[1:]), default=0.0)
    if not scale:
        return [None] * len(parts)
    whole = _centred(rows["group"], rows["total"] / scale)
    variance = _dot(whole, whole)
    if not variance:
        return [None] * len(parts)
    return [_dot(_centred(rows["group"], rows[f"part_{at}"] / scale), whole) / variance for at in range(len(parts))]


def _paired(group: pl.Series, x: pl.Series, y: pl.Series) -> tuple[pl.Series, pl.Series, pl.Series]:
    """Group, x and y of the rollouts in groups where both differ, x and y centred, and scaled into -1 to 1."""
    rows = pl.DataFrame([group.alias("group"), x.alias("x"), y.alias("y")]).drop_nulls()
    if not rows["group"].is_sorted():
        rows = rows.sort("group", maintain_order=True)
    rows = rows.with_columns(pl.col("group").set_sorted())
    differs = rows.group_by("group").agg(pl.col("x", "y").min() < pl.col("x", "y").max()).sort("group")
    rows = rows.filter((differs["x"] & differs["y"]).gather(rows["group"].rle_id()))
    group = rows["group"]
    return group, _centred(group, _scaled(rows["x"])), _centred(group, _scaled(rows["y"]))


def _scaled(values: pl.Series) -> pl.Series:
    return values / (_largest(values) or 1.0)


def _largest(values: pl.Series) -> float:
    largest = values.abs().max()
    return largest if isinstance(largest, float) else 0.0


def _centred(group: pl.Series, values: pl.Series) -> pl.Series:
    """`values` less their group's mean, for groups that stand together; equal values are exactly 0."""
    of_row = group.rle_id()
    table = pl.DataFrame([of_row.alias("run").set_sorted(), values.alias("value")])
    lowest = table.group_by("run").agg(pl.col("value").min()).sort("run")["value"]
    above = values - lowest.gather(of_row)
    mean = table.with_columns(above.alias("value")).group_by("run").agg(pl.col("value").mean()).sort("run")["value"]
    return above - mean.gather(of_row)


def _dot(x: pl.Series, y: pl.Series) -> float:
    return float((x * y).sum())


def _clipped(xy: float, xx: float, yy: float) -> float | None:
    if not xx or not yy:
        return None
    return min(max(xy / math.sqrt(xx) / math.sqrt(yy), -1.0), 1.0)
