"""Which formula a command computes: what the options ask for, `--like auto` by the layout of the log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grpo_cli.core.estimators import resolve
from grpo_cli.core.frameworks import FRAMEWORKS
from grpo_cli.errors import UsageError
from grpo_cli.options import AUTO

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grpo_cli.core.estimators import Estimator
    from grpo_cli.logs.files.source import Found
    from grpo_cli.logs.layouts.layout import Layout
    from grpo_cli.logs.rollouts import RolloutLog
    from grpo_cli.options import EstimatorOptions, LogOptions


def chosen(options: EstimatorOptions, log: LogOptions, found: Found) -> Estimator:
    """The estimator that the options ask for.

    Raises:
        UsageError: as `core.estimators.resolve`; `--like auto` on a log that shows no framework's layout.
    """
    return resolve(options.estimator, like=_like(options, log, found), axes=options.axes)


def several(specs: Sequence[str]) -> list[Estimator]:
    """The estimators to compare, each once.

    Raises:
        UsageError: fewer than two; or baselines from different fields, of which a log can be read with one.
    """
    formulas = list({formula.spec: formula for formula in map(resolve, specs)}.values())
    if len(formulas) < 2:
        raise UsageError("there is nothing to compare: name two estimators", hint="as in -e grpo -e trl/grpo")
    fields = sorted({formula.baseline_field for formula in formulas} - {""})
    if len(fields) > 1:
        raise UsageError(f"baselines from two fields: {' and '.join(fields)}", hint="compare them one by one")
    return formulas


def framework_of(layout: Layout) -> str | None:
    """The framework whose log is laid out so; None where it has no formulas here."""
    name = layout.framework or layout.name
    return name if name in FRAMEWORKS else None


def offer(log: RolloutLog, estimator: Estimator) -> str | None:
    """A note for a log of a framework whose own formula is another than the one that was computed."""
    name = framework_of(log.reading.layout)
    if name is None or estimator.framework:
        return None
    row = FRAMEWORKS[name]
    own = row.estimators[row.default]
    return f"{row.title} writes logs like this, or trains on them; what it computes is --like {name}: {own.formula}"


def _like(options: EstimatorOptions, log: LogOptions, found: Found) -> str | None:
    if options.like is None or options.like.strip().lower() != AUTO:
        return options.like
    from grpo_cli.logs.looking import look

    layout = look(found.files, log.layout).layout
    name = framework_of(layout)
    if name is None:
        raise UsageError(
            f"--like auto: the layout of this log is {layout.name}, which is no framework's",
            hint=f"name it with --like: {', '.join(FRAMEWORKS)}",
        )
    return name
