"""Whose conventions an estimator follows: a row for each framework, a dict of estimators in each. Loads no Polars."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from grpo_cli.core.chain import Estimator, Step

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(frozen=True, slots=True)
class Framework:
    """A framework: where its formulas were read, and its estimators."""

    name: str
    title: str
    version: str
    date: str
    estimators: dict[str, Estimator]
    default: str = "grpo"
    note: str = ""


FRAMEWORKS: dict[str, Framework] = {}
"""The frameworks by name."""
