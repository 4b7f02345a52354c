"""`grpo-adv estimators`: the estimators, and what each framework makes of them, with their formulas."""

from __future__ import annotations

from typing import Annotated

import typer

from grpo_cli.options import TableOptions, with_options
from grpo_cli.render.screen import Screen

EXAMPLES = """
grpo-adv estimators                  what --estimator and --like take, with formulas
grpo-adv estimators trl verl         those of two frameworks
grpo-adv estimators rloo             one estimator, and every framework that has it
grpo-adv estimators --format json    all of it for a program: version, date, source, faults
"""


@with_options
def estimators(
    table: TableOptions,
    screen: Screen,
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME]...", help="Frameworks or estimators; otherwise all.")
    ] = None,
) -> None:
    """List the estimators and the frameworks with their formulas.

    An estimator of its own follows its paper: population std, no eps. FRAMEWORK/NAME is what that framework computes,
    as it was read at the version and date given; `fault` says where the framework's own number is a rounding fault,
    and the number here is the right one.
    """
    from grpo_cli.commands.views.estimators import estimators_table, everything, frameworks_table, matching

    plain, of_frameworks = matching(names or [])
    how = table.how | {"limit": table.limit or 0}
    if not screen.tabular(table.format) or table.sort:
        screen.show(everything([*plain, *of_frameworks]), **how)
        return
    if plain:
        screen.show(estimators_table(plain), **how)
    if of_frameworks:
        screen.print("", "as frameworks compute them, * what --like alone gives:", "")
        screen.show(frameworks_table(of_frameworks), **how)
