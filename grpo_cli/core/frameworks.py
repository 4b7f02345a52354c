"""`--like`: the frameworks by name, each a dict of estimators with its conventions. Loads no Polars."""

from __future__ import annotations

from grpo_cli.core.conventions import Framework
from grpo_cli.core.papers import PAPERS, SMALLER
from grpo_cli.core.trainers import TRAINERS

__all__ = ["FRAMEWORKS", "Framework"]

FRAMEWORKS: dict[str, Framework] = {row.name: row for row in (*TRAINERS, *SMALLER, *PAPERS)}
"""The frameworks by name: trainers first, code of papers last."""
