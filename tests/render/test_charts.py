import math

from hypothesis import given
from hypothesis import strategies as st

from grpo_cli.render.charts import bar, histogram, spark
from grpo_cli.render.text import width

VALUES = st.lists(st.one_of(st.none(), st.floats(allow_nan=True, allow_infinity=True)), max_size=50)


def test_spark_has_eight_heights():
    assert spark(list(range(8))) == "▁▂▃▄▅▆▇█"
    assert spark(list(range(8)), unicode=False) == "_.-=+*%#"


def test_spark_leaves_a_gap_where_there_is_no_value():
    assert spark([0, None, 1, math.nan]) == "▁ █ "
    assert spark([None, None]) == "  "
    assert spark([]) == ""


def test_equal_values_are_bars_of_middle_height():
    assert spark([3, 3]) == "▄▄"
    assert spark([0, 0], lo=0, hi=1) == "▁▁"


def test_spark_averages_what_is_more_than_its_width():
    assert spark([0, 0, 0, 0, 8, 8, 8, 8], width=2) == "▁█"
    assert spark([0, 2, None, 8], width=2, lo=0, hi=8) == "▂█"


@given(VALUES, st.integers(1, 20))
def test_spark_takes_any_numbers_and_is_as_wide_as_asked(values, most):
    assert len(spark(values)) == len(values)
    assert len(spark(values, width=most)) == min(len(values), most)


def test_bar_has_eighths():
    assert bar(0.5, 4) == "██  "
    assert bar(0.5625, 2) == "█▏"
    assert bar(0, 3) == "   "
    assert bar(1, 3) == "███"
    assert bar(0.5, 4, unicode=False) == "##  "


def test_bar_is_neither_empty_nor_full_where_it_would_lie():
    assert bar(1e-9, 3) == "▏  "
    assert bar(1 - 1e-9, 3) == "██▉"
    assert bar(1e-9, 3, unicode=False) == "#  "
    assert bar(1 - 1e-9, 3, unicode=False) == "## "


@given(st.floats(allow_nan=True), st.integers(0, 30), st.booleans())
def test_bar_is_as_wide_as_asked(share, columns, unicode):
    assert width(bar(share, columns, unicode=unicode)) == columns


def test_histogram_shows_where_the_values_lie():
    assert histogram([0, 0, 0, 1], bins=4) == "█  ▃"
    assert histogram([5, 5], bins=3) == " █ "
    assert histogram([None]) == ""


@given(VALUES)
def test_histogram_takes_any_numbers(values):
    known = [v for v in values if v is not None and math.isfinite(v)]
    assert len(histogram(values, bins=10)) == (10 if known else 0)
