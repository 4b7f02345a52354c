"""Each check says what it found, what it allows, and whether that holds."""

from __future__ import annotations

import polars as pl
import pytest

from grpo_cli.core.gates import Gate, checks
from grpo_cli.core.groups import summary
from grpo_cli.core.stats import figures
from grpo_cli.errors import UsageError
from grpo_cli.frame import check


def checked(*rewards: list[float | None], **bounds) -> list[tuple]:
    ids = [number for number, values in enumerate(rewards) for _ in values]
    frame = check(
        pl.DataFrame(
            {
                "group": pl.Series(ids, dtype=pl.UInt32),
                "batch": pl.Series([0] * len(ids), dtype=pl.UInt32),
                "reward_0": pl.Series([value for values in rewards for value in values], dtype=pl.Float64),
            }
        )
    )
    groups = summary(frame)
    return checks(figures(frame, groups), groups, Gate(**bounds)).rows()


@pytest.mark.parametrize(
    ("bounds", "row"),
    [
        ({"max_zero_variance": 0.5}, ("zero-variance share of groups", 0.5, 0.5, True)),
        ({"max_zero_variance": 0.49}, ("zero-variance share of groups", 0.5, 0.49, False)),
        ({"max_missing": 0}, ("rollouts without a reward", 1.0, 0.0, False)),
        ({"max_missing": 1}, ("rollouts without a reward", 1.0, 1.0, True)),
        ({"max_singletons": 0}, ("groups of one scored rollout", 1.0, 0.0, False)),
        ({"expect_size": 2}, ("groups without 2 rollouts", 1.0, 0.0, False)),
        ({"min_groups": 4}, ("groups", 4.0, 4.0, True)),
        ({"min_groups": 5}, ("groups", 4.0, 5.0, False)),
        ({"fail_on": ("reward_mean < 0.1",)}, ("not reward_mean < 0.1", 0.625, None, True)),
        ({"fail_on": ("mixed = 1 and missing > 0",)}, ("not mixed = 1 and missing > 0", None, None, False)),
    ],
)
def test_one_check(bounds, row):
    # Mixed, all-pass, all-fail, and one scored alone beside a missing reward.
    assert checked([1, 0, 1], [1, 1], [0, 0], [1, None], **bounds) == [row]


def test_checks_come_in_a_fixed_order_and_only_those_asked_for():
    rows = checked([1, 0], min_groups=1, max_missing=0, fail_on=("groups > 9",), max_zero_variance=1, expect_size=2)
    assert [row[0] for row in rows] == [
        "zero-variance share of groups",
        "rollouts without a reward",
        "groups without 2 rollouts",
        "groups",
        "not groups > 9",
    ]
    assert all(row[3] for row in rows)
    assert checked([1, 0]) == []


def test_what_is_not_known_does_not_hold():
    assert checked(max_zero_variance=1.0) == [("zero-variance share of groups", None, 1.0, False)]
    assert checked([0.1, 0.2], fail_on=("pass_rate < 0.5",)) == [("not pass_rate < 0.5", None, None, False)]


def test_a_condition_about_nothing_that_exists():
    with pytest.raises(UsageError, match="no column pass_rat") as refused:
        checked([1, 0], fail_on=("pass_rat < 0.5",))
    assert "did you mean pass_rate" in str(refused.value.hint)
