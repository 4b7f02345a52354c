"""What `show` shows: groups chosen, rollouts of each chosen, their figures and what they say."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import polars as pl

from grpo_cli.core import rewards
from grpo_cli.core.notes import count
from grpo_cli.core.steps import advantages
from grpo_cli.errors import UsageError, did_you_mean
from grpo_cli.frame import LENGTH, Status, reward_parts
from grpo_cli.logs.format import spell
from grpo_cli.logs.prompts import Prompts
from grpo_cli.logs.texts import Texts, texts_of, turns
from grpo_cli.render import digits
from grpo_cli.render.rollouts import Message, ShownGroup, ShownRollout, draw_groups
from grpo_cli.render.tables import Kind, Table
from grpo_cli.render.text import elide

if TYPE_CHECKING:
    from grpo_cli.commands.show import Choice, Look
    from grpo_cli.commands.views.rows import Rows
    from grpo_cli.core.estimators import Estimator
    from grpo_cli.logs.rollouts import RolloutLog
    from grpo_cli.options import LogOptions
    from grpo_cli.render.screen import Screen

GROUPS = 3
"""How many groups are shown as text, unless more are asked for."""
_PART = "reward "
KEY_SHOWN = 60
"""Columns that a key may take in a heading: the prompt stands below."""


def chosen_groups(log: RolloutLog, rows: Rows, choice: Choice, limit: int) -> tuple[pl.DataFrame, int]:
    """The groups that were asked for, in the order that was asked for, and how many there are beyond `limit`.

    Raises:
        UsageError: no group is called so, or a column or status that there is not.
    """
    every = rows.chosen(status=choice.status, where=choice.where).frame
    if choice.key is not None:
        every = every.filter(pl.col("group").is_in(_named(log, choice.key)))
    if choice.sort is not None:
        if choice.sort not in rows.columns:
            hint = did_you_mean(choice.sort, rows.columns)
            raise UsageError(f"there is no column {choice.sort} to sort by", hint=hint)
        every = every.sort(choice.sort, descending=choice.desc, nulls_last=True, maintain_order=True)
    if choice.random is not None:
        drawn = random.Random(choice.seed).sample(range(len(every)), min(choice.random, len(every)))  # noqa: S311 - no secret
        every = every[sorted(drawn)]
    groups = every.head(limit) if limit else every
    if "key" not in groups.columns:
        groups = groups.hstack(log.groups.called(groups["group"]).select("key"))
    return groups, len(every) - len(groups)


def needs_keys(choice: Choice) -> bool:
    """Whether groups are chosen by their key: only then are the keys of all of them read, which may be long texts."""
    return choice.sort == "key" or (choice.where is not None and "key" in choice.where)


def limit_of(choice: Choice, *, drawn: bool) -> int:
    """How many groups are shown; 0 is all."""
    if choice.limit is not None:
        return choice.limit
    return GROUPS if drawn and choice.random is None and choice.key is None else 0


def chosen_rollouts(log: RolloutLog, groups: pl.DataFrame, choice: Choice) -> pl.DataFrame:
    """The rows of the frame that are shown: `group` and `row`, groups as in `groups`, the highest reward first."""
    order = groups.select(pl.col("group"), pl.int_range(pl.len()).alias("place"))
    total = rewards.total(log.frame, log.reading.weights)
    rows = (
        pl.DataFrame({"group": log.frame["group"], "total": total})
        .with_row_index("row")
        .join(order, on="group", how="inner", maintain_order="left")
        .sort("place", "total", descending=[False, True], nulls_last=True, maintain_order=True)
    )
    if choice.best is None and choice.worst is None:
        return rows.select("group", "row")
    scored = rows.filter(pl.col("total").is_not_null())
    place, last = pl.int_range(pl.len()).over("group"), pl.len().over("group")
    kept = scored.filter((place < (choice.best or 0)) | (place >= last - (choice.worst or 0)))
    return kept.select("group", "row")


def show_rollouts(
    screen: Screen,
    log: RolloutLog,
    groups: pl.DataFrame,
    chosen: pl.DataFrame,
    formula: Estimator,
    options: LogOptions,
    look: Look,
) -> None:
    """Print the rollouts, as text or as a table."""
    if groups.is_empty():
        screen.say("no group is like that")
    texts = dict(zip(chosen["row"], texts_of(log, chosen["row"].to_list(), look.prompt, look.completion), strict=True))
    if texts and all(text.completion is None for text in texts.values()):
        screen.note("no completion was found: --completion FIELD names it")
    figures = _figures(log, chosen["row"], formula, options)
    if screen.tabular(look.format):
        draw_groups(screen, _drawn(groups, chosen, figures, texts), chars=look.chars)
    else:
        screen.show(_table(log, groups, chosen, figures, texts, look.chars), format=look.format, limit=0)


def _named(log: RolloutLog, name: str) -> list[int]:
    """The groups that are called `name`: by their key, by (the beginning of) their id, or by that of their prompt."""
    found = log.groups.matching(name)
    if found.is_empty():
        found = Prompts.of(log.groups).matching(name)
    return found.to_list() or [log.groups.find(name)]


def _figures(log: RolloutLog, rows: pl.Series, formula: Estimator, options: LogOptions) -> pl.DataFrame:
    """What is known of each of the rows: reward, its parts where there are several, advantage, length."""
    advantage = advantages(log.frame, formula, weights=log.reading.weights, tolerance=options.tolerance)
    columns = [rewards.total(log.frame, log.reading.weights).alias("reward")]
    parts = reward_parts(log.frame)
    if len(parts) > 1:
        names = [str(field) for field, _ in log.reading.rewards]
        columns += [log.frame[part].alias(f"{_PART}{name}") for part, name in zip(parts, names, strict=True)]
    columns.append(advantage)
    if LENGTH in log.frame.columns:
        columns.append(log.frame[LENGTH])
    return pl.DataFrame([column.gather(rows) for column in columns])


def _drawn(
    groups: pl.DataFrame, chosen: pl.DataFrame, figures: pl.DataFrame, texts: dict[int, Texts]
) -> list[ShownGroup]:
    of_row = dict(zip(chosen["row"], figures.rows(named=True), strict=True))
    drawn = []
    for group in groups.rows(named=True):
        rows = chosen.filter(pl.col("group") == group["group"])["row"].to_list()
        step = "" if group["step"] is None else f"  step {group['step']}"
        rollouts = [
            ShownRollout(
                place=f"{texts[row].file}:{texts[row].line}",
                figures=[(name.removeprefix(_PART), value) for name, value in of_row[row].items()],
                said=_messages(texts[row].completion),
            )
            for row in rows
        ]
        drawn.append(
            ShownGroup(
                name=f"{group['id']}  {elide(str(group['key']), KEY_SHOWN, where='middle')}{step}",
                about=_about(group),
                status=Status(group["status"]),
                prompt=_messages(texts[rows[0]].prompt) if rows else [],
                rollouts=rollouts,
                left_out=group["n"] - len(rows) if rows else group["n"],
            )
        )
    return drawn


def _about(group: dict[str, Any]) -> str:
    said = [count(group["n"], "rollout")]
    if group["scored"] != group["n"]:
        said.append(f"{group['scored']} scored")
    if group["mean"] is not None:
        said += [f"mean {digits.number(group['mean'])}", f"std {digits.number(group['std'])}"]
    if group["judged"]:
        said.append(f"{group['passed']} of {group['judged']} pass")
    return ", ".join(said)


def _messages(value: Any) -> list[Message]:
    return [Message(turn.role, turn.text) for turn in turns(value)]


def _table(
    log: RolloutLog,
    groups: pl.DataFrame,
    chosen: pl.DataFrame,
    figures: pl.DataFrame,
    texts: dict[int, Texts],
    chars: int | None,
) -> Table:
    """A row per rollout."""
    of_group = chosen.join(groups, on="group", how="left", maintain_order="left")
    rows = [texts[row] for row in chosen["row"]]
    frame = of_group.select("id", "key", "step", "status").hstack(figures)
    frame = frame.with_columns(
        pl.Series("file", [row.file for row in rows], dtype=pl.String),
        pl.Series("line", [row.line for row in rows], dtype=pl.Int64),
        pl.Series("prompt", [_cut(row.prompt, chars) for row in rows], dtype=pl.String),
        pl.Series("completion", [_cut(row.completion, chars) for row in rows], dtype=pl.String),
    )
    columns = {"id": Kind.ID, "key": Kind.KEY, "step": Kind.COUNT, "status": Kind.STATUS}
    columns |= dict.fromkeys(figures.columns, Kind.NUMBER)
    columns |= {"file": Kind.KEY, "line": Kind.COUNT, "prompt": Kind.KEY, "completion": Kind.KEY}
    if not log.groups.steps.count():
        del columns["step"]
    return Table("rollouts", frame.select(list(columns)), columns)


def _cut(value: Any, chars: int | None) -> str | None:
    text = spell(value)
    return text if text is None or chars is None else text[:chars]
