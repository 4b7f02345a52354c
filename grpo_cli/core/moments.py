"""Count, extremes, mean and spread of the values of each group or batch, without losing digits.

Values are first moved by their minimum and divided by a unit (their spread, or 1): then an offset costs no digits,
row order does not matter, and neither 1e308 nor denormal rewards leave the range. The variance is taken in two
passes, and whether a group is constant is read from the values, never from the std.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

FLOOR = 1e-8
"""A spread up to this is no spread, unless the tolerance is 0."""

_ORDINARY = 1e100  # between its inverse and itself a spread can be squared without leaving the range of a float64


class Partition:
    """Rows parted by number: the groups, or the batches. Numbers may have gaps; they are closed here."""

    def __init__(self, numbers: pl.Series) -> None:
        """Bring rows of one number together, once: all statistics are then taken over slices."""
        self.order = None if numbers.is_sorted() else _together(numbers)
        together = numbers if self.order is None else numbers.gather(self.order)
        firsts = together.ne(together.shift(1)).fill_null(value=True)
        self.size = int(firsts.sum())
        gapless = self.size == 0 or (together[0] == 0 and together[-1] == self.size - 1)
        self.numbers = numbers if gapless else (numbers.rank("dense") - 1).cast(pl.UInt32)
        ids = together if gapless else (firsts.cast(pl.UInt32).cum_sum() - 1).cast(pl.UInt32)
        self._ids = ids.alias("id").set_sorted()

    def aggregate(self, columns: dict[str, pl.Series], *aggregates: pl.Expr) -> pl.DataFrame:
        """One row for each part, in order of its number."""
        if self.order is not None:
            columns = {name: values.gather(self.order) for name, values in columns.items()}
        frame = pl.DataFrame([self._ids, *(values.alias(name) for name, values in columns.items())])
        return frame.group_by("id").agg(*aggregates).sort("id").drop("id")

    def spread(self, values: pl.Series) -> pl.Series:
        """One value for each part, given to each of its rows."""
        return values.gather(self.numbers)


@dataclass(frozen=True)
class Moments:
    """Statistics of each part, and the rows' deviations from their part's mean.

    `mass` is the count, or the sum of the weights; `low` and `unit` are in the values' own scale; `mean`, `m2` (the sum
    of squares) and `deviations` are in units, the mean counted from `low`. `dead` marks two values or more that are
    one within the tolerance, `lone` a single one.
    """

    part: Partition
    table: pl.DataFrame
    deviations: pl.Series

    def __getitem__(self, column: str) -> pl.Series:
        """One statistic for each part."""
        return self.table[column]

    def std(self, ddof: int) -> pl.Series:
        """The standard deviation in units; 0 where the values are constant, or too few."""
        room = pl.col("mass") - ddof
        std = pl.when((room > 0) & ~pl.col("dead") & (pl.col("count") > 1)).then((pl.col("m2") / room).sqrt())
        return self.table.select(std.otherwise(0.0).alias("std")).to_series()

    def mean(self) -> pl.Series:
        """The mean in the values' own scale."""
        return self["low"] + self["mean"] * self["unit"]


def moments(
    values: pl.Series,
    part: Partition,
    *,
    by_spread: bool,
    tolerance: float,
    floor: float = FLOOR,
    weights: pl.Series | None = None,
    residue: pl.Series | None = None,
) -> Moments:
    """The statistics of each part of `values`; nulls are in none of them.

    Args:
        values: Float64, null or finite, and no further apart than a float64 can say.
        part: which part each row is in.
        by_spread: take the spread as the unit: best where a std is divided by. Otherwise the unit is 1 wherever that
            is in range, so that whole-number rewards keep exact differences.
        tolerance: relative spread up to which a part is constant, 0 for exactly equal.
        floor: absolute spread up to which it is, unless the tolerance is 0.
        weights: how much a row counts, never negative; null where the value is.
        residue: what each value lost in rounding, never null; it is put back once the values are moved.
    """
    v = pl.col("v")
    table = part.aggregate({"v": values}, v.count().alias("count"), v.min().alias("low"), v.max().alias("high"))
    table = table.with_columns(
        pl.col("count").cast(pl.Float64),
        spread=pl.col("high") - pl.col("low"),
        dead=(pl.col("count") >= 2) & constant(pl.col("low"), pl.col("high"), tolerance, floor),
        lone=pl.col("count") == 1,
    )
    table = table.with_columns(unit=_unit(table["spread"], by_spread=by_spread))
    scaled = values - part.spread(table["low"])
    if residue is not None:
        scaled = scaled + residue
    if bool((table["unit"] != 1.0).any()):
        scaled = scaled / part.spread(table["unit"])
    table, deviations = _centre(scaled, part, table, weights)
    return Moments(part, table, deviations)


def _together(numbers: pl.Series) -> pl.Series:
    # In the order of the rows within a part: the sums then come out the same in every run.
    return numbers.to_frame("n").select(pl.arg_sort_by("n", maintain_order=True)).to_series()


def constant(low: pl.Expr, high: pl.Expr, tolerance: float, floor: float = FLOOR) -> pl.Expr:
    """Whether values between `low` and `high` count as one value: decided on the values, never on a std."""
    if tolerance == 0:
        return low == high
    return high - low <= pl.max_horizontal(tolerance * pl.max_horizontal(low.abs(), high.abs()), floor)


def _unit(spread: pl.Series, *, by_spread: bool) -> pl.Series:
    if by_spread:
        return pl.select(pl.when(spread > 0).then(spread).otherwise(1.0)).to_series()
    inside = (spread == 0) | ((spread > 1 / _ORDINARY) & (spread < _ORDINARY)) | spread.is_null()
    if inside.all():
        return pl.repeat(1.0, len(spread), eager=True)
    # A power of two moves the values into range without touching a digit.
    return pl.select(pl.when(inside).then(1.0).otherwise(pl.lit(2.0).pow(spread.log(2).floor()))).to_series()


def _centre(
    scaled: pl.Series, part: Partition, table: pl.DataFrame, weights: pl.Series | None
) -> tuple[pl.DataFrame, pl.Series]:
    """Mean and sum of squares in two passes; what the first mean lost in rounding is put right by the second."""
    x, w = pl.col("x"), pl.col("w")
    if weights is None:
        mass = table["count"].alias("mass")
        rough = part.aggregate({"x": scaled}, x.mean().alias("mean"))["mean"]
        off = scaled - part.spread(rough)
        sums = part.aggregate({"x": off}, x.sum().alias("left"), (x * x).sum().alias("m2"))
    else:
        weights = pl.select(pl.when(scaled.is_not_null()).then(weights)).to_series()
        columns = {"x": scaled, "w": weights}
        first = part.aggregate(columns, w.sum().alias("mass"), (x * w).sum().alias("sum"))
        mass = first["mass"]
        rough = first["sum"] / mass
        off = scaled - part.spread(rough)
        columns["x"] = off
        sums = part.aggregate(columns, (x * w).sum().alias("left"), (x * x * w).sum().alias("m2"))
    del off  # as large as the rows: what is not needed any more is given back before more is asked for
    shift = sums["left"] / mass
    table = table.with_columns(mass, m2=sums["m2"] - sums["left"] * shift, mean=rough + shift)
    return table, scaled - part.spread(table["mean"])
