"""`grpo-adv diff`: two logs paired by prompt."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from grpo_cli.options import LogOptions, TableOptions, with_options
from grpo_cli.render.screen import Screen

EXAMPLES = """
grpo-adv diff before.jsonl after.jsonl             # what changed, and where
grpo-adv diff run/step_1/ run/step_100/            # each may be a folder
grpo-adv diff a.jsonl b.jsonl --table transitions  # which status became which
grpo-adv diff a.jsonl b.jsonl --format csv         # a row per prompt
"""


@with_options
def diff(
    before: Annotated[str, typer.Argument(metavar="A", help="The log before: a file, a glob or a folder.")],
    after: Annotated[str, typer.Argument(metavar="B", help="The log after.")],
    log: LogOptions,
    table: TableOptions,
    screen: Screen,
    which: Annotated[
        Literal["prompts", "summary", "transitions"] | None,
        typer.Option(
            "--table",
            help="One table alone: a row per prompt (what other formats have), the change in a row, or statuses.",
            rich_help_panel="Table",
        ),
    ] = None,
) -> None:
    """Compare two logs prompt by prompt, whatever the step: what changed, with an interval, and which prompts moved.

    change is the mean reward after less before, averaged over the prompts in both logs; low and high are its 95 %
    paired t interval. solved: no rollout passed before, some do after; lost: the other way round; regained: the
    rewards were all equal before, and differ after.
    """
    from grpo_cli.commands.opening import opened
    from grpo_cli.commands.views.diff import paired, report, tables
    from grpo_cli.commands.views.log import run_line, summarised
    from grpo_cli.logs.files.source import find

    with opened(find([before]), log, screen) as first, opened(find([after]), log, screen) as second:
        pairs = paired(first, second, log)
        for rollouts in (first, second):
            screen.say(run_line(rollouts, summarised(rollouts, log)))
        if which is None and screen.tabular(table.format):
            report(screen, pairs, table)
        else:
            screen.show(tables(pairs)[which or "prompts"], **table.how)
