"""The reward of a rollout: several reward columns made one, and several rows made one rollout."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from grpo_cli import frame as cf
from grpo_cli.errors import RowError

if TYPE_CHECKING:
    from collections.abc import Sequence


def total(frame: pl.DataFrame, weights: Sequence[float] | None = None) -> pl.Series:
    """The weighted sum of the reward columns, one value a row; null where the reward is missing.

    Args:
        frame: a canonical frame.
        weights: one weight for each of `reward_0..k`; None weighs each 1.

    Returns:
        A Float64 series named `reward`. A missing part is left out of the sum (the nansum of TRL's
        `GRPOTrainer`), all parts missing is null, and so is a row that is not `scored`. Never -0.0.

    Raises:
        RowError: the sum of finite rewards is beyond the range of a float64.
        ValueError: the weights are not as many as the reward columns.
    """
    parts = cf.reward_parts(frame)
    weights = [1.0] * len(parts) if weights is None else list(weights)
    if len(weights) != len(parts):
        raise ValueError(f"{len(parts)} reward columns and {len(weights)} weights")
    if len(parts) == 1:
        summed = pl.col(parts[0]) * weights[0]
    else:
        weighted = [pl.col(part) * weight for part, weight in zip(parts, weights, strict=True)]
        some = pl.any_horizontal(pl.col(part).is_not_null() for part in parts)
        summed = pl.when(some).then(pl.sum_horizontal(weighted))
    if cf.SCORED in frame.columns:
        summed = pl.when(pl.col(cf.SCORED)).then(summed)
    reward = frame.select(summed.alias(cf.REWARD)).to_series()
    beyond = reward.is_finite().not_().arg_true()
    if len(beyond):
        raise RowError(
            "the weighted sum of the rewards is too large for a 64-bit float",
            row=int(beyond[0]),
            hint="give smaller weights, as in --reward NAME=0.001",
        )
    return without_negative_zero(reward)


def residue(frame: pl.DataFrame, total: pl.Series, weights: Sequence[float] | None = None) -> pl.Series | None:
    """What `total` lost in rounding: the exact weighted sum is the total plus this. None where nothing was lost.

    The products are split and the sums carry their error (Dekker 1971, Knuth's two-sum), so that a large offset in
    one reward costs no digits of another once a baseline is subtracted. 0 where a row has no total or is out of range.
    """
    parts = cf.reward_parts(frame)
    if len(parts) == 1:
        return None
    summed = pl.repeat(0.0, len(frame), eager=True)
    left = summed
    for part, weight in zip(parts, weights or [1.0] * len(parts), strict=True):
        value = frame[part].fill_null(0.0)
        product = value * weight
        new = summed + product
        gained = new - summed
        left = left + ((summed - (new - gained)) + (product - gained))
        if weight not in (0.0, 1.0):
            left = left + _lost_in_product(value, weight, product)
        summed = new
    left = left + (summed - total)  # Polars may sum in another order
    left = pl.select(pl.when(left.is_finite()).then(left).otherwise(0.0)).to_series()
    return left if (left != 0).any() else None


def _lost_in_product(value: pl.Series, weight: float, product: pl.Series) -> pl.Series:
    half = 134217729.0  # 2^27 + 1 splits 53 bits into two halves whose products are exact
    upper_weight = weight * half - (weight * half - weight)
    upper = value * half - (value * half - value)
    lower, lower_weight = value - upper, weight - upper_weight
    rest = ((product - upper * upper_weight) - lower * upper_weight) - upper * lower_weight
    return lower * lower_weight - rest


def without_negative_zero(values: pl.Series) -> pl.Series:
    """The same values with 0.0 for -0.0, which Polars keeps when 0.0 is added to it."""
    zeros = values == 0
    if not zeros.any():
        return values
    return pl.select(pl.when(zeros).then(0.0).otherwise(values).alias(values.name)).to_series()


def one_row_per_rollout(frame: pl.DataFrame) -> pl.DataFrame:
    """The first row of each rollout, in order; `frame` itself where it has no `rollout` column.

    A rollout that is logged as several rows counts once: with the reward that its rows share, the tokens of
    all of them, and scored only where all of them are. A row without a rollout id is a rollout of its own.

    Raises:
        RowError: the rows of one rollout have different rewards.
    """
    if cf.ROLLOUT not in frame.columns:
        return frame
    numbers = rollout_numbers(frame)
    _refuse_unequal_rewards(frame, numbers)
    firsts = pl.DataFrame({"number": numbers}).with_row_index("row").group_by("number").agg(pl.col("row").min())
    kept = frame[firsts.sort("number")["row"]]
    merged = pl.DataFrame({"number": numbers}).hstack(frame).group_by("number")
    for column, how in ((cf.LENGTH, _whole_length), (cf.SCORED, pl.col(cf.SCORED).all())):
        if column in frame.columns:
            kept = kept.with_columns(merged.agg(how).sort("number").get_column(column))
    return kept


# One row of unknown length makes the rollout's length unknown: a sum that skipped it would be a wrong weight.
_whole_length = pl.when(pl.col(cf.LENGTH).null_count() == 0).then(pl.col(cf.LENGTH).sum()).alias(cf.LENGTH)


def rollout_numbers(frame: pl.DataFrame) -> pl.Series:
    """For each row its rollout's row in `one_row_per_rollout(frame)`: rollouts counted as they appear."""
    if cf.ROLLOUT not in frame.columns:
        return pl.int_range(len(frame), dtype=pl.UInt32, eager=True).alias("number")
    rows = frame.select(cf.GROUP, cf.ROLLOUT).with_row_index("row")
    # A row without an id gets one that no other row has: its own row number, beside the ids proper.
    rows = rows.with_columns(own=pl.when(pl.col(cf.ROLLOUT).is_null()).then("row"))
    keys = [cf.GROUP, cf.ROLLOUT, "own"]
    numbered = rows.group_by(keys).agg(pl.col("row").min()).sort("row").drop("row").with_row_index("number")
    return rows.join(numbered, on=keys, how="left", nulls_equal=True, maintain_order="left")["number"]


def over_rows(values: pl.Series, frame: pl.DataFrame) -> pl.Series:
    """One value a rollout, as in `one_row_per_rollout(frame)`, given to every row of `frame`."""
    if cf.ROLLOUT not in frame.columns:
        return values
    return values.gather(rollout_numbers(frame))


def _refuse_unequal_rewards(frame: pl.DataFrame, numbers: pl.Series) -> None:
    parts = cf.reward_parts(frame)
    first = frame.select(parts).with_columns(numbers.alias("number"), row=pl.int_range(pl.len()))
    first = first.group_by("number").agg(pl.all().sort_by("row").first()).sort("number")[numbers.cast(pl.Int64)]
    for part in parts:
        unequal = frame[part].ne_missing(first[part]).arg_true()
        if len(unequal):
            row = int(unequal[0])
            raise RowError(
                f"the rewards of one rollout differ: {_spelled(frame[part][row])} here, "
                f"{_spelled(first[part][row])} in its first row",
                row=row,
                hint="rows of one --rollout-id share one reward; leave the option out if each row is one",
            )


def _spelled(reward: float | None) -> str:
    return "none" if reward is None else repr(reward)
