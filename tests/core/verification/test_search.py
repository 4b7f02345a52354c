from __future__ import annotations

import random

import polars as pl
import pytest

from grpo_cli.core.estimators import resolve
from grpo_cli.core.steps import advantages
from grpo_cli.core.verification import formulas, probes, unknowns
from grpo_cli.core.verification.search import find

SCHEMA = {"group": pl.UInt32, "batch": pl.UInt32}


def log(spec, *, groups=12, size=4, parts=1, weights=None, seed=2, noise=True, digits=2):
    rng = random.Random(seed)
    rows = groups * size
    frame = pl.DataFrame(
        {"group": [row // size for row in range(rows)], "batch": [row // (size * 4) for row in range(rows)]}
        | {f"reward_{at}": [round(rng.random(), digits) for _ in range(rows)] for at in range(parts)},
        schema_overrides=SCHEMA,
    )
    logged = advantages(frame, resolve(spec), weights=weights)
    if noise:
        logged = logged.cast(pl.Float32).cast(pl.Float64)
    return frame.with_columns(logged.alias("logged"))


def specs(answer):
    return [fit.formula.estimator.spec for fit in answer.fits]


def test_the_class_of_what_a_log_cannot_tell_apart():
    answer = find(log("trl"))
    assert {"trl/grpo", "torchtune/grpo", "torchforge/grpo", "ms-swift/grpo"} <= set(specs(answer))
    assert not {"verl/grpo", "grpo", "trl/dr-grpo", "trl/lite-ppo"} & set(specs(answer))


@pytest.mark.parametrize("first", ["skyrl", "verl", "easyr1"])
def test_the_framework_of_the_layout_comes_first(first):
    assert specs(find(log("verl"), first=first))[0] == f"{first}/grpo"


@pytest.mark.parametrize(
    ("spec", "weights"),
    [("trl", [1.0, 0.5]), ("trl/dr-grpo", [0.7, 0.3]), ("verl/rloo", [1.0, 2.0]), ("trl/lite-ppo", [1.0, -0.25])],
)
def test_rewards_and_weights_are_found(spec, weights):
    made = log(spec, parts=2, weights=weights)
    made = made.with_columns(reward_2=pl.Series([1.0] * made.height), reward_3=pl.int_range(made.height) * 1.0)
    answer = find(made)
    assert spec.split("/")[0] in {fit.formula.estimator.framework for fit in answer.fits}
    (columns,) = {fit.formula.columns for fit in answer.fits}
    scale = max(map(abs, weights)) if spec in ("trl", "trl/lite-ppo") else 1.0
    assert dict(columns) == pytest.approx({at: weight / scale for at, weight in enumerate(weights)})
    assert answer.untold == [2]


def test_rewards_normalized_one_by_one_are_found():
    answer = find(log("trl/gdpo", parts=2, weights=[1.0, 0.5]))
    assert "trl/gdpo" in specs(answer)
    assert answer.fits[0].formula.columns == ((0, 1.0), (1, 0.5))


@pytest.mark.parametrize("spec", ["grpo:ddof=1,eps=0.003", "grpo:ddof=0,eps=0.008", "lite-ppo:ddof=1,eps=0.01"])
def test_an_eps_of_no_framework_is_solved_for(spec):
    answer = find(log(spec, groups=40))
    assert specs(answer) == [spec]


def test_weights_and_eps_together():
    answer = find(log("grpo:ddof=1,eps=0.003", parts=2, weights=[0.7, 0.3], groups=40))
    assert [(fit.formula.estimator.spec, fit.formula.columns) for fit in answer.fits] == [
        ("grpo:ddof=1,eps=0.003", ((0, 0.7), (1, 0.3)))
    ]


def test_known_weights_are_tried_first():
    made = log("trl", parts=2, weights=[1.0, 0.0]).drop("reward_1").with_columns(reward_1=pl.lit(0.5))
    assert find(made, told=((0, 1.0),)).fits[0].formula.columns == ((0, 1.0),)


def test_one_prompt_drawn_twice_is_found_by_the_size_of_its_blocks():
    made = log("prime-rl", groups=6, size=8)
    merged = made.with_columns(group=pl.when(pl.col("group") == 1).then(0).otherwise("group").cast(pl.UInt32))
    answer = find(merged, first="prime-rl")
    assert specs(answer)[0] == "prime-rl/dr-grpo"
    assert {fit.formula.group_size for fit in answer.fits} == {8}


def test_none_fits_and_the_nearest_is_told():
    made = log("trl", groups=10)
    spoiled = made.with_columns(
        logged=pl.when(pl.int_range(pl.len()) == 5).then(pl.col("logged") + 0.01).otherwise("logged")
    )
    answer = find(spoiled)
    assert answer.fits == []
    assert answer.nearest.formula.estimator.spec == "trl/grpo"
    assert answer.nearest.verification.groups["group"].to_list() == [1]


def test_numbers_of_no_formula():
    made = log("trl")
    rng = random.Random(5)
    answer = find(made.with_columns(logged=pl.Series([rng.gauss(0, 1) for _ in range(made.height)])))
    assert answer.fits == []
    assert answer.nearest is None


def test_more_rows_than_the_sample_are_confirmed():
    made = log("verl", groups=3000, size=4)
    assert "verl/grpo" in specs(find(made))
    last = made.with_columns(
        logged=pl.when(pl.int_range(pl.len()) == pl.len() - 1).then(pl.lit(9.0)).otherwise("logged")
    )
    answer = find(last)
    assert answer.fits == []
    assert answer.nearest.verification.groups["group"].to_list() == [2999]


def test_a_log_without_lengths_leaves_token_weights_untried():
    made = log("trl")
    assert "verl/reinforce++" in formulas.untried(made)["length"]
    assert formulas.untried(made.with_columns(length=pl.lit(3.0), baseline=pl.lit(0.0))) == {}


def test_same_computations_stand_together():
    names = [{estimator.spec for estimator in group} for group in formulas.known(log("trl"), "skyrl")]
    assert {"verl/grpo", "skyrl/grpo"} <= next(group for group in names if "verl/grpo" in group)
    assert not any({"trl/grpo", "verl/grpo"} <= group for group in names)
    assert "skyrl/grpo" in names[0]


def test_blocks_are_numbered_as_they_come():
    frame = pl.DataFrame({"group": [0, 1, 0, 0, 1, 0, 0], "batch": [0] * 7}, schema=SCHEMA)
    assert formulas.in_blocks(frame, 2)["group"].to_list() == [0, 1, 0, 2, 1, 2, 3]
    assert formulas.in_blocks(frame, None) is frame


def test_sizes_that_the_groups_may_be_made_of():
    sizes = [16, 8, 8, 1]
    frame = pl.DataFrame(
        {"group": [g for g, size in enumerate(sizes) for _ in range(size)]}, schema={"group": pl.UInt32}
    )
    assert unknowns.block_sizes(frame)[0] == 8
    assert 3 not in unknowns.block_sizes(frame)


def test_the_group_that_would_tell_formulas_apart():
    found = probes.separators([resolve(spec) for spec in ("trl", "torchtune", "verl", "skyrl")])
    alone = next(one for one in found if one.what == "a group of one")
    assert [names for names, _ in alone.results] == [["trl/grpo"], ["torchtune/grpo"], ["verl/grpo", "skyrl/grpo"]]
    assert [values for _, values in alone.results] == [[0.0], [None], [pytest.approx(0.7)]]


def test_equal_formulas_need_no_telling_apart():
    assert probes.separators([resolve("verl"), resolve("skyrl")]) == []


def test_lengths_and_eps_tell_apart():
    def what(*specs):
        return [one.what for one in probes.separators([resolve(spec) for spec in specs])]

    assert what("verl/dr-grpo", "verl/opo") == ["rollouts of unlike length"]
    assert what("openrlhf", "understand-r1-zero/grpo") == ["rewards that differ by about 1e-6"]
    assert what("verl", "grpo:ddof=1,singleton=reward,missing=propagate,eps=0") == ["rewards that differ by about 1e-4"]
    assert what("trl/dr-grpo", "prime-rl") == ["a rollout without a reward"]


def small(groups, logged, **columns):
    made = pl.DataFrame({"group": groups, "batch": [0] * len(groups)} | columns, schema_overrides=SCHEMA)
    return made.with_columns(logged=pl.Series(logged, dtype=pl.Float64))


def test_numbers_divided_by_the_range_are_given_no_eps():
    logged, rewards = [], [1.4, 0.2, 0.9, 0.5, 0.8, 0.1]
    for start in (0, 3):
        group = rewards[start : start + 3]
        logged += [(reward - sum(group) / 3) / (max(group) - min(group)) for reward in group]
    assert find(small([0] * 3 + [1] * 3, logged, reward_0=rewards)).fits == []


def test_one_number_fits_no_eps_to_one_std():
    # (r - mean) / (max - min): in one group any such number is (r - mean) / (std + some eps).
    rewards = [1.5, 0.2, 0.7, 1.5, 0.2, 0.2, 0.2]
    mean = sum(rewards[:4]) / 4
    logged = [(reward - mean) / 1.3 for reward in rewards[:4]] + [0.0] * 3
    assert find(small([0] * 4 + [1] * 3, logged, reward_0=rewards)).fits == []


def test_an_eps_that_leaves_something_over_is_none():
    made = log("grpo:ddof=1,eps=0.003", groups=40, noise=False)
    assert specs(find(made)) == ["grpo:ddof=1,eps=0.003"]
    # Within the tolerance, but by far not within the digits of the log.
    signs = pl.Series([1.0, -1.0] * (made.height // 2))
    assert find(made.with_columns(logged=pl.col("logged") + 4e-6 * signs)).fits == []


@pytest.mark.parametrize(
    ("eps", "short"), [(9.99999e-5, 1e-4), (0.00500001, 0.005), (0.0012, 0.0012), (0.00123456, None)]
)
def test_an_eps_is_short(eps, short):
    assert unknowns.short_eps(eps) == short


def test_weights_that_explain_all_rows_come_before_rounding():
    # RLOO of r0 + 0.2 * r1; in the first group r0 alone is constant but for one row.
    r0, r1 = [0, 0, 1, 1, 1, 1, 0, 0], [0, 1, 1, 1, 0, 0, 1, 0]
    total = [a + 0.2 * b for a, b in zip(r0, r1, strict=True)]
    logged = []
    for start in (0, 4):
        group = total[start : start + 4]
        logged += [reward - (sum(group) - reward) / 3 for reward in group]
    columns = {"reward_0": [float(r) for r in r0], "reward_1": [float(r) for r in r1]}
    answer = find(small([0] * 4 + [1] * 4, logged, **columns))
    assert "trl/rloo" in specs(answer)
    assert {fit.formula.columns for fit in answer.fits} == {((0, 1.0), (1, 0.2))}
    assert all(fit.verification.agree == 8 for fit in answer.fits)


def test_ranks_in_groups_of_two_are_no_rounding_of_anything():
    rewards = [0.7, 1.5, 1.0, 0.3, 0.5, 0.5]
    ranks = [0.0, 1.0, 1.0, 0.0, 0.0, 0.0]
    assert find(small([0, 0, 1, 1, 2, 2], ranks, reward_0=rewards)).fits == []


def test_rounding_is_named_where_nothing_agrees_wholly():
    made = log("trl", groups=6)
    constant = pl.DataFrame({"group": [6] * 4, "batch": [2] * 4, "reward_0": [0.1] * 4}, schema_overrides=SCHEMA)
    noisy = pl.concat([made, constant.with_columns(logged=pl.lit(-7.4e-5))], how="vertical")
    answer = find(noisy)
    assert "trl/grpo" in specs(answer)
    assert answer.fits[0].verification.groups["fault"].to_list() == ["float32"]


def test_a_formula_that_refuses_a_group_is_dropped_and_not_the_search():
    made = small(
        [0, 0, 1, 1, 1],
        [None, None, -(3**-0.5), -(3**-0.5), 2 * 3**-0.5],
        reward_0=[None, 1.0, 1.0, 0.0, 1.0],
        reward_1=[0.0, 0.0, 0.0, 1.0, 1.0],
    )
    assert "openrlhf/grpo" in specs(find(made))
    alone = small([0, 1, 1, 1, 1], [None, 0.5, 0.5, -0.5, -0.5], reward_0=[1.0, 1.0, 1.0, 0.0, 0.0])
    assert "trl/dr-grpo" in specs(find(alone))
