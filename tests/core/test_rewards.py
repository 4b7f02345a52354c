"""Several reward columns made one, and rows of one rollout counted once."""

from __future__ import annotations

import math
from fractions import Fraction

import polars as pl
import pytest

from grpo_cli.core import rewards
from grpo_cli.errors import RowError

TYPES = {"group": pl.UInt32, "batch": pl.UInt32, "rollout": pl.UInt32, "length": pl.Float64, "scored": pl.Boolean}


def frame(**columns):
    size = len(columns["reward_0"])
    columns = {"group": [0] * size, "batch": [0] * size} | columns
    types = TYPES | {name: pl.Float64 for name in columns if name.startswith("reward_")}
    return pl.DataFrame(columns, schema={name: types[name] for name in columns})


def test_parts_are_weighted_and_summed():
    both = frame(reward_0=[1.0, 0.0, -1.0], reward_1=[0.5, 0.5, 2.0])
    assert rewards.total(both, [1, 0.5]).to_list() == [1.25, 0.25, 0.0]
    assert rewards.total(both).to_list() == [1.5, 0.5, 1.0]


def test_a_missing_part_is_left_out_and_all_missing_is_missing():
    both = frame(reward_0=[1.0, None, None], reward_1=[None, 3.0, None])
    assert rewards.total(both, [1, 2]).to_list() == [1.0, 6.0, None]


def test_a_row_that_is_not_scored_has_no_reward():
    assert rewards.total(frame(reward_0=[1.0, 2.0, 3.0], scored=[True, False, None])).to_list() == [1.0, None, None]


@pytest.mark.parametrize("columns", [{"reward_0": [-0.0, 1.0]}, {"reward_0": [0.0, 1.0], "reward_1": [-0.0, 1.0]}])
def test_there_is_no_negative_zero(columns):
    total = rewards.total(frame(**columns), [-1.0] * len(columns))
    assert math.copysign(1, total[0]) == 1


def test_the_name_and_the_type():
    total = rewards.total(frame(reward_0=[1.0]))
    assert (total.name, total.dtype) == ("reward", pl.Float64)
    assert rewards.total(frame(reward_0=[])).to_list() == []


def test_a_sum_beyond_float64_is_an_error_that_names_the_row():
    both = frame(reward_0=[1.0, 1.7e308], reward_1=[1.0, 1.7e308])
    with pytest.raises(RowError, match="too large") as caught:
        rewards.total(both)
    assert caught.value.row == 1
    assert rewards.total(both, [0.5, 0.5])[1] == 1.7e308


def test_weights_must_fit_the_columns():
    with pytest.raises(ValueError, match="1 reward columns and 2 weights"):
        rewards.total(frame(reward_0=[1.0]), [1, 2])


def test_without_rollout_ids_every_row_counts():
    plain = frame(reward_0=[1.0, 2.0])
    assert rewards.one_row_per_rollout(plain) is plain
    assert rewards.rollout_numbers(plain).to_list() == [0, 1]


def test_a_rollout_of_several_rows_is_its_first():
    turns = frame(
        group=[0, 1, 0, 0, 1],
        rollout=[7, 7, 7, 8, None],
        reward_0=[1.0, 2.0, 1.0, 3.0, 2.0],
        length=[10.0, 1.0, 20.0, 5.0, 2.0],
        scored=[True, True, False, True, True],
    )
    once = rewards.one_row_per_rollout(turns)
    assert once["reward_0"].to_list() == [1.0, 2.0, 3.0, 2.0]
    assert once["length"].to_list() == [30.0, 1.0, 5.0, 2.0]
    assert once["scored"].to_list() == [False, True, True, True]
    assert rewards.over_rows(pl.Series([0.1, 0.2, 0.3, 0.4]), turns).to_list() == [0.1, 0.2, 0.1, 0.3, 0.4]


def test_rows_without_an_id_are_rollouts_of_their_own():
    loose = frame(rollout=[None, None, 1, 1], reward_0=[1.0, 2.0, 3.0, 3.0])
    assert rewards.one_row_per_rollout(loose)["reward_0"].to_list() == [1.0, 2.0, 3.0]


def test_a_length_that_is_not_known_in_one_row_is_not_known():
    turns = frame(rollout=[1, 1, 2], reward_0=[1.0, 1.0, 1.0], length=[10.0, None, 3.0])
    assert rewards.one_row_per_rollout(turns)["length"].to_list() == [None, 3.0]


@pytest.mark.parametrize(("other", "said"), [(2.0, "2.0 here, 1.0"), (None, "none here, 1.0")])
def test_unequal_rewards_of_one_rollout_are_an_error(other, said):
    turns = frame(rollout=[1, 2, 1], reward_0=[1.0, 5.0, other])
    with pytest.raises(RowError, match=said) as caught:
        rewards.one_row_per_rollout(turns)
    assert caught.value.row == 2


def test_the_residue_is_what_the_sum_lost():
    both = frame(reward_0=[1e16, 0.1, None, None, 1.0], reward_1=[0.3, 0.7, 0.3, None, 2.0])
    for weights in ([1.0, 1.0], [0.1, -0.7], [3.0, 0.1]):
        total = rewards.total(both, weights)
        residue = rewards.residue(both, total, weights)
        assert residue is not None
        for row in both.with_columns(total=total, residue=residue).iter_rows(named=True):
            exact = sum(Fraction(row[f"reward_{i}"] or 0) * Fraction(weights[i]) for i in (0, 1))
            lost = exact - Fraction(row["total"] or 0)
            assert float(lost) == pytest.approx(row["residue"], rel=1e-12, abs=0)


def test_there_is_no_residue_where_nothing_is_lost():
    assert rewards.residue(frame(reward_0=[0.1]), pl.Series([0.01]), [0.1]) is None
    both = frame(reward_0=[1.0, 2.0], reward_1=[0.5, 0.0])
    assert rewards.residue(both, rewards.total(both)) is None
    vast = frame(reward_0=[1.7e308], reward_1=[1.0])
    total = rewards.total(vast, [0.9, 1.0])
    assert rewards.residue(vast, total, [0.9, 1.0]) is None
