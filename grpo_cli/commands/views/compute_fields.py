"""What `compute` writes back: the advantage, its group's statistics where asked for, and how it was made."""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import polars as pl

from grpo_cli.errors import UsageError
from grpo_cli.logs.rollouts import NewFields
from grpo_cli.logs.writing.write_back import field_name, refuse_taken

if TYPE_CHECKING:
    from grpo_cli.core.estimators import Estimator
    from grpo_cli.logs.rollouts import RolloutLog
    from grpo_cli.options import OutputOptions


def new_fields(
    log: RolloutLog, advantage: pl.Series, groups: pl.DataFrame, estimator: Estimator, options: OutputOptions
) -> tuple[NewFields, str | None]:
    """The fields to write, and a note where the advantage does not have its usual name.

    Raises:
        UsageError: two of the fields would have one name.
        OutputError: the log has such a field already, and there is no --force.
    """
    taken = log.names
    fallback = f"advantage_{estimator.framework or estimator.name}".replace("-", "_").replace("+", "p")
    name, note = field_name(options.column, taken, fallback, force=options.force)
    columns = advantage.alias(name).to_frame()
    if options.with_group_stats:
        stats = _group_stats(log, groups, estimator)
        if name in stats.columns:
            raise UsageError(f"--column {name} is what --with-group-stats writes", hint="choose another name")
        refuse_taken(stats.columns, taken, force=options.force)
        columns = columns.hstack(stats)
    return NewFields(columns, _metadata(log, name, estimator), replace=options.force), note


def _group_stats(log: RolloutLog, groups: pl.DataFrame, estimator: Estimator) -> pl.DataFrame:
    """The statistics of each row's group; the std has the ddof of the estimator."""
    scaled = [step.ddof for step in estimator.steps if step.scaled]
    std = "sample_std" if scaled and scaled[0] else "std"
    table = groups.select(
        log.groups.ids(groups["group"]).alias("group_id"),
        pl.col("n").cast(pl.Int64).alias("group_n"),
        pl.col("mean").alias("group_mean"),
        pl.col(std).alias("group_std"),
        pl.col("status").alias("group_status"),
    )
    return table[log.frame["group"].cast(pl.Int64)]


def _metadata(log: RolloutLog, name: str, estimator: Estimator) -> dict[str, Any]:
    return {
        "version": version("grpo-adv"),
        "column": name,
        "estimator": estimator.as_dict(),
        "reading": log.reading.flags(),
    }
