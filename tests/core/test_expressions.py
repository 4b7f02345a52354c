"""A condition in SQL: what it says of each row, and a plain error for whatever else is typed."""

from __future__ import annotations

import polars as pl
import pytest

from grpo_cli.core.expressions import columns_of, holds
from grpo_cli.errors import UsageError

TABLE = pl.DataFrame(
    {
        "group": [0, 1, 2],
        "n": [8, 8, 4],
        "mean": [0.5, 0.1, None],
        "max": [1.0, 0.2, None],
        "min": [0.0, 0.0, None],
        "status": ["mixed", "mixed", "unscored"],
    }
)


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("mean > 0.2 and n = 8", [True, False, False]),
        ("max - min > 0.5", [True, False, None]),
        ("status = 'mixed'", [True, True, False]),
        ("status in ('tied', 'unscored') or mean between 0.4 and 0.6", [True, False, True]),
        ("mean is null", [False, False, True]),
        ('"group" <> 1', [True, False, True]),
        ("n = (4)", [False, False, True]),
        ("max(n) = 8", [True, True, True]),
        ("1 = 1", [True, True, True]),
    ],
)
def test_what_holds(text, rows):
    assert holds(text, TABLE).to_list() == rows


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("maen > 0.2", "there is no column maen", "did you mean mean or n or min"),
        ('status = "mixed"', 'there is no column "mixed"', "single quotes: 'mixed'"),
        ("mean >", "not a condition", "write a condition as in SQL"),
        ("", "not a condition", "there is: group, n, mean"),
        ("mean", "neither true nor false", "write a condition as in SQL"),
        ("n = 'eight'", "cannot compare string with numeric", "write a condition as in SQL"),
        ("median(mean, 3) > 1 and", "not a condition", "write a condition as in SQL"),
        ("foo(n) > 1", "unsupported function 'foo'", "write a condition as in SQL"),
        ("(select 1) = 1", "not", "write a condition as in SQL"),
    ],
)
def test_what_is_refused(text, message, hint):
    with pytest.raises(UsageError) as refused:
        holds(text, TABLE)
    assert message in refused.value.message
    assert "\n" not in refused.value.message
    assert hint.split(" or ")[0] in str(refused.value.hint)


def test_the_columns_that_are_named():
    assert columns_of("mean > 0.2 and n = 8 or mean < 0", []) == ["mean", "n"]
