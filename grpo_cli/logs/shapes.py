"""Shapes: how rollouts lie in records, and the way back.

`row`       a record is one rollout
`columns`   a record holds lists of equal length, a rollout an element (`scores[]`)
`objects`   a record holds a list of objects, a rollout an object (`trajectories[].reward`)

`explode` makes rollouts of records, `fold` makes a value a record of a value a rollout. An empty list is a record
with no rollout: it comes back as an empty list.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from grpo_cli.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence


def explode(records: pl.DataFrame, per_rollout: Sequence[str]) -> tuple[pl.DataFrame, pl.Series | None]:
    """The rollouts of `records`, and how many each record holds (None: one each).

    `per_rollout` names the list columns: one element a rollout, all of the same length within a record. The other
    columns are repeated. A record with null for its lists holds no rollout.

    Raises:
        UsageError: the lists of a record differ in length; it names the columns.
    """
    if not per_rollout:
        return records, None
    lengths = records.select(pl.col(name).list.len().fill_null(0).alias(name) for name in per_rollout)
    first = lengths[per_rollout[0]]
    for name in per_rollout[1:]:
        if (lengths[name] != first).any():
            raise UsageError(f"the lists {per_rollout[0]} and {name} differ in length in some records")
    rollouts = records.filter(first > 0).explode(*per_rollout)
    return rollouts, first.alias("rollouts")


def fold(values: pl.Series, lengths: pl.Series | None) -> pl.Series:
    """A value a record: `values` itself for the row shape, else a list of them for each record."""
    if lengths is None:
        return values
    record = pl.select(pl.int_range(lengths.len(), dtype=pl.UInt32).repeat_by(pl.lit(lengths))).to_series().explode()
    held = record.drop_nulls()
    lists = pl.DataFrame({"record": held, "value": values}).group_by("record", maintain_order=True).agg("value")
    every = pl.DataFrame({"record": pl.int_range(lengths.len(), dtype=pl.UInt32, eager=True)})
    empty = pl.lit([], dtype=pl.List(values.dtype))
    return (
        every.join(lists, on="record", how="left", maintain_order="left")["value"].fill_null(empty).alias(values.name)
    )


def record_of(rollout: int, lengths: pl.Series | None) -> int:
    """The number of the record that rollout number `rollout` is in."""
    if lengths is None:
        return rollout
    return int(lengths.cum_sum().search_sorted(rollout, side="right"))
