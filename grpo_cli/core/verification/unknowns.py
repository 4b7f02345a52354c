"""The unknowns of a formula read off a log: its eps, how large its weights are, the size of its groups, odd axes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from grpo_cli import frame as cf
from grpo_cli.core import rewards
from grpo_cli.core.chain import spelled
from grpo_cli.core.estimators import resolve
from grpo_cli.core.steps import advantages
from grpo_cli.core.verification import formulas, solve

if TYPE_CHECKING:
    from collections.abc import Iterator

    from grpo_cli.core.chain import Estimator
    from grpo_cli.core.verification.formulas import Columns

SCALED = ("grpo:ddof=1", "grpo:ddof=0", "rloo:scale=group-std,ddof=1", "lite-ppo:ddof=1", "lite-ppo:ddof=0")
"""Formulas whose eps is solved for."""


def rescaled(columns: Columns, sample: pl.DataFrame) -> Iterator[Columns]:
    """The weights as large as they must be where nothing is divided by."""
    chosen = formulas.with_rewards(sample, columns)
    for spec in ("dr-grpo", "rloo"):
        centred = advantages(chosen, resolve(spec), weights=formulas.weights_of(columns))
        both = pl.DataFrame({"x": centred, "a": sample[cf.LOGGED]}).drop_nulls()
        square = float((both["x"] * both["x"]).sum())
        scale = float((both["x"] * both["a"]).sum()) / square if square else 0.0
        if scale > 0 and abs(scale - 1) > 1e-4:
            yield tuple((at, solve.simple(weight * scale)) for at, weight in columns)


def eps_of(frame: pl.DataFrame, exact: Estimator, columns: Columns) -> float | None:
    """The eps with which `exact`, whose eps is 0, gives the logged advantages: from the groups of least spread."""
    weights = formulas.weights_of(columns)
    frame = formulas.with_rewards(frame, columns)
    centred = advantages(frame, replace(exact, steps=(replace(exact.steps[0], divide="none"),)), weights=weights)
    scaled = advantages(frame, exact, weights=weights)
    rows = pl.DataFrame({"c": centred, "a": scaled, "logged": frame[cf.LOGGED]}).drop_nulls()
    rows = rows.filter((pl.col("a").abs() > 1e-3) & (pl.col("logged").abs() > 1e-6))
    if rows.is_empty():
        return None
    std = pl.col("c") / pl.col("a")
    found = rows.select(std.alias("std"), (pl.col("c") / pl.col("logged") - std).alias("eps")).sort("std")
    eps = found.head(max(3, rows.height // 10))["eps"].median()
    floor = found["std"][0] * 3e-7
    return eps if isinstance(eps, float) and eps > floor else None


def block_sizes(frame: pl.DataFrame) -> list[int]:
    """Sizes of blocks that the groups may be made of: divisors of nearly all larger groups, the commonest first.

    A size is one that some group has, or, where all groups have one size, a divisor of it that a group may well have.
    """
    counts = frame.group_by(cf.GROUP).len()["len"].value_counts(sort=True)
    sizes = dict(zip(counts["len"].to_list(), counts["count"].to_list(), strict=True))
    whole = max(sizes) if len(sizes) == 1 else 0
    found = []
    for size in [*sizes, *(size for size in (4, 5, 6, 8, 10, 12, 16, 32, 64) if whole and whole % size == 0)]:
        larger = {other: count for other, count in sizes.items() if other > size}
        fitting = sum(count for other, count in larger.items() if other % size == 0)
        if size > 1 and larger and fitting >= 0.9 * sum(larger.values()):
            found.append(size)
    return list(dict.fromkeys(found))


def variations(frame: pl.DataFrame, columns: Columns) -> Iterator[dict[str, str]]:
    """Axes that this log may have been computed with beside the known ones."""
    yield {"baseline": "median"}
    yield {"ddof": "0"}
    yield {"ddof": "1"}
    frame = formulas.with_rewards(frame, columns)
    total = rewards.total(frame, formulas.weights_of(columns)).abs().max()
    for bound in (1.0, 5.0, 10.0, 20.0):
        if isinstance(total, float) and total > bound:
            yield {"clip": f"{spelled(-bound)}:{spelled(bound)}"}
    logged = frame[cf.LOGGED].drop_nulls()
    low, high = logged.min(), logged.max()
    if isinstance(low, float) and isinstance(high, float) and -low == high > 0:
        yield {"clip-after": f"{spelled(low)}:{spelled(high)}"}
    if cf.LENGTH in frame.columns:
        for share in (0.1, 0.25, 0.5, 1.0):
            yield {"length-penalty": str(share)}
