"""The figures of a log: what `stats` shows and `gate` checks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from grpo_cli.commands.views.log import summarised
from grpo_cli.core.estimators import Estimator, resolve
from grpo_cli.core.stats import figures
from grpo_cli.core.steps import advantages
from grpo_cli.frame import LENGTH
from grpo_cli.render.tables import Kind

if TYPE_CHECKING:
    import polars as pl

    from grpo_cli.logs.rollouts import RolloutLog
    from grpo_cli.options import LogOptions

SHARES = ("pass_rate", "rollout_pass_rate", "missing_as_fail")


@dataclass(frozen=True)
class Measured:
    """A log with its groups and its figures."""

    log: RolloutLog
    groups: pl.DataFrame
    figures: pl.DataFrame
    """The one row of `core.stats.figures`."""
    advantage: pl.Series


def roles_of(formula: Estimator) -> set[str]:
    """The optional columns that the figures are taken from, where the log has them."""
    return {LENGTH, *formula.needs}


def formula_of(spec: str | None) -> Estimator:
    """The estimator whose advantages are meant."""
    return resolve(spec)


def measured(log: RolloutLog, options: LogOptions, formula: Estimator) -> Measured:
    """The figures of `log`."""
    groups = summarised(log, options)
    weights = log.reading.weights
    advantage = advantages(log.frame, formula, weights=weights, tolerance=options.tolerance)
    row = figures(log.frame, groups, weights=weights, pass_threshold=options.pass_threshold, advantage=advantage)
    return Measured(log, groups, row, advantage)


def kinds(figures: pl.DataFrame) -> dict[str, Kind]:
    """What each figure is."""
    return {
        name: Kind.COUNT
        if dtype.is_integer()
        else Kind.SHARE
        if name.endswith("_share") or name in SHARES or name == "frac_reward_zero_std"
        else Kind.NUMBER
        for name, dtype in figures.schema.items()
    }
