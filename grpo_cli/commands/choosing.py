"""Options that several commands share: which groups, per group or per prompt, a log that is still being written."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

CHOICE, OVER = "Which groups", "Over what"

By = Annotated[
    Literal["group", "prompt"],
    typer.Option(
        "--by", help="A row per group, or per prompt: its groups of every step together.", rich_help_panel=OVER
    ),
]
Status = Annotated[
    str | None,
    typer.Option(
        "--status",
        metavar="STATUS,...",
        help="Only these: mixed, all-pass, all-fail, tied, singleton, unscored; or zero-variance.",
        rich_help_panel=CHOICE,
    ),
]
Where = Annotated[
    str | None,
    typer.Option(
        "--where",
        metavar="SQL",
        help='Only where this holds of the columns: "mean > 0.2 and n = 8".',
        rich_help_panel=CHOICE,
    ),
]
Formula = Annotated[
    str | None,
    typer.Option(
        "--estimator",
        "-e",
        metavar="SPEC",
        help="Whose advantages are meant. (default: grpo)",
        rich_help_panel="Estimator",
    ),
]
Live = Annotated[
    bool,
    typer.Option(
        "--live",
        metavar=" ",
        help="Leave out an unfinished last line or file: the trainer is still writing.",
        rich_help_panel="What counts",
    ),
]
