"""pass@k and PKPO advantages against their definition: counting sets."""

from __future__ import annotations

import math
from itertools import combinations

import polars as pl
import pytest

from grpo_cli.core import ksets
from grpo_cli.core.arithmetic import Rows
from grpo_cli.core.chain import Step
from grpo_cli.core.moments import Partition


def of(kernel, rewards, k, group=None):
    parts = (Partition(pl.Series(ids, dtype=pl.UInt32)) for ids in (group or [0] * len(rewards), [0] * len(rewards)))
    rows = Rows(*parts, length=None, baseline=None, tolerance=0, singleton="zero")
    return kernel(pl.Series("r", rewards, dtype=pl.Float64), Step(kernel="passk", k=k), rows).to_list()


def by_counting_sets(rewards, k):
    """The advantage of a row is the mean over the sets with it of (set has a hit - rho) / std."""
    sets = list(combinations(range(len(rewards)), k))
    passes = {s: max(rewards[i] for i in s) for s in sets}
    rho = sum(passes.values()) / len(sets)
    std = math.sqrt(rho * (1 - rho))
    result = []
    for i in range(len(rewards)):
        mine = [passes[s] for s in sets if i in s]
        result.append((sum(mine) / len(mine) - rho) / std if std else 0.0)
    return result


@pytest.mark.parametrize(
    "rewards", [[1, 0, 0, 0, 0, 0], [1, 1, 0, 0, 0, 0], [1, 1, 1, 0, 0], [0, 0, 0, 0], [1, 1, 1, 1]]
)
@pytest.mark.parametrize("k", [1, 2, 3])
def test_passk_is_what_counting_sets_gives(rewards, k):
    assert of(ksets.passk, rewards, k) == pytest.approx(by_counting_sets(rewards, k), abs=1e-12)


def test_missing_rows_are_in_no_set():
    assert of(ksets.passk, [1, None, 0, 0], 2)[1] is None
    assert of(ksets.passk, [1, None, 0, 0], 2)[0] == of(ksets.passk, [1, 0, 0], 2)[0]


def test_large_groups_need_no_large_numbers():
    result = of(ksets.passk, [1.0] * 3 + [0.0] * 4000, 64)
    assert all(math.isfinite(a) for a in result)
    assert sum(result) == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_the_code_of_maxrl_centres_credit_on_that_of_the_others(k):
    rewards = [1, 1, 0, 0, 0]
    credit = [r * math.comb(3, k - 1) / math.comb(4, k - 1) for r in rewards]
    expected = [c - (sum(credit) - c) / 4 for c in credit]
    assert of(ksets.pkpo_loo, rewards, k) == pytest.approx(expected, abs=1e-12)


def test_pkpo_takes_any_rewards_group_by_group():
    rewards, group = [-1, 0.5, 5, 2, 0.25], [0, 0, 1, 0, 0]
    expected = []
    own = [-1, 0.5, 2, 0.25]
    for i in range(4):
        total = sum(max(own[i], own[j]) - own[j] for j in range(4) if j != i)
        expected.append(total / math.comb(4, 2))
    result = of(ksets.pkpo, rewards, 2, group)
    assert [result[i] for i in (0, 1, 3, 4)] == pytest.approx(expected, abs=1e-12)
    assert result[2] is None


def test_pkpo_does_not_depend_on_an_offset():
    near, far = of(ksets.pkpo, [0, 1, 3, 7], 3), of(ksets.pkpo, [1e9, 1e9 + 1, 1e9 + 3, 1e9 + 7], 3)
    assert near == pytest.approx(far, abs=1e-12)
