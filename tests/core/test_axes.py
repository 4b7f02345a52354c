"""The text of axes, and what each does to the steps."""

from __future__ import annotations

import pytest

from grpo_cli.core import axes
from grpo_cli.core.chain import Estimator, Step
from grpo_cli.errors import UsageError

GRPO = Estimator("grpo", "", (Step(divide="group-std"),))
WHITENED = Estimator("w", "", (), whiten=Step(subtract="batch-mean", divide="batch-std"))


def test_parse():
    assert axes.parse("ddof=1, EPS_MODE=add-var,clip=-1:1") == {"ddof": "1", "eps-mode": "add-var", "clip": "-1:1"}
    with pytest.raises(UsageError, match="unknown axis: ep"):
        axes.parse("ep=1")


def test_nothing_given_changes_nothing():
    assert axes.apply(GRPO, {}) == GRPO
    assert axes.apply(GRPO, {"ddof": None}) == GRPO


def test_axes_act_in_one_order_whatever_order_they_are_given_in():
    one = axes.apply(GRPO, {"eps": 0.1, "scale": "batch-std", "ddof": 1})
    other = axes.apply(GRPO, {"ddof": 1, "scale": "batch-std", "eps": 0.1})
    assert one == other
    assert one.steps == (Step(divide="batch-std", ddof=1, eps=0.1),)


def test_a_baseline_is_put_where_there_is_none():
    assert axes.apply(WHITENED, {"baseline": "mean"}).steps == (Step(),)


def test_ddof_and_eps_go_to_the_first_std():
    assert axes.apply(WHITENED, {"ddof": 1}).whiten.ddof == 1
    both = axes.apply(GRPO, {"whiten": "rows", "ddof": 1, "eps": 0.1, "whiten-eps": 0.2})
    assert (both.steps[0].ddof, both.steps[0].eps) == (1, 0.1)
    assert (both.whiten.ddof, both.whiten.eps) == (0, 0.2)


def test_any_other_baseline_is_a_field_as_it_is_spelled():
    given = axes.apply(GRPO, {"baseline": "Greedy.Reward"})
    assert (given.steps[0].subtract, given.baseline_field, given.needs) == ("field", "Greedy.Reward", {"baseline"})
    assert axes.apply(given, {"baseline": "mean"}).baseline_field == ""


def test_scales_that_are_no_std_take_eps_but_no_ddof():
    assert axes.apply(GRPO, {"scale": "mean", "eps": 0.1}).steps[0].eps == 0.1
    with pytest.raises(UsageError, match="ddof means nothing"):
        axes.apply(GRPO, {"scale": "mean", "ddof": 1})
