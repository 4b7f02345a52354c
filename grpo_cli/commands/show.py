"""`grpo-adv show`: the rollouts of chosen groups with their text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

import typer

from grpo_cli.commands.choosing import CHOICE, Formula, Status, Where
from grpo_cli.options import Files, LogOptions, with_options
from grpo_cli.render.screen import Screen

EXAMPLES = """
grpo-adv show log.jsonl --key prime-20-30            # one prompt
grpo-adv show log.jsonl --status all-fail --limit 3  # what never works
grpo-adv show log.jsonl --status mixed --best 1 --worst 1 --chars 400
grpo-adv show log.jsonl --random 5 --format table | less
"""

_ROLLOUTS, _TEXT = "Which rollouts of a group", "How it is shown"


@dataclass(frozen=True)
class Choice:
    """Which groups, and which rollouts of each."""

    key: Annotated[
        str | None,
        typer.Option(
            "--key",
            "-k",
            metavar="ID|KEY",
            help="A group by its id, or the groups of a prompt.",
            rich_help_panel=CHOICE,
        ),
    ] = None
    status: Status = None
    where: Where = None
    sort: Annotated[
        str | None,
        typer.Option("--sort", metavar="COLUMN", help="By a column of grpo-adv groups.", rich_help_panel=CHOICE),
    ] = None
    desc: Annotated[
        bool, typer.Option("--desc", metavar=" ", help="Sort the other way round.", rich_help_panel=CHOICE)
    ] = False
    random: Annotated[
        int | None,
        typer.Option("--random", metavar="N", min=1, help="N groups, drawn at random.", rich_help_panel=CHOICE),
    ] = None
    seed: Annotated[
        int, typer.Option("--seed", metavar="S", help="Another S draws others.", rich_help_panel=CHOICE)
    ] = 0
    limit: Annotated[
        int | None,
        typer.Option(
            "--limit",
            metavar="N",
            min=0,
            help="The first N groups; 0 is all. (default: 3 as text, all in other formats)",
            rich_help_panel=CHOICE,
        ),
    ] = None
    best: Annotated[
        int | None,
        typer.Option(
            "--best", metavar="N", min=1, help="Only the N with the highest reward.", rich_help_panel=_ROLLOUTS
        ),
    ] = None
    worst: Annotated[
        int | None,
        typer.Option(
            "--worst",
            metavar="N",
            min=1,
            help="Only the N with the lowest; with --best, both.",
            rich_help_panel=_ROLLOUTS,
        ),
    ] = None


@dataclass(frozen=True)
class Look:
    """How they are shown."""

    chars: Annotated[
        int | None,
        typer.Option(
            "--chars",
            metavar="N",
            min=1,
            help="Only the first N characters of each text. (default: in full)",
            rich_help_panel=_TEXT,
        ),
    ] = None
    prompt: Annotated[
        str | None,
        typer.Option("--prompt", metavar="FIELD", help="The prompt; otherwise found by name.", rich_help_panel=_TEXT),
    ] = None
    completion: Annotated[
        str | None,
        typer.Option(
            "--completion", metavar="FIELD", help="The completion; otherwise found by name.", rich_help_panel=_TEXT
        ),
    ] = None
    format: Annotated[
        Literal["auto", "table", "json", "jsonl", "csv", "tsv", "md"],
        typer.Option("--format", help="auto is text on a terminal and TSV in a pipe.", rich_help_panel=_TEXT),
    ] = "auto"


@with_options
def show(files: Files, choice: Choice, look: Look, log: LogOptions, screen: Screen, estimator: Formula = None) -> None:
    """Show the rollouts of groups: the prompt once, then each with its rewards, advantage, length and text.

    The highest reward comes first. Chat messages are shown as turns. Whatever a terminal would obey is shown as an
    escape. Other formats have a row per rollout. Only what is shown is read from the files.
    """
    from grpo_cli.commands.opening import opened
    from grpo_cli.commands.views.figures import formula_of, roles_of
    from grpo_cli.commands.views.log import run_line
    from grpo_cli.commands.views.rows import rows_of
    from grpo_cli.commands.views.show import chosen_groups, chosen_rollouts, limit_of, needs_keys, show_rollouts
    from grpo_cli.core.notes import count
    from grpo_cli.logs.files.source import find

    formula = formula_of(estimator)
    limit = limit_of(choice, drawn=screen.tabular(look.format))
    with opened(find(files), log, screen, roles=roles_of(formula)) as rollouts:
        rows = rows_of(rollouts, log, "group", keys=needs_keys(choice))
        groups, rest = chosen_groups(rollouts, rows, choice, limit)
        chosen = chosen_rollouts(rollouts, groups, choice)
        screen.say(run_line(rollouts, rows.frame, formula))
        show_rollouts(screen, rollouts, groups, chosen, formula, log, look)
        if rest:
            screen.say(f"... and {count(rest, 'more group')}; --limit 0 shows all")
