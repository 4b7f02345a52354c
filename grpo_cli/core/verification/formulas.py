"""The formulas that may have made logged advantages: every estimator of every framework, each computation once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import polars as pl

from grpo_cli import frame as cf
from grpo_cli.core import rewards
from grpo_cli.core.chain import Estimator, Step
from grpo_cli.core.estimators import ESTIMATORS, resolve
from grpo_cli.core.frameworks import FRAMEWORKS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_MOST_K = 16

Columns = tuple[tuple[int, float], ...]
"""Reward columns by number, each with its weight."""


@dataclass(frozen=True)
class Formula:
    """An estimator over a weighted sum of reward columns, and over groups split into blocks of `group_size`."""

    estimator: Estimator
    columns: Columns
    group_size: int | None = None

    @property
    def weights(self) -> list[float]:
        """The weights, in the order of `columns`."""
        return weights_of(self.columns)

    def frame(self, frame: pl.DataFrame) -> pl.DataFrame:
        """A canonical frame with these columns as its rewards, and these blocks as its groups."""
        return in_blocks(with_rewards(frame, self.columns), self.group_size)


def weights_of(columns: Columns) -> list[float]:
    """The weights alone."""
    return [weight for _, weight in columns]


def with_rewards(frame: pl.DataFrame, columns: Columns) -> pl.DataFrame:
    """The canonical frame with these of its reward columns alone, in this order."""
    parts = {cf.reward_part(at): frame[cf.reward_part(column)] for at, (column, _) in enumerate(columns)}
    return frame.drop(cf.reward_parts(frame)).with_columns(**parts)


def in_blocks(frame: pl.DataFrame, size: int | None) -> pl.DataFrame:
    """The canonical frame with its groups split into consecutive blocks of `size` rollouts, numbered as they come."""
    if size is None:
        return frame
    if cf.ROLLOUT in frame.columns:
        place = pl.col(cf.ROLLOUT).rank("dense").over(cf.GROUP) - 1
    else:
        place = pl.int_range(pl.len()).over(cf.GROUP)
    blocks = frame.select(cf.GROUP, (place // size).alias("block")).with_row_index("row")
    firsts = blocks.group_by(cf.GROUP, "block").agg(pl.col("row").min()).sort("row").with_row_index("number")
    number = blocks.join(firsts, on=[cf.GROUP, "block"], how="left", maintain_order="left")["number"]
    return frame.with_columns(number.cast(pl.UInt32).alias(cf.GROUP))


def known(frame: pl.DataFrame, first: str | None = None) -> list[tuple[Estimator, ...]]:
    """Every named estimator that the frame has the columns for; those that compute the same stand together.

    The framework `first` comes first, then the frameworks in the order of their table, their defaults before the
    rest, then the estimators without a framework.
    """
    same: dict[Estimator, list[Estimator]] = {}
    for estimator in _named(frame, first):
        if estimator.needs <= set(frame.columns):
            same.setdefault(bare(estimator), []).append(estimator)
    return [tuple(group) for group in same.values()]


def untried(frame: pl.DataFrame) -> dict[str, list[str]]:
    """Column -> the estimators that want for it."""
    wanting: dict[str, list[str]] = {}
    for estimator in _named(frame, None):
        for column in sorted(estimator.needs - set(frame.columns)):
            wanting.setdefault(column, []).append(estimator.spec)
    return wanting


def _named(frame: pl.DataFrame, first: str | None) -> Iterator[Estimator]:
    rows = [row for row in FRAMEWORKS.values() if row.name != first]
    if first is not None:
        for estimator in FRAMEWORKS[first].estimators.values():
            yield from _with_k(estimator, frame)
    for only_default in (True, False):
        for row in rows:
            for name, estimator in row.estimators.items():
                if (name == row.default) is only_default:
                    yield from _with_k(estimator, frame)
    for estimator in ESTIMATORS.values():
        yield from _with_k(estimator, frame)


def _with_k(estimator: Estimator, frame: pl.DataFrame) -> Iterator[Estimator]:
    """The estimator; where it is about k rollouts and k is open, one for each k; the best rollout unscaled too."""
    if any(step.subtract == "second-best" and step.scaled for step in estimator.steps):
        yield resolve(f"{estimator.spec}:scale=none")
    if not any(step.takes_k and step.k is None for step in estimator.steps):
        yield estimator
        return
    smallest = frame.group_by(cf.GROUP).len()["len"].min()
    most = min(int(smallest), _MOST_K) if isinstance(smallest, int) else 1
    for k in range(2, most + 1):
        base = f"{estimator.framework}/{estimator.name}" if estimator.framework else estimator.name
        yield resolve(f"{base}:k={k}")


def bare(estimator: Estimator) -> Estimator:
    """What an estimator computes, without its names and without what changes nothing in it."""
    steps = tuple(step for step in map(_bare_step, estimator.steps) if step != _NOTHING)
    whiten = estimator.whiten and _bare_step(estimator.whiten)
    bared = replace(
        estimator, name="", title="", source="", fault="", framework="", given=(), steps=steps, whiten=whiten
    )
    return bared if estimator.over_group else replace(bared, singleton="zero")


_NOTHING = Step(subtract="none")


def _bare_step(step: Step) -> Step:
    if not step.softened:
        step = replace(step, eps=0.0)
    if not step.eps:
        step = replace(step, eps_mode="add")
    if not (step.scaled or step.divide == "std-and-mean"):
        step = replace(step, ddof=0, zero_up_to=-1.0)
    if not step.divide.startswith("batch-"):
        step = replace(step, lone_batch="keep")
    return step if step.over_batch else replace(step, weighting="rows")


@dataclass(frozen=True)
class Traits:
    """What a log has that conventions are about."""

    missing: bool
    singletons: bool

    @classmethod
    def of(cls, frame: pl.DataFrame, weights: Sequence[float]) -> Traits:
        """Those of a canonical frame."""
        scored = (
            pl.DataFrame([frame[cf.GROUP], rewards.total(frame, weights)])
            .group_by(cf.GROUP)
            .agg(pl.col(cf.REWARD).count())[cf.REWARD]
        )
        missing = any(frame[part].null_count() for part in cf.reward_parts(frame))
        return cls(missing, bool((scored < 2).any()))


def on_this_log(estimator: Estimator, traits: Traits) -> Estimator:
    """`bare`, without the conventions about rows and groups that the log has none of: then more are the same."""
    estimator = bare(estimator)
    if not traits.missing:
        estimator = replace(estimator, missing="null")
    if not traits.singletons:
        estimator = replace(estimator, singleton="zero")
    return estimator


def proportional(estimator: Estimator) -> bool:
    """Whether the advantages of a group, centred, are its centred rewards times one number."""
    shaped = estimator.clip or estimator.clip_after or estimator.threshold is not None or estimator.length_penalty
    if estimator.per_part or shaped:
        return False
    return not any(
        step.kernel or step.divide == "loo-std" or step.subtract in ("second-best", "field") or "ema" in step.subtract
        for step in estimator.chain
    )


def proportional_share(frame: pl.DataFrame, columns: Columns) -> float:
    """The share of groups whose logged advantages are their rewards times one number, both centred.

    A group of one, or one in which either does not vary, says nothing against it.
    """
    reward = rewards.total(with_rewards(frame, columns), weights_of(columns))
    rows = pl.DataFrame([frame[cf.GROUP], reward.alias("x"), frame[cf.LOGGED].alias("a")]).drop_nulls()
    if rows.is_empty():
        return 1.0
    sums = rows.group_by(cf.GROUP).agg(
        xx=pl.col("x").var(ddof=0), aa=pl.col("a").var(ddof=0), xa=pl.cov("x", "a", ddof=0)
    )
    xx, aa, xa = (pl.col(name).fill_null(0.0) for name in ("xx", "aa", "xa"))
    silent = (xx <= 1e-12) | (aa <= 1e-9)
    return float(sums.select((silent | ((xa > 0) & (xa * xa >= (1 - 1e-4) * xx * aa))).mean()).item())
