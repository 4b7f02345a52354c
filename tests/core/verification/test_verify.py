from __future__ import annotations

import polars as pl
import pytest

from grpo_cli.core.estimators import resolve
from grpo_cli.core.steps import advantages
from grpo_cli.core.verification.verify import Fault, verify


def frame(*groups, logged=None, batch=0):
    rows = [(number, reward) for number, rewards in enumerate(groups) for reward in rewards]
    made = pl.DataFrame(
        {"group": [g for g, _ in rows], "batch": [batch] * len(rows), "reward_0": [r for _, r in rows]},
        schema={"group": pl.UInt32, "batch": pl.UInt32, "reward_0": pl.Float64},
    )
    return made if logged is None else made.with_columns(logged=pl.Series(logged, dtype=pl.Float64))


def of(estimator, *groups):
    made = frame(*groups)
    return made.with_columns(advantages(made, resolve(estimator)).alias("logged"))


def altered(log, row, by):
    values = log["logged"].to_list()
    values[row] = None if by is None else values[row] + by
    return log.with_columns(logged=pl.Series(values, dtype=pl.Float64))


def test_equal_numbers_agree():
    found = verify(of("grpo", [1, 0, 1, 0], [0.25, 0.5, 1]), resolve("grpo"))
    assert (found.rows, found.agree, found.largest) == (7, 7, 0.0)
    assert found.holds
    assert found.groups.is_empty()
    assert found.compared == 2


@pytest.mark.parametrize("by", [0.01, -0.01, 2e-5])
def test_one_altered_number_names_its_group(by):
    log = altered(of("grpo", [1, 0, 1, 0], [0.25, 0.5, 1, 0]), 5, by)
    found = verify(log, resolve("grpo"))
    assert not found.holds
    assert not found.explained
    (group,) = found.groups.to_dicts()
    assert (group["group"], group["fault"], group["rows"], group["differ"], group["row"]) == (1, "differs", 4, 1, 5)
    assert group["largest"] == pytest.approx(abs(by))
    assert group["logged"] == pytest.approx(group["computed"] + by)


def test_float32_and_half_the_tolerance_agree():
    log = of("grpo", [1, 0, 0.3, 0.7])
    assert verify(log.with_columns(pl.col("logged").cast(pl.Float32).cast(pl.Float64)), resolve("grpo")).holds
    assert verify(altered(log, 0, 5e-6), resolve("grpo")).holds
    assert not verify(altered(log, 0, 5e-6), resolve("grpo"), tol=1e-6).holds


def test_the_tolerance_is_relative_above_one():
    log = frame([1e6, 0.0], logged=[5e5 + 4, -5e5])
    assert verify(log, resolve("dr-grpo")).holds
    assert not verify(frame([1e6, 0.0], logged=[5e5 + 6, -5e5]), resolve("dr-grpo")).holds


def test_the_worst_group_comes_first():
    log = of("dr-grpo", [1, 0], [1, 0], [1, 0])
    log = altered(altered(altered(log, 0, 0.1), 2, 0.3), 5, 0.2)
    assert verify(log, resolve("dr-grpo")).groups["group"].to_list() == [1, 2, 0]


def test_a_group_without_any_logged_advantage_is_not_compared():
    log = frame([1, 0], [1, 0], logged=[None, None, 0.5, -0.5])
    found = verify(log, resolve("dr-grpo"))
    assert (found.rows, found.unlogged, found.silent, found.holds) == (2, 2, 2, True)


def test_a_missing_number_beside_others_differs():
    found = verify(altered(of("dr-grpo", [1, 0, 0]), 1, None), resolve("dr-grpo"))
    assert found.groups["fault"].to_list() == ["differs"]
    assert found.groups["largest"].to_list() == [None]
    assert not found.holds


# The float32 numbers of frameworks for constant groups (OpenRLHF, verl, TRL; eps 1e-9, 1e-6, 1e-4), and for seven
# times 0.35 beside one 0.95 under a leave-one-out std (NeMo RL).
@pytest.mark.parametrize(
    ("like", "logged", "rewards"),
    [
        ("openrlhf", -0.831, [0.1] * 8),
        ("openrlhf", 0.886, [0.3] * 6),
        ("verl", -0.0074, [0.1] * 8),
        ("trl", -7.4e-5, [0.1] * 8),
        ("trl", 3e-4, [0.3] * 6),
    ],
)
def test_a_constant_group_with_rounding_noise_is_a_class_of_its_own(like, logged, rewards):
    live = [1.0, 0.0, 0.5, 0.25]
    estimator = resolve(like=like)
    right = advantages(frame(rewards, live), estimator)[len(rewards) :].to_list()
    found = verify(frame(rewards, live, logged=[logged] * len(rewards) + right), estimator)
    assert found.groups.select("group", "fault", "differ").rows() == [(0, "float32", len(rewards))]
    assert found.explained
    assert not found.holds


def test_noise_of_a_leave_one_out_std_is_one_too():
    rewards = [0.35] * 7 + [0.95]
    estimator = resolve(like="nemo-rl")
    right = advantages(frame(rewards), estimator).to_list()
    found = verify(frame(rewards, logged=[*right[:7], 3692.7]), estimator)
    assert found.groups["fault"].to_list() == ["float32"]


def test_large_rewards_lose_their_spread_in_float32():
    rewards = [1e6, 1e6 + 1, 1e6 + 2, 1e6 + 3]
    found = verify(frame(rewards, logged=[-1.5, -0.5, 0.5, 1.5]), resolve("nemo-rl/grpo"))
    assert found.groups["fault"].to_list() == ["float32"]


@pytest.mark.parametrize("logged", [[0.5] * 8, [-0.831] * 7 + [0.2]])
def test_what_rounding_cannot_make_differs(logged):
    estimator = resolve("trl") if logged[0] > 0 else resolve("openrlhf")
    assert verify(frame([0.1] * 8, logged=logged), estimator).groups["fault"].to_list() == ["differs"]


def test_an_altered_number_in_a_live_group_is_no_rounding():
    for spec in ("trl", "verl", "openrlhf", "grpo", "verl/reinforce++-baseline:whiten=rows", "gdpo"):
        log = altered(of(spec, [1, 0, 1, 0], [0.25, 0.5, 1, 0], [1, 0, 0, 0]), 5, 0.01)
        assert "float32" not in verify(log, resolve(spec)).groups["fault"]


def test_the_last_group_of_a_batch_may_be_cut_off():
    log = frame([1, 0, 0, 1], [1, 1, 0, 1], [1], logged=[0.5, -0.5, -0.5, 0.5, 0.25, 0.25, -0.75, 0.25, 0.125])
    found = verify(log, resolve("dr-grpo"))
    assert found.groups.select("group", "fault").rows() == [(2, "cut")]
    assert found.holds


def test_a_short_group_elsewhere_is_not_cut_off():
    log = frame([1], [1, 0, 0, 1], [1, 1, 0, 1], logged=[0.125, 0.5, -0.5, -0.5, 0.5, 0.25, 0.25, -0.75, 0.25])
    assert verify(log, resolve("dr-grpo")).groups["fault"].to_list() == [Fault.DIFFERS]


def test_order_of_rows_does_not_matter():
    log = altered(of("grpo", [1, 0, 1, 0], [0.25, 0.5, 1, 0], [1, 1, 1, 0]), 5, 0.01)
    mixed = log.sample(fraction=1, shuffle=True, seed=3)
    assert verify(mixed, resolve("grpo")).groups["group"].to_list() == [1]


@pytest.mark.parametrize(
    ("spec", "rewards", "logged"),
    [
        ("nemo-rl", [0, 1, 1, 1], [-0.8666666666666667, -0.6, 0.7333333333333333, 0.7333333333333333]),
        ("nemo-rl", [0.35] * 7 + [0.95], [-0.3, -0.4, *[-0.3780] * 5, 3692.7]),  # equal rewards, unequal numbers
        ("nemo-rl", [0.0, 1.0, 1.0, 1.0], [-3692.7, 0.5773492691913577, 0.5773492691913577, 0.5773492691913577]),
        ("nemo-rl", [0.7, 0.1], [1.0, 0.0]),
        ("ms-swift/gdpo", [0.7, 0.1], [1.0, 0.0]),
        ("trl", [0.35] * 7 + [0.95], [0.5] * 8),
        ("openrlhf", [1.0] * 8, [0.5] * 8),  # sums of ones are exact
    ],
)
def test_what_float32_keeps_exact_or_apart_is_no_rounding(spec, rewards, logged):
    found = verify(frame(rewards, [1.0, 0.0, 0.5], logged=[*logged, None, None, None]), resolve(spec))
    assert found.groups["fault"].to_list() == ["differs"]
