"""What `passk` shows: means over groups, or a row per group."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from grpo_cli.core.notes import commonest_size, count
from grpo_cli.core.passk import at_thresholds, over_groups, per_group
from grpo_cli.errors import UsageError
from grpo_cli.render.tables import Kind, Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grpo_cli.commands.views.rows import Rows
    from grpo_cli.logs.rollouts import RolloutLog

_MEANS = {
    "k": Kind.COUNT,
    "groups": Kind.COUNT,
    "too_small": Kind.COUNT,
    "pass_at_k": Kind.SHARE,
    "low": Kind.SHARE,
    "high": Kind.SHARE,
    "pass_hat_k": Kind.SHARE,
}
_SHOWN = ("id", "key", "step", "groups", "n", "judged", "passed", "mean", "status")


def ks_of(text: str | None) -> list[int] | None:
    """The k that were asked for; None where none were.

    Raises:
        UsageError: one is no whole number from 1.
    """
    found = numbers(text, "--k")
    if found is None:
        return None
    if not all(number.is_integer() and number >= 1 for number in found):
        raise UsageError(f"--k {text}: not whole numbers from 1", hint="as in --k 1,2,4,8")
    return [int(number) for number in found]


def usual_ks(rows: Rows) -> list[int]:
    """The powers of two up to the commonest size."""
    size = commonest_size(rows.frame)
    return [2**power for power in range(size.bit_length())]


def numbers(text: str | None, option: str) -> list[float] | None:
    """Numbers separated by commas.

    Raises:
        UsageError: one is none.
    """
    if text is None:
        return None
    try:
        found = [float(word) for word in text.split(",")]
    except ValueError:
        found = [math.nan]
    if not all(map(math.isfinite, found)):
        raise UsageError(f"{option} {text}: not numbers with commas between", hint=f"as in {option} 0.5,1")
    return found


def averages(log: RolloutLog, rows: Rows, ks: Sequence[int], thresholds: Sequence[float] | None) -> Table:
    """A row per k, and per threshold where there are some."""
    if thresholds is None:
        return Table("rows", over_groups(rows.frame, ks), _MEANS)
    by = rows.of_group.alias("row")
    frame = at_thresholds(log.frame, ks, thresholds, by=by, weights=log.reading.weights)
    return Table("rows", frame, {"threshold": Kind.NUMBER} | _MEANS)


def per_row(rows: Rows, ks: Sequence[int]) -> Table:
    """A row per group or prompt, with pass@k for each k."""
    frame = per_group(rows.frame, ks)
    columns = {name: rows.columns[name] for name in _SHOWN if name in rows.columns}
    columns |= {f"pass@{k}": Kind.SHARE for k in ks}
    return Table(rows.name, frame.select(list(columns)), columns, narrow=("judged", "mean", "status", "groups", "step"))


def too_small(rows: Rows, ks: Sequence[int]) -> list[str]:
    """For the greatest k that some rows do not have: how many, and what that means."""
    judged = rows.frame["judged"].drop_nulls()
    for k in sorted(ks, reverse=True):
        if small := int((judged < k).sum()):
            few = f"{small} of {count(judged.len(), rows.name.removesuffix('s'))} {'has' if small == 1 else 'have'}"
            return [f"{few} fewer than {k} rollouts: no pass@{k} there, and not in its mean"]
    return []
