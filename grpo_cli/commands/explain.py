"""`grpo-adv explain`: the arithmetic of one group, line by line."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from grpo_cli.errors import UsageError
from grpo_cli.options import AUTO, EstimatorOptions, LogOptions, TableOptions, with_options
from grpo_cli.render.screen import Screen

EXAMPLES = """
grpo-adv explain 1,0,1,0                          # rewards typed in
grpo-adv explain 0.2,0.9,1.0 -e rloo              # by another estimator
grpo-adv explain log.jsonl --key prime-20-30      # a group of a log
"""

ALL = "all"
"""`--like all`: every framework, side by side."""


@with_options
def explain(
    what: Annotated[list[str], typer.Argument(metavar="REWARDS|FILES...", help="Rewards such as 1,0,1,0; or logs.")],
    log: LogOptions,
    estimator: EstimatorOptions,
    table: TableOptions,
    screen: Screen,
    key: Annotated[
        str | None,
        typer.Option("--key", "-k", metavar="ID|KEY", help="The group: its id, or its key. Otherwise the widest."),
    ] = None,
) -> None:
    """Explain the advantages of one group: its rewards, what is subtracted, what it is divided by, what comes out."""
    from grpo_cli.commands.formula import chosen
    from grpo_cli.commands.opening import opened
    from grpo_cli.commands.views.explain import of_group, of_rewards, side_by_side
    from grpo_cli.core.estimators import resolve
    from grpo_cli.logs.files.source import find
    from grpo_cli.render.report import calculation

    rewards = typed_rewards(what)
    if rewards is not None and estimator.like == ALL:
        screen.show(side_by_side(rewards, estimator.estimator, log), **table.how | {"limit": table.limit or 0})
        return
    if estimator.like in ((AUTO,) if rewards is not None else (ALL,)):
        raise UsageError(
            f"--like {estimator.like} is for {'logs' if rewards is not None else 'rewards typed in'}",
            hint="name a framework: grpo-adv estimators lists them",
        )
    if rewards is not None:
        worked = of_rewards(rewards, resolve(estimator.estimator, like=estimator.like, axes=estimator.axes), log)
    else:
        found = find(what)
        formula = chosen(estimator, log, found)
        with opened(found, log, screen, roles=formula.needs, baseline=formula.baseline_field or None) as rollouts:
            worked = of_group(rollouts, key, formula, log)
    if table.format in ("auto", "table"):
        calculation(screen, worked)
    else:
        screen.show(worked.rollouts, **table.how)


def typed_rewards(what: list[str]) -> list[float | None] | None:
    """The rewards typed in: numbers with commas, `null` or nothing for a missing one; None where files are named."""
    if len(what) != 1 or "," not in what[0] or os.path.exists(what[0]):  # noqa: PTH110 - Path's raises for long names
        return None
    words = [word.strip() for word in what[0].split(",")]
    try:
        return [None if word.lower() in {"", "null", "none", "nan"} else float(word) for word in words]
    except ValueError:
        if all(word.replace(".", "", 1).lstrip("-").isdigit() for word in words[:1]):
            raise UsageError(f"{what[0]}: rewards are numbers with commas between them", hint="1,0,1,0") from None
        return None
