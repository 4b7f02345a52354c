"""Each reward column by itself, and together with the others."""

from __future__ import annotations

import math

import polars as pl
import pytest

from grpo_cli.core.parts import reward_columns, reward_correlations
from grpo_cli.frame import check


def frame(groups: list[int], *parts: list[float | None], **more: pl.Series) -> pl.DataFrame:
    columns = {"group": pl.Series(groups, dtype=pl.UInt32), "batch": pl.Series([0] * len(groups), dtype=pl.UInt32)}
    columns |= {f"reward_{at}": pl.Series(part, dtype=pl.Float64) for at, part in enumerate(parts)}
    return check(pl.DataFrame(columns | more))


ESSAY = frame([0] * 4, [1, 1, 0, 0], [0, 40, 90, 170])


def test_who_decides_and_that_the_shares_add_to_one():
    table = reward_columns(ESSAY, ["correct", "len_score"])
    assert table["column"].to_list() == ["correct", "len_score"]
    assert table["variance_share"].to_list() == [
        pytest.approx(-0.006863547635539324),
        pytest.approx(1.0068635476355392),
    ]
    assert table["within_group_std"].to_list() == [0.5, pytest.approx(math.sqrt(4025))]


def test_weights_change_the_shares():
    table = reward_columns(ESSAY, ["correct", "len_score"], weights=[1.0, 0.0])
    assert table["variance_share"].to_list() == [pytest.approx(1.0), 0.0]
    assert table["weight"].to_list() == [1.0, 0.0]


def test_counts_and_constants():
    rows = frame([0, 0, 0, 0, 1, 1], [5, 5, 5, 5, -5, -5], [2] * 6, [None, None, 1, 0, None, None], [None] * 6)
    table = reward_columns(rows, ["task", "fmt", "rare", "never"])
    assert table.select("column", "count", "missing", "mean", "std", "mixed_share").rows() == [
        ("task", 6, 0, pytest.approx(5 / 3), pytest.approx(math.sqrt(200 / 9)), 0.0),
        ("fmt", 6, 0, 2.0, 0.0, 0.0),
        ("rare", 2, 4, 0.5, 0.5, 0.5),
        ("never", 0, 6, None, None, None),
    ]
    assert table["variance_share"].to_list() == [0.0, 0.0, pytest.approx(1.0), 0.0]
    assert table["sample_std"].to_list()[:2] == [pytest.approx(math.sqrt(200 / 9 * 6 / 5)), 0.0]


def test_no_shares_where_the_total_is_constant():
    table = reward_columns(frame([0, 0], [1, 0], [0, 1]), ["a", "b"])
    assert table["variance_share"].to_list() == [None, None]


def test_rollouts_that_are_not_scored_or_counted_twice():
    rows = frame([0, 0, 0], [1, 0, 9], [0, 1, 9], scored=pl.Series([True, True, False]))
    table = reward_columns(rows, ["a", "b"])
    assert table.select("count", "missing", "max").rows() == [(2, 0, 1.0), (2, 0, 1.0)]
    assert reward_correlations(rows, ["a", "b"])["b"].to_list() == [pytest.approx(-1.0), pytest.approx(1.0)]
    rows = frame([0, 0, 0], [1, 1, 0], rollout=pl.Series([1, 1, 2], dtype=pl.UInt32))
    assert reward_columns(rows, ["a"]).select("count", "mean").rows() == [(2, 0.5)]


def test_correlations_are_within_groups():
    # Over all rows the two go up together; inside each group they are opposites.
    rows = frame([0, 0, 1, 1], [0, 1, 10, 11], [1, 0, 11, 10], [3, 3, 3, 3])
    table = reward_correlations(rows, ["a", "b", "flat"])
    assert table.columns == ["column", "a", "b", "flat"]
    assert table.rows() == [
        ("a", pytest.approx(1.0), pytest.approx(-1.0), None),
        ("b", pytest.approx(-1.0), pytest.approx(1.0), None),
        ("flat", None, None, None),
    ]


def test_an_empty_log():
    assert reward_columns(frame([], []), ["a"]).select("count", "mean", "variance_share").rows() == [(0, None, None)]
