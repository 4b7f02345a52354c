from __future__ import annotations

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from grpo_cli.core.histogram import histograms


def frame(groups: list[list[float | None]]) -> pl.DataFrame:
    numbers = [number for number, rewards in enumerate(groups) for _ in rewards]
    return pl.DataFrame(
        {
            "group": pl.Series(numbers, dtype=pl.UInt32),
            "batch": pl.Series([0] * len(numbers), dtype=pl.UInt32),
            "reward_0": pl.Series([reward for rewards in groups for reward in rewards], dtype=pl.Float64),
        }
    )


def test_bins_run_from_the_least_to_the_greatest_of_the_log():
    assert histograms(frame([[0, 1], [0.5, 0.49, None]]), bins=2).to_list() == [[1, 1], [1, 1]]
    assert histograms(frame([[-1, 1], [1, 1]])).to_list() == [[1, 1], [0, 2]]
    assert histograms(frame([[3, 3], [None]])).to_list() == [[2], [0]]
    assert histograms(frame([[None, None]])).to_list() == [[0]]
    assert histograms(frame([[-1.7e308, 1.7e308], [0.0]]), bins=2).to_list() == [[1, 1], [0, 1]]


def test_groups_may_be_pooled():
    assert histograms(frame([[0], [1], [1]]), by=pl.Series([0, 1, 0], dtype=pl.UInt32)).to_list() == [[1, 1], [0, 1]]


finite = st.floats(allow_nan=False, allow_infinity=False)


@given(st.lists(st.lists(st.none() | finite, min_size=1, max_size=5), min_size=1, max_size=5), st.integers(1, 9))
def test_every_reward_is_in_one_bin(groups, bins):
    counted = histograms(frame(groups), bins=bins).to_list()
    assert [sum(counts) for counts in counted] == [sum(reward is not None for reward in rewards) for rewards in groups]
    assert len({len(counts) for counts in counted}) == 1
    assert len(counted[0]) <= bins
