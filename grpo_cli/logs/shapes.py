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

from grpo_cli.errors import RowError

if TYPE_CHECKING:
    from collections.abc import Sequence


def explode(records: pl.DataFrame, per_rollout: Sequence[str]) -> tuple[pl.DataFrame, pl.Series | None]:
    """The rollouts of `records`, and how many each record holds (None: one each).

    `per_rollout` names the list columns: one element a rollout, all of the same length within a record; a list that
    is null stands for nulls. The other columns are repeated. A record with null for all its lists holds no rollout.

    Raises:
        RowError: the lists of a record differ in length; it names the columns, and the record as its row.
    """
    if not per_rollout:
        return records, None
    lengths = records.select(pl.col(name).list.len() for name in per_rollout)
    longest = lengths.select(pl.max_horizontal(pl.all()).fill_null(0).cast(pl.UInt32).alias("rollouts"))["rollouts"]
    for name in per_rollout:
        unlike = (lengths[name] != longest).fill_null(value=False)
        if unlike.any():
            row = int(unlike.arg_true()[0])
            other = next(other for other in per_rollout if lengths[other][row] == longest[row])
            raise RowError(
                f"{name} has {lengths[name][row]} elements, and {other} has {longest[row]}: they should be as many",
                row=row,
            )
    filled = [
        pl.when(pl.col(name).is_null())
        .then(pl.lit(None, dtype=_inner(records, name)).repeat_by(pl.lit(longest)))
        .otherwise(pl.col(name))
        .alias(name)
        if records[name].null_count()
        else pl.col(name)
        for name in per_rollout
    ]
    rollouts = records.with_columns(filled).filter(longest > 0).explode(*per_rollout)
    return rollouts, longest


def _inner(records: pl.DataFrame, name: str) -> pl.DataType:
    dtype = records.schema[name]
    assert isinstance(dtype, pl.List)
    inner = dtype.inner
    return inner if isinstance(inner, pl.DataType) else inner()


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
