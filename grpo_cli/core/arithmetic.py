"""One step, (x - centre) / scale, over the rows of a log.

What is taken over a group or a batch is one number for each, given to its rows in one gather: the work of a row is a
subtraction and a product. The pieces are kept beside the values, so that an explanation cannot differ from them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import polars as pl

from grpo_cli.core import kernels
from grpo_cli.core.moments import FLOOR, Moments, Partition, moments
from grpo_cli.errors import RowError

if TYPE_CHECKING:
    from grpo_cli.core.chain import Step


@dataclass(frozen=True)
class Rows:
    """What a step needs to know of the rows beside their values."""

    groups: Partition
    batches: Partition
    length: pl.Series | None
    baseline: pl.Series | None
    tolerance: float
    singleton: str
    shrink: float = 1.0  # the values are multiplied by this: less than 1 where their difference would overflow
    given: float = 1.0  # the part of `shrink` that they came with, and keep where the step does not divide
    residue: pl.Series | None = None  # what each value lost in rounding before the step, in the values' scale

    def moments(self, x: pl.Series, part: Partition, *, by_spread: bool, weights: pl.Series | None = None) -> Moments:
        """The moments of `x` under the tolerance."""
        floor = FLOOR * self.shrink
        return moments(
            x,
            part,
            by_spread=by_spread,
            tolerance=self.tolerance,
            floor=floor,
            weights=weights,
            residue=self.residue,
        )


@dataclass(frozen=True)
class Centre:
    """What is left of x: `values` in units, times `rise` and `unit` of their part."""

    values: pl.Series
    moments: Moments | None = None
    rise: pl.Series | None = None  # 1, n / (n - 1), 0 where the part gives no signal, null where it gives no value

    def rows(self) -> pl.Series:
        """What is left of each row, in the scale of the values."""
        if self.moments is None or self.rise is None:
            return self.values
        return self.values * self.moments.part.spread(self.rise * self.moments["unit"])


@dataclass(frozen=True)
class Scale:
    """The divisor: for each part, each row, or all; in the units of the centre where `relative`."""

    numbers: pl.Series | float
    part: Partition | None = None
    relative: bool = False

    def rows(self, centre: Centre) -> pl.Series | float:
        """The divisor of each row, in the scale of the values."""
        rows = self.numbers
        if self.part is not None and isinstance(rows, pl.Series):
            rows = self.part.spread(rows)
        if self.relative and centre.moments is not None:
            rows = rows * centre.moments.part.spread(centre.moments["unit"])
        return rows


@dataclass(frozen=True)
class Applied:
    """A step's values beside their pieces."""

    before: pl.Series
    values: pl.Series
    pieces: pl.DataFrame | None = None  # subtracted, divided_by; where they were asked for


def apply(step: Step, x: pl.Series, rows: Rows, *, pieces: bool = False) -> Applied:
    """Take one step over `x`: Float64, null where a row is in no statistic; such a row stays null.

    Raises:
        RowError: a group of one, where the rule for those is `error`.
    """
    if step.kernel:
        return Applied(x, _lone_values(kernels.KERNELS[step.kernel](x, step, rows), x, rows))
    before = x
    if (step.subtract, step.divide) != ("none", "none") and is_vast(x):
        residue = None if rows.residue is None else rows.residue * SHRINK
        rows = replace(rows, shrink=rows.shrink * SHRINK, residue=residue)
        x = x * SHRINK
    centre = _centre(step, x, rows)
    scale = _scale(step, x, rows, centre)
    values = _quotient(centre, scale)
    if step.zero_up_to >= 0 and step.scaled:
        values = _lone_values(values, before, replace(rows, singleton="zero"))
    if not pieces:
        return Applied(before, values)
    subtracted = (x - centre.rows()) / rows.shrink
    divided_by = scale.rows(centre) / rows.shrink
    return Applied(before, values, before.to_frame("before").select(subtracted=subtracted, divided_by=divided_by))


SHRINK = 2.0**-8
"""What vast values are multiplied by; a power of two costs no digits."""

_VAST = 1e300


def is_vast(x: pl.Series) -> bool:
    """Whether differences of the values, taken a few times over, could leave the range of a float64."""
    low, high = x.min(), x.max()
    return isinstance(low, float) and isinstance(high, float) and max(-low, high) > _VAST


def _quotient(centre: Centre, scale: Scale) -> pl.Series:
    """The centre over the scale, with what belongs to one part multiplied once for the part."""
    if centre.moments is None or centre.rise is None:
        return centre.values / scale.rows(centre)
    part = centre.moments.part
    rise = centre.rise if scale.relative else centre.rise * centre.moments["unit"]
    if scale.part is part:
        return centre.values * part.spread(rise / scale.numbers)
    if isinstance(scale.numbers, float):
        values = centre.values * part.spread(rise)
        return values if scale.numbers == 1 else values / scale.numbers
    numbers = scale.numbers if scale.part is None else scale.part.spread(scale.numbers)
    return centre.values * part.spread(rise) / numbers


def _centre(step: Step, x: pl.Series, rows: Rows) -> Centre:
    name = step.subtract
    if name == "none":
        return Centre(x)
    if name == "field":
        assert rows.baseline is not None
        left = x - rows.baseline * rows.shrink
        return Centre(left if rows.residue is None else left + rows.residue)
    if name.startswith("ema:"):
        return Centre(x - kernels.moving_average(x, float(name.removeprefix("ema:"))))
    batch = name.startswith("batch-")
    part = rows.batches if batch else rows.groups
    weighted = name == "length-mean" or (batch and step.weighting == "tokens")
    stats = rows.moments(x, part, by_spread=_own(step), weights=rows.length if weighted else None)
    values = stats.deviations
    if name.startswith("quantile:"):
        share = pl.col("c").quantile(float(name.removeprefix("quantile:")), interpolation="linear")
        values = values - part.spread(part.aggregate({"c": values}, share)["c"])
    if name == "second-best":
        values = kernels.lead_of_best(stats)
    count = pl.col("count")
    rise = pl.when(count > 1).then(count / (count - 1)).otherwise(1.0) if name.endswith("loo") else pl.lit(1.0)
    rises = stats.table.select(pl.when("dead").then(0.0).otherwise(rise).alias("rise")).to_series()
    centre = Centre(values, stats, rises)
    return centre if batch or not stats["lone"].any() else _lone(centre, x, rows)


def _own(step: Step) -> bool:
    """Whether the std that is divided by is that of the very values that the centre is taken from."""
    if step.subtract.startswith("batch-"):
        return step.divide == "batch-std"
    from_group = step.subtract in ("mean", "loo", "second-best") or step.subtract.startswith("quantile:")
    return from_group and step.divide in ("group-std", "loo-std")


def _lone(centre: Centre, x: pl.Series, rows: Rows) -> Centre:
    """Apply the rule for groups of one, whose centre is themselves."""
    assert centre.moments is not None
    lone = centre.moments["lone"]
    if rows.singleton == "error":
        refuse_lone(rows.groups.spread(lone) & x.is_not_null())
    if rows.singleton in ("reward", "over-eps"):
        kept = pl.select(pl.when(rows.groups.spread(lone)).then(x).otherwise(centre.values)).to_series()
        return replace(centre, values=kept)
    to = pl.lit(0.0) if rows.singleton == "zero" else pl.lit(None, pl.Float64)
    return replace(centre, rise=pl.select(pl.when(lone).then(to).otherwise(centre.rise)).to_series())


def _lone_values(values: pl.Series, x: pl.Series, rows: Rows) -> pl.Series:
    """Apply the rule for groups of one to the values of a kernel."""
    count = rows.groups.aggregate({"x": x}, pl.col("x").count())["x"]
    lone = rows.groups.spread(count == 1) & x.is_not_null()
    if rows.singleton == "error":
        refuse_lone(lone)
    to = {"zero": pl.lit(0.0), "reward": pl.lit(x)}.get(rows.singleton, pl.lit(None, pl.Float64))
    return pl.select(pl.when(lone).then(to).otherwise(values).alias(values.name)).to_series()


def refuse_lone(lone: pl.Series) -> None:
    """Refuse the rows that are a group of their own."""
    if lone.any():
        raise RowError(
            "a group of one: there is nothing to compare its reward with",
            row=int(lone.arg_true()[0]),
            hint="--singleton zero gives such groups the advantage 0; --group-by names another key",
        )


def _scale(step: Step, x: pl.Series, rows: Rows, centre: Centre) -> Scale:
    divide, stats = step.divide, centre.moments
    if divide == "none":
        return Scale(rows.shrink / rows.given)
    if divide in kernels.SCALES:
        part, numbers = kernels.SCALES[divide](step, x, rows, stats)
        return Scale(numbers * rows.shrink, part)
    part = rows.batches if divide.startswith("batch-") else rows.groups
    own = stats if _own(step) else None
    source = centre.rows() if divide.endswith("-centered") else x
    if own is None:
        weights = rows.length if step.weighting == "tokens" and part is rows.batches else None
        # What was centred has its residue in it.
        whole = rows if source is x else replace(rows, residue=None)
        other = whole.moments(source, part, by_spread=True, weights=weights)
    else:
        other = own
    if divide == "loo-std":
        std = kernels.std_of_others(source, other, step.ddof, rows)
        unit: pl.Series = part.spread(other["unit"])
    else:
        std, unit = other.std(step.ddof), other["unit"]
        if own is not None and part is rows.groups and rows.singleton == "reward":
            std = pl.select(pl.when(other["lone"]).then(1.0).otherwise(std)).to_series()
    # An eps stands in for a std of zero, except among the others of one row: that row is the group's only signal.
    dead = None if divide == "loo-std" else other["dead"]
    numbers = _softened(step, std, unit, rows.shrink, dead=dead, relative=own is not None)
    if divide != "loo-std":
        numbers = _guarded(step, numbers, std * unit / rows.shrink, other["count"])
    return Scale(numbers, None if divide == "loo-std" else part, relative=own is not None)


def _softened(
    step: Step, std: pl.Series, unit: pl.Series, shrink: float, *, dead: pl.Series | None, relative: bool
) -> pl.Series:
    """The std with its eps; where there is neither, what leaves x - centre undivided. In units where `relative`."""
    s, u = pl.lit(std), pl.lit(unit)
    one = 1.0 / u if relative else pl.lit(1.0)
    if not relative:
        s = s * u
    eps = (step.eps if step.eps_mode in ("add", "clamp-std") else step.eps**0.5) * shrink * one
    if step.eps == 0:
        softened = s
    elif step.eps_mode == "add":
        softened = s + eps
    elif step.eps_mode == "add-var":
        long, short = pl.max_horizontal(s, eps), pl.min_horizontal(s, eps)  # no square leaves the range
        softened = long * (1 + (short / long).pow(2)).sqrt()
    else:
        softened = pl.max_horizontal(s, eps)
    some = s > 0 if dead is None or step.eps == 0 else (s > 0) | pl.lit(dead)
    return pl.select(pl.when(some).then(softened).otherwise(shrink * one).alias("scale")).to_series()


def _guarded(step: Step, numbers: pl.Series, std: pl.Series, count: pl.Series) -> pl.Series:
    """Rules of frameworks for parts without a usable std: exactly 0 (by an infinite divisor), or no value."""
    divisor = pl.lit(numbers)
    if step.zero_up_to >= 0:
        divisor = pl.when(std <= step.zero_up_to).then(float("inf")).otherwise(divisor)
    if step.lone_batch == "null" and step.divide.startswith("batch-"):
        divisor = pl.when(count == 1).then(None).otherwise(divisor)
    return pl.select(divisor.alias(numbers.name)).to_series()
