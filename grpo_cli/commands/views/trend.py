"""What `trend` shows: steps put in order and into bins, a sparkline a column, and a row per bin."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
from rich.text import Text

from grpo_cli.core.groups import TOLERANCE
from grpo_cli.core.steps import advantages
from grpo_cli.core.trend import SHARES, trend
from grpo_cli.errors import UsageError
from grpo_cli.render import digits
from grpo_cli.render.screen import ROWS_ON_A_TERMINAL
from grpo_cli.render.tables import Kind, Table

if TYPE_CHECKING:
    from grpo_cli.core.estimators import Estimator
    from grpo_cli.logs.rollouts import RolloutLog
    from grpo_cli.options import LogOptions, TableOptions
    from grpo_cli.render.screen import Screen

_COLUMNS = {
    "groups": Kind.COUNT,
    "rollouts": Kind.COUNT,
    "scored": Kind.COUNT,
    "missing": Kind.COUNT,
    "reward_mean": Kind.NUMBER,
    "within_group_std": Kind.NUMBER,
    "pass_rate": Kind.SHARE,
    "zero_variance_share": Kind.SHARE,
    **dict.fromkeys(SHARES.values(), Kind.SHARE),
    "mean_abs_advantage": Kind.NUMBER,
    "length_mean": Kind.NUMBER,
}
_NARROW = (
    *("scored", *reversed(SHARES.values()), "rollouts", "missing", "length_mean", "mean_abs_advantage"),
    *("within_group_std", "pass_rate", "groups"),
)


def bin_size_of(screen: Screen, log: RolloutLog, table: TableOptions) -> int:
    """How many steps a row has, where the person does not say: one; on a terminal as many as make all rows fit.

    Raises:
        UsageError: the log has no step.
    """
    steps = log.groups.steps.drop_nulls().n_unique()
    if not steps:
        raise UsageError("this log has no step to follow", hint="name its field with --step FIELD")
    if screen.room() is None or not screen.tabular(table.format) or table.limit is not None:
        return 1
    size = -(-steps // ROWS_ON_A_TERMINAL)
    if size > 1:
        screen.note(f"{steps} steps, {size} a row: --bin 1 shows each")
    return size


def over_steps(log: RolloutLog, groups: pl.DataFrame, options: LogOptions, formula: Estimator, bin_size: int) -> Table:
    """A row per step, or per bin of `bin_size` steps."""
    place, distinct = _in_order(log.groups.steps)
    bins = (place // bin_size).cast(pl.UInt32)
    advantage = advantages(log.frame, formula, weights=log.reading.weights, tolerance=options.tolerance)
    frame = trend(
        log.frame,
        groups,
        bins,
        weights=log.reading.weights,
        tolerance=TOLERANCE if options.tolerance is None else options.tolerance,
        advantage=advantage,
    )
    firsts = distinct.gather(frame["bin"].cast(pl.Int64) * bin_size)
    kind = Kind.KEY if distinct.dtype == pl.String else Kind.COUNT
    columns = {"step": kind}
    frame = frame.with_columns(firsts.alias("step"))
    if bin_size > 1:
        lasts = ((frame["bin"].cast(pl.Int64) + 1) * bin_size - 1).clip(upper_bound=distinct.len() - 1)
        frame = frame.with_columns(distinct.gather(lasts).alias("last_step"))
        columns["last_step"] = kind
    columns |= _COLUMNS
    return Table("steps" if bin_size == 1 else "bins", frame.select(list(columns)), columns, narrow=_NARROW)


def draw_course(screen: Screen, rows: Table) -> Table:
    """Draw a sparkline for each column that varies; return the rows without columns that only would take room."""
    sparks = _sparks(rows)
    if not sparks.frame.is_empty():
        screen.show(sparks, format="table", limit=0)
        screen.draw([Text()])
    return _without_empty(rows)


def _in_order(steps: pl.Series) -> tuple[pl.Series, pl.Series]:
    """For each group the place of its step, and the steps in order: by number, or as they come where they are words."""
    distinct = steps.unique(maintain_order=True)
    if distinct.dtype != pl.String:
        distinct = distinct.sort()
    places = pl.DataFrame({"step": distinct}).with_row_index("place")
    joined = pl.DataFrame({"step": steps}).join(places, on="step", how="left", maintain_order="left", nulls_equal=True)
    return joined["place"], distinct


def _sparks(rows: Table) -> Table:
    """A row per column of `rows` that varies: where it began, where it ended, and its course."""
    told: list[dict[str, object]] = []
    for name, kind in _COLUMNS.items():
        column = rows.frame[name].cast(pl.Float64)
        known: list[float] = column.drop_nulls().to_list()
        if len(set(known)) > 1:
            ends = (known[0], known[-1], min(known), max(known))
            shown = [digits.percent(end, 1) if kind is Kind.SHARE else digits.number(end) for end in ends]
            told.append({"figure": name, **dict(zip(_ENDS, shown, strict=True)), "course": column.to_list()})
    schema = {"figure": pl.String(), **dict.fromkeys(_ENDS, pl.String()), "course": pl.List(pl.Float64)}
    columns = {"figure": Kind.ID, **dict.fromkeys(_ENDS, Kind.ID), "course": Kind.SPARK}
    return Table("figures", pl.DataFrame(told, schema, orient="row"), columns, narrow=("least", "greatest"))


_ENDS = ("first", "last", "least", "greatest")


def _tells(column: pl.Series) -> bool:
    """Whether a column is anything but nulls and zeros."""
    return column.count() > 0 and bool((column != 0).any())


def _without_empty(rows: Table) -> Table:
    """The same without columns that hold only nulls or zeros: on a terminal they only take room."""
    columns = {
        name: kind
        for name, kind in rows.columns.items()
        if name not in _COLUMNS or name in {"groups", "reward_mean", "zero_variance_share"} or _tells(rows.frame[name])
    }
    return Table(rows.name, rows.frame.select(list(columns)), columns, narrow=rows.narrow)
