"""The rows that commands choose among and show: one per group, or one per prompt over the whole run."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import polars as pl

from grpo_cli.commands.views.log import summarised
from grpo_cli.core.expressions import holds
from grpo_cli.core.groups import COUNTS, TOLERANCE, summary
from grpo_cli.core.histogram import histograms
from grpo_cli.core.selection import statuses_of
from grpo_cli.logs.prompts import Prompts
from grpo_cli.render.tables import Kind, Table

if TYPE_CHECKING:
    from grpo_cli.logs.rollouts import RolloutLog
    from grpo_cli.options import LogOptions

_STATISTICS = {
    "mean": Kind.NUMBER,
    "std": Kind.NUMBER,
    "sample_std": Kind.NUMBER,
    "min": Kind.NUMBER,
    "max": Kind.NUMBER,
    "passed": Kind.COUNT,
    "judged": Kind.COUNT,
    "pass_rate": Kind.SHARE,
    "status": Kind.STATUS,
}
_OF_GROUPS = {"id": Kind.ID, "key": Kind.KEY, "step": Kind.COUNT, "n": Kind.COUNT, "scored": Kind.COUNT} | _STATISTICS
_OF_PROMPTS = (
    {"id": Kind.ID, "key": Kind.KEY, "groups": Kind.COUNT, "n": Kind.COUNT, "scored": Kind.COUNT}
    | _STATISTICS
    | {"means": Kind.SPARK, "within_group_std": Kind.NUMBER, **dict.fromkeys(COUNTS.values(), Kind.COUNT)}
)
_NARROW = (
    *("judged", "passed", "sample_std", "scored", *reversed(COUNTS.values()), "within_group_std", "max", "min"),
    *("rewards", "std", "means", "pass_rate", "step"),
)


@dataclass(frozen=True)
class Rows:
    """A row per group or per prompt, with what it is called and its statistics."""

    name: str
    """What a row is, in the plural."""
    frame: pl.DataFrame
    columns: dict[str, Kind]
    of_group: pl.Series
    """For each group number the place of its row."""
    summary: pl.DataFrame
    """A row per group of the whole log, by which the rows were made: what the run line and the notes speak of."""

    def rollouts(self, log: RolloutLog, kept: pl.Series) -> pl.Series:
        """Which rollouts of the log belong to the rows that are `kept`, a Boolean a row of its frame."""
        return kept.gather(self.of_group.gather(log.frame["group"]))

    def chosen(self, *, status: str | None, where: str | None) -> Rows:
        """Only the rows of these statuses for which the condition holds.

        Raises:
            UsageError: one is no status, or the condition is none.
        """
        frame = self.frame
        stays = holds(where, frame.select(list(self.columns))).fill_null(value=False) if where is not None else None
        if status is not None:
            of_status = frame["status"].is_in([kind.value for kind in statuses_of(status)])
            stays = of_status if stays is None else stays & of_status
        return self if stays is None else replace(self, frame=frame.filter(stays))

    def with_histograms(self, log: RolloutLog) -> Rows:
        """The same with how the rewards of each row lie between the least and the greatest of the log."""
        counts = histograms(log.frame, by=self.of_group, weights=log.reading.weights)
        return replace(
            self,
            frame=self.frame.with_columns(counts.alias("rewards")),
            columns=self.columns | {"rewards": Kind.HISTOGRAM},
        )

    @property
    def table(self) -> Table:
        """The rows as they are shown."""
        return Table(self.name, self.frame.select(list(self.columns)), self.columns, narrow=_NARROW)


def rows_of(log: RolloutLog, options: LogOptions, by: str, *, keys: bool = True) -> Rows:
    """The rows of a log by `group` or by `prompt`, in the order of the log; groups also without their keys."""
    return _of_prompts(log, options) if by == "prompt" else _of_groups(log, summarised(log, options), keys=keys)


def _of_groups(log: RolloutLog, groups: pl.DataFrame, *, keys: bool) -> Rows:
    numbers = groups["group"]
    steps = log.groups.steps.gather(numbers).alias("step")
    named = log.groups.called(numbers) if keys else pl.DataFrame([numbers, log.groups.ids(numbers).alias("id"), steps])
    columns = {name: kind for name, kind in _OF_GROUPS.items() if name != "step" or steps.count()}
    if not keys:
        del columns["key"]
    if steps.dtype == pl.String and "step" in columns:
        columns["step"] = Kind.KEY
    place = pl.int_range(log.groups.frame.height, dtype=pl.UInt32, eager=True)
    return Rows("groups", named.hstack(groups.drop("group")), columns, place, groups)


def _of_prompts(log: RolloutLog, options: LogOptions) -> Rows:
    prompts = Prompts.of(log.groups)
    tolerance = TOLERANCE if options.tolerance is None else options.tolerance
    pooled = summary(
        log.frame,
        by=prompts.of_group,
        weights=log.reading.weights,
        tolerance=tolerance,
        pass_threshold=options.pass_threshold,
    )
    groups = summarised(log, options)
    means = (
        groups.with_columns(prompts.of_group.gather(groups["group"]).alias("prompt"))
        .group_by("prompt")
        .agg(pl.col("mean").alias("means"))
        .sort("prompt")["means"]
    )
    frame = prompts.named.hstack(pooled.drop("prompt")).with_columns(means)
    return Rows("prompts", frame, dict(_OF_PROMPTS), prompts.of_group, groups)
