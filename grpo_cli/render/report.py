"""What is more than a table: the zero-variance account that ends `compute`, and the worked calculation of `explain`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rich.text import Text

from grpo_cli.frame import Status
from grpo_cli.render import charts, digits
from grpo_cli.render.tables import Kind, Table, draw
from grpo_cli.render.text import width, wrap

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from grpo_cli.render.screen import Screen, To


_FORMULA_ROOM = 16


def headline(statuses: pl.DataFrame) -> str:
    """The account in a sentence: how many groups and rollouts carry no signal, and why.

    `statuses` has a row per `Status`, with `status`, `groups` and `rollouts`. Singletons and unscored groups have no
    signal either, but for want of rollouts or rewards: they are named apart.
    """
    counts = {Status(row["status"]): (row["groups"], row["rollouts"]) for row in statuses.iter_rows(named=True)}
    dead = {status: count for status, count in counts.items() if status.zero_variance and count[0]}
    groups, rollouts = (sum(count[i] for count in counts.values()) for i in (0, 1))
    dead_groups, dead_rollouts = (sum(count[i] for count in dead.values()) for i in (0, 1))
    if not groups:
        return "no groups"
    apart = [
        f"{n} {_counted(n, singular, plural)}"
        for status, singular, plural in (
            (Status.SINGLETON, "singleton", "singletons"),
            (Status.UNSCORED, "unscored group", "unscored groups"),
        )
        if (n := counts.get(status, (0, 0))[0])
    ]
    beside = f"; besides, {' and '.join(apart)}" if apart else ""
    if not dead_groups:
        mixed = counts.get(Status.MIXED, (0, 0))[0]
        if mixed == groups:
            all_of = "the one group carries" if groups == 1 else f"all {groups} groups carry"
            return f"{all_of} signal: rewards differ within {'it' if groups == 1 else 'each'}"
        return f"0 of {groups} {_counted(groups, 'group', 'groups')} have zero variance{beside}"
    reasons = ", ".join(f"{count[0]} {status.value}" for status, count in dead.items())
    return (
        f"{dead_groups} of {groups} {_counted(groups, 'group', 'groups')} ({digits.percent(dead_groups / groups)}) "
        f"{_counted(dead_groups, 'carries', 'carry')} no signal: {reasons}; "
        f"{dead_rollouts} of {rollouts} {_counted(rollouts, 'rollout', 'rollouts')}{beside}"
    )


def account(screen: Screen, statuses: pl.DataFrame, *, to: To = "out") -> None:
    """Print the zero-variance account below what is there: the headline, and a line for each status that occurs.

    `statuses` has a row per `Status` in their order: `status`, `groups`, `rollouts`, `group_share`, `rollout_share`.
    """
    room = screen.room(to)
    sentence = headline(statuses)
    screen.draw([Text(), *_wrapped(sentence, room, 0, "bold")], to=to)
    found = statuses.filter(statuses["groups"] > 0)
    table = Table(
        name="groups",
        frame=found.with_columns(found["group_share"].alias("bar")),
        columns={
            "status": Kind.STATUS,
            "groups": Kind.COUNT,
            "group_share": Kind.SHARE,
            "rollouts": Kind.COUNT,
            "rollout_share": Kind.SHARE,
            "bar": Kind.BAR,
        },
        narrow=("bar", "rollout_share"),
    )
    if not found.is_empty():
        screen.draw(draw(table, room=room, charset=screen.charset(to)).lines, to=to)


@dataclass(frozen=True)
class CalculationStep:
    """A line of a worked calculation: what it is, how it is made, and what comes out (None where nothing does)."""

    label: str
    formula: str
    value: float | None


@dataclass(frozen=True)
class Calculation:
    """The arithmetic of one group, from its rewards to its advantages."""

    title: str
    rewards: Sequence[float | None]
    steps: Sequence[CalculationStep]
    rollouts: Table
    """A row per rollout: its reward, what the steps make of it, its advantage."""
    remarks: Sequence[str] = field(default=())
    """Sentences that end it."""


def calculation(screen: Screen, worked: Calculation, *, to: To = "out") -> None:
    """Print a worked calculation: title, rewards, each step with its formula and value, and a row per rollout."""
    room, charset = screen.room(to), screen.charset(to)
    labels = [charset.visible(text) for text in ("rewards", *(step.label for step in worked.steps))]
    indent = max(map(width, labels)) + 4
    rewards = " ".join("-" if r is None else digits.number(r) for r in worked.rewards)
    chart_wide = 40 if room is None else max(min(40, room - indent), 1)
    chart = charts.spark(worked.rewards, width=chart_wide, unicode=charset.unicode).rstrip()
    lines = _wrapped(charset.visible(worked.title), room, 0, "bold")
    lines.append(Text())
    for i, line in enumerate(wrap(rewards, room - indent) if room else [rewards]):
        lines.append(_labelled(labels[0] if not i else "", indent).append(line))
    lines.append(_labelled("", indent).append(chart, "cyan"))
    values = digits.aligned([step.value for step in worked.steps], zeros=False)
    values_wide = max(map(width, values), default=0)
    at = indent + values_wide + 3
    for label, step, value in zip(labels[1:], worked.steps, values, strict=True):
        shown = _labelled(label, indent).append((value or "-").rjust(values_wide), "" if value else "dim")
        formula = charset.visible(step.formula)
        if room is not None and room - at < _FORMULA_ROOM:
            shown.rstrip()
            lines += [shown, *_wrapped(formula, room, min(4, room // 8), "dim")]
        else:
            first, *more = _wrapped(formula, room, at, "dim")
            lines += [shown.append_text(first[indent + values_wide :]), *more]
    lines.append(Text())
    screen.draw(lines, to=to)
    screen.show(worked.rollouts, format="table", limit=0, to=to)
    if worked.remarks:
        ends = [line for text in worked.remarks for line in _wrapped(charset.visible(text), room, 0, "")]
        screen.draw([Text(), *ends], to=to)


def _labelled(label: str, indent: int) -> Text:
    return Text("  ").append(label).append(" " * (indent - 2 - width(label)))


def _wrapped(text: str, room: int | None, indent: int, style: str) -> list[Text]:
    lines = wrap(text, room - indent) if room else [text]
    return [Text(" " * indent).append(line, style) for line in lines]


def _counted(count: int, one: str, more: str) -> str:
    return one if count == 1 else more
