"""`grpo-adv compare`: one log under several estimators."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import typer

from grpo_cli.options import Files, LogOptions, TableOptions, estimators_completion, with_options
from grpo_cli.render.screen import Screen

EXAMPLES = """
grpo-adv compare rollouts.jsonl -e grpo -e dr-grpo -e rloo           what difference does it make?
grpo-adv compare rollouts.jsonl -e trl -e verl -e nemo-rl            the same run in three trainers
grpo-adv compare rollouts.jsonl -e grpo -e grpo:ddof=1 --groups 20   the 20 groups that change most
grpo-adv compare rollouts.jsonl -e grpo -e opo --by-group --format csv > groups.csv
"""


@with_options
def compare(
    files: Files,
    log: LogOptions,
    table: TableOptions,
    screen: Screen,
    estimator: Annotated[
        list[str] | None,
        typer.Option(
            "--estimator",
            "-e",
            metavar="SPEC",
            help="[FRAMEWORK/]NAME[:AXIS=VALUE,...], or a framework; repeat. The first is compared with.",
            autocompletion=estimators_completion,
        ),
    ] = None,
    groups: Annotated[
        int, typer.Option("--groups", metavar="N", min=0, help="How many groups to show below the table.")
    ] = 5,
    by_group: Annotated[
        bool, typer.Option("--by-group", help="A row per group and estimator instead, for a program.")
    ] = False,
) -> None:
    """Compare what several estimators make of one log.

    A row per estimator: the mean size of its advantages and their spread, the share that is exactly 0, the share of
    rows whose sign is not that of the first estimator, and the rank correlation with it. Below, the groups whose
    advantages change most.
    """
    from grpo_cli.commands.formula import several
    from grpo_cli.commands.opening import opened
    from grpo_cli.commands.views.compare import changes_table, estimators_table
    from grpo_cli.commands.views.log import run_line, summarised
    from grpo_cli.core.comparison import compare as compared
    from grpo_cli.logs.files.source import find

    formulas = several(estimator or [])
    needs = {need for formula in formulas for need in formula.needs}
    baseline = next((formula.baseline_field for formula in formulas if formula.baseline_field), None)
    with opened(find(files), log, screen, roles=needs, baseline=baseline) as rollouts:
        result = compared(rollouts.frame, formulas, weights=rollouts.reading.weights, tolerance=log.tolerance)
        screen.say(run_line(rollouts, summarised(rollouts, log)))
        changes = changes_table(rollouts, result.groups)
        screen.show(changes if by_group else estimators_table(result.estimators, formulas), **table.how)
        if groups and not by_group and screen.tabular(table.format):
            screen.say("the groups that change most:")
            screen.show(replace(changes, frame=changes.frame.head(groups)), format="table", limit=0)
