"""Which reward columns, with which weights, lie behind logged advantages: least squares inside the groups.

Whatever an estimator subtracts and divides by for a whole group, the centred advantages of the group stay proportional
to its centred rewards. So the weights w of the reward columns X are those for which, in every group, X w points the
same way as A: the part of X w across A is zero. Summed over the groups this is w' M w = 0 with one small matrix M.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

MOST_COLUMNS = 12
"""How many columns are combined; more are taken alone."""
LARGEST_SET = 4
"""How many columns a set that is tried may have."""

_ZERO = 1e-7  # share of a column set's spread that may lie across the advantages: float32, or four decimals
_GROUPS_LEFT_OUT = 60
_ROWS = 4000

Weights = dict[int, float]
"""Column number -> weight; the largest is 1."""

Matrix = list[list[float]]


@dataclass(frozen=True)
class _Group:
    """What one group says: the scatter of its columns across its advantages, their whole scatter, and A'X."""

    across: Matrix
    whole: Matrix
    along: list[float]
    equations: int


def weights(logged: pl.Series, columns: Sequence[pl.Series], part: pl.Series) -> Iterator[Weights]:
    """Sets of columns with weights whose sum is proportional to `logged` in each part, the smallest sets first.

    Args:
        logged: the advantages.
        columns: what may be summed, the likeliest first; a missing value counts as 0.
        part: the number of the group, or of the batch, that each row is in.

    A column that never varies inside a part cannot be told, and is in no set. One odd part is put up with.
    """
    groups = _groups(logged, columns[:MOST_COLUMNS], part) if columns else []
    if not groups:
        return
    size = len(groups[0].along)
    whole = _sum([group.whole for group in groups])
    usable = _independent(whole, [at for at in range(size) if whole[at][at] > 0])
    equations = sum(group.equations for group in groups)
    found = False
    for left_out in (None, *range(min(len(groups), _GROUPS_LEFT_OUT))):
        kept = [group for at, group in enumerate(groups) if at != left_out]
        if found or not kept:
            return
        across = _sum([group.across for group in kept])
        whole = _sum([group.whole for group in kept])
        along = [sum(group.along[at] for group in kept) for at in range(size)]
        for chosen in _sets(usable):
            if equations < len(chosen) - 1 or any(whole[at][at] <= 0 for at in chosen):
                continue
            solution = _solution(across, whole, along, chosen)
            if solution is not None and (equations >= len(chosen) or _is_plain(solution)):
                found = True
                yield solution


def _sets(columns: Sequence[int]) -> Iterator[tuple[int, ...]]:
    for size in range(1, min(LARGEST_SET, len(columns)) + 1):
        yield from combinations(columns, size)
    if len(columns) > LARGEST_SET:
        yield tuple(columns)


def _groups(logged: pl.Series, columns: Sequence[pl.Series], part: pl.Series) -> list[_Group]:
    names = [f"x{at}" for at in range(len(columns))]
    table = pl.DataFrame([part.alias("part"), logged.alias("a")]).hstack(
        [column.fill_null(0.0).alias(name) for name, column in zip(names, columns, strict=True)]
    )
    known = pl.any_horizontal(pl.lit(column.is_not_null()) for column in columns)
    table = table.filter(known & pl.col("a").is_not_null()).head(_ROWS)
    found = []
    for rows in table.partition_by("part", maintain_order=True):
        x = [_centred(rows[name].to_list()) for name in names]
        a = _centred(rows["a"].to_list())
        if len(a) > 1:
            found.append(_group(a, x))
    return found


def _group(a: list[float], x: list[list[float]]) -> _Group:
    whole = [[_dot(one, other) for other in x] for one in x]
    along = [_dot(a, one) for one in x]
    length = _dot(a, a)
    if math.sqrt(length / len(a)) < 1e-6:  # constant advantages, by rule or by rounding: they say too little
        empty = [[0.0] * len(x) for _ in x]
        return _Group(empty, empty, [0.0] * len(x), 0)
    across = [[whole[i][j] - along[i] * along[j] / length for j in range(len(x))] for i in range(len(x))]
    return _Group(across, whole, along, len(a) - 2)


def _solution(across: Matrix, whole: Matrix, along: list[float], chosen: tuple[int, ...]) -> Weights | None:
    scale = [1.0 / math.sqrt(whole[at][at]) for at in chosen]
    matrix = [[across[i][j] * scale[m] * scale[n] for n, j in enumerate(chosen)] for m, i in enumerate(chosen)]
    value, vector = least_eigenvector(matrix)
    if value > _ZERO or any(abs(entry) < 1e-6 for entry in vector):
        return None
    raw = [entry * factor for entry, factor in zip(vector, scale, strict=True)]
    # The same way, not the opposite one.
    sign = 1.0 if sum(along[at] * entry for at, entry in zip(chosen, raw, strict=True)) >= 0 else -1.0
    largest = max(map(abs, raw))
    return {at: sign * entry / largest for at, entry in zip(chosen, raw, strict=True)}


def _is_plain(solution: Weights) -> bool:
    """Whether the weights are plain decimals: then even as many unknowns as equations are no chance."""
    return all(abs(weight - round(weight, 2)) < 1e-5 for weight in solution.values())


def _independent(whole: Matrix, columns: Sequence[int]) -> list[int]:
    """The columns without those that are a sum of earlier ones: a total beside its parts says nothing new."""
    kept: list[int] = []
    for column in columns:
        chosen = [*kept, column]
        scale = [1.0 / math.sqrt(whole[at][at]) for at in chosen]
        matrix = [[whole[i][j] * scale[m] * scale[n] for n, j in enumerate(chosen)] for m, i in enumerate(chosen)]
        if least_eigenvector(matrix)[0] > 1e-9:
            kept.append(column)
    return kept


def least_eigenvector(matrix: Matrix) -> tuple[float, list[float]]:
    """The least eigenvalue of a small symmetric matrix and its vector, by Jacobi's rotations."""
    size = len(matrix)
    a = [list(row) for row in matrix]
    v = [[float(i == j) for j in range(size)] for i in range(size)]
    for _ in range(60):
        off = sum(a[i][j] ** 2 for i in range(size) for j in range(size) if i != j)
        if off < 1e-30:
            break
        for p in range(size - 1):
            for q in range(p + 1, size):
                _rotate(a, v, p, q)
    least = min(range(size), key=lambda at: a[at][at])
    return a[least][least], [row[least] for row in v]


def _rotate(a: Matrix, v: Matrix, p: int, q: int) -> None:
    if a[p][q] == 0:
        return
    theta = (a[q][q] - a[p][p]) / (2 * a[p][q])
    t = math.copysign(1.0, theta) / (abs(theta) + math.hypot(theta, 1.0))
    c = 1 / math.hypot(t, 1.0)
    s = t * c
    for row in a:
        row[p], row[q] = c * row[p] - s * row[q], s * row[p] + c * row[q]
    a[p], a[q] = (
        [c * x - s * y for x, y in zip(a[p], a[q], strict=True)],
        [s * x + c * y for x, y in zip(a[p], a[q], strict=True)],
    )
    for row in v:
        row[p], row[q] = c * row[p] - s * row[q], s * row[p] + c * row[q]


def _sum(matrices: Sequence[Matrix]) -> Matrix:
    size = len(matrices[0])
    return [[sum(matrix[i][j] for matrix in matrices) for j in range(size)] for i in range(size)]


def _centred(values: list[float]) -> list[float]:
    mean = math.fsum(values) / len(values)
    return [value - mean for value in values]


def _dot(x: Sequence[float], y: Sequence[float]) -> float:
    return math.fsum(a * b for a, b in zip(x, y, strict=True))


def simple(number: float, tolerance: float = 1e-4) -> float:
    """The shortest number within the relative tolerance: 0.49999997 is 0.5, 0.33334 is 0.3333."""
    for digits in range(1, 8):
        short = float(f"{number:.{digits}g}")
        if abs(short - number) <= tolerance * abs(number):
            return short
    return number
