"""The unknowns of a formula read off a log: its eps, how large its weights are, the size of its groups, odd axes."""

from __future__ import annotations

import struct
from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from grpo_cli import frame as cf
from grpo_cli.core import rewards
from grpo_cli.core.chain import spelled
from grpo_cli.core.estimators import resolve
from grpo_cli.core.steps import advantages
from grpo_cli.core.verification import formulas, solve
from grpo_cli.errors import GrpoAdvError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from grpo_cli.core.chain import Estimator
    from grpo_cli.core.verification.formulas import Columns

SCALED = ("grpo:ddof=1", "grpo:ddof=0", "rloo:scale=group-std,ddof=1", "lite-ppo:ddof=1", "lite-ppo:ddof=0")
"""Formulas whose eps is solved for."""

_LARGEST_EPS = 0.01
_TOLD = 0.05
"""A group tells an eps where it gives it within this share."""
_APART = 0.01
"""Two stds are different where they are apart by more than this share."""


def rescaled(columns: Columns, sample: pl.DataFrame) -> Iterator[Columns]:
    """The weights as large as they must be where nothing is divided by."""
    chosen = formulas.with_rewards(sample, columns)
    for spec in ("dr-grpo:singleton=zero", "rloo:singleton=zero"):
        centred = advantages(chosen, resolve(spec), weights=formulas.weights_of(columns))
        both = pl.DataFrame({"x": centred, "a": sample[cf.LOGGED]}).drop_nulls()
        square = float((both["x"] * both["x"]).sum())
        scale = float((both["x"] * both["a"]).sum()) / square if square else 0.0
        if scale > 0 and abs(scale - 1) > 1e-4:
            yield tuple((at, solve.simple(weight * scale)) for at, weight in columns)


def eps_of(frame: pl.DataFrame, exact: Estimator, columns: Columns) -> float | None:
    """The eps with which `exact`, whose eps is 0, gives the logged advantages, as exactly as they are logged.

    One number can be fitted to any one std. So it must be as small as an eps is, be told by groups of two different
    stds, and leave nothing over: every row is met within the precision of the log.
    """
    weights = formulas.weights_of(columns)
    frame = formulas.with_rewards(frame, columns)
    try:
        centred = advantages(frame, replace(exact, steps=(replace(exact.steps[0], divide="none"),)), weights=weights)
        scaled = advantages(frame, exact, weights=weights)
    except GrpoAdvError:  # a group that these formulas refuse
        return None
    reward = rewards.total(frame, weights)
    rows = pl.DataFrame({"c": centred, "a": scaled, "logged": frame[cf.LOGGED], "reward": reward}).drop_nulls()
    rows = rows.filter((pl.col("a").abs() > 1e-3) & (pl.col("logged").abs() > 1e-6))
    if rows.is_empty():
        return None
    std = pl.col("c") / pl.col("a")
    found = rows.with_columns(std=std, eps=pl.col("c") / pl.col("logged") - std).sort("std")
    eps = found.head(max(3, found.height // 10))["eps"].median()
    floor = found["std"][0] * 3e-7
    if not isinstance(eps, float) or not floor < eps <= _LARGEST_EPS:
        return None
    eps = short_eps(eps) or eps
    told = found.filter((pl.col("eps") / eps - 1).abs() <= _TOLD)["std"]
    if told.is_empty() or told[-1] <= told[0] * (1 + _APART):
        return None
    # Rewards that are large beside their spread lose as many digits where they are centred.
    lost = 1 + pl.col("reward").abs() / pl.col("std")
    bound = _precision(frame[cf.LOGGED]) * lost * pl.max_horizontal(pl.lit(1.0), pl.col("logged").abs())
    met = (pl.col("logged") - pl.col("c") / (pl.col("std") + eps)).abs() <= bound
    return eps if found.select(met.all()).item() else None


def short_eps(eps: float) -> float | None:
    """The number of one or two digits that a solved eps is, 5e-05 or 0.0012; None where it is none."""
    for digits in (1, 2):
        short = float(f"{eps:.{digits}g}")
        if abs(short - eps) <= _TOLD / 5 * eps:
            return short
    return None


def _precision(logged: pl.Series) -> float:
    """How exact logged advantages are: 1e-6 where they are float32, or written with no more than its digits."""
    values = logged.drop_nulls().head(200).to_list()
    short = sum(_is_short(value) for value in values)
    return 1e-6 if 2 * short > len(values) else 1e-9


def _is_short(value: float) -> bool:
    return float(f"{value:.9g}") == value or struct.unpack("f", struct.pack("f", value))[0] == value


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
