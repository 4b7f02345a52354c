"""How a framework's row is written: its estimators by name, with the conventions that they share. Loads no Polars."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from grpo_cli.core.chain import Estimator, Step


@dataclass(frozen=True, slots=True)
class Framework:
    """A framework: where its formulas were read, and its estimators.

    `version` is the commit that was read, `date` its day (or the month in which it was read). `note` says what a person
    who compares numbers should know, such as where float32 makes a number of the framework wrong: ours is then right.
    """

    name: str
    title: str
    version: str
    date: str
    function: str
    estimators: dict[str, Estimator]
    default: str
    note: str = ""
    paper_code: bool = False


SHAPES: dict[str, dict[str, Any]] = {
    "grpo": {"divide": "group-std"},
    "dr-grpo": {},
    "rloo": {"subtract": "loo"},
    "grpo-loo": {"subtract": "loo", "divide": "loo-std"},
    "rloo-group-std": {"subtract": "loo", "divide": "group-std"},
    "rloo-batch-std": {"subtract": "loo", "divide": "batch-std"},
    "lite-ppo": {"divide": "batch-std"},
    "batch-norm": {"subtract": "batch-mean", "divide": "batch-std"},
    "batch-centred": {"subtract": "batch-mean"},
    "opo": {"subtract": "length-mean"},
    "gpg": {"divide": "batch-nonzero"},
    "maxrl": {"divide": "mean"},
    "passk-max": {"subtract": "second-best", "divide": "group-std"},
    "remax": {"subtract": "field"},
    "raw": {"subtract": "none"},
}
"""The estimators of one step, apart from ddof and eps."""

Row = tuple[str, dict[str, Any]]


def one(name: str, config: str, base: Step, **own: Any) -> Row:
    """An estimator of one step: `base` gives ddof and eps, the name the rest unless `divide` or `subtract` say else."""
    shape = {key: own.pop(key) for key in ("subtract", "divide") if key in own}
    return name, {"title": config, "steps": (replace(base, **(SHAPES.get(name, {}) | shape)),)} | own


def whitened(name: str, config: str, whiten: Step, *steps: Step, **own: Any) -> Row:
    """An estimator with a last step over the batch, whose ddof, eps and weighting are those of `whiten`."""
    if whiten.subtract == "mean" and whiten.divide == "none":
        whiten = replace(whiten, subtract="batch-mean", divide="batch-std")
    return name, {"title": config, "steps": steps, "whiten": whiten} | own


def framework(
    name: str,
    title: str,
    read: str,
    function: str,
    *rows: Row,
    note: str = "",
    paper_code: bool = False,
    **common: Any,
) -> Framework:
    """A framework's row; the first of its estimators is the default, `common` is what they share."""
    version, date = read.split()
    source = f"{title} {version}, {function}"
    fields: dict[str, Any] = {"tolerance": 0.0, "source": source, "fault": note, "framework": name} | common
    estimators = {own_name: Estimator(name=own_name, **(fields | own)) for own_name, own in rows}
    return Framework(name, title, version, date, function, estimators, rows[0][0], note, paper_code)


def constant_noise(size: str) -> str:
    """The note on trap T2: a constant group that is not constant in float32."""
    return f"float32 there gives a group of one repeated reward (8 x 0.1) advantages up to {size}; here it gets 0"
