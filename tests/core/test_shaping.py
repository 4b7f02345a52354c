"""What is done to rewards before a baseline is taken."""

from __future__ import annotations

import polars as pl
import pytest

from grpo_cli.core.estimators import resolve
from grpo_cli.core.steps import advantages


def of(rewards, spec, **columns):
    size = len(rewards)
    frame = pl.DataFrame(
        {"group": [0] * size, "batch": [0] * size, "reward_0": rewards, **columns},
        schema_overrides={"group": pl.UInt32, "batch": pl.UInt32, "reward_0": pl.Float64},
    )
    return advantages(frame, resolve(spec)).to_list()


def test_a_threshold_makes_rewards_binary():
    assert of([0.5, 0.6, 9.0, None], "raw:threshold=0.5") == [0, 1, 1, None]


def test_rewards_are_clipped_before_and_advantages_after():
    assert of([-3, 0, 3], "raw:clip=-1:2") == [-1, 0, 2]
    assert of([0, 0, 0, 9], "grpo:clip-after=-0.5:1.5") == [-0.5, -0.5, -0.5, 1.5]
    assert of([0, 0, 9], "dr-grpo:clip=0:3") == [-1, -1, 2]


def test_a_length_penalty_takes_a_share_of_the_mean():
    shaped = [1 - 0.5 * 0.2 * 10 / 20, 0 - 0.5 * 0.2 * 20 / 20]
    assert of([1, 0], "raw:length-penalty=0.2", length=[10.0, 20.0]) == pytest.approx(shaped)
    assert of([1, 0], "raw:length-penalty=0.2", length=[0.0, 0.0]) == [1, 0]
