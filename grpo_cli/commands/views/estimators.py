"""The tables of `estimators`: what there is, where it comes from, and where a framework's own number is at fault."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from grpo_cli.core.estimators import ESTIMATORS, find_name, framework
from grpo_cli.core.frameworks import FRAMEWORKS
from grpo_cli.errors import UsageError, did_you_mean
from grpo_cli.render.tables import Kind, Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grpo_cli.core.estimators import Estimator


def matching(names: Sequence[str]) -> tuple[list[Estimator], list[Estimator]]:
    """The estimators of these names, and those of frameworks: by the framework's name or the estimator's. None: all.

    Raises:
        UsageError: neither an estimator nor a framework is called so.
    """
    every = [estimator for row in FRAMEWORKS.values() for estimator in row.estimators.values()]
    if not names:
        return list(ESTIMATORS.values()), every
    plain: dict[str, Estimator] = {}
    others: dict[str, Estimator] = {}
    own = list(dict.fromkeys(estimator.name for estimator in every))
    for name in names:
        found = find_name(name, [*ESTIMATORS, *own])
        if found is not None:
            plain |= {found: ESTIMATORS[found]} if found in ESTIMATORS else {}
            others |= {estimator.spec: estimator for estimator in every if estimator.name == found}
        elif find_name(name, FRAMEWORKS) is not None:
            others |= {estimator.spec: estimator for estimator in framework(name).estimators.values()}
        else:
            raise UsageError(
                f"no estimator or framework is called {name}", hint=did_you_mean(name, [*ESTIMATORS, *FRAMEWORKS])
            )
    return list(plain.values()), list(others.values())


def estimators_table(rows: Sequence[Estimator]) -> Table:
    """The estimators of their own."""
    table = [{"name": row.name, "formula": row.formula, "what": row.title, "source": row.source} for row in rows]
    kinds = {"name": Kind.ID, "formula": Kind.TEXT, "what": Kind.TEXT, "source": Kind.TEXT}
    return Table("estimators", pl.DataFrame(table), kinds, narrow=("source",))


def frameworks_table(rows: Sequence[Estimator]) -> Table:
    """The estimators of frameworks; a star marks the default of each."""
    table = [
        {
            "estimator": row.spec + ("*" if FRAMEWORKS[row.framework].default == row.name else ""),
            "formula": row.formula,
            "setting": row.title,
            "version": FRAMEWORKS[row.framework].version,
            "date": FRAMEWORKS[row.framework].date,
        }
        for row in rows
    ]
    kinds = {"estimator": Kind.ID, "formula": Kind.TEXT, "setting": Kind.TEXT, "version": Kind.ID, "date": Kind.ID}
    return Table("estimators", pl.DataFrame(table), kinds, narrow=("version", "setting"))


def everything(rows: Sequence[Estimator]) -> Table:
    """All columns of both tables in one, for a program."""
    table = []
    for row in rows:
        home = FRAMEWORKS.get(row.framework)
        table.append(
            {
                "estimator": row.spec,
                "name": row.name,
                "framework": row.framework or None,
                "default": home is not None and home.default == row.name,
                "formula": row.formula,
                "what": row.title,
                "missing": row.missing,
                "singleton": row.singleton,
                "needs": ",".join(sorted(row.needs)) or None,
                "version": home.version if home else None,
                "date": home.date if home else None,
                "source": row.source,
                "fault": row.fault or None,
            }
        )
    schema = dict.fromkeys(("framework", "needs", "version", "date", "fault"), pl.String)
    frame = pl.DataFrame(table, schema_overrides=schema)
    return Table("estimators", frame, dict.fromkeys(frame.columns, Kind.TEXT) | {"estimator": Kind.ID})
