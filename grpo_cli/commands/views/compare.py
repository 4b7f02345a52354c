"""The tables of `compare`: a row per estimator, and the groups whose advantages change."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from grpo_cli.render.tables import Kind, Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grpo_cli.core.estimators import Estimator
    from grpo_cli.logs.rollouts import RolloutLog


def estimators_table(rows: pl.DataFrame, formulas: Sequence[Estimator]) -> Table:
    """A row per estimator, with its formula at the end."""
    kinds = {
        "estimator": Kind.ID,
        "rows": Kind.COUNT,
        "mean_abs": Kind.NUMBER,
        "std": Kind.NUMBER,
        "zero": Kind.SHARE,
        "sign_changes": Kind.SHARE,
        "rank_correlation": Kind.NUMBER,
        "formula": Kind.TEXT,
    }
    frame = rows.with_columns(formula=pl.Series([formula.formula for formula in formulas]))
    return Table("estimators", frame.select(list(kinds)), kinds, narrow=("formula", "rows"))


def changes_table(log: RolloutLog, changes: pl.DataFrame) -> Table:
    """A row per group and estimator, those that change most first."""
    named = log.groups.called(changes["group"]).drop("group")
    sizes = log.frame.group_by("group").len("n").sort("group")["n"].cast(pl.Int64)
    frame = named.hstack(changes.drop("group")).with_columns(n=sizes.gather(changes["group"]))
    kinds = {"id": Kind.ID, "key": Kind.KEY, "step": Kind.COUNT, "n": Kind.COUNT, "estimator": Kind.ID}
    kinds |= {"change": Kind.NUMBER, "sign_changes": Kind.COUNT}
    if log.reading.step is None:
        kinds.pop("step")
    elif named.schema["step"] == pl.String:
        kinds["step"] = Kind.KEY
    return Table("groups", frame.select(list(kinds)), kinds, narrow=("step", "n"))
