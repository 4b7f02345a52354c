from __future__ import annotations

import polars as pl
import pytest

from grpo_cli.errors import UsageError
from grpo_cli.logs.selection import Condition, from_json, steps_in_range


def holds(text, **columns):
    return Condition(text, "--unscored-if").holds(pl.DataFrame(columns)).to_list()


def test_a_condition_is_sql_and_an_unknown_value_does_not_meet_it():
    assert holds("status != 'ok'", status=["ok", "failed", None]) == [False, True, False]
    assert holds("error IS NOT NULL", error=[None, "timeout"]) == [False, True]
    assert holds("reward < 0 OR truncated", reward=[1.0, -1.0, 1.0], truncated=[False, False, True]) == [
        False,
        True,
        True,
    ]


@pytest.mark.parametrize("text", ["status !=", "", "status ==", "SELECT 1", "no_such_function(status)"])
def test_what_is_no_expression_is_refused(text):
    with pytest.raises(UsageError, match="--unscored-if"):
        Condition(text, "--unscored-if").holds(pl.DataFrame({"status": ["ok"]}))


def test_what_does_not_fit_the_values_is_refused_with_their_types():
    with pytest.raises(UsageError) as caught:
        holds("status > 1", status=["ok"])
    assert "status is text" in caught.value.hint
    with pytest.raises(UsageError, match="is not a condition"):
        holds("reward + 1", reward=[1.0])


def test_a_name_in_double_quotes_is_a_field_and_the_hint_says_how_text_is_written():
    condition = Condition('status != "ok"', "--unscored-if")
    with pytest.raises(UsageError, match="no record has a field 'ok'") as caught:
        condition.check_names(["status"], {"status": "status", "ok": "ok"})
    assert "'ok'" in caught.value.hint


@pytest.mark.parametrize(
    ("texts", "values"),
    [
        (["true", None, "false"], [True, None, False]),
        (["1", "0.5", "true", "null"], [1.0, 0.5, 1.0, None]),
        (['"ok"', "3", '{"a": 1}'], ["ok", "3", '{"a": 1}']),
        ([None, None], [None, None]),
    ],
)
def test_json_values_become_the_type_they_share(texts, values):
    assert from_json(pl.Series("x", texts, dtype=pl.String)).to_list() == values


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("2:3", [2, 3, 2]),
        ("3:", [10, 3]),
        (":2", [1, 2, 2]),
        ("10", [10]),
        ("-2:", [10, 3]),
        ("-99:", [1, 2, 10, 3, 2]),
        (":-2", [1, 2, 3, 2]),
    ],
)
def test_step_ranges_have_both_ends(text, kept):
    steps = pl.Series(["1", "2", "10", "3", "2"])
    assert steps.filter(steps_in_range(steps, text)).cast(pl.Int64).to_list() == kept


@pytest.mark.parametrize("text", ["", ":", "a:b", "1:2:3", "1-2"])
def test_what_is_no_range_is_refused(text):
    with pytest.raises(UsageError, match="is no range"):
        steps_in_range(pl.Series(["1"]), text)


def test_an_empty_range_and_steps_without_numbers_are_refused():
    with pytest.raises(UsageError, match="there is no such step") as caught:
        steps_in_range(pl.Series(["1", "7"]), "3:5")
    assert caught.value.hint == "the steps are 1 to 7"
    with pytest.raises(UsageError, match="one is 'warmup'"):
        steps_in_range(pl.Series(["1", "warmup"]), "1:")
