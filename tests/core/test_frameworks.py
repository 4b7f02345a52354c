"""The table of frameworks: what each is, and a few of its conventions against their configuration by hand."""

from __future__ import annotations

import re

import pytest

from grpo_cli.core.estimators import resolve
from grpo_cli.core.frameworks import FRAMEWORKS

ASKED = [
    "trl",
    "trl-async",
    "verl",
    "openrlhf",
    "ms-swift",
    "nemo-rl",
    "slime",
    "roll",
    "roll-agentic",
    "areal",
    "prime-rl",
    "verifiers",
    "open-instruct",
    "tinker",
    "torchtune",
    "torchforge",
    "skyrl",
    "easyr1",
    "art",
    "rllm",
    "tunix",
    "rlinf",
    "axolotl",
    "atropos",
]


def test_the_frameworks_that_train_come_first_in_a_steady_order():
    names = list(FRAMEWORKS)
    assert set(ASKED) <= set(names)
    papers = [name for name, row in FRAMEWORKS.items() if row.paper_code]
    assert names[-len(papers) :] == papers


@pytest.mark.parametrize("row", FRAMEWORKS.values(), ids=FRAMEWORKS)
def test_a_row_says_what_was_read_and_when(row):
    assert re.fullmatch(r"[0-9a-f]{12}", row.version)
    assert re.fullmatch(r"202\d-\d\d(-\d\d)?", row.date)
    assert row.function
    assert row.default == next(iter(row.estimators))
    assert row.default in row.estimators
    assert all(e.name == name and e.framework == row.name for name, e in row.estimators.items())
    assert all(e.tolerance == 0 for e in row.estimators.values())


@pytest.mark.parametrize(
    ("spec", "ddof", "eps", "singleton", "missing"),
    [
        ("trl", 1, 1e-4, "zero", "zero-advantage"),
        ("trl-async", 0, 1e-8, "zero", "zero-advantage"),
        ("verl", 1, 1e-6, "reward", "propagate"),
        ("openrlhf", 1, 1e-9, "null", "propagate"),
        ("ms-swift", 1, 1e-4, "zero", "zero-reward"),
        ("nemo-rl/grpo", 1, 1e-6, "zero", "propagate"),
        ("slime", 1, 1e-6, "null", "propagate"),
        ("areal", 1, 1e-5, "zero", "propagate"),
        ("open-instruct/grpo", 0, 1e-8, "zero", "propagate"),
        ("art", 0, 1e-6, "zero", "error"),
        ("rllm", 0, 1e-6, "reward", "propagate"),
        ("easyr1", 1, 1e-6, "error", "propagate"),
        ("atropos", 0, 1e-8, "reward", "propagate"),
    ],
)
def test_conventions(spec, ddof, eps, singleton, missing):
    estimator = resolve(spec)
    (step,) = estimator.steps
    assert (step.ddof, step.eps, estimator.singleton, estimator.missing) == (ddof, eps, singleton, missing)


@pytest.mark.parametrize("name", ["trl", "verl", "openrlhf", "nemo-rl", "slime", "easyr1"])
def test_where_float32_goes_wrong_the_row_says_so(name):
    assert "float32" in FRAMEWORKS[name].note or "rounding" in FRAMEWORKS[name].note
    assert resolve(like=name).fault == FRAMEWORKS[name].note
