from __future__ import annotations

import random

import polars as pl
import pytest

from grpo_cli.core.verification import solve


def series(values):
    return pl.Series(values, dtype=pl.Float64)


def groups(count, size, seed=1):
    rng = random.Random(seed)
    part = pl.Series([g for g in range(count) for _ in range(size)], dtype=pl.UInt32)
    columns = [series([rng.random() for _ in range(count * size)]) for _ in range(3)]
    return part, columns


def centred_and_scaled(part, values, ddof=1, eps=1e-4):
    table = pl.DataFrame({"g": part, "x": values})
    x = pl.col("x")
    return table.select((x - x.mean().over("g")) / (x.std(ddof=ddof).over("g") + eps)).to_series()


@pytest.mark.parametrize("weights", [(1.0, 0.5, 0.0), (0.25, 1.0, 0.0), (1.0, -0.5, 0.25), (0.0, 0.0, 1.0)])
def test_weights_come_back_up_to_scale(weights):
    part, columns = groups(6, 5)
    total = sum((column * weight for column, weight in zip(columns, weights, strict=True)), series([0.0] * 30))
    logged = centred_and_scaled(part, total).cast(pl.Float32).cast(pl.Float64)
    found = next(solve.weights(logged, columns, part))
    assert found == pytest.approx({at: weight for at, weight in enumerate(weights) if weight}, abs=1e-5)


def test_one_spoiled_group_is_put_up_with():
    part, columns = groups(6, 5)
    logged = centred_and_scaled(part, columns[0] + 0.5 * columns[1]).to_list()
    logged[7] += 0.01
    assert next(solve.weights(series(logged), columns, part)) == pytest.approx({0: 1.0, 1: 0.5}, abs=1e-9)


def test_nothing_comes_of_what_is_no_sum():
    part, columns = groups(8, 6)
    assert list(solve.weights(columns[2], columns[:2], part)) == []
    assert list(solve.weights(series([0.0] * 48), columns, part)) == []
    assert list(solve.weights(columns[0], [], part)) == []


def test_a_constant_column_and_a_copy_are_in_no_set():
    part, columns = groups(6, 5)
    logged = centred_and_scaled(part, columns[0] + 0.5 * columns[1])
    found = list(solve.weights(logged, [series([1.0] * 30), columns[0], columns[0], columns[1]], part))
    assert found == [pytest.approx({1: 1.0, 3: 0.5}, abs=1e-9)]


def test_a_missing_part_counts_as_nothing():
    part, columns = groups(4, 5)
    holes = pl.Series([None if row < 5 else value for row, value in enumerate(columns[1])], dtype=pl.Float64)
    logged = centred_and_scaled(part, columns[0] + 0.5 * holes.fill_null(0.0))
    assert next(solve.weights(logged, [columns[0], holes], part)) == pytest.approx({0: 1.0, 1: 0.5}, abs=1e-9)


def test_eigenvector_of_a_known_matrix():
    value, vector = solve.least_eigenvector([[2.0, 1.0], [1.0, 2.0]])
    assert value == pytest.approx(1.0)
    assert vector[0] == pytest.approx(-vector[1])
    assert solve.least_eigenvector([[5.0, 0.0, 0.0], [0.0, -1.0, 0.0], [0.0, 0.0, 2.0]])[0] == -1.0


@pytest.mark.parametrize(
    ("number", "text"), [(0.49999997, 0.5), (0.33333, 0.3333), (1.0000001e-4, 1e-4), (0.123456, 0.12346), (-2.0, -2.0)]
)
def test_the_shortest_number_nearby(number, text):
    assert solve.simple(number) == text
