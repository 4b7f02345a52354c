"""Files of records that are no rollout logs, and what they are: so that an error can name the thing."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

_METRIC_NAMES: Final = re.compile(
    r"/|^(?:loss|epoch|learning_rate|lr|grad_norm|kl|entropy|step_time|global_step/max_steps)$"
    r"|^(?:avg|mean|max|min|std)_|^(?:pass|acc)(?:uracy)?@|_(?:loss|seconds|time)$"
)

_TRAINS: Final = "a rollout log has a record a rollout, with its prompt and its reward"


def what_it_is(names: Collection[str], sample: Sequence[Mapping[str, Any]]) -> tuple[str, str] | None:
    """What a file with such records is, and what to do about it; None where it is nothing that is known."""
    if not sample:
        return None
    if _share(sample, lambda record: {"role", "content"} <= record.keys()) > 0.5:
        return (
            "a log of chat turns (role, content), a line a turn",
            f"{_TRAINS}; if each conversation has one, make a line of it",
        )
    if {"columns", "data"} <= set(names) and isinstance(sample[0].get("data"), list):
        return (
            "a wandb table (columns, data)",
            "make lines of it: jq -c '.columns as $c | .data[] | [$c, .] | transpose | map({(.[0]): .[1]}) | add'",
        )
    if "trajectory_data" in names:
        return "a dump of agent trajectories as text", "rewards are inside trajectory_data: write them as a field"
    if "detail" in names and len(set(names)) <= 2:
        return "a log of validation errors (detail)", _TRAINS
    numbers = _share(sample, _is_mostly_numbers)
    inner = [name for record in sample[:1] for value in record.values() if isinstance(value, dict) for name in value]
    metric_names = [name for name in (*names, *inner) if _METRIC_NAMES.search(name)]
    if numbers > 0.5 and metric_names:
        return f"a log of metrics ({', '.join(metric_names[:3])}, ...)", _TRAINS
    return None


def _share(sample: Sequence[Mapping[str, Any]], holds: Callable[[Mapping[str, Any]], bool]) -> float:
    return sum(map(holds, sample)) / len(sample)


def _is_mostly_numbers(record: Mapping[str, Any]) -> bool:
    inner = [value for value in record.values() if value is not None]
    leaves = [leaf for value in inner for leaf in (value.values() if isinstance(value, dict) else (value,))]
    return bool(leaves) and sum(isinstance(leaf, int | float) for leaf in leaves) >= 0.7 * len(leaves)
