"""What `explain` shows: the steps that computed a group's advantages, told by the code that computes them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import polars as pl

from grpo_cli.commands.views import summarised_frame
from grpo_cli.core.estimators import resolve
from grpo_cli.core.steps import advantages, trace
from grpo_cli.errors import UsageError
from grpo_cli.render.report import Calculation, CalculationStep
from grpo_cli.render.tables import Kind, Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grpo_cli.core.estimators import Estimator
    from grpo_cli.core.steps import StepTrace
    from grpo_cli.logs.rollouts import RolloutLog
    from grpo_cli.options import LogOptions


def of_rewards(rewards: Sequence[float | None], estimator: Estimator, options: LogOptions) -> Calculation:
    """The calculation for one group of rewards typed in."""
    if any(reward is not None and math.isinf(reward) for reward in rewards):
        raise UsageError("an infinite reward has no advantage")
    if estimator.needs:
        raise UsageError(
            f"{estimator.spec} needs more than rewards: {', '.join(sorted(estimator.needs))}",
            hint="explain a group of a log: grpo-adv explain FILES --key ID",
        )
    frame = pl.DataFrame(
        {"group": [0] * len(rewards), "batch": [0] * len(rewards), "reward_0": list(rewards)},
        schema={"group": pl.UInt32, "batch": pl.UInt32, "reward_0": pl.Float64},
    )
    return _calculation(f"{len(rewards)} rewards", frame, 0, [1.0], estimator, options)


def of_group(log: RolloutLog, key: str | None, estimator: Estimator, options: LogOptions) -> Calculation:
    """The calculation for one group of a log; without a name the one whose rewards are spread most widely."""
    groups = summarised_frame(log.frame, log.reading.weights, options)
    group = log.groups.find(key) if key is not None else int(groups["std"].arg_max() or 0)
    named = log.groups.named.row(group, named=True)
    step = "" if named["step"] is None else f" at step {named['step']}"
    title = f"group {named['id']}{step}: {named['key']}"
    return _calculation(title, log.frame, group, log.reading.weights, estimator, options)


def _calculation(
    title: str, frame: pl.DataFrame, group: int, weights: Sequence[float], estimator: Estimator, options: LogOptions
) -> Calculation:
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
        steps=[*_statistics(summary), *_told(traces)],
        rollouts=Table("rollouts", pl.DataFrame(columns), kinds),
    )


def _statistics(summary: dict[str, Any]) -> list[CalculationStep]:
    n, scored = summary["n"], summary["scored"]
    of = f"{scored} scored" if scored == n else f"{scored} scored of {n}"
    return [
        CalculationStep("n", of, scored),
        CalculationStep("mean", "sum of rewards / n", summary["mean"]),
        CalculationStep("std", "population std, ddof 0: sqrt(sum of (r - mean)^2 / n)", summary["std"]),
        CalculationStep("sample std", "ddof 1: sqrt(sum of (r - mean)^2 / (n - 1))", summary["sample_std"]),
        CalculationStep("status", str(summary["status"]), None),
    ]


def _told(traces: Sequence[StepTrace]) -> list[CalculationStep]:
    """What each step subtracts and divides by, where it is one number for the whole group."""
    told = []
    for at, step in enumerate(traces):
        name = "x" if at else "r"
        for label, column in (("subtract", "subtracted"), ("divide by", "divided_by")):
            values = {row.get(column) for row in step.rows if row["after"] is not None}
            if len(values) == 1 and None not in values:
                told.append(CalculationStep(label, step.text.replace("r", name, 1) if at else step.text, values.pop()))
    return told


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
            varies = len({value for value in values if value is not None}) > 1
            last = column == "after" and at == len(traces)
            if varies and not last:
                columns[label + suffix] = pl.Series(values, dtype=pl.Float64)
                kinds[label + suffix] = Kind.NUMBER
    columns["advantage"] = result[rows]
    kinds["advantage"] = Kind.NUMBER
    return columns, kinds


def _other_ddof(estimator: Estimator) -> Estimator | None:
    """The same estimator with the other ddof, where the std of the group is all that it divides by."""
    if len(estimator.chain) != 1 or estimator.steps[0].divide != "group-std" or estimator.framework:
        return None
    return resolve(estimator.name, axes={"ddof": 1 - estimator.steps[0].ddof, "eps": estimator.steps[0].eps})
