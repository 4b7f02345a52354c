"""The named estimators, one row each, and how a SPEC and the options become one. Loads no Polars."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from grpo_cli.core import axes as _axes
from grpo_cli.core.chain import Estimator, Step
from grpo_cli.core.frameworks import FRAMEWORKS, Framework
from grpo_cli.errors import UsageError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["ESTIMATORS", "Estimator", "Step", "resolve"]

_MEAN = Step()
_GRPO = Step(divide="group-std")
_WHITEN = Step(subtract="batch-mean", divide="batch-std")

_ROWS = (
    Estimator(
        "grpo",
        "Group Relative Policy Optimization",
        (_GRPO,),
        source="DeepSeekMath, arXiv 2402.03300",
    ),
    Estimator("dr-grpo", "Dr. GRPO: centred, not scaled", (_MEAN,), source="Dr. GRPO, arXiv 2503.20783"),
    Estimator(
        "rloo",
        "REINFORCE leave-one-out",
        (Step(subtract="loo"),),
        source="Back to Basics, arXiv 2402.14740",
    ),
    Estimator(
        "rloo-normalized",
        "REINFORCE leave-one-out, whitened over the batch",
        (Step(subtract="loo"),),
        whiten=_WHITEN,
        source="TRL RLOOTrainer normalize_advantages",
    ),
    Estimator(
        "grpo-loo",
        "leave-one-out mean and std",
        (Step(subtract="loo", divide="loo-std", ddof=1),),
        source="NeMo-RL calculate_baseline_and_std_per_prompt",
    ),
    Estimator(
        "lite-ppo",
        "group mean, batch std",
        (Step(divide="batch-std"),),
        source="Lite PPO, arXiv 2508.08221",
    ),
    Estimator(
        "batch-norm",
        "batch mean and std",
        (Step(subtract="batch-mean", divide="batch-std"),),
        source="ROLL reward_norm with mean and std over the batch",
    ),
    Estimator(
        "reinforce++",
        "REINFORCE++: rewards whitened over the batch",
        (),
        whiten=_WHITEN,
        source="REINFORCE++, arXiv 2501.03262",
    ),
    Estimator(
        "reinforce++-baseline",
        "REINFORCE++-baseline: less the group mean, whitened over the batch",
        (_MEAN,),
        whiten=_WHITEN,
        source="REINFORCE++, arXiv 2501.03262",
    ),
    Estimator(
        "grpo-whitened",
        "grpo, whitened over the batch",
        (_GRPO,),
        whiten=_WHITEN,
        source="slime normalize_advantages",
    ),
    Estimator(
        "gdpo",
        "GDPO: each reward normalized on its own, the weighted sum whitened",
        (_GRPO,),
        whiten=_WHITEN,
        per_part=True,
        source="GDPO, arXiv 2601.05242",
    ),
    Estimator(
        "opo",
        "On-policy RL with optimal baseline: length-weighted mean",
        (Step(subtract="length-mean"),),
        source="OPO, arXiv 2505.23585",
    ),
    Estimator(
        "gpg",
        "Group Policy Gradient: centred, times rows over rows with a reward",
        (Step(divide="batch-nonzero"),),
        source="GPG, arXiv 2504.02546",
    ),
    Estimator(
        "maxrl",
        "MaxRL: relative to the group mean",
        (Step(divide="mean"),),
        source="MaxRL; prime-rl algo/max_rl.py",
    ),
    Estimator(
        "qae",
        "Quantile advantage estimation: less the 0.4 quantile",
        (Step(subtract="quantile:0.4", divide="group-std", ddof=1, eps=1e-6),),
        source="QAE, arXiv 2509.22611",
    ),
    Estimator(
        "bnpo",
        "Beta normalization of binary rewards",
        (Step(divide="beta-pdf"),),
        source="BNPO, arXiv 2506.02864",
    ),
    Estimator(
        "passk",
        "analytic pass@k advantage of binary rewards, passk:k=4",
        (Step(kernel="passk"),),
        source="Pass@k Training, arXiv 2508.10751",
    ),
    Estimator(
        "passk-max",
        "the best rollout of a group against its second best",
        (Step(subtract="second-best", divide="group-std", ddof=1, eps=1e-6),),
        source="verl compute_grpo_passk_outcome_advantage",
    ),
    Estimator(
        "pkpo",
        "Pass@k policy optimization, leave-one-out minus one, pkpo:k=4",
        (Step(kernel="pkpo"),),
        source="PKPO, arXiv 2505.15201",
    ),
    Estimator(
        "remax",
        "less the reward of a greedy rollout, --baseline FIELD",
        (Step(subtract="field"),),
        source="ReMax, arXiv 2310.10505",
    ),
    Estimator("raw", "the reward itself", (Step(subtract="none"),), source="NeMo-RL RawRewardAdvantageEstimator"),
)

ESTIMATORS: dict[str, Estimator] = {row.name: row for row in _ROWS}
"""The estimators by name, without a framework's conventions: population std, no eps, exact where a std is zero."""

_SPELLINGS = {
    "drgrpo": "dr-grpo",
    "centered": "dr-grpo",
    "groupnorm": "grpo",
    "reinforce++baseline": "reinforce++-baseline",
    "reinforcebaseline": "reinforce++-baseline",
    "rf++": "reinforce++",
    "rf++baseline": "reinforce++-baseline",
    "magistral": "reinforce++-baseline",
    "batchstd": "lite-ppo",
    "prpo": "batch-norm",
    "grpopassk": "passk-max",
    "grpoloostd": "grpo-loo",
    "reinforceleaveoneout": "rloo",
    "none": "raw",
}


def _squashed(name: str) -> str:
    """`Dr_GRPO` and `dr.grpo` are one name, `REINFORCE++` and `reinforce_plus_plus` are one."""
    squashed = re.sub(r"[\s._-]", "", name.lower())
    return re.sub(r"plusplus|(?<=reinforce)pp", "++", squashed)


def find_name(name: str, known: Iterable[str]) -> str | None:
    """The one of `known` that `name` spells, in any of the field's spellings; None where it is none."""
    known = list(known)
    squashed = _squashed(name)
    for candidate in known:
        if _squashed(candidate) == squashed:
            return candidate
    other = _SPELLINGS.get(squashed)
    return other if other in known else None


def framework(name: str) -> Framework:
    """The framework of that name, in any of its spellings.

    Raises:
        UsageError: there is none; the hint lists what there is.
    """
    found = find_name(name, FRAMEWORKS)
    if found is None:
        raise UsageError(f"unknown framework: {name}", hint=did_you_mean(name.lower(), FRAMEWORKS))
    return FRAMEWORKS[found]


def resolve(spec: str | None = None, *, like: str | None = None, axes: Mapping[str, Any] | None = None) -> Estimator:
    """The estimator that the options ask for.

    Args:
        spec: `[FRAMEWORK/]NAME[:AXIS=VALUE,...]`, such as `rloo`, `trl/grpo`, `grpo:ddof=1`; a framework alone is its
            default estimator. None is `grpo`, or the default of `like`.
        like: the framework whose conventions to follow.
        axes: values of the axes (`baseline`, `scale`, `ddof`, `eps`, `missing`, `singleton`, `aggregate`, `whiten`, and
            the finer ones of SPEC); None is not given.

    Raises:
        UsageError: an unknown name or axis; an axis that would be ignored; two answers to one question.
    """
    head, _, tail = (spec or "").strip().partition(":")
    left, slash, name = head.partition("/")
    if not slash:
        left, name = "", head
        if name and find_name(name, ESTIMATORS) is None and find_name(name, FRAMEWORKS) is not None and not like:
            left, name = name, ""
    if left and like and framework(left) is not framework(like):
        raise UsageError(f"two frameworks: {left} in the estimator, and {like}", hint="name one of them")
    within = _axes.parse(tail) if tail else {}
    given = {axis.replace("_", "-"): value for axis, value in (axes or {}).items() if value is not None}
    for axis in given.keys() & within.keys():
        if str(given[axis]) != within[axis]:
            raise UsageError(
                f"two values for {axis}: {within[axis]} in the estimator, and {given[axis]}", hint="give one"
            )
    chosen = within | given
    base = _base(name, left or like)
    if base.framework and chosen.get("aggregate") == "normalize-then-sum" and not base.per_part:
        # What a framework does when it normalizes each reward on its own is a row of its own.
        row = FRAMEWORKS[base.framework].estimators.get("gdpo")
        if row is not None and base.name in ("grpo", "gdpo"):
            base = row
    return _axes.apply(base, chosen)


def _base(name: str, of: str | None) -> Estimator:
    if not of:
        found = find_name(name or "grpo", ESTIMATORS)
        if found is None:
            hint = did_you_mean(name.lower(), [*ESTIMATORS, *FRAMEWORKS])
            raise UsageError(f"unknown estimator: {name}", hint=hint)
        return ESTIMATORS[found]
    row = framework(of)
    if not name:
        return row.estimators[row.default]
    found = find_name(name, row.estimators)
    if found is None:
        known = find_name(name, ESTIMATORS)
        said = f"{row.name} has no estimator {known or name}"
        raise UsageError(said, hint=f"{row.name} has: {', '.join(row.estimators)}")
    return row.estimators[found]
