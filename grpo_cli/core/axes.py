"""The axes of an estimator: how `--ddof 1`, or `:ddof=1` in SPEC, changes its steps."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from grpo_cli.core import chain
from grpo_cli.core.chain import Estimator, Step, spelled
from grpo_cli.errors import UsageError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Mapping

AXES = (
    "aggregate",
    "baseline",
    "scale",
    "ddof",
    "eps",
    "eps-mode",
    "whiten",
    "whiten-ddof",
    "whiten-eps",
    "whiten-eps-mode",
    "missing",
    "singleton",
    "threshold",
    "clip",
    "length-penalty",
    "clip-after",
    "k",
)
"""In the order in which they act: an axis may speak about what an earlier one put there."""

_WHITEN = Step(subtract="batch-mean", divide="batch-std")


def parse(text: str) -> dict[str, str]:
    """The axes of a SPEC, after the colon: `ddof=1,eps=1e-6`."""
    axes: dict[str, str] = {}
    for item in text.split(","):
        axis, equals, value = item.partition("=")
        axis = axis.strip().lower().replace("_", "-")
        if not equals or not value.strip():
            raise UsageError(f"not an axis of an estimator: {item!r}", hint="write AXIS=VALUE, as in grpo:ddof=1")
        if axis not in AXES:
            raise UsageError(f"unknown axis: {axis}", hint=did_you_mean(axis, AXES))
        if axis in axes:
            raise UsageError(f"the axis {axis} is given twice", hint="give it once")
        axes[axis] = value.strip()
    return axes


def apply(estimator: Estimator, axes: Mapping[str, Any]) -> Estimator:
    """The estimator with the axes that are given (not None); refuses those that mean nothing or nothing good."""
    given = {axis: axes[axis] for axis in AXES if axes.get(axis) is not None}
    for axis, value in given.items():
        estimator = _APPLY[axis](estimator, value)
    _refuse(estimator, given)
    texts = tuple((axis, spelled(v) if isinstance(v, float) else str(v)) for axis, v in given.items())
    return replace(estimator, given=texts)


def _choice(axis: str, value: Any, choices: tuple[str, ...]) -> str:
    text = str(value).strip().lower().replace("_", "-")
    if text not in choices:
        raise UsageError(f"unknown value for {axis}: {value}", hint=did_you_mean(text, choices))
    return text


def _number(axis: str, value: Any) -> float:
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if not 0 <= number < math.inf:
        raise UsageError(f"{axis} is {value}, and should be a number, 0 or more")
    return number


def _whole(axis: str, value: Any, choices: range) -> int:
    try:
        number = int(str(value))
    except ValueError:
        number = choices.start - 1
    if number not in choices:
        among = "0 or 1" if len(choices) == 2 else f"a whole number from {choices.start}"
        raise UsageError(f"{axis} is {value}, and should be {among}")
    return number


def _first(estimator: Estimator, **changes: Any) -> Estimator:
    """Change the step that the baseline and the scale are in: the first one, put there where there is none."""
    steps = estimator.steps or (Step(subtract="none"),)
    if steps[0].kernel:
        raise UsageError(
            f"{estimator.name} fixes its own baseline and scale",
            hint="start from another estimator, as in grpo:baseline=loo",
        )
    return replace(estimator, steps=(replace(steps[0], **changes), *steps[1:]))


def _dividing(estimator: Estimator, axis: str, **changes: Any) -> Estimator:
    """Change the first step that divides by a std, or by a mean where eps is meant."""
    for index, step in enumerate(estimator.steps):
        if step.scaled or (axis != "ddof" and step.softened):
            changed = replace(step, **changes)
            return replace(estimator, steps=(*estimator.steps[:index], changed, *estimator.steps[index + 1 :]))
    if estimator.whiten and estimator.whiten.scaled:
        return replace(estimator, whiten=replace(estimator.whiten, **changes))
    raise UsageError(
        f"{axis} means nothing here: {estimator.name} divides by no standard deviation ({estimator.formula})",
        hint=f"leave {axis} out, or choose a scale: --scale group-std",
    )


def _whitening(estimator: Estimator, axis: str, **changes: Any) -> Estimator:
    if estimator.whiten is None:
        raise UsageError(f"{axis} means nothing here: {estimator.name} is not whitened", hint="add whiten=rows")
    return replace(estimator, whiten=replace(estimator.whiten, **changes))


def _aggregate(estimator: Estimator, value: Any) -> Estimator:
    per_part = _choice("aggregate", value, chain.AGGREGATES) == "normalize-then-sum"
    if per_part and any(step.kernel for step in estimator.steps):
        raise UsageError(f"{estimator.name} is a formula over one reward", hint="aggregate=sum-then-normalize")
    if per_part and not estimator.per_part and estimator.whiten is None:
        # GDPO whitens the sum: the parts each have a std of 1, their sum has not.
        return replace(estimator, per_part=True, whiten=_WHITEN)
    return replace(estimator, per_part=per_part)


def _baseline(estimator: Estimator, value: Any) -> Estimator:
    text = str(value).strip()
    name = text.lower().replace("_", "-")
    if name == "median":
        name = "quantile:0.5"
    if name.startswith("quantile:"):
        share = _number("quantile", name.removeprefix("quantile:"))
        if share > 1:
            raise UsageError(f"the quantile is {spelled(share)}, and should be between 0 and 1")
        name = f"quantile:{spelled(share)}"
    elif name not in chain.BASELINES:
        return replace(_first(estimator, subtract="field"), baseline_field=text)
    return replace(_first(estimator, subtract=name), baseline_field="")


def _scale(estimator: Estimator, value: Any) -> Estimator:
    return _first(estimator, divide=_choice("scale", value, chain.SCALES + chain.FINER_SCALES))


def _whiten(estimator: Estimator, value: Any) -> Estimator:
    how = _choice("whiten", value, chain.WHITEN)
    if how == "none":
        return replace(estimator, whiten=None)
    return replace(estimator, whiten=replace(estimator.whiten or _WHITEN, weighting=how))


def _bounds(axis: str, value: Any) -> tuple[float, float]:
    low, colon, high = str(value).partition(":")
    try:
        bounds = float(low), float(high)
    except ValueError:
        bounds = 1.0, 0.0
    if not (colon and -math.inf < bounds[0] <= bounds[1] < math.inf):
        raise UsageError(f"{axis} is {value}, and should be LOW:HIGH", hint=f"as in {axis}=-1:1")
    return bounds


def _k(estimator: Estimator, value: Any) -> Estimator:
    k = _whole("k", value, range(1, 2**31))
    if not any(step.takes_k for step in estimator.steps):
        raise UsageError(f"k means nothing here: {estimator.name} is not about k rollouts")
    steps = tuple(replace(step, k=k) if step.takes_k else step for step in estimator.steps)
    return replace(estimator, steps=steps)


_APPLY = {
    "aggregate": _aggregate,
    "baseline": _baseline,
    "scale": _scale,
    "ddof": lambda e, v: _dividing(e, "ddof", ddof=_whole("ddof", v, range(2))),
    "eps": lambda e, v: _dividing(e, "eps", eps=_number("eps", v)),
    "eps-mode": lambda e, v: _dividing(e, "eps-mode", eps_mode=_choice("eps-mode", v, chain.EPS_MODES)),
    "whiten": _whiten,
    "whiten-ddof": lambda e, v: _whitening(e, "whiten-ddof", ddof=_whole("whiten-ddof", v, range(2))),
    "whiten-eps": lambda e, v: _whitening(e, "whiten-eps", eps=_number("whiten-eps", v)),
    "whiten-eps-mode": lambda e, v: _whitening(
        e, "whiten-eps-mode", eps_mode=_choice("whiten-eps-mode", v, chain.EPS_MODES)
    ),
    "missing": lambda e, v: replace(e, missing=_choice("missing", v, chain.MISSING + chain.FINER_MISSING)),
    "singleton": lambda e, v: replace(e, singleton=_choice("singleton", v, chain.SINGLETON + chain.FINER_SINGLETON)),
    "threshold": lambda e, v: replace(e, threshold=_number("threshold", v)),
    "clip": lambda e, v: replace(e, clip=_bounds("clip", v)),
    "length-penalty": lambda e, v: replace(e, length_penalty=_number("length-penalty", v)),
    "clip-after": lambda e, v: replace(e, clip_after=_bounds("clip-after", v)),
    "k": _k,
}


def _refuse(estimator: Estimator, given: Mapping[str, Any]) -> None:
    """Refuse what would be ignored, or would give a number that means nothing."""
    if "singleton" in given and not estimator.over_group:
        raise UsageError(
            f"singleton means nothing here: nothing is taken over the group ({estimator.formula})",
            hint="leave it out",
        )
    if any(step.takes_k and step.k is None for step in estimator.steps):
        raise UsageError(f"{estimator.name} needs k", hint=f"as in {estimator.name}:k=4")
