"""Group-relative advantages over the rollout logs that GRPO training leaves behind.

    advantages(frame, reward="reward", group_by="prompt_id", like="trl")   -> polars.Series
    advantage_expr(reward="reward", group_by="prompt_id")                  -> polars.Expr, for lazy queries
    group_stats(frame, reward="reward", group_by="prompt_id")              -> polars.DataFrame
    read("rollouts.jsonl")                                                 -> polars.DataFrame, of any log
    ESTIMATORS, FRAMEWORKS                                                 the tables

Polars is loaded by the first of these that is used, not by `import grpo_cli`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from grpo_cli.api import advantage_expr, advantages, group_stats, read
    from grpo_cli.core.estimators import ESTIMATORS
    from grpo_cli.core.frameworks import FRAMEWORKS
    from grpo_cli.errors import GrpoAdvError

__version__ = "0.1.0"

__all__ = [
    "ESTIMATORS",
    "FRAMEWORKS",
    "GrpoAdvError",
    "__version__",
    "advantage_expr",
    "advantages",
    "group_stats",
    "read",
]

_HOMES = {
    "advantage_expr": "grpo_cli.api",
    "advantages": "grpo_cli.api",
    "group_stats": "grpo_cli.api",
    "read": "grpo_cli.api",
    "ESTIMATORS": "grpo_cli.core.estimators",
    "FRAMEWORKS": "grpo_cli.core.frameworks",
    "GrpoAdvError": "grpo_cli.errors",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
