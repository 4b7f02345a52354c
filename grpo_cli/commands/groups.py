"""`grpo-adv groups`: a row per group, or per prompt."""

from __future__ import annotations

from grpo_cli.commands.choosing import By, Status, Where
from grpo_cli.options import Files, LogOptions, TableOptions, with_options
from grpo_cli.render.screen import Screen

EXAMPLES = """
grpo-adv groups log.jsonl                              # a row per group
grpo-adv groups log.jsonl --status zero-variance       # the dead ones
grpo-adv groups log.jsonl --where "pass_rate < 0.2 and n = 8"
grpo-adv groups logs/ --by prompt --sort mean          # hardest prompts
"""


@with_options
def groups(
    files: Files,
    log: LogOptions,
    table: TableOptions,
    screen: Screen,
    status: Status = None,
    where: Where = None,
    by: By = "group",
) -> None:
    """Show a row per group (or prompt): size, rewards, pass rate, and its status: mixed, or dead and why.

    std is the population std (ddof 0), sample_std the sample std (ddof 1). A group is dead (zero-variance) where its
    status is all-pass, all-fail or tied: no policy-gradient signal comes from it. rewards counts the rewards in bins
    of one width, from the least of the log to its greatest; by prompt, means has the mean of each of its groups.
    """
    from grpo_cli.commands.opening import opened
    from grpo_cli.commands.views.log import looks_wrong, run_line
    from grpo_cli.commands.views.rows import rows_of
    from grpo_cli.logs.files.source import find

    with opened(find(files), log, screen) as rollouts:
        rows = rows_of(rollouts, log, by).with_histograms(rollouts).chosen(status=status, where=where)
        screen.say(run_line(rollouts, rows.summary))
        for note in looks_wrong(rollouts, rows.summary, log):
            screen.note(note)
        screen.show(rows.table, **table.how)
