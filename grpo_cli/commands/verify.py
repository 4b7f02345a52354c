"""`grpo-adv verify`: logged advantages against recomputed ones, or which formula made them."""

from __future__ import annotations

from typing import Annotated

import typer

from grpo_cli.options import EstimatorOptions, Files, LogOptions, TableOptions, with_options
from grpo_cli.render.screen import Screen

EXAMPLES = """
grpo-adv verify completions.parquet --like trl -r acc -r fmt=0.5   is this what TRL gives? exit 1 if not
grpo-adv verify completions.parquet                                which formula, which weights, which eps?
grpo-adv verify rollouts.jsonl -e grpo:ddof=1,eps=1e-6             a formula of your own
grpo-adv verify rollouts/ --like auto --logged adv --tol 1e-4      another field, another bound
"""


@with_options
def verify(
    files: Files,
    log: LogOptions,
    estimator: EstimatorOptions,
    table: TableOptions,
    screen: Screen,
    logged: Annotated[
        str | None,
        typer.Option("--logged", metavar="FIELD", help="The advantages that the log carries. (default: advantage ...)"),
    ] = None,
    tol: Annotated[
        float,
        typer.Option("--tol", metavar="X", min=0, help="They agree where |a - b| <= X * max(1, |b|)."),
    ] = 1e-5,
) -> None:
    """Verify the advantages that a log carries.

    With an estimator or --like they are computed again and compared: a row per group that differs, worst first.
    Differences of class float32 are no larger than float32 rounding makes them, cut is a last group whose partners are
    not in the log. Without, the formula is looked for: every estimator of every framework, weights of the rewards,
    eps and group size. What this log cannot tell apart is listed together.
    """
    from grpo_cli.commands.formula import chosen
    from grpo_cli.commands.views import verify as verification
    from grpo_cli.commands.views import verify_search as formula_search
    from grpo_cli.logs.files.source import find

    found = find(files)
    if estimator.given:
        formula = chosen(estimator, log, found)
        verification.compare(found, formula, log, table, screen, logged=logged, tol=tol)
    else:
        formula_search.search(found, log, table, screen, logged=logged, tol=tol)
