"""`grpo-adv trend`: a row per step."""

from __future__ import annotations

from typing import Annotated

import typer

from grpo_cli.commands.choosing import OVER, Formula, Live
from grpo_cli.options import Files, LogOptions, TableOptions, with_options
from grpo_cli.render.screen import Screen

EXAMPLES = """
grpo-adv trend run/                        # is it getting better?
grpo-adv trend run/ --bin 10               # ten steps a row
grpo-adv trend run/ --steps -50: --live    # the last 50, while it trains
grpo-adv trend run/ --format csv > trend.csv
"""


@with_options
def trend(
    files: Files,
    log: LogOptions,
    table: TableOptions,
    screen: Screen,
    bin_size: Annotated[
        int | None,
        typer.Option(
            "--bin",
            metavar="N",
            min=1,
            help="N steps a row. (default: 1; on a terminal as many as make 20 rows)",
            rich_help_panel=OVER,
        ),
    ] = None,
    estimator: Formula = None,
    live: Live = False,
) -> None:
    """Show how a run develops, a row per step: reward, pass rate, spread within groups, and how many are dead.

    Shares are parts of the step's groups; zero_variance_share, the dead ones, is all-pass, all-fail and tied together.
    On a terminal a sparkline for each column comes first.
    """
    from grpo_cli.commands.opening import opened
    from grpo_cli.commands.views.figures import formula_of, roles_of
    from grpo_cli.commands.views.log import looks_wrong, run_line, summarised
    from grpo_cli.commands.views.trend import bin_size_of, draw_course, over_steps
    from grpo_cli.logs.files.source import find

    formula = formula_of(estimator)
    with opened(find(files), log, screen, roles=roles_of(formula), live=live) as rollouts:
        size = bin_size_of(screen, rollouts, table) if bin_size is None else bin_size
        groups = summarised(rollouts, log)
        rows = over_steps(rollouts, groups, log, formula, size)
        screen.say(run_line(rollouts, groups, formula))
        for note in looks_wrong(rollouts, groups, log):
            screen.note(note)
        screen.show(draw_course(screen, rows) if screen.tabular(table.format) else rows, **table.how)
