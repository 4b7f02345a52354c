"""Thresholds for a pipeline: each check with the value that was found, its bound, and whether it holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from grpo_cli.core.expressions import columns_of, holds

if TYPE_CHECKING:
    from collections.abc import Iterator

Check = tuple[str, float | None, float | None, bool]


@dataclass(frozen=True)
class Gate:
    """The bounds that were asked for. A figure that is not known does not hold."""

    max_zero_variance: float | None = None
    """Zero-variance groups, as a part of all groups."""
    expect_size: int | None = None
    """Rollouts in every group: the check counts the groups with more or fewer."""
    max_missing: int | None = None
    """Rollouts without a reward."""
    max_singletons: int | None = None
    """Groups with one scored rollout."""
    min_groups: int | None = None
    fail_on: tuple[str, ...] = ()
    """SQL conditions over the figures that must not hold."""


def checks(figures: pl.DataFrame, groups: pl.DataFrame, gate: Gate) -> pl.DataFrame:
    """A row per check that was asked for.

    Args:
        figures: the one row of `stats.figures`.
        groups: the summary by group.
        gate: the bounds.

    Returns:
        Columns `check` (in words, or the condition), `value`, `bound`, `ok`. A condition has no bound, and as value the
        figure that it names, where it names just one.

    Raises:
        UsageError: a condition is none, or names a figure that is not there.
    """
    rows = list(_bounds(figures.row(0, named=True), groups, gate))
    rows += [_condition(figures, text) for text in gate.fail_on]
    return pl.DataFrame(
        rows, {"check": pl.String(), "value": pl.Float64(), "bound": pl.Float64(), "ok": pl.Boolean()}, orient="row"
    )


def _bounds(figures: dict[str, float | None], groups: pl.DataFrame, gate: Gate) -> Iterator[Check]:
    most = {
        "zero-variance share of groups": ("zero_variance_share", gate.max_zero_variance),
        "rollouts without a reward": ("missing", gate.max_missing),
        "groups of one scored rollout": ("singleton", gate.max_singletons),
    }
    for words, (name, bound) in most.items():
        if bound is not None:
            value = figures[name]
            yield words, value, bound, value is not None and value <= bound
    if gate.expect_size is not None:
        others = len(groups.filter(pl.col("n") != gate.expect_size))
        yield f"groups without {gate.expect_size} rollouts", others, 0, not others
    if gate.min_groups is not None:
        yield "groups", len(groups), gate.min_groups, len(groups) >= gate.min_groups


def _condition(figures: pl.DataFrame, text: str) -> Check:
    named = [name for name in columns_of(text, figures.columns) if name in figures.columns]
    holding = holds(text, figures)[0]
    value = figures[named[0]][0] if len(named) == 1 else None
    return f"not {text}", value, None, holding is False
