"""`grpo-adv inspect`: what the tool sees in a log."""

from __future__ import annotations

from grpo_cli.options import Files, LogOptions, TableOptions, with_options
from grpo_cli.render.screen import Screen

EXAMPLES = """
grpo-adv inspect rollouts/                     # layout, fields and their roles
grpo-adv inspect log.jsonl --layout plain      # the same, read another way
grpo-adv inspect log.jsonl --format json       # for a program
grpo-adv inspect log.jsonl | grep ^flags       # options that say it all
"""


@with_options
def inspect(files: Files, log: LogOptions, table: TableOptions, screen: Screen) -> None:
    """Inspect a log: its format and layout, its fields and what they are read as, its groups and its faults.

    Bad lines are named and passed over. Where a role cannot be chosen, what there is to choose from is shown all the
    same, and the exit code is 2. In a pipe it is one table: a row a fact, and a row a field.
    """
    from grpo_cli.commands.views.inspect import inspected
    from grpo_cli.logs.files.source import find

    inspected(find(files), log, table, screen)
