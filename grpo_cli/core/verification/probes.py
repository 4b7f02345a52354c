"""What would tell formulas apart that a log cannot: small made-up groups on which they differ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from grpo_cli.core.steps import advantages
from grpo_cli.core.verification.formulas import bare
from grpo_cli.errors import GrpoAdvError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grpo_cli.core.chain import Estimator

_APART = 1e-4


@dataclass(frozen=True)
class Separator:
    """A kind of group that a log lacks, and what the formulas give for it: each set of names with one result."""

    what: str
    rewards: tuple[float | None, ...]
    """The rewards of the group that is asked about."""
    results: list[tuple[list[str], list[float | None]]]


_MIXED = (1.0, 0.0, 0.0, 1.0)
_OTHER = (0.2, 0.9, 0.4, 0.7)

_PROBES: tuple[tuple[str, tuple[float | None, ...], tuple[float, ...]], ...] = (
    ("a group of one", (0.7,), ()),
    ("a group of another size", (1.0, 0.0, 0.0, 0.5, 0.25, 0.25), ()),
    ("rewards that differ by about 1e-4", (0.5, 0.5001, 0.5004, 0.5002), ()),
    ("rewards that differ by about 1e-6", (0.5, 0.500001, 0.500004, 0.500002), ()),
    ("rewards between 0 and 1", (0.1, 0.35, 0.8, 0.4), ()),
    ("negative rewards", (-1.0, 0.5, -2.0, 0.25), ()),
    ("a rollout without a reward", (1.0, None, 0.0, 0.5), ()),
    ("rollouts of unlike length", (1.0, 0.0, 0.5, 0.0), (9.0, 2.0, 4.0, 1.0)),
)
"""What it is, the rewards of the group, and the lengths of its rollouts where they matter."""


def separators(estimators: Sequence[Estimator]) -> list[Separator]:
    """The groups that would tell `estimators` apart: for each kind of group on which two of them differ, the results.

    A kind that tells no more than those before it is left out.
    """
    apart: dict[Estimator, list[str]] = {}
    for estimator in estimators:
        apart.setdefault(bare(estimator), []).append(estimator.spec)
    found: list[Separator] = []
    classes = [list(apart)]
    for what, rewards, lengths in _PROBES:
        frame = _frame(rewards, lengths)
        results = {one: _result(one, frame, len(rewards)) for one in apart}
        split = [part for together in classes for part in _parted(together, results)]
        if len(split) > len(classes):
            classes = split
            told = [
                ([name for one in part for name in apart[one]], results[part[0]])
                for part in _parted(list(apart), results)
            ]
            found.append(Separator(what, rewards, told))
    return found


def _parted(together: list[Estimator], results: dict[Estimator, list[float | None]]) -> list[list[Estimator]]:
    parts: list[list[Estimator]] = []
    for one in together:
        for part in parts:
            if _same(results[one], results[part[0]]):
                part.append(one)
                break
        else:
            parts.append([one])
    return parts


def _same(one: list[float | None], other: list[float | None]) -> bool:
    return all(
        (a is None and b is None) or (a is not None and b is not None and abs(a - b) <= _APART)
        for a, b in zip(one, other, strict=True)
    )


def _result(estimator: Estimator, frame: pl.DataFrame, count: int) -> list[float | None]:
    try:
        return advantages(frame, estimator).tail(count).to_list()
    except GrpoAdvError:
        return [None] * count


def _frame(rewards: tuple[float | None, ...], lengths: tuple[float, ...]) -> pl.DataFrame:
    """Two ordinary groups and the one that is asked about, in one batch."""
    groups = [0] * len(_MIXED) + [1] * len(_OTHER) + [2] * len(rewards)
    every = (*_MIXED, *_OTHER, *rewards)
    length = [3.0] * (len(every) - len(lengths)) + list(lengths)
    return pl.DataFrame(
        {
            "group": groups,
            "batch": [0] * len(every),
            "reward_0": every,
            "length": length,
            "baseline": [0.5] * len(every),
        },
        schema={"group": pl.UInt32, "batch": pl.UInt32, "reward_0": pl.Float64, "length": pl.Float64}
        | {"baseline": pl.Float64},
    )
