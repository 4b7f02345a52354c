"""`grpo-adv stats`: one account of a log."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from grpo_cli.commands.choosing import Formula, Live
from grpo_cli.options import Files, LogOptions, TableOptions, with_options
from grpo_cli.render.screen import Screen

EXAMPLES = """
grpo-adv stats log.jsonl                        # one account of the log
grpo-adv stats log.jsonl -r correct -r length_reward=0.1   # who dominates
grpo-adv stats log.jsonl --table sizes          # would bigger groups help?
grpo-adv stats run/ --live --format json | jq '.[0].zero_variance_share'
"""


@with_options
def stats(
    files: Files,
    log: LogOptions,
    table: TableOptions,
    screen: Screen,
    estimator: Formula = None,
    expect_size: Annotated[
        int | None,
        typer.Option(
            "--expect-size",
            metavar="N",
            min=1,
            help="Say what is lost where every group should have N rollouts.",
            rich_help_panel="What counts",
        ),
    ] = None,
    live: Live = False,
    which: Annotated[
        Literal["figures", "rewards", "correlations", "sizes", "shortfall"] | None,
        typer.Option(
            "--table",
            help="One table alone: all figures, a row per reward column, their correlations ...",
            rich_help_panel="Table",
        ),
    ] = None,
) -> None:
    """Give one account of a log: sizes, how many groups are dead, how the rewards spread, which of them dominates.

    Dead groups are those with zero variance: all their rewards are equal, so they teach nothing.

    rollout_std is the std over all rollouts; within_group_std the mean of the groups' std, which GRPO divides by;
    between_group_std the std of the groups' means. frac_reward_zero_std is TRL's metric of that name.
    """
    from grpo_cli.commands.opening import opened
    from grpo_cli.commands.views.figures import formula_of, measured, roles_of
    from grpo_cli.commands.views.log import looks_wrong, run_line
    from grpo_cli.commands.views.stats import report, shortfall_needs, tables
    from grpo_cli.logs.files.source import find

    shortfall_needs(which, expect_size)
    formula = formula_of(estimator)
    with opened(find(files), log, screen, roles=roles_of(formula), live=live) as rollouts:
        found = measured(rollouts, log, formula)
        screen.say(run_line(rollouts, found.groups, formula))
        for note in looks_wrong(rollouts, found.groups, log):
            screen.note(note)
        if which is None and screen.tabular(table.format):
            report(screen, found, formula, log, expect_size)
        else:
            screen.show(tables(found, log, expect_size)[which or "figures"](), **table.how)
