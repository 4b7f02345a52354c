"""Advantages: values by hand, exact fractions, and what must hold for any rewards."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import permutations

import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from grpo_cli.core.estimators import ESTIMATORS, resolve
from grpo_cli.core.frameworks import FRAMEWORKS
from grpo_cli.core.steps import advantages, trace
from grpo_cli.errors import RowError, UsageError

TYPES = {
    "group": pl.UInt32,
    "batch": pl.UInt32,
    "rollout": pl.UInt32,
    "length": pl.Float64,
    "baseline": pl.Float64,
    "scored": pl.Boolean,
}


def frame(rewards, group=None, batch=None, **columns):
    size = len(rewards)
    columns = {"group": group or [0] * size, "batch": batch or [0] * size, "reward_0": rewards} | columns
    return pl.DataFrame(columns, schema={name: TYPES.get(name, pl.Float64) for name in columns})


def of(rewards, spec="grpo", *, tolerance=None, weights=None, group=None, batch=None, **columns):
    """The advantages of one group, or of `group`, as a list."""
    rows = frame(rewards, group, batch, **columns)
    return advantages(rows, resolve(spec), weights=weights, tolerance=tolerance).to_list()


def close(values):
    """Equal to twelve digits; None only to None."""
    if isinstance(values, list):
        return [None if value is None else close(value) for value in values]
    return pytest.approx(values, rel=1e-12, abs=1e-12)


def exactly(rewards, ddof=0):
    """(r - mean) / std in exact fractions, but for the last square root and division."""
    values = [Fraction(r) for r in rewards]
    mean = sum(values) / len(values)
    var = sum((v - mean) ** 2 for v in values) / (len(values) - ddof)
    # Signed squares keep huge and tiny fractions in range until the root.
    return [math.copysign(math.sqrt((v - mean) ** 2 / var), v - mean) for v in values]


# Values by hand.


def test_half_right_is_exactly_plus_and_minus_one():
    assert of([1, 0, 1, 0, 1, 0, 1, 0]) == [1.0, -1.0] * 4
    assert of([0.3, 0.7, 0.7, 0.3, 0.7, 0.3]) == [-1.0, 1.0, 1.0, -1.0, 1.0, -1.0]


def test_one_right_of_four_is_the_root_of_three():
    third = -1 / math.sqrt(3)
    assert of([0, 1, 0, 0]) == close([third, math.sqrt(3), third, third])


def test_the_two_ddofs():
    assert of([1, 0, 1, 0, 1, 0, 1, 0], "grpo:ddof=1")[0] == close(0.5 / math.sqrt(2 / 7))
    assert of([0, 1, 0, 0], "grpo:ddof=1") == close([-0.5, 1.5, -0.5, -0.5])


@pytest.mark.parametrize(
    ("spec", "scale"),
    [
        ("grpo:eps=0.1", 0.5 + 0.1),
        ("grpo:eps=0.1,eps-mode=add-var", math.sqrt(0.25 + 0.1)),
        ("grpo:eps=0.36,eps-mode=clamp-var", 0.6),
        ("grpo:eps=0.16,eps-mode=clamp-var", 0.5),
        ("grpo:eps=0.7,eps-mode=clamp-std", 0.7),
        ("grpo:eps=0.2,eps-mode=clamp-std", 0.5),
    ],
)
def test_the_forms_of_eps(spec, scale):
    assert of([1, 0], spec) == close([0.5 / scale, -0.5 / scale])


def test_centred_only_keeps_the_differences_of_whole_numbers_exact():
    assert of([0, 1, 2, 3, 4, 5, 6], "dr-grpo") == [-3, -2, -1, 0, 1, 2, 3]


def test_leave_one_out():
    assert of([1, 0, 0, 0], "rloo") == close([1, -1 / 3, -1 / 3, -1 / 3])
    assert of([3, 5], "rloo") == [-2, 2]


def test_leave_one_out_std_leaves_a_row_whose_others_are_equal_undivided():
    assert of([0.35] * 7 + [0.95], "grpo-loo")[-1] == close(0.6)
    others = [0.35] * 6 + [0.95]
    mean = sum(others) / 7
    std = math.sqrt(sum((v - mean) ** 2 for v in others) / 6)
    assert of([0.35] * 7 + [0.95], "grpo-loo")[0] == close((0.35 - mean) / std)


def test_batch_std_is_over_the_rewards_of_the_batch():
    rewards, group = [1, 0, 10, 20], [0, 0, 1, 1]
    mean = sum(rewards) / 4
    std = math.sqrt(sum((r - mean) ** 2 for r in rewards) / 4)
    assert of(rewards, "lite-ppo", group=group) == close([0.5 / std, -0.5 / std, -5 / std, 5 / std])
    centred = math.sqrt((0.25 * 2 + 25 * 2) / 4)
    spec = "dr-grpo:scale=batch-std-centered"
    assert of(rewards, spec, group=group) == close([0.5 / centred, -0.5 / centred, -5 / centred, 5 / centred])


def test_batch_statistics_are_of_one_batch():
    alone = of([1, 0, 0, 4], "reinforce++")
    assert of([1, 0, 0, 4, 7, 9], "reinforce++", batch=[0] * 4 + [1] * 2, group=[0] * 4 + [1] * 2)[:4] == close(alone)


def test_a_row_counts_its_tokens_in_a_mean_weighted_by_length():
    rewards, length = [1.0, 0.0, 0.0], [1, 2, 5]
    assert of(rewards, "opo", length=length) == close([1 - 1 / 8, -1 / 8, -1 / 8])
    as_tokens = of([1.0] + [0.0] * 7, "reinforce++:ddof=1")
    by_tokens = of(rewards, "reinforce++:whiten=tokens,ddof=1", length=length)
    assert by_tokens == close([as_tokens[0], as_tokens[1], as_tokens[3]])


def test_several_rewards_normalized_each_on_its_own():
    rows = frame([1, 0, 1, 0], reward_1=[100.0, 0.0, 0.0, 100.0])
    whitened = advantages(rows, resolve("gdpo"), weights=[1, 1]).to_list()
    assert whitened == close([math.sqrt(2), -math.sqrt(2), 0, 0])
    unwhitened = advantages(rows, resolve("grpo:aggregate=normalize-then-sum,whiten=none"), weights=[1, 0.5])
    assert unwhitened.to_list() == close([1.5, -1.5, 0.5, -0.5])


def test_an_external_baseline():
    assert of([0.2, 0.9], "remax", baseline=[0.5, 0.4]) == close([-0.3, 0.5])


def test_quantile_baseline_is_interpolated():
    assert of([0, 1, 2, 3, 10], "dr-grpo:baseline=quantile:0.3") == close([-1.2, -0.2, 0.8, 1.8, 8.8])
    assert of([0, 1, 10], "dr-grpo:baseline=median") == [-1, 0, 9]


def test_max_rl_is_relative_to_the_mean_and_zero_without_success():
    assert of([1, 0, 0, 0], "maxrl") == close([3, -1, -1, -1])
    assert of([-1, 1, -1, 1], "maxrl") == [0, 0, 0, 0]


def test_the_best_rollout_against_the_second_best():
    assert of([0.2, 0.9, 0.5], "passk-max:scale=none") == close([0, 0.4, 0])
    assert of([1, 1, 0], "passk-max:scale=none") == [0, 0, 0]


def test_pass_at_k_by_hand():
    rho = 1 - 21 / 28  # 2 of 8, one hit: C(7, 2) / C(8, 2) sets have none
    std = math.sqrt(rho * (1 - rho))
    hits = (1 - rho) / std
    misses = (1 - rho - 6 / 7) / std
    assert of([1] + [0] * 7, "passk:k=2") == close([hits] + [misses] * 7)


def test_sets_larger_than_the_group_have_no_advantage():
    assert of([1, 0, 0], "passk:k=4") == [None, None, None]
    assert of([1, 0, 0], "pkpo:k=4") == [None, None, None]


def test_gpg_gives_a_batch_with_few_rewards_more_weight():
    assert of([1, 0, 0, 0], "gpg") == close([3, -1, -1, -1])


# What gives no signal.


@pytest.mark.parametrize("value", [0.1, 0.3, 0.7, 1 / 3, 1e6, -5.5, 1e308, 5e-324])
@pytest.mark.parametrize(
    "spec", ["grpo", "dr-grpo", "rloo", "grpo-loo", "lite-ppo", "qae", "openrlhf/grpo", "art/grpo"]
)
def test_a_constant_group_gets_exactly_zero(value, spec):
    result = of([value] * 7, spec)
    assert [math.copysign(1, a) for a in result] == [1.0] * 7
    assert result == [0.0] * 7


def test_a_spread_within_the_tolerance_is_no_spread():
    nearly = [1.0, 1.0 + 4e-7]
    assert of(nearly) == [0, 0]
    assert of(nearly, tolerance=0) == [-1, 1]
    assert of([0.0, 9e-9]) == [0, 0]
    assert of([0.0, 9e-9], tolerance=0) == [-1, 1]
    assert of([0.0, 2e-8]) == [-1, 1]
    assert of([1.0, 1.0 + 6e-7]) == [-1, 1]


def test_frameworks_take_only_equal_rewards_as_one():
    low, high = 1.0, 1.0 + 4e-7
    assert of([low, high]) == [0, 0]
    half = (high - low) / 2
    assert of([low, high], "verl/grpo")[1] == close(half / (half * math.sqrt(2) + 1e-6))


def test_whitening_may_move_a_constant_group():
    moved = of([1, 1, 5, 9], "reinforce++", group=[0, 0, 1, 1])
    assert moved[0] == moved[1] < 0
    assert of([1, 1, 5, 9], "reinforce++-baseline", group=[0, 0, 1, 1])[:2] == [0, 0]


def test_a_batch_of_one_row_gets_zero():
    assert of([0.7], "reinforce++") == [0.0]
    assert of([0.7], "lite-ppo") == [0.0]
    assert of([0.7], "batch-norm") == [0.0]


@pytest.mark.parametrize(("rule", "expected"), [("zero", 0.0), ("reward", 0.7), ("null", None), ("exclude", 0.0)])
def test_a_group_of_one_by_its_rule(rule, expected):
    result = of([0.7, 1, 0], f"grpo:singleton={rule}", group=[0, 1, 1])
    assert result == [expected, 1, -1]


def test_a_group_of_one_as_an_error_names_its_row():
    with pytest.raises(RowError, match="a group of one") as caught:
        of([1, 0, 0.7], "grpo:singleton=error", group=[0, 0, 1])
    assert caught.value.row == 2


def test_a_group_of_one_scored_row_is_a_group_of_one():
    assert of([0.7, None, None], "grpo") == [0.0, None, None]


# What is missing.


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("null", [1, -1, None]),
        ("zero-advantage", [1, -1, 0]),
        ("zero-reward", [math.sqrt(2), -math.sqrt(0.5), -math.sqrt(0.5)]),
        ("propagate", [None, None, None]),
        ("lowest", [1, -1, -1]),
    ],
)
def test_a_missing_reward_by_its_rule(rule, expected):
    assert of([1, 0, None], f"grpo:missing={rule}") == close(expected)


def test_null_spreads_over_what_shares_a_statistic():
    group, batch = [0, 0, 1, 1, 2, 2], [0, 0, 0, 0, 1, 1]
    rewards = [1, None, 1, 0, 1, 0]
    assert of(rewards, "grpo:missing=propagate", group=group, batch=batch) == [None, None, 1, -1, 1, -1]
    whitened = of(rewards, "grpo-whitened:missing=propagate", group=group, batch=batch)
    assert whitened == [None, None, None, None, 1, -1]


def test_a_missing_reward_as_an_error_names_its_row():
    with pytest.raises(RowError, match="missing") as caught:
        of([1, None], "grpo:missing=error")
    assert caught.value.row == 1


def test_a_row_that_is_not_scored_is_out_of_everything():
    for rule in ("null", "zero-advantage", "zero-reward", "propagate", "error"):
        result = of([1, 0, 5, None], f"grpo:missing={rule}", scored=[True, True, False, False])
        assert result == [1, -1, None, None]


def test_a_group_without_a_reward_is_null():
    assert of([None, None], "grpo") == [None, None]
    assert of([None, None, 1, 0], "lite-ppo", group=[0, 0, 1, 1]) == [None, None, 1, -1]


def test_rows_of_one_rollout_count_once_and_share_the_advantage():
    assert of([1, 0, 0, 1], rollout=[0, 1, 1, 0]) == [1, -1, -1, 1]
    assert of([1, 0, 0, 0], rollout=[0, 1, 1, 1]) == [1, -1, -1, -1]


def test_an_error_in_a_rollout_of_several_rows_names_a_row_of_the_log():
    with pytest.raises(RowError) as caught:
        of([1, 1, 1, 0.5], "grpo:singleton=error", group=[0, 0, 0, 1], rollout=[0, 0, 1, 0])
    assert caught.value.row == 3


def test_what_an_estimator_needs():
    with pytest.raises(UsageError, match="needs a column: length") as caught:
        of([1, 0], "opo")
    assert "--length" in caught.value.hint
    with pytest.raises(RowError, match="no length") as caught:
        of([1, 0], "opo", length=[1.0, None])
    assert caught.value.row == 1
    with pytest.raises(RowError, match="length -1"):
        of([1, 0], "opo", length=[1.0, -1.0])
    with pytest.raises(RowError, match="no baseline"):
        of([1, 0], "remax", baseline=[None, 1.0])
    assert of([1, None], "opo", length=[1.0, None]) == [0, None]


def test_pass_at_k_and_beta_densities_refuse_other_rewards():
    with pytest.raises(RowError, match="the reward is 0") as caught:
        of([1, 0.5, 0], "passk:k=2")
    assert caught.value.row == 1
    with pytest.raises(RowError, match="between 0 and 1"):
        of([1, 2, 0], "bnpo")


# Digits.


@pytest.mark.parametrize("offset", [0, 1e6, -1e9, 1e15, -4e15])
def test_an_offset_costs_no_digits(offset):
    rewards = [offset + r for r in (0, 1, 1, 2, 5)]
    assert of(rewards, tolerance=0) == close(exactly([0, 1, 1, 2, 5]))


@pytest.mark.parametrize("size", [1e-300, 1e-160, 1e160, 1e300, 1.7e308, 5e-324, 1e-310])
def test_neither_huge_nor_tiny_rewards_leave_the_range(size):
    rewards = [0.0, size, size, 0.0, 0.0]
    assert of(rewards, tolerance=0) == close(exactly([0, 1, 1, 0, 0]))
    assert of(rewards, "rloo", tolerance=0)[0] == pytest.approx(-size / 2, rel=1e-12)


def test_a_difference_beyond_the_range_is_no_trouble_where_the_result_is_inside():
    ends = [1.7e308, -1.7e308]
    assert of(ends) == [1, -1]
    assert of(ends, "dr-grpo") == [1.7e308, -1.7e308]
    assert of(ends, "lite-ppo") == [1, -1]
    assert of(ends, "reinforce++-baseline") == close([1, -1])
    assert of(ends, "rloo") == [None, None]  # 3.4e308 is no float64


def test_many_rows_lose_no_digits():
    # Adding 0.1 a hundred thousand times one by one is wrong in the eleventh digit.
    rewards = [0.1] * 100_000 + [0.7] * 50_000 + [1.3]
    result = of(rewards)
    values = {r: Fraction(r) for r in (0.1, 0.7, 1.3)}
    n = len(rewards)
    mean = (values[0.1] * 100_000 + values[0.7] * 50_000 + values[1.3]) / n
    var = sum(k * (values[r] - mean) ** 2 for r, k in ((0.1, 100_000), (0.7, 50_000), (1.3, 1))) / n
    for row in (0, 100_000, 150_000):
        assert result[row] == close(float(values[rewards[row]] - mean) / math.sqrt(var))


FINITE = st.floats(allow_nan=False, allow_infinity=False)
ORDINARY = st.floats(-1e6, 1e6).map(lambda r: round(r, 3))
GROUPS = st.lists(ORDINARY, min_size=2, max_size=12).filter(lambda rs: max(rs) - min(rs) >= 0.5)


@given(GROUPS, st.sampled_from([0, 1]))
@settings(deadline=None)
def test_it_equals_exact_fractions(rewards, ddof):
    assert of(rewards, f"grpo:ddof={ddof}", tolerance=0) == close(exactly(rewards, ddof))


@given(GROUPS)
@settings(deadline=None)
def test_leave_one_out_std_equals_exact_fractions(rewards):
    values = [Fraction(r) for r in rewards]
    for i, ours in enumerate(of(rewards, "grpo-loo", tolerance=0)):
        others = values[:i] + values[i + 1 :]
        mean = sum(others) / len(others)
        var = sum((v - mean) ** 2 for v in others) / max(len(others) - 1, 1)
        assert ours == pytest.approx(float(values[i] - mean) / (math.sqrt(var) or 1), rel=1e-11, abs=1e-11)


@given(st.lists(st.integers(-4, 4), min_size=1, max_size=7), st.integers(1, 4))
@settings(deadline=None)
def test_pkpo_equals_the_sum_over_all_sets(rewards, k):
    assume(len(rewards) > 1)
    n = len(rewards)
    if n < k:
        assert of(rewards, f"pkpo:k={k}") == [None] * n
        return
    sets = {frozenset(p) for p in permutations(range(n), k)}
    for i, ours in enumerate(of(rewards, f"pkpo:k={k}", tolerance=0)):
        total = 0
        for chosen in sets:
            if i in chosen:
                rest = [rewards[j] for j in chosen if j != i]
                total += max(rewards[j] for j in chosen) - (max(rest) if rest else 0)
        assert ours == close(total / math.comb(n, k))


# Properties.


CENTRED = ["grpo", "dr-grpo", "rloo", "grpo:ddof=1", "lite-ppo", "batch-norm", "reinforce++", "trl/grpo", "trl/gdpo"]


@given(GROUPS, st.sampled_from(CENTRED))
@settings(deadline=None)
def test_advantages_of_a_centred_estimator_sum_to_zero(rewards, spec):
    result = of(rewards, spec)
    assert abs(math.fsum(result)) <= 1e-12 * max(1, math.fsum(map(abs, result)))


@given(
    GROUPS, st.sampled_from(["grpo", "dr-grpo", "rloo", "grpo-loo", "reinforce++", "qae"]), st.integers(-(10**6), 10**6)
)
@settings(deadline=None)
def test_a_shift_changes_nothing(rewards, spec, shift):
    whole = [float(round(r)) for r in rewards]  # so that the shift itself is exact
    assume(max(whole) > min(whole))
    shifted = of([r + shift for r in whole], spec, tolerance=0)
    assert shifted == pytest.approx(of(whole, spec, tolerance=0), rel=1e-12, abs=1e-12)


@given(
    GROUPS, st.sampled_from(["grpo", "grpo:ddof=1", "grpo-loo", "batch-norm", "grpo-whitened"]), st.integers(-40, 40)
)
@settings(deadline=None)
def test_a_scale_changes_nothing_where_a_std_is_divided_by(rewards, spec, power):
    scaled = [r * 2.0**power for r in rewards]
    ours, theirs = of(scaled, spec, tolerance=0), of(rewards, spec, tolerance=0)
    undivided = [a != pytest.approx(b, rel=1e-11, abs=1e-11) for a, b in zip(ours, theirs, strict=True)]
    assert sum(undivided) <= (2 if spec == "grpo-loo" else 0)  # a row whose others are equal keeps its scale


@given(GROUPS, st.sampled_from(["dr-grpo", "rloo"]), st.integers(-40, 40))
@settings(deadline=None)
def test_a_scale_goes_through_where_nothing_is_divided_by(rewards, spec, power):
    scaled = of([r * 2.0**power for r in rewards], spec, tolerance=0)
    assert scaled == [a * 2.0**power for a in of(rewards, spec, tolerance=0)]


@given(st.lists(st.tuples(ORDINARY, st.integers(0, 3), st.integers(1, 50)), min_size=1, max_size=20), st.randoms())
@settings(max_examples=60, deadline=None)
def test_the_order_of_rows_changes_nothing(rows, random):
    shuffled = list(enumerate(rows))
    random.shuffle(shuffled)
    for spec in (
        "grpo",
        "rloo",
        "grpo-loo",
        "lite-ppo",
        "opo",
        "qae",
        "reinforce++:whiten=tokens",
        "passk-max",
        "pkpo:k=2",
    ):
        ours = of([r for r, _, _ in rows], spec, group=[g for _, g, _ in rows], length=[n for _, _, n in rows])
        other = of(
            [r for _, (r, _, _) in shuffled],
            spec,
            group=[g for _, (_, g, _) in shuffled],
            length=[n for _, (_, _, n) in shuffled],
        )
        if spec == "passk-max":  # which of two equal best rows is first makes no difference: both get 0
            assert sorted(ours) == pytest.approx(sorted(other), rel=1e-12, abs=1e-12)
            continue
        back = [None] * len(rows)
        for place, (row, _) in enumerate(shuffled):
            back[row] = other[place]
        assert ours == pytest.approx(back, rel=1e-12, abs=1e-10)


@given(GROUPS)
@settings(deadline=None)
def test_the_sample_std_bounds_an_advantage(rewards):
    n = len(rewards)
    assert max(map(abs, of(rewards, "grpo:ddof=1"))) <= (n - 1) / math.sqrt(n) * (1 + 1e-12)


EVERY = [name for name, e in ESTIMATORS.items() if not any(s.takes_k for s in e.steps)] + [
    e.spec for f in FRAMEWORKS.values() for e in f.estimators.values() if not any(s.takes_k for s in e.steps)
]


@given(
    st.lists(
        st.tuples(st.one_of(FINITE, st.none(), st.sampled_from([0.0, -0.0, 1.0])), st.integers(0, 3)), max_size=12
    ),
    st.sampled_from(EVERY),
    st.sampled_from([None, 0.0, 0.1]),
)
@settings(max_examples=400, deadline=None)
def test_a_result_is_finite_or_null_for_any_rewards(rows, spec, tolerance):
    rewards = [r for r, _ in rows]
    extra = {"length": [float(i) for i in range(len(rows))], "baseline": [0.5] * len(rows)}
    try:
        result = of(rewards, spec, tolerance=tolerance, group=[g for _, g in rows], **extra)
    except RowError:
        return
    assert len(result) == len(rows)
    assert all(a is None or math.isfinite(a) for a in result)
    assert not any(a == 0 and math.copysign(1, a) < 0 for a in result if a is not None)


# What is told.


@given(
    st.lists(st.tuples(ORDINARY, st.integers(0, 2)), min_size=1, max_size=10),
    st.sampled_from([s for s in EVERY if s != "bnpo" and "bnpo" not in s]),
)
@settings(max_examples=150, deadline=None)
def test_a_trace_ends_in_the_advantages_and_its_arithmetic_holds(rows, spec):
    group = [g for _, g in rows]
    table = frame([r for r, _ in rows], group, length=[1.0 + i for i in range(len(rows))], baseline=[0.25] * len(rows))
    estimator = resolve(spec)
    try:
        result = advantages(table, estimator)
    except RowError:
        return
    told = trace(table, estimator)
    for step in told:
        for row in step.rows:
            before, after = row["before"], row["after"]
            if after is None or before is None or not row["divided_by"] or math.isinf(row["divided_by"]):
                continue
            again = (before - row["subtracted"]) / row["divided_by"]
            room = 1e-9 * (1 + abs(before) / abs(row["divided_by"]))
            assert after == pytest.approx(again, rel=1e-9, abs=room)
    last = {row["row"]: row["after"] for row in told[-1].rows} if told else {}
    if told and estimator.missing != "propagate" and estimator.singleton != "exclude" and not estimator.per_part:
        assert [last[i] for i in range(len(rows))] == result.to_list()


def test_a_trace_tells_the_chosen_groups_with_the_statistics_of_all():
    table = frame([1, 0, 10, 20], group=[0, 0, 1, 1])
    (step,) = trace(table, resolve("lite-ppo"), groups=[1])
    assert [row["row"] for row in step.rows] == [2, 3]
    assert [row["subtracted"] for row in step.rows] == [15, 15]
    whole = advantages(table, resolve("lite-ppo")).to_list()
    assert [row["after"] for row in step.rows] == whole[2:]


def test_a_trace_tells_each_part_and_the_whitening():
    table = frame([1, 0, 1, 0], reward_1=[1.0, 1.0, 0.0, 0.0])
    told = trace(table, resolve("gdpo"), weights=[1, 2])
    assert [step.part for step in told] == [0, 1, None]
    assert told[0].text == "(r - mean) / std (ddof 0)"
    assert told[2].text == "(x - batch mean) / batch std (ddof 0)"
    assert [row["before"] for row in told[2].rows] == [3, 1, -1, -3]


def test_the_series_is_named_and_typed_and_aligned():
    result = advantages(frame([]), resolve("grpo"))
    assert (result.name, result.dtype, len(result)) == ("advantage", pl.Float64, 0)
    mixed = of([1, 5, 0, 7], group=[0, 1, 0, 1])
    assert mixed == [1, -1, -1, 1]


def test_group_numbers_may_have_gaps():
    assert of([1, 0, 5, 7], group=[3, 3, 9, 9]) == [1, -1, -1, 1]
    assert of([1, 5, 0, 7], group=[9, 3, 9, 3]) == [1, -1, -1, 1]


# An offset in one of several rewards, rewards at the end of the range, groups of one by rows.


def test_an_offset_in_one_reward_costs_no_digits_of_another():
    rewards, other = [1e15, 1e15, 1e15 + 1], [1.0, 0.0, 0.3]
    values = of(rewards, "dr-grpo", weights=[1.0, 0.1], tolerance=0, reward_1=other)
    assert values == close([-0.83 / 3, -1.13 / 3, 1.96 / 3])


@pytest.mark.parametrize("weights", [[1.0, 0.1], [0.3, 0.7], [-0.3, 1.0]], ids=str)
@pytest.mark.parametrize("spec", ["dr-grpo", "grpo", "rloo", "lite-ppo", "reinforce++", "reinforce++-baseline"])
def test_weighted_rewards_with_an_offset_are_as_in_exact_fractions(spec, weights):
    rewards, other = [1e14 + 2, 1e14, 1e14 + 1, 1e14 + 5], [1.0, 0.0, 0.3, 0.45]
    sums = [
        Fraction(weights[0]) * Fraction(a) + Fraction(weights[1]) * Fraction(b)
        for a, b in zip(rewards, other, strict=True)
    ]
    moved = [float(value - min(sums)) for value in sums]
    both = of(rewards, spec, weights=weights, tolerance=0, reward_1=other)
    assert both == close(of(moved, spec, tolerance=0))


def test_an_offset_is_told_from_a_baseline_field():
    values = of([1e15, 1e15], "remax", weights=[1.0, 0.1], reward_1=[1.0, 0.3], baseline=[1e15, 1e15])
    assert values == close([0.1, 0.03])


MOST = 1.7976931348623157e308


@pytest.mark.parametrize("spec", ["reinforce++", "reinforce++-baseline", "rloo-normalized"])
def test_rewards_at_the_end_of_the_range_are_whitened(spec):
    high, low = math.sqrt(2 / 3), -math.sqrt(3 / 2)
    assert of([MOST, -MOST, -MOST, MOST, MOST], spec) == close([high, low, low, high, high])


def test_a_group_beside_rewards_at_the_end_of_the_range_keeps_its_value():
    rewards, group = [MOST, -MOST, -MOST, 3.0, 4.0], [0, 0, 0, 1, 1]
    unit = [value / 2**1000 for value in rewards[:3]] + [0.0, 0.0]
    assert of(rewards, "reinforce++-baseline", group=group) == close(of(unit, "reinforce++-baseline", group=group))


def test_what_is_beyond_the_range_is_null_in_a_chain_that_does_not_divide():
    rewards = [MOST, -MOST, -MOST]
    values = of(rewards, "openrlhf/reinforce++-baseline-centred", group=[0, 0, 0], length=[1.0, 1.0, 1.0])
    assert values[0] is None
    assert values[1:] == close([-MOST / 3 * 2, -MOST / 3 * 2])


def test_a_trace_of_vast_rewards_is_in_their_own_scale():
    rewards = [MOST, -MOST, MOST, -MOST]
    first, second = trace(frame(rewards), resolve("reinforce++-baseline"))
    assert [row["before"] for row in first.rows] == rewards
    assert [row["after"] for row in first.rows] == rewards
    assert [row["after"] for row in second.rows] == close([1.0, -1.0, 1.0, -1.0])


@pytest.mark.parametrize("spec", ["easyr1", "easyr1/rloo", "openrlhf/rloo", "verl/passk-max"])
def test_a_framework_that_refuses_groups_of_one_counts_rows(spec):
    spec = f"easyr1/{FRAMEWORKS['easyr1'].default}" if spec == "easyr1" else spec
    values = of([1.0, None, 1.0, 0.0], spec, group=[0, 0, 1, 1])
    assert values[:2] == [None, None]
    assert None not in values[2:]
    for alone in (1.0, None):
        with pytest.raises(RowError, match="a group of one") as caught:
            of([1.0, 0.0, alone], spec, group=[0, 0, 1])
        assert caught.value.row == 2
    taken_out = {"scored": [True, False, True, True]}
    with pytest.raises(RowError, match="a group of one"):
        of([1.0, None, 1.0, 0.0], spec, group=[0, 0, 1, 1], **taken_out)
