"""The arithmetic of `explain` written out: the numbers of a group put into the formulas."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from grpo_cli.render.digits import number
from grpo_cli.render.report import CalculationStep

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from grpo_cli.core.chain import Step
    from grpo_cli.core.steps import StepTrace

_ALL = 8
"""Up to so many rewards a sum is written out term by term."""
_DISTINCT = 4
"""Beyond that, up to so many distinct rewards it is written with counts; else with its first and last terms."""
_ROWS = 3
"""How many rows of a step are written out."""

Row = dict[str, Any]


def statistics(summary: Row, rewards: Sequence[float | None]) -> list[CalculationStep]:
    """The statistics of a group's rewards, each with the numbers in it."""
    scored = [reward for reward in rewards if reward is not None]
    n, mean = len(scored), summary["mean"]
    of = f"{n} scored" if n == len(rewards) else f"{n} scored of {len(rewards)}"
    steps = [CalculationStep("n", of, n)]
    if not scored or mean is None:
        return [*steps, CalculationStep("status", str(summary["status"]), None)]
    squares = _sum(scored, lambda reward: f"({number(reward)} - {_short(mean)})^2")
    steps += [
        CalculationStep("mean", f"({_sum(scored, number)}) / {n}", mean),
        CalculationStep("std", f"sqrt(({squares}) / {n}), ddof 0", summary["std"]),
    ]
    if n > 1:
        steps.append(CalculationStep("sample std", f"the same over {n - 1}, ddof 1", summary["sample_std"]))
    return [*steps, CalculationStep("status", str(summary["status"]), None)]


def worked(traces: Sequence[StepTrace], rows: Sequence[int], names: Sequence[str]) -> list[CalculationStep]:
    """What each step subtracts and divides by, and its first rows with the numbers put in.

    `rows` are the rows of the group, in order; `names` the rewards, for steps that run on each of them.
    """
    told: list[CalculationStep] = []
    for at, trace in enumerate(traces):
        last = at == len(traces) - 1
        result = "A" if last else "x" if trace.part is None else "z"
        of = "" if trace.part is None else f" of {names[trace.part]}"
        by_row = {row["row"]: row for row in trace.rows}
        ordered = [(place, by_row[row]) for place, row in enumerate(rows, 1) if row in by_row]
        if trace.step.kernel:
            told += _of_kernel(trace, ordered)
            continue
        told += _constants(trace.step, [row for _, row in ordered], of)
        seen: set[tuple[Any, ...]] = set()
        for place, row in ordered:
            key = (row["before"], row["subtracted"], row["divided_by"], row["after"])
            if row["before"] is not None and key not in seen and len(seen) < _ROWS:
                seen.add(key)
                told.append(CalculationStep(f"{result}_{place}{of}", _put_in(row, trace.step), row["after"]))
    return told


def _constants(step: Step, rows: Sequence[Row], of: str) -> list[CalculationStep]:
    """The centre and the scale, where they are one number for the group, and more than the mean or the std alone."""
    told = []
    centre = replace(step, divide="none").text("x").removeprefix("x - ")
    scale = replace(step, subtract="none").text("x").removeprefix("x / ")
    for label, text, column in (("subtract", centre, "subtracted"), ("divide by", scale, "divided_by")):
        values = {row[column] for row in rows if row["after"] is not None}
        plain = text in ("mean", "x") or (step.divide == "group-std" and not step.eps and column == "divided_by")
        nothing = (column == "subtracted" and step.subtract == "none") or (
            column == "divided_by" and step.divide == "none"
        )
        if len(values) == 1 and None not in values and not plain and not nothing:
            told.append(CalculationStep(label + of, text, values.pop()))
    return told


def _put_in(row: Row, step: Step) -> str:
    before, subtracted, divided_by, after = (row[key] for key in ("before", "subtracted", "divided_by", "after"))
    if after is None:
        return "no value, by the rule for such rows"
    top, value = number(before), before
    if step.subtract != "none" and subtracted is not None:
        top, value = f"{top} - {_signed(subtracted)}", before - subtracted
    if step.divide != "none" and divided_by is not None:
        top = f"({top}) / {_short(divided_by)}" if "-" in top else f"{top} / {_short(divided_by)}"
        value = value / divided_by if divided_by else math.nan
    if math.isnan(value) or abs(value - after) > 1e-6 * max(1.0, abs(after)):
        return f"{top}, made {number(after)} by rule"
    return top


def _of_kernel(trace: StepTrace, rows: Sequence[tuple[int, Row]]) -> list[CalculationStep]:
    """pass@k with its binomials; another formula over sets is in words, and its results are in the table."""
    step = trace.step
    scored = [row["before"] for _, row in rows if row["before"] is not None]
    n, hits, k = len(scored), sum(reward == 1 for reward in scored), step.k
    if step.kernel != "passk" or k is None or n < k:
        return [CalculationStep("formula", trace.text, None)]
    rho = 1 - math.comb(n - hits, k) / math.comb(n, k)
    told = [CalculationStep("rho", f"1 - C({n - hits}, {k}) / C({n}, {k})", rho)]
    scale = math.sqrt(rho * (1 - rho)) + step.eps
    eps = f" + {step.eps:g}" if step.eps else ""
    told.append(CalculationStep("divide by", f"sqrt({_short(rho)} x {_short(1 - rho)}){eps}", scale))
    for value, what, top in (
        (1, "hit", f"1 - {_short(rho)}"),
        (0, "miss", f"1 - {_short(rho)} - C({n - hits - 1}, {k - 1}) / C({n - 1}, {k - 1})"),
    ):
        found = [row for _, row in rows if row["before"] == value]
        if found:
            told.append(CalculationStep(f"A of a {what}", f"({top}) / {_short(scale)}", found[0]["after"]))
    return told


def _sum(values: Sequence[float], written: Callable[[float], str]) -> str:
    counts = Counter(values)
    if len(values) <= _ALL and (len(counts) > _DISTINCT or written is number):
        return " + ".join(_bracketed(written(value)) for value in values)
    if len(counts) <= _DISTINCT:
        terms = {_bracketed(written(value)): many for value, many in counts.items()}
        return " + ".join(term if many == 1 else f"{many} x {term}" for term, many in terms.items())
    first, second, *_, last = values
    return f"{_bracketed(written(first))} + {_bracketed(written(second))} + ... + {_bracketed(written(last))}"


def _bracketed(text: str) -> str:
    return f"({text})" if text.startswith("-") else text


def _signed(value: float) -> str:
    return _bracketed(_short(value))


def _short(value: float) -> str:
    return number(0.0 if abs(value) < 1e-15 else value)
