"""Each note is said when it should be, with exact counts and names, and not said otherwise."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from grpo_cli.core import groups, notes
from grpo_cli.core.chain import FINER_MISSING, MISSING
from grpo_cli.core.frameworks import FRAMEWORKS
from grpo_cli.frame import check


def frame(rewards: list[list[float | None]], **more: Any) -> pl.DataFrame:
    ids = [number for number, values in enumerate(rewards) for _ in values]
    columns = {
        "group": pl.Series(ids, dtype=pl.UInt32),
        "batch": pl.Series([0] * len(ids), dtype=pl.UInt32),
        "reward_0": pl.Series([value for values in rewards for value in values], dtype=pl.Float64),
    }
    return check(pl.DataFrame(columns | more))


def name(group: int) -> str:
    return f"g{group}"


def sizes(*each: int, **options: Any) -> list[str]:
    """The notes on groups of these sizes."""
    table = groups.summary(frame([[float(i % 2) for i in range(size)] for size in each]))
    return notes.about_sizes(table, name, **options)


def rewards(values: list[list[float | None]], **options: Any) -> list[str]:
    """The notes on these rewards."""
    rows = frame(values)
    return notes.about_rewards(rows, groups.summary(rows), name, columns=["reward"], **options)


@pytest.mark.parametrize("even", [(8, 8, 8), (4,), (1,), (), (64,), (8,) * 9], ids=str)
def test_nothing_is_said_of_even_groups(even):
    assert sizes(*even) == []


def test_singletons_only():
    assert sizes(1, 1, 1) == [
        (
            "all 3 groups have one rollout each, so there is nothing to compare within them: "
            "name the prompt's key with --group-by"
        )
    ]


def test_one_group_for_nearly_everything():
    assert sizes(190, 4, 4)[0] == ("one group (g0) holds 190 of 198 rollouts: name the prompt's key with --group-by")
    assert sizes(4, 4, 90) == ["group sizes run from 4 to 90: 4 is the commonest, and 1 of 3 groups differs (g2: 90)"]
    assert sizes(120) == ["one group (g0) holds 120 of 120 rollouts: name the prompt's key with --group-by"]


def test_multiples_of_the_commonest_size():
    assert sizes(4, 4, 8, 4, 12) == [
        (
            "2 groups have a multiple of the commonest size 4, as where one prompt is drawn more than once: "
            "--group-size 4 splits them (g4: 12, g2: 8)"
        )
    ]
    assert sizes(4, 4, 8, 3) == [
        (
            "1 group has a multiple of the commonest size 4, as where one prompt is drawn more than once: "
            "--group-size 4 splits them (g2: 8)"
        ),
        "1 group has some other odd size (g3: 3)",
    ]
    assert sizes(3, 6, 5, 7, 8, 3, 2)[0].startswith("group sizes run from 2 to 8"), "sizes vary anyway"
    assert sizes(1, 1, 1, 2, 3)[0].startswith("group sizes run from 1 to 3"), "of 1 everything is a multiple"


def test_odd_sizes_are_named_the_largest_first_and_the_rest_counted():
    assert sizes(4, 3, 4, 4, 4, 4, 4, 2, 5, 3, 7) == [
        "group sizes run from 2 to 7: 4 is the commonest, and 5 of 11 groups differ (g10: 7, g8: 5, g1: 3 and 2 more)"
    ]
    assert sizes(4, 2) == ["group sizes run from 2 to 4: 4 is the commonest, and 1 of 2 groups differs (g1: 2)"]


def test_remainders_after_a_given_group_size():
    assert sizes(4, 4, 3, group_size=4) == ["1 group has fewer rollouts than the 4 of --group-size (g2: 3)"]
    assert sizes(4, 4, group_size=4) == []


def test_one_value_everywhere():
    assert rewards([[1, 1, 1]] * 3) == ["all 9 rewards are 1: is the reward column broken? --reward names another"]
    assert rewards([[1.81, 1.81]])[0].startswith("both rewards are 1.81: ")
    assert rewards([[1, 0, 1]]) == []
    assert rewards([[1]]) == []


def test_nothing_scored():
    assert rewards([[None] * 3, [None]]) == ["none of 4 rollouts has a reward: name its column with --reward"]
    assert rewards([[None]]) == ["the only rollout has no reward: name its column with --reward"]
    assert rewards([]) == []


def test_missing_rewards_and_what_becomes_of_them():
    some = [[1, None, 0, 0], [None, None]]
    out = "every statistic, with a null advantage (--missing has other ways)"
    assert rewards(some) == [f"3 of 6 rollouts have no reward and stay out of {out}"]
    assert rewards([[1, None, 0]]) == [f"1 of 3 rollouts has no reward and stays out of {out}"]
    assert rewards([[1, None, 0]], missing="propagate") == [
        "1 of 3 rollouts has no reward and leaves no advantage to its whole group"
    ]
    assert rewards([[1, None, 0]], missing="error")[0].endswith("has no reward and is not allowed by --missing error")
    assert rewards(some, missing="zero-reward") == [
        "3 of 6 rollouts have no reward and count as reward 0 in the advantages"
    ]


def test_rollouts_taken_out_are_counted_apart_from_missing_rewards():
    rows = frame([[1, None, 0, 0]], scored=pl.Series([False, True, True, True]))
    said = notes.about_rewards(rows, groups.summary(rows), name, columns=["reward"])
    assert said[0] == "1 rollout is taken out by --unscored-if"
    assert said[1].startswith("1 of 4 rollouts has no reward")
    rows = frame([[1, None, 0, 1]], scored=pl.Series([True, False, True, True]))
    assert notes.about_rewards(rows, groups.summary(rows), name, columns=["reward"]) == [
        "1 rollout is taken out by --unscored-if"
    ], "a rollout that is taken out is not missing as well"


def test_each_reward_column_and_the_groups_where_it_is_there_in_part():
    rows = frame([[1, 0, 1, 0], [0, 0, 1, 1], [0, 1]]).with_columns(
        reward_1=pl.Series([None, None, 0.5, 1, 2, 0, 1, None, None, None], dtype=pl.Float64)
    )
    said = notes.about_rewards(rows, groups.summary(rows), name, columns=["r_math", "r_code"])
    assert said == [
        "r_code is missing in 5 of 10 rollouts",
        (
            "in 2 groups r_code is missing for some rollouts only, and there counts as 0 (g0, g1): "
            "--aggregate normalize-then-sum leaves it out"
        ),
    ]
    said = notes.about_rewards(
        rows, groups.summary(rows), name, columns=["r_math", "r_code"], aggregate="normalize-then-sum"
    )
    assert said == ["r_code is missing in 5 of 10 rollouts"]


def test_nearly_constant_groups():
    assert rewards([[0.3, 0.1 + 0.2], [0.5, 0.6]])[0] == (
        "1 group is zero-variance within the tolerance but not exactly constant (g0): "
        "--tolerance 0 takes only exactly equal rewards for constant"
    )


def test_no_pass_threshold():
    said = (
        "no pass threshold is known, so 1 constant group cannot be called passed or failed: "
        "give --pass-threshold X or --outcome FIELD"
    )
    assert rewards([[0.5, 0.5], [0.2, 0.4]]) == [said]
    assert rewards([[0.5, 0.6], [0.2, 0.4]]) == [], "nothing is constant, so nothing is in doubt"
    assert rewards([[0, 0], [0, 1]]) == []


def test_eps_against_the_spread():
    table = groups.summary(frame([[0.8, 0.80001], [1, 0], [2, 2], [3, 3.00001]]))
    assert notes.about_eps(table, name, eps=1e-6, ddof=1) == [
        (
            "2 groups have a std below 10 times eps (1e-06), so eps and not the spread decides the advantages "
            "(g0, g3): --eps 0 leaves it out"
        )
    ]
    assert notes.about_eps(table, name, eps=0.0, ddof=1) == []
    # The std with ddof 1 is 7.07e-6, with ddof 0 it is 5e-6.
    assert notes.about_eps(table, name, eps=6e-7, ddof=1) == []
    assert len(notes.about_eps(table, name, eps=6e-7, ddof=0)) == 1


def test_a_log_where_every_group_is_mixed():
    mixed = groups.summary(frame([[1, 0]] * 20))
    assert notes.about_filtering(mixed) == [
        (
            "every one of the 20 groups is mixed: the trainer may have dropped the others before logging, "
            "and the shares then say nothing about the prompts"
        )
    ]
    assert notes.about_filtering(groups.summary(frame([[1, 0]] * 19))) == []
    assert notes.about_filtering(groups.summary(frame([[1, 0]] * 20 + [[1, 1]]))) == []
    assert notes.about_filtering(groups.summary(frame([[0.1, 0.2]] * 20))) == []


def test_phantom_groups():
    rows = frame([[-0.1, -0.4], [0.9, -0.2]], outcome=pl.Series([False, False, True, False]))
    phantoms = groups.summary(rows).filter(groups.is_phantom())
    assert notes.about_phantoms(phantoms, name) == [
        (
            "in 1 group every rollout fails and yet the rewards differ (g0): "
            "the advantages there are for something else than passing"
        )
    ]
    assert notes.about_phantoms(phantoms.clear(), name) == []


def test_advantages_turned_null():
    assert notes.about_results(0) == []
    assert notes.about_results(1) == ["1 advantage is null: it was beyond the range of a 64-bit float"]
    assert notes.about_results(2) == ["2 advantages are null: they were beyond the range of a 64-bit float"]


@pytest.mark.parametrize(
    "rule",
    sorted({*MISSING, *FINER_MISSING, *(e.missing for row in FRAMEWORKS.values() for e in row.estimators.values())}),
)
def test_every_rule_for_missing_rewards_has_its_words(rule):
    assert rule in notes.MISSING_REWARDS
    one, two = rewards([[1.0, 0.0, None]], missing=rule), rewards([[1.0, None, None]], missing=rule)
    assert one[0].startswith("1 of 3 rollouts has no reward and ")
    assert two[0].startswith("2 of 3 rollouts have no reward and ")


def test_a_rule_without_words_is_named():
    assert rewards([[1.0, 0.0, None]], missing="new-rule") == [
        "1 of 3 rollouts has no reward and follows the rule new-rule"
    ]
