import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grpo_cli.render.digits import aligned, number, percent, percents

FINITE = st.floats(allow_nan=False, allow_infinity=False)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.0, "0"),
        (-0.0, "0"),
        (1.0, "1"),
        (-0.5, "-0.5"),
        (0.004, "0.004"),
        (0.0001, "0.0001"),
        (0.00001, "1e-5"),
        (1e-9, "1e-9"),
        (1.2345678e-9, "1.235e-9"),
        (1.81, "1.81"),
        (math.sqrt(3), "1.732"),
        (2 / 3, "0.6667"),
        (99.996, "100"),
        (9999.96, "10000"),
        (36743.6, "36744"),
        (1234567.8, "1234568"),
        (1e7, "1e7"),
        (1e15, "1e15"),
        (5e-324, "4.941e-324"),
        (1.7976931348623157e308, "1.798e308"),
        (0.99999, "1"),
        (0.000099999, "0.0001"),
    ],
)
def test_a_number_has_four_significant_digits(value, shown):
    assert number(value) == shown


@given(FINITE)
def test_a_number_reads_back_within_half_of_its_fourth_digit(value):
    read = float(number(value)) if abs(value) < 1.797e308 else value
    assert math.isclose(read, value, rel_tol=5.001e-4, abs_tol=5e-324)
    assert (read == 0) == (value == 0)


def test_a_column_lines_up_its_decimal_points():
    assert aligned([0.004, 1.81, -0.5, 0.0, 36743.6, 1e-9, 1e15, None]) == [
        "0.004",
        "1.810",
        "-0.500",
        "0    ",
        "36744    ",
        "1e-9",
        "1e15",
        "",
    ]


def test_a_column_of_whole_numbers_has_no_decimals():
    assert aligned([1.0, 0.0, -3.0]) == ["1", "0", "-3"]


def test_a_column_has_as_many_decimals_as_one_of_its_numbers_needs():
    assert aligned([0.5, 0.25, 1.0]) == ["0.50", "0.25", "1.00"]
    assert aligned([0.5, 1 / 3]) == ["0.5000", "0.3333"]
    assert aligned([0.5, 1 / 3], zeros=False) == ["0.5   ", "0.3333"]


@given(st.lists(st.one_of(st.none(), FINITE), max_size=12), st.booleans())
def test_points_of_a_column_stand_under_one_another(values, zeros):
    cells = aligned(values, zeros=zeros)
    wide = max(map(len, cells), default=0)
    fixed = [cell.rjust(wide) for cell in cells if cell and "e" not in cell]
    assert len({cell.index(".") if "." in cell else len(cell.rstrip()) for cell in fixed}) <= 1
    for value, cell in zip(values, cells, strict=True):
        if value is None:
            assert not cell
        elif abs(value) < 1.797e308:
            assert math.isclose(float(cell), value, rel_tol=5.001e-4, abs_tol=5e-324)


@pytest.mark.parametrize(
    ("share", "decimals", "shown"),
    [
        (0.0, 0, "0 %"),
        (1.0, 0, "100 %"),
        (3 / 8, 0, "38 %"),
        (1 / 8, 0, "13 %"),
        (0.9999, 0, ">99 %"),
        (0.9999, 1, ">99.9 %"),
        (0.9994, 1, "99.9 %"),
        (1e-9, 0, "<1 %"),
        (1e-9, 1, "<0.1 %"),
        (0.29, 0, "29 %"),
        (1.5, 0, "150 %"),
    ],
)
def test_a_percentage_is_whole_only_where_it_is_exact(share, decimals, shown):
    assert percent(share, decimals) == shown


@given(st.floats(0, 1), st.integers(0, 2))
def test_only_nothing_is_0_percent_and_only_all_is_100_percent(share, decimals):
    shown = percent(share, decimals)
    assert (shown == "0 %") == (share == 0)
    assert (shown == "100 %") == (share == 1)
    assert not shown.startswith(("0.0 ", "100."))


def test_a_column_of_percentages_has_decimals_where_one_needs_them():
    assert percents([0.5, 0.29, None, 1.0]) == ["50 %", "29 %", "", "100 %"]
    assert percents([0.5, 0.375, 0.0, 1.0]) == ["50.0 %", "37.5 %", "0 %", "100 %"]
