"""`grpo-adv estimators`: the estimators with their formulas."""

from __future__ import annotations

from grpo_cli.options import TableOptions, with_options
from grpo_cli.render.screen import Screen

EXAMPLES = """
grpo-adv estimators                  # what --estimator takes, with formulas
grpo-adv estimators --format json    # the same for a program
"""


@with_options
def estimators(table: TableOptions, screen: Screen) -> None:
    """List the estimators and their formulas."""
    import polars as pl

    from grpo_cli.core.estimators import ESTIMATORS
    from grpo_cli.render.tables import Kind, Table

    rows = [
        {"name": row.name, "formula": row.formula, "what": row.title, "source": row.source}
        for row in ESTIMATORS.values()
    ]
    kinds = {"name": Kind.ID, "formula": Kind.TEXT, "what": Kind.TEXT, "source": Kind.TEXT}
    screen.show(Table("estimators", pl.DataFrame(rows), kinds, narrow=("source",)), **table.how)
