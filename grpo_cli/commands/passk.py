"""`grpo-adv passk`: pass@k and pass^k."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from grpo_cli.commands.choosing import OVER, By
from grpo_cli.options import Files, LogOptions, TableOptions, with_options
from grpo_cli.render.screen import Screen

EXAMPLES = """
grpo-adv passk log.jsonl --k 1,4,8                 # averages over groups
grpo-adv passk log.jsonl --k 1,8 --table rows      # a row per group
grpo-adv passk log.jsonl --thresholds 0.5,0.9,1    # partial rewards
grpo-adv passk run/ --by prompt                    # all steps together
"""


@with_options
def passk(
    files: Files,
    log: LogOptions,
    table: TableOptions,
    screen: Screen,
    k: Annotated[
        str | None,
        typer.Option(
            "--k",
            metavar="K,...",
            help="How many rollouts. (default: 1, 2, 4 ... up to the commonest size)",
            rich_help_panel=OVER,
        ),
    ] = None,
    thresholds: Annotated[
        str | None,
        typer.Option(
            "--thresholds",
            metavar="X,...",
            help="A row for each reward from which a rollout passes.",
            rich_help_panel=OVER,
        ),
    ] = None,
    by: By = "group",
    which: Annotated[
        Literal["mean", "rows"],
        typer.Option("--table", help="The means over groups, or a row per group (or prompt).", rich_help_panel="Table"),
    ] = "mean",
) -> None:
    """Estimate pass@k, the chance that one of k rollouts passes, and pass^k, the chance that all k do.

    Unbiased, over the n rollouts of each group: pass@k = 1 - C(n - c, k) / C(n, k), pass^k = C(c, k) / C(n, k). The
    mean counts each group once; low and high are its 95 % t interval. A group with fewer than k rollouts has neither:
    it is null, left out of the mean, and counted in too_small.
    """
    from grpo_cli.commands.opening import opened
    from grpo_cli.commands.views.log import looks_wrong, run_line
    from grpo_cli.commands.views.passk import averages, ks_of, numbers, per_row, too_small, usual_ks
    from grpo_cli.commands.views.rows import rows_of
    from grpo_cli.logs.files.source import find

    asked, bars = ks_of(k), numbers(thresholds, "--thresholds")
    with opened(find(files), log, screen) as rollouts:
        rows = rows_of(rollouts, log, by)
        ks = asked or usual_ks(rows)
        shown = per_row(rows, ks) if which == "rows" else averages(rollouts, rows, ks, bars)
        screen.say(run_line(rollouts, rows.summary))
        for note in (*looks_wrong(rollouts, rows.summary, log), *too_small(rows, ks)):
            screen.note(note)
        screen.show(shown, **table.how)
