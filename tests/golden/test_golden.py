"""The numbers of the frameworks, and, where float32 spoiled them, the numbers of exact arithmetic."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from functools import cache
from pathlib import Path

import polars as pl
import pytest

from grpo_cli.core.estimators import resolve
from grpo_cli.core.steps import advantages


def _load(name):
    return json.loads((Path(__file__).parent / f"{name}.json").read_text())


INPUTS, SETUPS, CASES, NOISE = (_load(name) for name in ("inputs", "setups", "cases", "noise"))

NOT_OFFERED = {"144": "SkyRL advantage_batch_normalize: its mean counts the zeros of the padding"}
FAULTS = {
    # float64 leaves 1.4e-17 between the mean of six times 0.1 and 0.1, and dividing by a std of 1.4e-17 gives 1.
    ("115", "const_0p1_plus_live"),
    ("115", "sizes_2_6_const_mix"),
}
SCHEMA = {"group": pl.UInt32, "batch": pl.UInt32, "length": pl.Float64}


def frame_of(name, setup, number=0):
    """One input as a canonical frame; `number` tells its groups and batch from those of other inputs."""
    rows, params = INPUTS[name], setup["params"]
    size = len(rows["key"])
    steps = rows.get("step", [0] * size)
    how = params.get("group_key", "prompt_id")
    keys = {
        "prompt_id": lambda i: rows["key"][i],
        "int_coerced": lambda i: int(rows["key"][i]),
        "blocks": lambda i: i // 4,
        "all_rows_one_group": lambda _: 0,
    }[how]
    parts = rows.get("rewards", {}) if setup["weights"] or setup.get("parts") else {}
    if parts:
        rewards = {f"reward_{i}": values for i, values in enumerate(parts.values())}
    else:
        rewards = {"reward_0": rows["reward"]}
    columns = {
        "case": [number] * size,
        "key": [f"{number}/{steps[i]}/{keys(i)}" for i in range(size)],
        "step": [f"{number}/{steps[i]}" for i in range(size)],
        "length": [float(length) for length in rows.get("length", [1] * size)],
    }
    schema = {"length": pl.Float64} | dict.fromkeys(rewards, pl.Float64)
    return pl.DataFrame(columns | rewards, schema_overrides=schema, strict=False)


def computed(frame, setup):
    """The advantages of stacked inputs, numbered as a log numbers its groups and steps."""
    frame = frame.with_columns(
        group=pl.col("key").rank("dense").cast(pl.UInt32) - 1,
        batch=pl.col("step").rank("dense").cast(pl.UInt32) - 1,
    )
    weights = list(setup["weights"].values()) if setup["weights"] else None
    return frame.with_columns(a=advantages(frame.drop("key", "step"), resolve(setup["spec"]), weights=weights))


def stacks(names, *, alone):
    """Names of inputs that can be one frame: with the same reward columns, and each alone where order matters."""
    together = {}
    for name in names:
        together.setdefault(name if alone else str(list(INPUTS[name].get("rewards", ""))), []).append(name)
    return list(together.values())


def agree(ours, theirs):
    if ours is None or theirs is None:
        return ours is theirs
    return abs(ours - theirs) <= 1e-5 * max(1, abs(theirs))


@pytest.mark.parametrize("number", [n for n in SETUPS if n not in NOT_OFFERED])
def test_a_setup_gives_the_numbers_of_its_framework(number):
    setup = SETUPS[number]
    cases = {name: values for name, values in CASES.get(number, {}).items() if (number, name) not in FAULTS}
    for names in stacks(cases, alone=setup["spec"].startswith("prime-rl/rae")):
        frame = computed(pl.concat([frame_of(name, setup, i) for i, name in enumerate(names)]), setup)
        for i, name in enumerate(names):
            ours = frame.filter(case=i)["a"].to_list()
            assert all(map(agree, ours, cases[name])), (setup["spec"], name, ours, cases[name])


def test_few_numbers_are_left_out():
    known = sum(map(len, CASES.values()))
    left_out = sum(len(CASES.get(number, {})) for number in NOT_OFFERED) + len(FAULTS)
    assert known > 3900
    assert left_out < 40


def moments(values, weights, ddof):
    mass = sum(weights)
    mean = sum(w * v for v, w in zip(values, weights, strict=True)) / mass
    squares = sum(w * (v - mean) ** 2 for v, w in zip(values, weights, strict=True))
    return mean, squares / (mass - ddof) if mass > ddof and len(values) > 1 else Fraction(0)


def divided(value, var, eps, mode):
    """A value over a std in the form that a framework gives it; a var of 0 without eps leaves it as it is."""
    if mode == "guard_zero" or not eps:
        return value if var == 0 else float(value) / math.sqrt(var)
    scale = {
        "add_std": lambda: math.sqrt(var) + eps,
        "add_var": lambda: math.sqrt(var + Fraction(eps)),
        "clamp_var": lambda: math.sqrt(max(var, Fraction(eps))),
        "clamp_std": lambda: max(math.sqrt(var), eps),
    }[mode.split()[0]]()
    return float(value) / scale


def quantile(values, share):
    values, place = sorted(values), Fraction(share) * (len(values) - 1)
    low = int(place)
    return values[low] + (place - low) * (values[min(low + 1, len(values) - 1)] - values[low])


BASELINES = {
    "none": lambda _, __, ___, ____: Fraction(0),
    "group_mean": lambda values, _, __, ___: sum(values) / len(values),
    "group_loo_mean": lambda values, own, _, __: (sum(values) - own) / (len(values) - 1),
    "batch_mean": lambda _, __, rewards, ___: sum(rewards) / len(rewards),
    "group_quantile": lambda values, _, __, share: quantile(values, share),
    "second_max_for_argmax_only": lambda values, own, _, __: sorted(values)[-2] if own == max(values) else own,
}


def exact(name, setup):
    """The formula of the setup's parameters in exact fractions; floats only from a square root on."""
    return _exact(name, json.dumps(setup["params"], sort_keys=True))


@cache
def _exact(name, params):
    rows, p = INPUTS[name], json.loads(params)
    rewards = [Fraction(r) for r in rows["reward"]]
    lengths = [Fraction(n) for n in rows.get("length", [1] * len(rewards))]
    groups = grouped(rows["key"], rewards)
    ddof, ones = p.get("ddof") or 0, [Fraction(1)] * len(rewards)
    stds = {key: moments(values, ones[: len(values)], ddof) for key, values in groups.items()}
    centring = any(word in p.get("scale_of", "") for word in ("centered", "minus"))
    basis = [r - stds[k][0] for r, k in zip(rewards, rows["key"], strict=True)] if centring else rewards
    batch_var = moments(basis, ones, ddof)[1]
    result = []
    for own, key in zip(rewards, rows["key"], strict=True):
        values, mode = groups[key], p["eps_mode"]
        centred = own - BASELINES[p["baseline"]](values, own, rewards, p.get("quantile"))
        var = batch_var if p["scale"] == "batch_std" else stds[key][1]
        if p.get("std_about") == "loo_mean":
            var *= Fraction(len(values), len(values) - 1) ** 2
        if p["scale"] == "group_loo_std":
            others = list(values)
            others.remove(own)
            var = moments(others, ones[: len(others)], ddof)[1]
            mode = mode if var else "guard_zero"
        result.append(centred if p["scale"] == "none" else divided(centred, var, p["eps"], mode))
    return whitened(result, p.get("post"), lengths)


def grouped(keys, values):
    groups = {}
    for key, value in zip(keys, values, strict=True):
        groups.setdefault(key, []).append(value)
    return groups


def whitened(values, post, lengths):
    if not post:
        return [float(v) for v in values]
    values = [Fraction(v) for v in values]
    weights = lengths if post["weight"] == "token" else [Fraction(1)] * len(values)
    mean, var = moments(values, weights, post.get("ddof", 0))
    if post["op"] == "batch_center":
        return [float(v - mean) for v in values]
    return [float(divided(v - mean, var, post["eps"], post["eps_mode"])) for v in values]


TRAPS = {
    "const": "T2: a constant group is not constant in float32",
    "split": "T4: the std of the others is a rounding residue",
    "large": "T3: one-pass variance, and float32 cannot tell 1e6 from 1e6 + 0.01",
    "tiny": "float32 cannot hold 1 + 1e-5, or 0.5 + 1e-7",
}
BINARY = ("bnpo-code", "maxrl-code", "passk-training", "prime-rl/rae", "prime-rl/dr-grpo:length", "axolotl/gdpo")


def checkable(number, name):
    setup, rows = SETUPS[number], INPUTS[name]
    if number in NOT_OFFERED or setup["spec"].startswith(BINARY) or setup["weights"] or "gdpo" in setup["spec"]:
        return False
    params = setup["params"]
    plain = "group_key" not in params and "rewards" not in rows and "step" not in rows and None not in rows["reward"]
    known = params["baseline"] in BASELINES
    scales = params["scale"] in ("none", "group_std", "group_loo_std", "batch_std")
    shaped = ":clip" in setup["spec"] or "gpg" in setup["spec"] or "agentic" in setup["spec"]
    sizes = [rows["key"].count(key) for key in rows["key"]]
    return plain and known and scales and not shaped and min(sizes) > 1 and (number, name) not in FAULTS


@pytest.mark.parametrize(
    ("number", "name"),
    [pytest.param(n, name, id=f"{SETUPS[n]['spec']}-{name}") for n in NOISE for name in NOISE[n] if checkable(n, name)],
)
def test_where_float32_made_noise_ours_is_the_exact_number(number, name):
    assert any(name.startswith(trap) for trap in TRAPS)
    ours = computed(frame_of(name, SETUPS[number]), SETUPS[number])["a"].to_list()
    right = exact(name, SETUPS[number])
    assert ours == pytest.approx(right, rel=1e-12, abs=1e-12)
    assert not all(map(agree, ours, NOISE[number][name]))


def test_every_noise_case_is_checked_but_the_degenerate_fits():
    rest = {
        (SETUPS[n]["spec"], name) for n in NOISE.keys() - NOT_OFFERED for name in NOISE[n] if not checkable(n, name)
    }
    assert rest <= {
        ("bnpo-code/bnpo", "len_extreme"),
        ("bnpo-code/bnpo", "len_varied"),
        ("trl/gdpo", "tiny_spread_at_0p5"),
        ("roll-agentic/batch-mean-group-std", "tiny_spread_offset_1_2"),
    }


def test_a_beta_density_that_cannot_be_fitted_leaves_rewards_centred():
    setup = next(s for s in SETUPS.values() if s["spec"] == "bnpo-code/bnpo")
    for name in ("len_extreme", "len_varied"):
        ours = computed(frame_of(name, setup), setup)["a"].to_list()
        assert ours == [r - 0.5 for r in INPUTS[name]["reward"]]


def test_gdpo_of_one_tiny_spread_is_grpo_whitened():
    setup = next(s for s in SETUPS.values() if s["spec"] == "trl/gdpo")
    ours = computed(frame_of("tiny_spread_at_0p5", setup), setup)["a"].to_list()
    rewards = [Fraction(r) for r in INPUTS["tiny_spread_at_0p5"]["reward"]]
    mean, var = moments(rewards, [1] * 4, 1)
    first = [Fraction(divided(r - mean, var, 1e-4, "add_std")) for r in rewards]
    mean, var = moments(first, [1] * 4, 1)
    assert ours == pytest.approx([divided(x - mean, var, 1e-4, "add_std") for x in first], rel=1e-12)


def test_all_other_numbers_equal_exact_fractions_to_twelve_digits():
    checked = 0
    for number, cases in CASES.items():
        names = [name for name in cases if checkable(number, name)]
        if not names:
            continue
        setup = SETUPS[number]
        frame = computed(pl.concat([frame_of(name, setup, i) for i, name in enumerate(names)]), setup)
        for i, name in enumerate(names):
            ours = frame.filter(case=i)["a"].to_list()
            assert ours == pytest.approx(exact(name, setup), rel=1e-12, abs=1e-12), (setup["spec"], name)
            checked += 1
    assert checked > 2000


def test_pkpo_is_the_mean_over_all_sets():
    for case in _load("pkpo"):
        frame = pl.DataFrame(
            {"group": 0, "batch": 0, "reward_0": case["rewards"]}, schema_overrides=SCHEMA, strict=False
        )
        frame = frame.with_columns(pl.col("reward_0").cast(pl.Float64))
        assert advantages(frame, resolve(case["spec"])).to_list() == pytest.approx(case["advantages"], abs=1e-12)
