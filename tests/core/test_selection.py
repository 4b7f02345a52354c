"""Which groups are kept, and why the others are not."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grpo_cli.core.groups import summary
from grpo_cli.core.selection import PassRates, Selection, reasons, select, statuses_of
from grpo_cli.errors import UsageError
from grpo_cli.frame import Status, check


def groups(*rewards: list[float | None]) -> pl.DataFrame:
    ids = [number for number, values in enumerate(rewards) for _ in values]
    return summary(
        check(
            pl.DataFrame(
                {
                    "group": pl.Series(ids, dtype=pl.UInt32),
                    "batch": pl.Series([0] * len(ids), dtype=pl.UInt32),
                    "reward_0": pl.Series([value for values in rewards for value in values], dtype=pl.Float64),
                }
            )
        )
    )


def of_ten(passed: int) -> list[float | None]:
    return [1.0] * passed + [0.0] * (10 - passed)


def kept(table: pl.DataFrame, **rules) -> list[int]:
    return select(table, Selection(**rules)).filter("kept")["group"].to_list()


EVERY = groups([1, 0], [1, 1], [0, 0], [1], [None, None])


@pytest.mark.parametrize(
    ("rules", "left"),
    [
        ({}, [0, 1, 2, 3, 4]),
        ({"keep": (Status.MIXED,)}, [0]),
        ({"keep": (Status.MIXED, Status.SINGLETON)}, [0, 3]),
        ({"drop": (Status.ALL_PASS, Status.ALL_FAIL)}, [0, 3, 4]),
        ({"min_spread": 1.0}, [0]),
        ({"min_spread": 0.0}, [0, 1, 2, 3]),
        ({"where": "mean > 0.2 and n = 2"}, [0, 1]),
        ({"where": "mean > 0.2", "drop": (Status.ALL_PASS,)}, [0, 3]),
        ({"pass_rates": PassRates.parse("0:0.5")}, [0, 2]),
    ],
)
def test_what_is_kept(rules, left):
    assert kept(EVERY, **rules) == left


def test_both_ends_of_a_band_are_in_it():
    counts = [0, 1, 2, 3, 8, 9, 10]
    table = groups(*(of_ten(passed) for passed in counts))
    assert [counts[group] for group in kept(table, pass_rates=PassRates.parse("0.2:0.8"))] == [2, 3, 8]


@given(st.integers(1, 40), st.data())
def test_a_rate_is_in_the_band_that_is_spelled_like_it(judged, data):
    passed = data.draw(st.integers(0, judged))
    table = groups([1.0] * passed + [0.0] * (judged - passed))
    assert kept(table, pass_rates=PassRates.parse(f"{passed}/{judged}:{passed}/{judged}")) == [0]


def test_seven_of_ten_is_in_a_band_that_ends_there():
    # 0.7 * 10 is 7.000000000000001 in floating point.
    assert kept(groups(of_ten(7)), pass_rates=PassRates.parse("0.7:1")) == [0]
    assert kept(groups(of_ten(3)), pass_rates=PassRates.parse("0:0.3")) == [0]


@pytest.mark.parametrize("text", ["0.2", "", "a:b", "0.8:0.2", "-1:1", "0:2", "1/0:1", "nan:1", "1e-9:1", "0.5/2:1"])
def test_what_is_no_band(text):
    with pytest.raises(UsageError, match="no band of pass rates"):
        PassRates.parse(text)


def test_ends_that_are_left_out():
    assert PassRates.parse(":0.5") == PassRates.parse("0:0.5")
    assert PassRates.parse("0.1:") == PassRates.parse("0.1:1")


def test_the_first_rule_that_a_group_fails_is_the_reason():
    selected = select(EVERY, Selection(drop=(Status.ALL_FAIL, Status.UNSCORED), where="n > 1", min_spread=0.5))
    assert selected["reason"].to_list() == [None, "spread below 0.5", "all-fail", "spread below 0.5", "unscored"]
    assert reasons(selected).rows() == [
        (None, 1, 2),
        ("spread below 0.5", 2, 3),
        ("all-fail", 1, 2),
        ("unscored", 1, 2),
    ]


def test_reading_statuses():
    assert statuses_of("all-pass, all-fail") == (Status.ALL_PASS, Status.ALL_FAIL)
    assert statuses_of("zero-variance,tied") == (Status.ALL_PASS, Status.ALL_FAIL, Status.TIED)
    with pytest.raises(UsageError, match="'allpass' is no status") as refused:
        statuses_of("allpass")
    assert "did you mean all-pass" in str(refused.value.hint)


def test_what_is_refused():
    with pytest.raises(UsageError, match="pass rates are not known"):
        kept(groups([0.1, 0.2]), pass_rates=PassRates.parse("0:1"))
    with pytest.raises(UsageError, match="no column maen"):
        kept(EVERY, where="maen > 1")
