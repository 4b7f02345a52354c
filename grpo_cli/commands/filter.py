"""`grpo-adv filter`: keep or drop whole groups."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

import typer

from grpo_cli.commands.choosing import CHOICE, Where
from grpo_cli.options import Files, LogOptions, TableOptions, with_options
from grpo_cli.render.screen import Screen

EXAMPLES = """
grpo-adv filter log.jsonl --pass-rate 0.2:0.8        # log.filtered.jsonl
grpo-adv filter run/ --pass-rate 0.2:0.8 --emit ids > prompts.txt
grpo-adv filter run/ --keep mixed --dataset train.parquet -o next.parquet
grpo-adv filter log.jsonl --where "n = 8 and std > 0.1" -o -  # to a pipe
"""

_OUTPUT = "Output"


@dataclass(frozen=True)
class Choice:
    """Which groups stay."""

    keep: Annotated[
        str | None,
        typer.Option(
            "--keep",
            metavar="STATUS,...",
            help="Only groups of these: mixed, all-pass, all-fail, tied, singleton, unscored; or zero-variance.",
            rich_help_panel=CHOICE,
        ),
    ] = None
    drop: Annotated[
        str | None,
        typer.Option("--drop", metavar="STATUS,...", help="No groups of these.", rich_help_panel=CHOICE),
    ] = None
    pass_rate: Annotated[
        str | None,
        typer.Option(
            "--pass-rate",
            metavar="LOW:HIGH",
            help="Only groups with a pass rate in this band, both ends included: 0.2:0.8, :0.5, 1/3:.",
            rich_help_panel=CHOICE,
        ),
    ] = None
    min_spread: Annotated[
        float | None,
        typer.Option(
            "--min-spread", metavar="X", min=0, help="Only groups with max - min >= X.", rich_help_panel=CHOICE
        ),
    ] = None
    where: Where = None
    by: Annotated[
        Literal["group", "prompt"] | None,
        typer.Option(
            "--by",
            help="Choose groups, or prompts with their groups of every step. (default: group; prompt where prompts are "
            "written: --emit ids, --dataset)",
            rich_help_panel=CHOICE,
        ),
    ] = None


@dataclass(frozen=True)
class Destination:
    """What is written, and where."""

    emit: Annotated[
        Literal["rows", "ids"],
        typer.Option(
            "--emit",
            help="The log's rows, or the prompts' keys on standard output, a line each.",
            rich_help_panel=_OUTPUT,
        ),
    ] = "rows"
    dataset: Annotated[
        str | None,
        typer.Option(
            "--dataset",
            metavar="FILE",
            help="Write the rows of this training set whose prompts stay, not those of the log.",
            rich_help_panel=_OUTPUT,
        ),
    ] = None
    dataset_key: Annotated[
        str | None,
        typer.Option(
            "--dataset-key",
            metavar="FIELD",
            help="Its field that holds the prompt's key, if it is not called as in the log.",
            rich_help_panel=_OUTPUT,
        ),
    ] = None
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            metavar="PATH|DIR/|-",
            help="Where to write; - is standard output. Otherwise X.filtered.EXT beside X.EXT.",
            rich_help_panel=_OUTPUT,
        ),
    ] = None
    force: Annotated[
        bool,
        typer.Option("--force", "-f", metavar=" ", help="Write over an existing output file.", rich_help_panel=_OUTPUT),
    ] = False
    allow_empty: Annotated[
        bool,
        typer.Option(
            "--allow-empty",
            metavar=" ",
            help="Write an empty output, and exit with 0, where nothing stays.",
            rich_help_panel=_OUTPUT,
        ),
    ] = False


@with_options
def filter(  # noqa: A001 - it is the name of the command
    files: Files,
    choice: Choice,
    destination: Destination,
    log: LogOptions,
    table: TableOptions,
    screen: Screen,
) -> None:
    """Keep or drop whole groups or prompts, by status, pass rate, spread or any condition; rows stay as they are.

    JSONL lines stay byte for byte, Parquet rows value for value; blank and bad lines stay too, and a file of which
    nothing stays is not written. Every rule that is given must hold. What went, and why, is reported. Where nothing
    stays at all, nothing is written, and the exit code is 1.
    """
    from grpo_cli.commands.opening import opened
    from grpo_cli.commands.views.filter import outgoing, report, selection_of, write
    from grpo_cli.commands.views.log import looks_wrong, run_line
    from grpo_cli.commands.views.rows import rows_of
    from grpo_cli.core.selection import select
    from grpo_cli.logs.files.source import find

    selection, found = selection_of(choice), find(files)
    going = outgoing(found, destination)
    with opened(found, log, screen) as rollouts:
        rows = rows_of(rollouts, log, choice.by or going.by)
        selected = select(rows.frame, selection)
        screen.say(run_line(rollouts, rows.summary))
        for note in looks_wrong(rollouts, rows.summary, log):
            screen.note(note)
        report(screen, rows, selected, going, table)
        write(screen, rollouts, rows, selected["kept"], going)
