"""`grpo-adv gate`: thresholds for a pipeline."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from grpo_cli.commands.choosing import Formula, Live
from grpo_cli.options import Files, LogOptions, TableOptions, with_options
from grpo_cli.render.screen import Screen

EXAMPLES = """
grpo-adv gate log.jsonl --max-zero-variance 0.5  # fail if more are dead
grpo-adv gate log.jsonl --expect-size 8 --max-missing 0
grpo-adv gate log.jsonl --fail-on "reward_mean < 0.1 or phantom > 0"
grpo-adv gate run/ --steps -10: --live --max-zero-variance 0.5 || page me
"""

_CHECKS = "Checks"


@dataclass(frozen=True)
class Bounds:
    """What must hold."""

    max_zero_variance: Annotated[
        float | None,
        typer.Option(
            "--max-zero-variance",
            metavar="SHARE",
            min=0,
            max=1,
            help="At most this part of the groups has zero variance: 0.5 is half.",
            rich_help_panel=_CHECKS,
        ),
    ] = None
    expect_size: Annotated[
        int | None,
        typer.Option("--expect-size", metavar="N", min=1, help="Every group has N rollouts.", rich_help_panel=_CHECKS),
    ] = None
    max_missing: Annotated[
        int | None,
        typer.Option(
            "--max-missing", metavar="N", min=0, help="At most N rollouts have no reward.", rich_help_panel=_CHECKS
        ),
    ] = None
    max_singletons: Annotated[
        int | None,
        typer.Option(
            "--max-singletons",
            metavar="N",
            min=0,
            help="At most N groups have one scored rollout.",
            rich_help_panel=_CHECKS,
        ),
    ] = None
    min_groups: Annotated[
        int | None,
        typer.Option("--min-groups", metavar="N", min=1, help="At least N groups.", rich_help_panel=_CHECKS),
    ] = None
    fail_on: Annotated[
        list[str] | None,
        typer.Option(
            "--fail-on",
            metavar="SQL",
            help="What must not hold of the figures of stats; repeat for several.",
            rich_help_panel=_CHECKS,
        ),
    ] = None


@with_options
def gate(
    files: Files,
    bounds: Bounds,
    log: LogOptions,
    table: TableOptions,
    screen: Screen,
    estimator: Formula = None,
    live: Live = False,
) -> None:
    """Check a log against bounds, and exit with 1 if one does not hold: for a pipeline, or while a run goes on.

    Each check is shown with the value that was found and its bound. The names for --fail-on are the columns of
    grpo-adv stats --format json. A figure that is not known fails its check.
    """
    from grpo_cli.commands.opening import opened
    from grpo_cli.commands.views.figures import formula_of, measured, roles_of
    from grpo_cli.commands.views.gate import failure, gate_of, shown
    from grpo_cli.commands.views.log import run_line
    from grpo_cli.core.gates import checks
    from grpo_cli.logs.files.source import find

    asked = gate_of(bounds)
    formula = formula_of(estimator)
    with opened(find(files), log, screen, roles=roles_of(formula), live=live) as rollouts:
        found = measured(rollouts, log, formula)
        results = checks(found.figures, found.groups, asked)
        screen.say(run_line(rollouts, found.groups))
        screen.show(shown(results, drawn=screen.tabular(table.format)), **table.how)
        if error := failure(results):
            raise error
