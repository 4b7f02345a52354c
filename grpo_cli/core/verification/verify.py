"""Logged advantages against recomputed ones: which rows agree, and what is behind those that do not."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

import polars as pl

from grpo_cli import frame as cf
from grpo_cli.core.steps import advantages
from grpo_cli.errors import RowError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grpo_cli.core.chain import Estimator

TOLERANCE = 1e-5
"""Two advantages agree where |logged - computed| <= this * max(1, |computed|): float32 arithmetic keeps within it."""

_FLOAT32 = 2.0**-23
_ROUNDINGS = 16
"""How many roundings of the rewards to float32 may lie between a framework's number and the right one."""


_CLOSE = 1e-4
"""Rewards that differ by less than this of their size have few digits left in float32 once centred."""

_EXACT = 2.0**6
"""Rewards in whole 1/64 up to 64 have 12 bits at most: their squares, and sums of thousands, are exact in float32."""


class Fault(StrEnum):
    """Why the advantages of a group are not the computed ones."""

    DIFFERS = "differs"
    FLOAT32 = "float32"
    CUT = "cut"


@dataclass(frozen=True)
class Verification:
    """What the comparison of a log with one formula found."""

    rows: int
    """Rows that were compared."""
    agree: int
    """Rows that agree."""
    unlogged: int
    """Rows of groups in which no row carries an advantage: they are not compared."""
    silent: int
    """Those of them for which the formula has a value."""
    largest: float | None
    """The largest difference between two numbers."""
    groups: pl.DataFrame
    """A row per group that differs, worst first: `group`, `fault`, `rows`, `differ`, `largest`, and of its worst
    row `row`, `logged`, `computed`. `largest` is null where only one of the two has a number."""
    compared: int
    """Groups that were compared."""

    @property
    def share(self) -> float | None:
        """The share of compared rows that agree."""
        return self.agree / self.rows if self.rows else None

    @property
    def explained(self) -> bool:
        """Whether every difference has an innocent cause: float32 rounding, or a group that is cut off."""
        return Fault.DIFFERS not in self.groups["fault"]

    @property
    def holds(self) -> bool:
        """Whether all rows agree but those of a group that is cut off."""
        return self.groups.filter(pl.col("fault") != Fault.CUT).is_empty()


def verify(
    frame: pl.DataFrame,
    estimator: Estimator,
    *,
    weights: Sequence[float] | None = None,
    tolerance: float | None = None,
    tol: float = TOLERANCE,
) -> Verification:
    """Compare the column `logged` of a canonical frame with what `estimator` gives.

    A group that differs is of a class of its own where the cause is known: `float32` where the difference is no
    larger than what rounding the rewards to float32 does to this formula (a nearly constant group whose float32 mean
    is off by one unit in the last place, a row whose leave-one-out std is rounding noise); `cut` where the last group
    of a batch has fewer rollouts than its groups have, so that the partners of its rows are not in the log.

    Raises:
        GrpoAdvError: as `core.steps.advantages`.
    """
    computed = advantages(frame, estimator, weights=weights, tolerance=tolerance)
    rows = compared(frame, computed, tol)
    unlogged = rows["unlogged"]
    differ = rows["differs"]
    groups = (
        rows.filter("differs")
        .group_by("group")
        .agg(
            differ=pl.len().cast(pl.Int64),
            largest=pl.col("difference").max(),
            row=pl.col("row").sort_by("difference", descending=True, nulls_last=True).first(),
        )
    )
    sizes = rows.group_by("group").agg(rows=pl.len().cast(pl.Int64), last=pl.col("row").max(), batch=pl.first("batch"))
    groups = groups.join(sizes, on="group")
    if groups.height:
        rounded = _rounding(frame, estimator, weights, computed, rows, tol)
        groups = groups.with_columns(_fault(groups, sizes, rounded).alias("fault"))
    else:
        groups = groups.with_columns(fault=pl.lit(Fault.DIFFERS.value))
    order = pl.col("fault").replace_strict([f.value for f in Fault], range(len(Fault)), return_dtype=pl.UInt8)
    groups = groups.sort(order, pl.col("largest"), "group", descending=[False, True, False], nulls_last=True)
    return Verification(
        rows=rows.height - int(unlogged.sum()),
        agree=rows.height - int(unlogged.sum()) - int(differ.sum()),
        unlogged=int(unlogged.sum()),
        silent=int((unlogged & computed.is_not_null()).sum()),
        largest=_number(rows["difference"].max()),
        groups=groups.select(
            "group",
            "fault",
            "rows",
            "differ",
            "largest",
            "row",
            frame[cf.LOGGED].gather(groups["row"]).alias("logged"),
            computed.gather(groups["row"]).alias("computed"),
        ),
        compared=rows.filter(~pl.col("unlogged"))["group"].n_unique(),
    )


def compared(frame: pl.DataFrame, computed: pl.Series, tol: float) -> pl.DataFrame:
    """Row by row: `row`, `group`, `batch`, `difference`, `unlogged` (no row of its group is logged), `differs`."""
    logged = frame[cf.LOGGED]
    rows = frame.select(
        pl.int_range(pl.len(), dtype=pl.UInt32).alias("row"),
        cf.GROUP,
        cf.BATCH,
        (logged - computed).abs().alias("difference"),
    )
    none = logged.is_null().to_frame("none").select(pl.col("none").all().over(frame[cf.GROUP])).to_series()
    bound = tol * pl.max_horizontal(pl.lit(1.0), pl.lit(computed.abs()))
    one_sided = logged.is_null() != computed.is_null()
    differs = (pl.col("difference") > bound).fill_null(value=False) | pl.lit(one_sided)
    return rows.with_columns(unlogged=none, differs=differs & ~pl.lit(none))


def _fault(groups: pl.DataFrame, sizes: pl.DataFrame, rounded: pl.Series) -> pl.Expr:
    """The class of each group that differs."""
    counts = sizes["rows"].value_counts(sort=True)
    usual = int(counts["rows"][0]) if counts["count"][0] * 2 > sizes.height else 0
    ends = sizes.group_by("batch").agg(pl.col("last").max())["last"]
    cut = (groups["rows"] < usual) & groups["last"].is_in(ends.implode())
    return (
        pl.when(groups["group"].is_in(rounded.implode()))
        .then(pl.lit(Fault.FLOAT32.value))
        .when(cut)
        .then(pl.lit(Fault.CUT.value))
        .otherwise(pl.lit(Fault.DIFFERS.value))
    )


def _rounding(
    frame: pl.DataFrame,
    estimator: Estimator,
    weights: Sequence[float] | None,
    computed: pl.Series,
    rows: pl.DataFrame,
    tol: float,
) -> pl.Series:
    """The groups whose every difference is no larger than float32 rounding of the rewards can make it.

    How much that is comes from the formula itself: it is computed again on rewards moved by a unit in the last place
    of a float32, up or down. A bound alone would excuse any number below it, so more is asked: rewards nearly of one
    value, or under a leave-one-out std all but the one row that differs; some of them with digits that float32 sums
    lose; and equal advantages for equal rewards, since rounded alike.
    """
    moved = pl.Series([0.0]).new_from_index(0, frame.height)
    for seed in (1, 2, 3):
        try:
            other = advantages(_moved(frame, seed), estimator, weights=weights, tolerance=0.0)
        except RowError:  # a formula about rewards that are exactly 0 or 1
            break
        moved = pl.select(pl.max_horizontal(moved, (other - computed).abs())).to_series()
    parts = cf.reward_parts(frame)
    widest = moved.to_frame("moved").select(pl.col("moved").max().over(frame[cf.GROUP])).to_series()
    factors = [1.0] * len(parts) if weights is None else weights
    table = rows.with_columns(
        frame[cf.LOGGED],
        *frame.select(parts),
        possible=(pl.col("difference") <= _ROUNDINGS * widest + tol).fill_null(value=False),
    ).filter(pl.col("differs").any().over("group"))
    close = pl.all_horizontal(_nearly_constant(pl.col(part)) for part in parts)
    if any(step.divide == "loo-std" for step in estimator.chain):
        close |= _constant_but_one(parts)
    inexact = pl.any_horizontal(
        _inexact(pl.col(part), factor).any() for part, factor in zip(parts, factors, strict=True)
    ) | ~pl.all_horizontal(pl.col(part).min().eq_missing(pl.col(part).max()) for part in parts)
    spread = pl.col(cf.LOGGED).max() - pl.col(cf.LOGGED).min()
    level = tol * pl.max_horizontal(pl.lit(1.0), pl.col(cf.LOGGED).abs().max())
    uneven = table.group_by("group", *parts).agg(uneven=spread > level).filter("uneven")["group"]
    return (
        table.group_by("group")
        .agg(possible=(pl.col("possible") | ~pl.col("differs")).all(), close=close, inexact=inexact)
        .filter(pl.col("possible") & pl.col("close") & pl.col("inexact"))
        .filter(~pl.col("group").is_in(uneven.implode()))["group"]
    )


def _nearly_constant(reward: pl.Expr) -> pl.Expr:
    """Whether rewards are one value, but for less than float32 keeps well once they are centred."""
    return (reward.max() - reward.min() <= _CLOSE * reward.abs().max()).fill_null(value=True)


def _constant_but_one(parts: Sequence[str]) -> pl.Expr:
    """Whether one row alone differs, its others are two or more, nearly of one value, and inexact in float32.

    Only that row is divided by a std that is rounding: the others have it among theirs.
    """
    odd = pl.col("differs")
    others = [pl.col(part).filter(~odd) for part in parts]
    constant = pl.all_horizontal(_nearly_constant(other) for other in others)
    return (odd.sum() == 1) & (pl.len() > 2) & constant & pl.any_horizontal(_inexact(one).any() for one in others)


def _inexact(reward: pl.Expr, weight: float = 1.0) -> pl.Expr:
    """Whether rewards have digits that sums and squares in float32 lose: 0.1 has, 0, 1, -2.5 and 0.75 have not."""
    scaled = reward * weight * _EXACT
    return ((scaled != scaled.round()) | (scaled.abs() > _EXACT * _EXACT)).fill_null(value=False)


def _moved(frame: pl.DataFrame, seed: int) -> pl.DataFrame:
    """The frame with each reward moved by up to a unit in the last place of a float32, the same way every time."""
    mixed = pl.int_range(pl.len(), dtype=pl.UInt64) * 2_654_435_761 + seed * 40_503
    share = (mixed % 65_521).cast(pl.Float64) / 32_760.0 - 1.0
    return frame.with_columns(pl.col(part) * (1.0 + share * _FLOAT32) for part in cf.reward_parts(frame))


def _number(value: object) -> float | None:
    return value if isinstance(value, float) else None
