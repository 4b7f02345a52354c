"""Group statistics against exact fractions, and every status by the rule of its name."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from grpo_cli.core import groups
from grpo_cli.frame import check


def frame(rewards: dict[str, list[float | None]], batches: list[int] | None = None, **more: Any) -> pl.DataFrame:
    """A canonical frame: a group per entry, in order; `more` are whole columns."""
    ids = [number for number, values in enumerate(rewards.values()) for _ in values]
    values = [value for values in rewards.values() for value in values]
    columns = {
        "group": pl.Series(ids, dtype=pl.UInt32),
        "batch": pl.Series([(batches or [0] * len(rewards))[i] for i in ids], dtype=pl.UInt32),
        "reward_0": pl.Series(values, dtype=pl.Float64),
    }
    return check(pl.DataFrame(columns | more))


def one(*rewards: float | None, **options: Any) -> dict[str, Any]:
    """The summary of one group."""
    return groups.summary(frame({"g": list(rewards)}), **options).row(0, named=True)


def statuses(table: pl.DataFrame) -> list[str]:
    return table["status"].to_list()


def test_a_row_per_group_with_the_documented_columns_and_types():
    table = groups.summary(frame({"a": [0, 1, 0, 0], "b": [1, 1]}, batches=[0, 1]))
    assert dict(table.schema) == {
        "group": pl.UInt32,
        "batch": pl.UInt32,
        "n": pl.Int64,
        "scored": pl.Int64,
        "mean": pl.Float64,
        "std": pl.Float64,
        "sample_std": pl.Float64,
        "min": pl.Float64,
        "max": pl.Float64,
        "judged": pl.Int64,
        "passed": pl.Int64,
        "pass_rate": pl.Float64,
        "status": pl.String,
    }
    assert table.rows() == [
        (0, 0, 4, 4, 0.25, pytest.approx(math.sqrt(3) / 4, abs=1e-15), 0.5, 0.0, 1.0, 4, 1, 0.25, "mixed"),
        (1, 1, 2, 2, 1.0, 0.0, 0.0, 1.0, 1.0, 2, 2, 1.0, "all-pass"),
    ]


def test_an_empty_frame_gives_an_empty_table_with_the_same_columns():
    empty = frame({})
    assert groups.summary(empty).schema == groups.summary(frame({"a": [1.0]})).schema
    assert len(groups.summary(empty)) == 0
    assert groups.account(groups.summary(empty))["group_share"].to_list() == [None] * 6


@pytest.mark.parametrize(
    ("rewards", "mean", "std", "sample_std"),
    [
        ([1, 0, 1, 0, 1, 0, 1, 0], 0.5, 0.5, 0.5345224838248488),
        ([2, 2, 5], 3.0, math.sqrt(2), math.sqrt(3)),
        ([1, 2, 3, 4], 2.5, math.sqrt(1.25), 1.2909944487358056),
        ([0, 10, 0, 2], 3.0, math.sqrt(17), 4.760952285695233),
        ([0.8, 0.80001], 0.800005, 4.999999999977245e-06, 4.999999999977245e-06 * math.sqrt(2)),
        ([0.7], 0.7, 0.0, None),
        ([1.0, None, 0.0, 0.0], 1 / 3, math.sqrt(2) / 3, 1 / math.sqrt(3)),
    ],
)
def test_means_and_both_stds(rewards, mean, std, sample_std):
    row = one(*rewards)
    assert row["mean"] == pytest.approx(mean, rel=1e-15)
    assert row["std"] == pytest.approx(std, rel=1e-12)
    assert row["sample_std"] == (sample_std if sample_std is None else pytest.approx(sample_std, rel=1e-12))


@pytest.mark.parametrize(
    ("value", "times"), [(0.1, 3), (0.1, 6), (0.7, 7), (1 / 3, 8), (1.81, 1448), (36743.6, 10), (-0.3, 1201)]
)
def test_the_mean_of_equal_rewards_is_that_reward(value, times):
    row = one(*[value] * times)
    assert (row["mean"], row["std"], row["sample_std"]) == (value, 0.0, 0.0)
    assert row["status"] == "tied"


rewards_of_any_size = st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=9)
rewards_far_from_zero = st.builds(
    lambda offset, parts: [offset + part for part in parts],
    st.sampled_from([0.0, 1e6, -1e6, 1e12, 1e15]),
    st.lists(st.sampled_from([0.0, 0.1, 0.5, 1.0, 3.0]), min_size=1, max_size=9),
)


@settings(max_examples=150, deadline=None)
@given(st.lists(rewards_of_any_size | rewards_far_from_zero, min_size=1, max_size=4), st.randoms())
@example([[1.7e308, -1.7e308, 0.0], [1.0]], None)
@example([[5e-324, 0.0, 0.0]], None)
@example([[1e200, 0.0], [1e-200, 0.0, 3e-200]], None)
def test_equal_to_exact_fractions_whatever_the_order(lists, random):
    rows = frame({str(i): values for i, values in enumerate(lists)})
    if random is not None:
        order = list(range(len(rows)))
        random.shuffle(order)
        rows = rows[order]
    for values, row in zip(lists, groups.summary(rows).iter_rows(named=True), strict=True):
        exact = [Fraction(value) for value in values]
        mean = sum(exact) / len(exact)
        spread = max(exact) - min(exact)
        assert (row["min"], row["max"]) == (min(values), max(values))
        allowed = spread / 10**12 + abs(mean) / 2**52 + Fraction(5e-324)
        assert abs(Fraction(row["mean"]) - mean) <= allowed
        variance = sum((value - mean) ** 2 for value in exact) / len(exact)
        if spread > Fraction(1e-300):
            assert abs(Fraction(row["std"]) ** 2 - variance) <= variance * Fraction(2e-12)
        assert row["min"] <= row["mean"] <= row["max"]


def test_a_std_beyond_float64_is_null_and_never_infinite():
    row = one(1.79e308, -1.79e308)
    assert row["mean"] == 0.0
    assert row["std"] == 1.79e308
    assert row["sample_std"] is None


def test_minus_zero_is_zero():
    row = one(-0.0, 0.0)
    assert [math.copysign(1, row[name]) for name in ("mean", "std", "min", "max")] == [1.0] * 4
    assert row["status"] == "all-fail"


@pytest.mark.parametrize("rows", [2, 1200])
def test_unscored_groups_are_null_at_any_size(rows):
    row = one(*[None] * rows)
    assert row["n"] == rows
    assert row["scored"] == 0
    assert row["status"] == "unscored"
    assert [row[name] for name in ("mean", "std", "sample_std", "min", "max", "passed", "pass_rate")] == [None] * 7


def test_rows_that_are_not_scored_count_as_rollouts_only():
    rows = frame({"a": [1.0, 0.0, 0.0]}, scored=pl.Series([False, True, True]))
    row = groups.summary(rows).row(0, named=True)
    assert (row["n"], row["scored"], row["mean"], row["passed"], row["status"]) == (3, 2, 0.0, 0, "all-fail")


@pytest.mark.parametrize(
    ("rewards", "options", "status"),
    [
        ([1, 0], {}, "mixed"),
        ([1, 1], {}, "all-pass"),
        ([0, 0], {}, "all-fail"),
        ([-1, -1, None], {}, "all-fail"),
        ([0.5, 0.5], {}, "tied"),
        ([0.5, 0.5], {"pass_threshold": 0.5}, "all-pass"),
        ([0.5, 0.5], {"pass_threshold": 0.6}, "all-fail"),
        ([0.7], {}, "singleton"),
        ([1, None], {}, "singleton"),
        ([None, None], {}, "unscored"),
        ([0.3, 0.1 + 0.2], {}, "tied"),
        ([0.3, 0.1 + 0.2], {"tolerance": 0}, "mixed"),
        ([0.8, 0.80001], {}, "mixed"),
        ([1000.0, 1000.0004], {}, "tied"),
        ([1000.0, 1000.0006], {}, "mixed"),
        ([-1000.0, -1000.0004], {}, "tied"),
        ([0.0, 1e-8], {}, "tied"),
        ([0.0, 1.1e-8], {}, "mixed"),
        ([0.0, 5e-324], {"tolerance": 0}, "mixed"),
        ([2.0, 3.0], {"tolerance": 0.5}, "tied"),
        ([1e308, -1e308], {}, "mixed"),
        # Within the tolerance, but on both sides of the threshold: neither all pass nor all fail.
        ([1.0, 1 - 1e-7], {"pass_threshold": 1.0}, "tied"),
    ],
)
def test_the_status_of_a_group(rewards, options, status):
    assert one(*rewards, **options)["status"] == status


@pytest.mark.parametrize(
    ("rewards", "threshold"),
    [
        ([0, 1, None], 1.0),
        ([-1, 1, -1], 1.0),
        ([1, 1], 1.0),
        ([0, 0], 1.0),
        ([-1], 1.0),
        ([-1, 0, 1], None),
        ([0, 0.5, 1], None),
        ([0, 1, 2], None),
        ([None], None),
    ],
)
def test_a_pass_threshold_is_known_where_the_rewards_are_plain_marks(rewards, threshold):
    assert groups.pass_threshold_of(frame({"a": rewards})) == threshold
    assert one(*rewards)["judged"] == (None if threshold is None else sum(r is not None for r in rewards))


def test_the_threshold_is_of_the_weighted_total():
    rows = frame({"a": [1.0, 0.0]}).with_columns(reward_1=pl.lit(1.0))
    assert groups.pass_threshold_of(rows, [0.5, 0.0]) is None
    assert groups.pass_threshold_of(rows, [1.0, 0.0]) == 1.0
    assert groups.summary(rows, weights=[0.5, 1.0])["mean"].to_list() == [1.25]


def test_an_outcome_column_says_who_passed():
    rows = frame(
        {
            "wrong": [-0.1, -0.4],
            "some": [0.9, -0.2],
            "unknown": [0.5, 0.5],
            "right": [0.5, 0.5],
            "tie": [0.2, 0.2],
        },
        outcome=pl.Series([False, False, True, False, None, None, True, True, True, False]),
    )
    table = groups.summary(rows, pass_threshold=0.0)
    assert table["passed"].to_list() == [0, 1, 0, 2, 1]
    assert table["pass_rate"].to_list() == [0.0, 0.5, None, 1.0, 0.5]
    assert statuses(table) == ["mixed", "mixed", "tied", "all-pass", "tied"]
    assert table.filter(groups.is_phantom())["group"].to_list() == [0]


def test_an_outcome_without_a_reward_is_not_judged():
    rows = frame({"a": [1.0, 0.0, None]}, outcome=pl.Series([True, None, False]))
    row = groups.summary(rows).row(0, named=True)
    assert (row["scored"], row["judged"], row["passed"], row["pass_rate"]) == (2, 1, 1, 1.0)


def test_rows_of_one_rollout_count_once():
    rows = frame(
        {"deal": [1, 1, 1, 0], "trip": [0.25, 0.75, 0.75]},
        rollout=pl.Series([1, 1, 1, 2, 3, 4, 4], dtype=pl.UInt32),
    )
    table = groups.summary(rows)
    assert table["n"].to_list() == [2, 2]
    assert table["mean"].to_list() == [0.5, 0.5]


def test_interleaved_groups_and_numbers_that_are_not_dense():
    rows = pl.DataFrame(
        {
            "group": pl.Series([7, 2, 7, 2, 7], dtype=pl.UInt32),
            "batch": pl.Series([1, 0, 1, 0, 1], dtype=pl.UInt32),
            "reward_0": [1.0, 5.0, 0.0, 5.0, 2.0],
        }
    )
    table = groups.summary(rows)
    assert table["group"].to_list() == [2, 7]
    assert table["batch"].to_list() == [0, 1]
    assert table["n"].to_list() == [2, 3]
    assert table["mean"].to_list() == [5.0, 1.0]


def test_by_batch_pools_the_rewards_and_counts_the_groups():
    rows = frame(
        {"a": [7, 7, 7, 7], "b": [-3, -3, -3, -3], "c": [1, 0], "d": [1.0], "e": [None]},
        batches=[0, 0, 1, 1, 1],
    )
    first, second = groups.summary(rows, by="batch").rows(named=True)
    assert (first["batch"], first["groups"], first["n"], first["mean"]) == (0, 2, 8, 2.0)
    assert first["sample_std"] == pytest.approx(5.345224838248488, rel=1e-12)
    assert first["within_group_std"] == 0.0
    assert first["tied"] == 2
    assert (second["groups"], second["n"], second["scored"]) == (3, 4, 3)
    assert second["within_group_std"] == 0.5, "a lone reward has no spread to average"
    assert [second[name] for name in groups.COUNTS.values()] == [1, 0, 0, 0, 1, 1]


def test_by_prompt_follows_a_prompt_through_the_run():
    rows = frame({"p@1": [0, 0], "q@1": [1, 0], "p@2": [1, 1], "q@2": [1, 1]}, batches=[0, 0, 1, 1])
    prompts = pl.Series("prompt", [0, 1, 0, 1], dtype=pl.UInt32)
    table = groups.summary(rows, by=prompts)
    assert table.columns[:2] == ["prompt", "groups"]
    assert table.select("prompt", "groups", "n", "passed", "pass_rate", "status", "all_pass", "all_fail").rows() == [
        (0, 2, 4, 2, 0.5, "mixed", 1, 1),
        (1, 2, 4, 3, 0.75, "mixed", 1, 0),
    ]


def test_the_account_has_a_row_for_every_status():
    rows = frame({"a": [1, 0], "b": [1, 1, 1], "c": [0, 0], "d": [1], "e": [None, None]})
    assert groups.account(groups.summary(rows)).rows() == [
        ("mixed", 1, 2, 0.2, 0.2),
        ("all-pass", 1, 3, 0.2, 0.3),
        ("all-fail", 1, 2, 0.2, 0.2),
        ("tied", 0, 0, 0.0, 0.0),
        ("singleton", 1, 1, 0.2, 0.1),
        ("unscored", 1, 2, 0.2, 0.2),
    ]


def test_nearly_constant_is_within_the_tolerance_but_not_equal():
    table = groups.summary(frame({"a": [0.3, 0.1 + 0.2], "b": [0.3, 0.3], "c": [0.3, 0.4]}))
    assert table.filter(groups.is_nearly_constant())["group"].to_list() == [0]
    assert table.filter(groups.is_zero_variance())["group"].to_list() == [0, 1]
