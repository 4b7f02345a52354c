"""Names and SPECs become estimators, and nothing that is given is ignored."""

from __future__ import annotations

import ast
import json
import subprocess
import sys

import pytest

from grpo_cli.core.chain import Step
from grpo_cli.core.estimators import ESTIMATORS, framework, resolve
from grpo_cli.core.frameworks import FRAMEWORKS
from grpo_cli.errors import UsageError


@pytest.mark.parametrize(
    ("spelling", "name"),
    [
        ("GRPO", "grpo"),
        ("dr_grpo", "dr-grpo"),
        ("Dr. GRPO", "dr-grpo"),
        ("drgrpo", "dr-grpo"),
        ("reinforce_plus_plus", "reinforce++"),
        ("REINFORCE++", "reinforce++"),
        ("reinforcepp", "reinforce++"),
        ("reinforce_plus_plus_baseline", "reinforce++-baseline"),
        ("lite_ppo", "lite-ppo"),
        ("LitePPO", "lite-ppo"),
        ("grpo_passk", "passk-max"),
        ("rloo_normalized", "rloo-normalized"),
    ],
)
def test_spellings_of_the_field_are_one_name(spelling, name):
    assert resolve(spelling).name == name


def test_the_default_is_grpo_with_the_population_std_and_no_eps():
    estimator = resolve()
    assert (estimator.spec, estimator.formula) == ("grpo", "(r - mean) / std (ddof 0)")
    assert (estimator.missing, estimator.singleton, estimator.tolerance) == ("null", "zero", 5e-7)


def test_a_framework_gives_its_default_or_its_own_of_that_name():
    assert resolve(like="trl").formula == "(r - mean) / (std + 0.0001) (ddof 1)"
    assert resolve("trl").spec == "trl/grpo"
    assert resolve("trl/rloo") == resolve("rloo", like="TRL")
    assert resolve(like="nemo_rl").spec == "nemo-rl/grpo-loo"
    assert resolve("verl/reinforce++").needs == {"length"}
    assert resolve(like="prime-rl").name == "dr-grpo"


@pytest.mark.parametrize(
    "listed", [*ESTIMATORS.values(), *(e for f in FRAMEWORKS.values() for e in f.estimators.values())]
)
def test_every_row_resolves_from_its_own_spec(listed):
    k = {"k": 4} if any(step.takes_k for step in listed.steps) else {}
    estimator = resolve(listed.spec, axes=k)
    assert resolve(estimator.spec) == estimator
    assert estimator.formula
    assert listed.source
    assert listed.title
    assert json.loads(json.dumps(estimator.as_dict()))["formula"] == estimator.formula


@pytest.mark.parametrize(
    ("spec", "formula"),
    [
        ("grpo:ddof=1", "(r - mean) / std (ddof 1)"),
        ("grpo:eps=1e-4", "(r - mean) / (std + 0.0001) (ddof 0)"),
        ("grpo:baseline=loo,scale=none", "r - mean of the others"),
        ("grpo:scale=batch-std", "(r - mean) / batch std (ddof 0)"),
        ("grpo:baseline=none", "r / std (ddof 0)"),
        ("grpo:baseline=quantile:0.25", "(r - quantile 0.25) / std (ddof 0)"),
        ("grpo:baseline=greedy_reward", "(r - greedy_reward) / std (ddof 0)"),
        ("verl/dr-grpo:scale=group-std", "(r - mean) / (std + 1e-06) (ddof 1)"),
        ("dr-grpo:whiten=tokens", "r - mean, then (x - batch mean) / batch std (ddof 0, weighted by tokens)"),
        ("grpo-whitened:whiten=none", "(r - mean) / std (ddof 0)"),
        ("reinforce++:ddof=1", "(r - batch mean) / batch std (ddof 1)"),
        ("trl/rloo:clip=-1:1", "r clipped to [-1, 1], then r - mean of the others"),
        ("raw", "r"),
    ],
)
def test_axes_change_the_formula(spec, formula):
    assert resolve(spec).formula == formula


def test_options_and_spec_say_the_same():
    assert resolve("grpo", axes={"ddof": 1, "eps": 1e-4}) == resolve("grpo:ddof=1,eps=0.0001")
    assert resolve("grpo", axes={"ddof": None, "eps": None}) == resolve("grpo")
    assert resolve("grpo:ddof=1", axes={"ddof": 1}) == resolve("grpo:ddof=1")


def test_the_spec_remembers_what_was_given():
    assert resolve("trl", axes={"eps": 1e-3, "missing": "null"}).spec == "trl/grpo:eps=0.001,missing=null"


def test_normalizing_each_reward_is_gdpo():
    estimator = resolve("grpo", axes={"aggregate": "normalize-then-sum"})
    assert (estimator.steps, estimator.whiten) == (ESTIMATORS["gdpo"].steps, ESTIMATORS["gdpo"].whiten)
    like = resolve(like="trl", axes={"aggregate": "normalize-then-sum"})
    assert (like.steps, like.whiten) == (FRAMEWORKS["trl"].estimators["gdpo"].steps, resolve("trl/gdpo").whiten)
    assert resolve("gdpo:aggregate=sum-then-normalize").formula == resolve("grpo-whitened").formula


@pytest.mark.parametrize(
    ("spec", "like", "axes", "said", "hinted"),
    [
        ("grppo", None, {}, "unknown estimator: grppo", "did you mean grpo"),
        ("grpo", "tlr", {}, "unknown framework: tlr", "did you mean trl"),
        ("trl/opo", None, {}, "trl has no estimator opo", "trl has: grpo, dr-grpo"),
        ("trl/grpo", "verl", {}, "two frameworks", "one of them"),
        ("grpo:dof=1", None, {}, "unknown axis: dof", "did you mean ddof"),
        ("grpo:ddof", None, {}, "not an axis", "AXIS=VALUE"),
        ("grpo:ddof=1,ddof=0", None, {}, "twice", "once"),
        ("grpo:ddof=1", None, {"ddof": 0}, "two values for ddof", "give one"),
        ("grpo:ddof=2", None, {}, "ddof is 2", None),
        ("grpo:eps=-1", None, {}, "eps is -1", None),
        ("grpo:eps=nan", None, {}, "eps is nan", None),
        ("dr-grpo:ddof=1", None, {}, "ddof means nothing here", "--scale"),
        ("rloo", None, {"eps": 1e-6}, "eps means nothing here", "--scale"),
        ("grpo:scale=std", None, {}, "unknown value for scale: std", "group-std"),
        ("grpo:missing=zero", None, {}, "unknown value for missing", "zero-reward"),
        ("grpo:baseline=quantile:1.5", None, {}, "quantile is 1.5", None),
        ("reinforce++", None, {"singleton": "zero"}, "singleton means nothing here", "leave it out"),
        ("passk", None, {}, "passk needs k", "passk:k=4"),
        ("grpo:k=4", None, {}, "k means nothing here", None),
        ("passk:k=0", None, {}, "k is 0", None),
        ("passk:k=2,baseline=loo", None, {}, "fixes its own baseline", None),
        ("passk:k=2", None, {"aggregate": "normalize-then-sum"}, "one reward", None),
        ("grpo:whiten-ddof=1", None, {}, "is not whitened", "whiten=rows"),
        ("grpo:clip=1", None, {}, "clip is 1", "clip=-1:1"),
    ],
)
def test_what_is_refused_says_why(spec, like, axes, said, hinted):
    with pytest.raises(UsageError, match=said) as caught:
        resolve(spec, like=like, axes=axes)
    assert hinted is None or hinted in caught.value.hint


def test_names_of_frameworks_may_be_spelled_freely():
    assert framework("OpenRLHF").name == "openrlhf"
    assert framework("prime_rl").name == "prime-rl"


def test_an_unscaled_step_says_nothing_of_ddof():
    assert Step(ddof=1, eps=1e-4).text() == "r - mean"


def test_the_tables_load_no_polars():
    code = (
        "import sys, grpo_cli.core.estimators as e; e.resolve('verl/gdpo'); "
        "print(sorted({'polars', 'pyarrow', 'numpy', 'rich'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ast.literal_eval(done.stdout) == []
