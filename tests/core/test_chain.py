"""An estimator in words: formulas, needs, and what each step is taken over."""

from __future__ import annotations

import dataclasses

import pytest

from grpo_cli.core.chain import Estimator, Step, spelled


@pytest.mark.parametrize(
    ("number", "text"), [(1e-4, "0.0001"), (1e-6, "1e-06"), (0.1 + 0.2, "0.30000000000000004"), (1.0, "1")]
)
def test_a_number_reads_back_as_itself(number, text):
    assert spelled(number) == text
    assert float(text) == number


@pytest.mark.parametrize(
    ("step", "text"),
    [
        (Step(), "r - mean"),
        (Step(subtract="none", divide="group-std", ddof=1), "r / std (ddof 1)"),
        (Step(divide="group-std", eps=1e-8, eps_mode="add-var"), "(r - mean) / sqrt(var + 1e-08) (ddof 0)"),
        (Step(divide="batch-std", eps=1e-8, eps_mode="clamp-var"), "(r - mean) / sqrt(max(batch var, 1e-08)) (ddof 0)"),
        (Step(divide="group-std", eps=1e-8, eps_mode="clamp-std"), "(r - mean) / max(std, 1e-08) (ddof 0)"),
        (Step(divide="mean", eps=1e-6), "(r - mean) / (mean + 1e-06)"),
        (Step(subtract="loo", divide="loo-std"), "(r - mean of the others) / std of the others (ddof 0)"),
        (Step(subtract="batch-mean", weighting="tokens"), "r - batch mean (weighted by tokens)"),
        (Step(subtract="field"), "r - baseline"),
    ],
)
def test_a_step_as_a_formula(step, text):
    assert step.text() == text


def test_a_kernel_names_its_k():
    assert "pass@k" in Step(kernel="passk").text()
    assert "C(n-1, 3)" in Step(kernel="passk", k=4).text()


@pytest.mark.parametrize(
    ("step", "group", "batch"),
    [
        (Step(), True, False),
        (Step(divide="batch-std"), True, True),
        (Step(subtract="batch-mean", divide="batch-std"), False, True),
        (Step(subtract="none", divide="group-std"), True, False),
        (Step(subtract="field"), False, False),
        (Step(divide="beta-pdf"), True, True),
        (Step(kernel="passk", k=2), True, False),
        (Step(subtract="quantile:0.5"), True, False),
    ],
)
def test_what_a_step_is_taken_over(step, group, batch):
    assert (step.over_group, step.over_batch) == (group, batch)


def test_needs():
    assert Estimator("x", "", (Step(subtract="length-mean"),)).needs == {"length"}
    assert Estimator("x", "", (Step(),), length_penalty=0.1).needs == {"length"}
    assert Estimator("x", "", (Step(subtract="field"),), whiten=Step(weighting="tokens")).needs == {
        "length",
        "baseline",
    }
    assert Estimator("x", "", (Step(),)).needs == frozenset()


def test_estimators_are_values():
    estimator = Estimator("x", "", (Step(),))
    assert estimator == Estimator("x", "", (Step(),))
    with pytest.raises(dataclasses.FrozenInstanceError):
        estimator.name = "y"
