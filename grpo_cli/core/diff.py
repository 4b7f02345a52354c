"""Two logs of the same prompts, before and after: what changed, where most, and which prompts turned."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from grpo_cli.core.groups import ZERO_VARIANCE
from grpo_cli.core.intervals import CONFIDENCE, mean_interval
from grpo_cli.frame import Status

if TYPE_CHECKING:
    from collections.abc import Sequence

_COMPARED = ("n", "mean", "std", "pass_rate", "status")


class Pairs(NamedTuple):
    """The prompts of two logs, put side by side."""

    both: pl.DataFrame
    """A row per prompt that is in both; see `pair`."""
    only_before: int
    only_after: int


def pair(before: pl.DataFrame, after: pl.DataFrame, on: Sequence[str]) -> Pairs:
    """Put two summaries by prompt side by side.

    Args:
        before: a summary with a row per prompt, and the columns `on` that spell the prompt.
        after: the same of the other log.
        on: the columns that say which prompt it is. A null in them is no prompt.

    Returns:
        For prompts in both logs, in the order of `before`: the columns `on`; `n`, `mean`, `std`, `pass_rate`, `status`
        with `_before` and `_after`; `change` and `pass_rate_change`, after less before; and three marks, null where it
        is not known which rollouts pass:
        `solved` (none passed before, some do after), `lost` (some passed before, none do after), and, known always,
        `regained` (its rewards were constant before, and differ after: a signal again).

    Raises:
        ValueError: a prompt has more than one row in a summary.
    """
    columns = [*on, *_COMPARED]
    for summary in (before, after):
        if summary.select(on).is_duplicated().any():
            raise ValueError("a summary by prompt has one row for each prompt")
    both = before.select(columns).join(
        after.select(columns), on=list(on), how="inner", suffix="_after", maintain_order="left"
    )
    both = both.rename({column: f"{column}_before" for column in _COMPARED})
    none_before, none_after = pl.col("pass_rate_before") == 0, pl.col("pass_rate_after") == 0
    was_constant = pl.col("status_before").is_in(ZERO_VARIANCE)
    both = both.select(
        *on,
        *(f"{column}_{when}" for column in _COMPARED for when in ("before", "after")),
        (pl.col("mean_after") - pl.col("mean_before")).alias("change"),
        (pl.col("pass_rate_after") - pl.col("pass_rate_before")).alias("pass_rate_change"),
        _where_known(none_before & ~none_after).alias("solved"),
        _where_known(~none_before & none_after).alias("lost"),
        (was_constant & (pl.col("status_after") == Status.MIXED)).alias("regained"),
    )
    return Pairs(both, len(before) - len(both), len(after) - len(both))


def change(pairs: Pairs, confidence: float = CONFIDENCE) -> pl.DataFrame:
    """One row: how the mean reward of a prompt changed, with a paired t interval over the prompts.

    Returns:
        Columns `prompts` (in both logs), `only_before`, `only_after`, `scored` (prompts with a reward in both, which
        the means are over), `mean_before`, `mean_after`, `change`, `low`, `high`, `pass_rate_before`,
        `pass_rate_after`, `solved`, `lost`, `regained` (how many). Null where there is nothing to go by.
    """
    both = pairs.both
    scored = both.filter(pl.col("change").is_not_null())
    judged = both.filter(pl.col("pass_rate_change").is_not_null())
    interval = mean_interval(scored["change"], confidence)
    known = len(judged) > 0
    row = {
        "prompts": len(both),
        "only_before": pairs.only_before,
        "only_after": pairs.only_after,
        "scored": len(scored),
        "mean_before": mean_interval(scored["mean_before"]).mean,
        "mean_after": mean_interval(scored["mean_after"]).mean,
        "change": interval.mean,
        "low": interval.low,
        "high": interval.high,
        "pass_rate_before": mean_interval(judged["pass_rate_before"]).mean,
        "pass_rate_after": mean_interval(judged["pass_rate_after"]).mean,
        "solved": int(judged["solved"].sum()) if known else None,
        "lost": int(judged["lost"].sum()) if known else None,
        "regained": int(both["regained"].sum()),
    }
    counts = {"prompts", "only_before", "only_after", "scored", "solved", "lost", "regained"}
    return pl.DataFrame([row], {name: pl.Int64() if name in counts else pl.Float64() for name in row}, orient="row")


def movers(pairs: Pairs) -> pl.DataFrame:
    """The prompts with a reward in both logs, those whose mean moved most first (either way)."""
    moved = pairs.both.filter(pl.col("change").is_not_null())
    return moved.sort(pl.col("change").abs(), descending=True, maintain_order=True)


def transitions(pairs: Pairs) -> pl.DataFrame:
    """How many prompts went from which status to which: a row per status before, a column per status after."""
    statuses = [status.value for status in Status]
    counted = pairs.both.group_by("status_before").agg(
        (pl.col("status_after") == status).sum().cast(pl.Int64).alias(status) for status in statuses
    )
    every = pl.DataFrame({"before": statuses}, {"before": pl.String})
    table = every.join(counted, left_on="before", right_on="status_before", how="left", maintain_order="left")
    return table.with_columns(pl.col(statuses).fill_null(0))


def _where_known(mark: pl.Expr) -> pl.Expr:
    return pl.when(pl.col("pass_rate_before").is_not_null() & pl.col("pass_rate_after").is_not_null()).then(mark)
