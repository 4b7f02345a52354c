"""What other group sizes would give: the expected share of informative groups, those that both pass and fail.

Up to the number of rollouts a group has, the chance is hypergeometric: a smaller group is a draw from what was
seen. A larger one is what was seen and some rollouts more, of which a beta-binomial number passes: the group's
pass rate is taken to be a draw from a beta distribution that is fitted to all groups by moments (Kleinman 1973,
JASA 68:46-54). That is an extrapolation.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Sequence

SIZES = (2, 4, 8, 16, 32, 64)

# A correlation of 0 or 1 has no beta distribution; these have, and give the same chances to 6 digits.
_LEAST, _MOST = 1e-9, 1 - 1e-9


class Beta(NamedTuple):
    """A beta distribution of pass rates."""

    a: float
    b: float


def informative_shares(groups: pl.DataFrame, sizes: Sequence[int] = SIZES) -> pl.DataFrame:
    """A row per size: the expected share of groups of that size with both a pass and a fail.

    Args:
        groups: a summary by group; groups without judged rollouts are left out.
        sizes: the group sizes.

    Returns:
        Columns `size`, `share`, `groups` (that it is over), `extrapolated` (how many of these have fewer judged
        rollouts than the size). The share is null where no group is judged, and where an extrapolation has
        nothing to go by, since every rollout passes or every one fails.
    """
    pairs = (
        groups.filter(pl.col("judged") > 0)
        .group_by("judged", "passed")
        .agg(pl.len().alias("groups"))
        .sort("judged", "passed")
        .rows()
    )
    beta = fitted_beta(pairs)
    whole = sum(count for _, _, count in pairs)
    rows = []
    for size in sizes:
        beyond = sum(count for n, _, count in pairs if size > n)
        share: float | None = None
        if pairs and (beta is not None or not beyond):
            share = math.fsum(count * chance_of_both(n, c, size, beta) for n, c, count in pairs) / whole
        rows.append((size, share, whole, beyond))
    schema = {"size": pl.Int64(), "share": pl.Float64(), "groups": pl.Int64(), "extrapolated": pl.Int64()}
    return pl.DataFrame(rows, schema, orient="row")


def chance_of_both(n: int, c: int, size: int, beta: Beta | None) -> float:
    """The chance that `size` rollouts of a prompt both pass and fail, where c of n passed.

    `beta` is needed where a size is above n and the n are all of one kind.
    """
    if size <= n:
        one_kind = math.comb(c, size) + math.comb(n - c, size)
        return (math.comb(n, size) - one_kind) / math.comb(n, size)
    if 0 < c < n:
        return 1.0
    assert beta is not None
    same, other = (beta.a, beta.b) if c else (beta.b, beta.a)
    return 1 - _all_of_one_kind(same + n, other, size - n)


def fitted_beta(pairs: Sequence[tuple[int, int, int]]) -> Beta | None:
    """The beta distribution of the groups' pass rates, by moments; None where all rollouts pass or all fail.

    `pairs` holds how many rollouts were judged, how many passed, and how many groups there are of that kind. A group
    weighs as many times as it has rollouts.
    """
    rollouts = sum(n * count for n, _, count in pairs)
    passed = sum(c * count for _, c, count in pairs)
    if not 0 < passed < rollouts:
        return None
    rate = passed / rollouts
    spread = math.fsum(count * n * (c / n - rate) ** 2 for n, c, count in pairs) / rollouts
    # What the spread would be at correlation 0 (pure chance), and at 1 (every group all of one kind).
    chance = rate * (1 - rate) * math.fsum(count * (1 - n / rollouts) for n, _, count in pairs) / rollouts
    kinds = rate * (1 - rate) * math.fsum(count * n * (1 - n / rollouts) for n, _, count in pairs) / rollouts
    correlation = (spread - chance) / (kinds - chance) if kinds > chance else 0.0
    correlation = min(max(correlation, _LEAST), _MOST)
    strength = (1 - correlation) / correlation
    return Beta(rate * strength, (1 - rate) * strength)


def _all_of_one_kind(a: float, b: float, more: int) -> float:
    """The chance that all of `more` rollouts pass under beta(a, b): B(a + more, b) / B(a, b)."""
    return math.exp(math.fsum(math.log((a + i) / (a + b + i)) for i in range(more)))
