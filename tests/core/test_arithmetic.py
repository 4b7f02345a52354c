"""One step over rows, with its pieces."""

from __future__ import annotations

import math

import polars as pl
import pytest

from grpo_cli.core.arithmetic import Rows, apply
from grpo_cli.core.chain import Step
from grpo_cli.core.moments import Partition


def rows(group, batch=None, *, singleton="zero", length=None):
    parts = (Partition(pl.Series(ids, dtype=pl.UInt32)) for ids in (group, batch or [0] * len(group)))
    return Rows(*parts, length=length, baseline=None, tolerance=0, singleton=singleton)


def series(values):
    return pl.Series("reward", values, dtype=pl.Float64)


def test_pieces_are_in_the_scale_of_the_rewards():
    done = apply(Step(divide="group-std", eps=0.5), series([10, 14, 3, 5]), rows([0, 0, 1, 1]), pieces=True)
    assert done.pieces.to_dict(as_series=False) == {
        "subtracted": [12, 12, 4, 4],
        "divided_by": [2.5, 2.5, 1.5, 1.5],
    }
    assert done.values.to_list() == pytest.approx([-0.8, 0.8, -1 / 1.5, 1 / 1.5])


def test_pieces_of_values_whose_difference_overflows():
    done = apply(Step(divide="group-std"), series([1.6e308, -1.6e308]), rows([0, 0]), pieces=True)
    assert done.values.to_list() == [1, -1]
    assert done.pieces["divided_by"].to_list() == pytest.approx([1.6e308] * 2)
    assert done.pieces["subtracted"].to_list() == [0, 0]


def test_the_mean_of_the_others_is_told_row_by_row():
    done = apply(Step(subtract="loo"), series([1, 2, 6]), rows([0, 0, 0]), pieces=True)
    assert done.pieces["subtracted"].to_list() == pytest.approx([4, 3.5, 1.5])


def test_another_std_than_that_of_the_centre():
    done = apply(Step(subtract="batch-mean", divide="group-std"), series([0, 2, 10, 10]), rows([0, 0, 1, 1]))
    assert done.values.to_list() == [-5.5, -3.5, 4.5, 4.5]  # a std of 0 leaves the second group undivided
    softened = apply(
        Step(subtract="batch-mean", divide="group-std", eps=0.5), series([0, 2, 10, 10]), rows([0, 0, 1, 1])
    )
    assert softened.values.to_list() == pytest.approx([-5.5 / 1.5, -3.5 / 1.5, 9, 9])


def test_a_small_std_is_no_std_where_a_framework_says_so():
    step = Step(divide="group-std", zero_up_to=1e-6)
    assert apply(step, series([0, 1e-6, 0, 1, 5]), rows([0, 0, 1, 1, 2])).values.to_list() == [0, 0, -1, 1, 0]
    batch = Step(subtract="batch-mean", divide="batch-std", zero_up_to=1e-6)
    assert apply(batch, series([0, 1, 7]), rows([0, 0, 1])).values[2] == 0


def test_a_batch_of_one_row_may_have_no_value():
    step = Step(subtract="none", divide="batch-std", lone_batch="null")
    assert apply(step, series([3, 1, 2]), rows([0, 1, 1], [0, 1, 1])).values.to_list() == [None, 2, 4]
    kept = Step(subtract="none", divide="batch-std")
    assert apply(kept, series([3, 1, 2]), rows([0, 1, 1], [0, 1, 1])).values.to_list() == [3, 2, 4]


def test_tokens_count_in_ddof():
    step = Step(subtract="batch-mean", divide="batch-std", ddof=1, weighting="tokens")
    done = apply(step, series([1, 0]), rows([0, 1], length=series([3, 1])))
    std = math.sqrt((3 * 0.0625 + 0.5625) / 3)
    assert done.values.to_list() == pytest.approx([0.25 / std, -0.75 / std])


@pytest.mark.parametrize(("singleton", "value"), [("zero", 0), ("reward", 5 / 1.5), ("null", None)])
def test_a_group_of_one(singleton, value):
    done = apply(Step(divide="group-std", eps=0.5), series([5, 0, 1]), rows([0, 1, 1], singleton=singleton))
    assert done.values[0] == (None if value is None else pytest.approx(value))
