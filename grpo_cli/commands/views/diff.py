"""What `diff` shows of two logs: the change in sentences, the prompts that moved most, statuses before and after."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from grpo_cli.commands.views.rows import rows_of
from grpo_cli.core.diff import Pairs, change, movers, pair, transitions
from grpo_cli.core.notes import count
from grpo_cli.errors import InputError, UsageError
from grpo_cli.frame import Status
from grpo_cli.logs.prompts import Prompts
from grpo_cli.render import digits
from grpo_cli.render.labelled import headed, labelled
from grpo_cli.render.tables import Kind, Table

if TYPE_CHECKING:
    from grpo_cli.logs.rollouts import RolloutLog
    from grpo_cli.options import LogOptions, TableOptions
    from grpo_cli.render.screen import Screen

MOVERS = 10
"""How many prompts the report shows."""

_PROMPTS = {
    "id": Kind.ID,
    "key": Kind.KEY,
    "n_before": Kind.COUNT,
    "n_after": Kind.COUNT,
    "mean_before": Kind.NUMBER,
    "mean_after": Kind.NUMBER,
    "change": Kind.NUMBER,
    "pass_rate_before": Kind.SHARE,
    "pass_rate_after": Kind.SHARE,
    "pass_rate_change": Kind.NUMBER,
    "std_before": Kind.NUMBER,
    "std_after": Kind.NUMBER,
    "status_before": Kind.STATUS,
    "status_after": Kind.STATUS,
    "solved": Kind.TEXT,
    "lost": Kind.TEXT,
    "regained": Kind.TEXT,
}
_PROMPTS_NARROW = (
    *("pass_rate_change", "std_before", "std_after", "regained", "lost", "solved", "n_before", "n_after"),
    *("pass_rate_before", "pass_rate_after"),
)
_MOVED = (
    *("id", "key", "mean_before", "mean_after", "change", "pass_rate_before", "pass_rate_after"),
    *("status_before", "status_after"),
)
_SUMMARY = {
    "prompts": Kind.COUNT,
    "only_before": Kind.COUNT,
    "only_after": Kind.COUNT,
    "scored": Kind.COUNT,
    "mean_before": Kind.NUMBER,
    "mean_after": Kind.NUMBER,
    "change": Kind.NUMBER,
    "low": Kind.NUMBER,
    "high": Kind.NUMBER,
    "pass_rate_before": Kind.SHARE,
    "pass_rate_after": Kind.SHARE,
    "solved": Kind.COUNT,
    "lost": Kind.COUNT,
    "regained": Kind.COUNT,
}


def paired(before: RolloutLog, after: RolloutLog, options: LogOptions) -> Pairs:
    """The prompts of two logs side by side.

    Raises:
        UsageError: their keys are of different fields.
        InputError: they have no prompt in common.
    """
    fields = [log.groups.fields for log in (before, after)]
    if len(fields[0]) != len(fields[1]):
        names = [", ".join(some) or "nothing" for some in fields]
        raise UsageError(
            f"the prompts of one log are named by {names[0]}, those of the other by {names[1]}",
            hint="give both the same key with --group-by",
        )
    keys = before.groups.key_columns
    first, second = (rows_of(log, options, "prompt").frame for log in (before, after))
    pairs = pair(first, second, keys or ["key"])
    if pairs.both.is_empty():
        shown = [str(frame["key"][0])[:60] for frame in (first, second)]
        raise InputError(
            f"they have no prompt in common: {shown[0]!r} is one of the first, {shown[1]!r} of the second",
            file=f"{before.parts[0].file.name}, {after.parts[0].file.name}",
            hint="name the field that both know a prompt by with --group-by",
        )
    named = Prompts.of(before.groups).named.select("id", "key", *keys)
    return pairs._replace(both=pairs.both.join(named, on=keys or ["key"], how="left", maintain_order="left"))


def tables(pairs: Pairs) -> dict[str, Table]:
    """The tables of the comparison, by name."""
    moved = transitions(pairs)
    return {
        "prompts": Table("prompts", movers(pairs).select(list(_PROMPTS)), _PROMPTS, narrow=_PROMPTS_NARROW),
        "summary": Table("comparisons", change(pairs), _SUMMARY),
        "transitions": Table(
            "statuses", moved, {n: Kind.STATUS if n == "before" else Kind.COUNT for n in moved.columns}
        ),
    }


def report(screen: Screen, pairs: Pairs, table: TableOptions) -> None:
    """Print what changed, which statuses became which, and the prompts that moved most."""
    row = change(pairs).row(0, named=True)
    labelled(screen, _facts(row))
    headed(screen, "Statuses before (down) and after (across)", _small(transitions(pairs)))
    moved = movers(pairs).filter(pl.col("change") != 0)
    columns = {name: _PROMPTS[name] for name in _MOVED}
    shown = Table("prompts", moved.select(list(columns)), columns, narrow=_PROMPTS_NARROW)
    limit = MOVERS if table.limit is None else table.limit
    headed(screen, "Prompts that moved most", shown, sort=table.sort, descending=table.desc, limit=limit)


def _facts(row: dict[str, float | None]) -> list[tuple[str, list[str]]]:
    alone = [
        f"{row[name]} only {where}" for name, where in (("only_before", "before"), ("only_after", "after")) if row[name]
    ]
    facts = [("prompts", [", ".join([f"{row['prompts']} in both logs", *alone])])]
    if row["change"] is not None:
        between = f", 95 % interval {_n(row['low'])} to {_n(row['high'])}" if row["low"] is not None else ""
        facts.append(
            (
                "reward",
                [f"{_n(row['mean_before'])} before, {_n(row['mean_after'])} after: {_signed(row['change'])}{between}"],
            )
        )
    if row["pass_rate_before"] is not None:
        rates = [digits.percent(row[f"pass_rate_{when}"] or 0.0, 1) for when in ("before", "after")]
        facts.append(("pass rate", [f"{rates[0]} before, {rates[1]} after"]))
        facts.append(("solved", [f"{count(int(row['solved'] or 0), 'prompt')}: none passed before, some do after"]))
        facts.append(("lost", [f"{count(int(row['lost'] or 0), 'prompt')}: some passed before, none does after"]))
    facts.append(
        ("regained", [f"{count(int(row['regained'] or 0), 'prompt')}: all rewards equal before, and not after"])
    )
    return facts


def _small(moved: pl.DataFrame) -> Table:
    """The matrix without statuses that no prompt has or had."""
    rows = moved.filter(pl.sum_horizontal(pl.exclude("before")) > 0)
    seen = [status.value for status in Status if rows[status.value].sum()]
    return Table("statuses", rows.select("before", *seen), {"before": Kind.STATUS, **dict.fromkeys(seen, Kind.COUNT)})


def _signed(value: float) -> str:
    return f"{'+' if value > 0 else ''}{_n(value)}"


def _n(value: float | None) -> str:
    return "-" if value is None else digits.number(value)
