"""`grpo-adv groups`: a row per group."""

from __future__ import annotations

from grpo_cli.options import Files, LogOptions, TableOptions, with_options
from grpo_cli.render.screen import Screen

EXAMPLES = """
grpo-adv groups log.jsonl                              # a row per group
grpo-adv groups log.jsonl --sort std --desc --limit 5  # where they differ most
grpo-adv groups logs/ --format csv > groups.csv        # all, in full precision
grpo-adv groups log.jsonl | grep all-fail | cut -f2    # prompts never solved
"""


@with_options
def groups(files: Files, log: LogOptions, table: TableOptions, screen: Screen) -> None:
    """Show a row per group: id, key, step, size, reward statistics, pass rate and status.

    std is the population std (ddof 0), sample_std the sample std (ddof 1). A group is zero-variance where its
    status is all-pass, all-fail or tied: no policy-gradient signal comes from it.
    """
    from grpo_cli.commands.opening import opened
    from grpo_cli.commands.views import groups_table, looks_wrong, run_line, summarised
    from grpo_cli.logs.source import find

    with opened(find(files), log, screen) as rollouts:
        summary = summarised(rollouts, log)
        screen.say(run_line(rollouts, summary))
        for note in looks_wrong(rollouts, summary, log):
            screen.note(note)
        screen.show(groups_table(rollouts, summary), **table.how)
