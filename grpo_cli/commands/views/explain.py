"""What `explain` shows: the steps that computed a group's advantages, told by the code that computes them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import polars as pl

from grpo_cli.commands.views.explain_numbers import statistics, worked
from grpo_cli.commands.views.log import summarised_frame
from grpo_cli.core.estimators import resolve
from grpo_cli.core.frameworks import FRAMEWORKS
from grpo_cli.core.steps import advantages, trace
from grpo_cli.errors import GrpoAdvError, UsageError
from grpo_cli.frame import Status
from grpo_cli.render.digits import number
from grpo_cli.render.report import Calculation
from grpo_cli.render.tables import Kind, Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grpo_cli.core.estimators import Estimator
    from grpo_cli.core.steps import StepTrace
    from grpo_cli.logs.rollouts import RolloutLog
    from grpo_cli.options import LogOptions


_DISTINCT = 6
"""How many distinct rewards have a column of their own."""


def of_rewards(rewards: Sequence[float | None], estimator: Estimator, options: LogOptions) -> Calculation:
    """The calculation for one group of rewards typed in."""
    if estimator.needs:
        raise UsageError(
            f"{estimator.spec} needs more than rewards: {', '.join(sorted(estimator.needs))}",
            hint="explain a group of a log: grpo-adv explain FILES --key ID",
        )
    return _calculation(f"{len(rewards)} rewards", _frame(rewards), 0, {"reward": 1.0}, estimator, options)


def of_group(log: RolloutLog, key: str | None, estimator: Estimator, options: LogOptions) -> Calculation:
    """The calculation for one group of a log; without a name the one whose rewards are spread most widely."""
    groups = summarised_frame(log.frame, log.reading.weights, options)
    group = log.groups.find(key) if key is not None else int(groups["std"].arg_max() or 0)
    named = log.groups.called(pl.Series([group])).row(0, named=True)
    step = "" if named["step"] is None else f" at step {named['step']}"
    title = f"group {named['id']}{step}: {named['key']}"
    rewards = {str(field): weight for field, weight in log.reading.rewards}
    return _calculation(title, log.frame, group, rewards, estimator, options)


def side_by_side(rewards: Sequence[float | None], spec: str | None, options: LogOptions) -> Table:
    """What each framework gives for these rewards: a row per framework, a column per distinct reward.

    Without `spec` it is the framework's default estimator; a framework that has no such one is left out. A formula
    that needs more than rewards has no numbers.
    """
    frame = _frame(rewards)
    firsts = {reward: row for row, reward in reversed(list(enumerate(rewards)))}
    distinct = sorted((reward for reward in firsts if reward is not None), reverse=True)[:_DISTINCT]
    columns = {f"r={number(reward)}": firsts[reward] for reward in distinct}
    if None in firsts:
        columns["missing"] = firsts[None]
    rows = []
    for name in FRAMEWORKS:
        try:
            estimator = resolve(spec, like=name)
        except UsageError:
            continue
        try:
            values = advantages(frame, estimator, tolerance=options.tolerance).to_list()
        except GrpoAdvError:
            values = [None] * len(rewards)
        numbers = {column: values[row] for column, row in columns.items()}
        rows.append({"estimator": estimator.spec} | numbers | {"formula": estimator.formula})
    if not rows:
        raise UsageError(f"no framework has an estimator {spec}", hint="grpo-adv estimators lists those of each")
    kinds = {"estimator": Kind.ID} | dict.fromkeys(columns, Kind.NUMBER) | {"formula": Kind.TEXT}
    return Table("frameworks", pl.DataFrame(rows, schema_overrides=dict.fromkeys(columns, pl.Float64)), kinds)


def _frame(rewards: Sequence[float | None]) -> pl.DataFrame:
    if any(reward is not None and math.isinf(reward) for reward in rewards):
        raise UsageError("an infinite reward has no advantage")
    return pl.DataFrame(
        {"group": [0] * len(rewards), "batch": [0] * len(rewards), "reward_0": list(rewards)},
        schema={"group": pl.UInt32, "batch": pl.UInt32, "reward_0": pl.Float64},
    )


def _calculation(
    title: str, frame: pl.DataFrame, group: int, named: dict[str, float], estimator: Estimator, options: LogOptions
) -> Calculation:
    weights = list(named.values())
    traces = trace(frame, estimator, groups=[group], weights=weights, tolerance=options.tolerance)
    result = advantages(frame, estimator, weights=weights, tolerance=options.tolerance)
    rows = frame["group"].eq(group).arg_true()
    summary = summarised_frame(frame, weights, options).row(group, named=True)
    columns, kinds = _columns(frame, rows, traces, result, weights)
    other = _other_ddof(estimator)
    if other is not None:
        beside = advantages(frame, other, weights=weights, tolerance=options.tolerance)
        columns[f"ddof {other.steps[0].ddof}"] = beside[rows]
        kinds[f"ddof {other.steps[0].ddof}"] = Kind.NUMBER
    return Calculation(
        title=f"{title}: {estimator.spec}, {estimator.formula}",
        rewards=columns["reward"].to_list(),
        steps=[*statistics(summary, columns["reward"].to_list()), *worked(traces, rows.to_list(), list(named))],
        rollouts=Table("rollouts", pl.DataFrame(columns), kinds),
        remarks=[estimator.fault] if estimator.fault and Status(summary["status"]).zero_variance else [],
    )


def _columns(
    frame: pl.DataFrame,
    rows: pl.Series,
    traces: Sequence[StepTrace],
    result: pl.Series,
    weights: Sequence[float],
) -> tuple[dict[str, pl.Series], dict[str, Kind]]:
    from grpo_cli.core.rewards import total

    columns = {
        "rollout": pl.int_range(1, len(rows) + 1, eager=True),
        "reward": total(frame, weights)[rows],
    }
    kinds = {"rollout": Kind.COUNT, "reward": Kind.NUMBER}
    for at, step in enumerate(traces, 1):
        by_row = {row["row"]: row for row in step.rows}
        suffix = f" {at}" if len(traces) > 1 else ""
        for label, column in (("- centre", "subtracted"), ("/ scale", "divided_by"), ("= x", "after")):
            values = [by_row.get(row, {}).get(column) for row in rows]
            varies = len({round(value, 12) for value in values if value is not None}) > 1
            last = column == "after" and at == len(traces)
            if varies and not last:
                columns[label + suffix] = pl.Series(values, dtype=pl.Float64)
                kinds[label + suffix] = Kind.NUMBER
    columns["advantage"] = result[rows]
    kinds["advantage"] = Kind.NUMBER
    return columns, kinds


def _other_ddof(estimator: Estimator) -> Estimator | None:
    """The same estimator with the other ddof, where the std of the group is all that it divides by."""
    if len(estimator.steps) != 1 or estimator.whiten or estimator.steps[0].divide != "group-std" or estimator.framework:
        return None
    return resolve(estimator.name, axes={"ddof": 1 - estimator.steps[0].ddof, "eps": estimator.steps[0].eps})
