"""Choosing the reward: a total by its name, or the columns of reward functions, whose weights are in no log."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, NamedTuple

from grpo_cli.errors import InputError, UsageError
from grpo_cli.logs.fields import ALL_FIELDS, EACH, Field, Name, Reduce
from grpo_cli.logs.files.strangers import what_it_is
from grpo_cli.logs.layouts.candidates import (
    Columns,
    all_missing,
    holds_floats,
    holds_lists_of_numbers,
    holds_numbers,
    kind_of,
)
from grpo_cli.logs.layouts.reading import ASKED, NotTaken, reward_flags
from grpo_cli.logs.layouts.roles import LOGGED, REWARD_PART, REWARDS, VERDICTS

if TYPE_CHECKING:
    from collections.abc import Sequence

Rewards = tuple[tuple[Field, float], ...]


class RewardChoice(NamedTuple):
    """The rewards with their weights, and why these."""

    chosen: Rewards
    why: str
    not_taken: list[NotTaken]


def choose_rewards(asked: Sequence[str], columns: Columns) -> RewardChoice:
    """The reward of a log: what was asked for, else what its layout knows.

    Raises:
        UsageError: what was asked for cannot be.
        InputError: there is none, or several that nothing tells apart; it shows the options to use.
    """
    if asked:
        return RewardChoice(tuple(pair for text in asked for pair in _asked(text, columns)), ASKED, [])
    layout = columns.layout
    if layout.rewards_follow:
        return _of_functions(columns)
    if layout.rewards_named_in and (named := _named_in(layout.rewards_named_in, columns)):
        return _only(named, f"named in {layout.rewards_named_in}", columns)
    if layout.weighted:
        field = Field.parse(layout.weighted)
        if columns.is_there(field):
            return RewardChoice(((field, 1.0),), "the sum of score x weight", [])
    found = _known(columns)
    return found or _parts(columns)


def _known(columns: Columns) -> RewardChoice | None:
    """The first candidate of the layout that holds numbers; else the first that is there without any value."""
    candidates = columns.layout.roles.get("reward", ())
    not_taken: list[NotTaken] = []
    why = columns.layout.why
    chosen: RewardChoice | None = None
    for candidate in candidates:
        if candidate.endswith(f".{ALL_FIELDS}"):
            if inner := columns.expanded(candidate):
                return _only(inner, f"the only field of {candidate.removesuffix('.*')}", columns)
            continue
        fields = [columns.first((part,), _can_be_reward) for part in candidate.split("+")]
        if any(field is None for field in fields):
            continue
        if chosen is None and candidate in VERDICTS and (parts := _called_like_parts(columns, fields)):
            return _only(parts, why, columns)
        made = [_summed(field, columns) for field in fields if field is not None]
        if chosen is None:
            sums = [str(field) for field in made if isinstance(field.parts[-1], Reduce)]
            note = f", a list summed over its elements ({', '.join(sums)})" if sums else ""
            chosen = RewardChoice(tuple((field, 1.0) for field in made), why + note, not_taken)
        elif not {field for field, _ in chosen.chosen} & set(made):
            not_taken += [NotTaken("reward", str(field), f"{_names(chosen)} comes first") for field in made]
    if chosen is not None:
        not_taken += _others(chosen, not_taken, columns)
        return chosen
    empty = columns.first([name for name in candidates if ALL_FIELDS not in name and "+" not in name], all_missing)
    return RewardChoice(((empty, 1.0),), f"{why}, though it has no value", []) if empty else None


def _others(choice: RewardChoice, named: Sequence[NotTaken], columns: Columns) -> list[NotTaken]:
    """Fields that might be rewards by their names, and that the layout does not know."""
    taken = {field.top for field, _ in choice.chosen} | {one.name for one in named}
    others = [name for name in columns.names if name not in taken and (name in REWARDS or re.search(REWARD_PART, name))]
    others = [name for name in others if holds_numbers(columns.values(Field.named(name)))]
    return [NotTaken("reward", name, f"{_names(choice)} comes first") for name in others]


def _names(choice: RewardChoice) -> str:
    return " + ".join(str(field) for field, _ in choice.chosen)


def _can_be_reward(values: list[object]) -> bool:
    return holds_numbers(values) or holds_lists_of_numbers(values)


def _summed(field: Field, columns: Columns) -> Field:
    """A list of numbers made into one: a framework that logs a score per token means their sum. Elsewhere: ask."""
    if field.has_each or not holds_lists_of_numbers(columns.values(field)):
        return field
    if columns.layout.name != "plain":
        return Field((*field.parts, Reduce("sum")))
    raise InputError(
        f"{field} holds lists of numbers: one a rollout, or one a token or turn?",
        file=columns.file,
        hint=f"a record is a group: -r '{field}{EACH}'; it is a rollout: -r '{field}[sum]' or -r '{field}[-1]'",
    )


def _of_functions(columns: Columns) -> RewardChoice:
    """The columns of reward functions: floats between the completion and the logged advantage."""
    after = columns.layout.rewards_follow
    fields = [columns.in_shape(Field.named(name)) for name in between(after, list(columns.names))]
    floats = [field for field in fields if holds_floats(columns.values(field))]
    others = [
        NotTaken("reward", str(field), f"{_kinds(field, columns)}: the column of a reward function holds floats")
        for field in fields
        if field not in floats
    ]
    if not floats:  # perhaps no log of TRL at all, but one with a known name and the advantage that we wrote into it
        return _known(columns) or _parts(columns)
    where = f"the only float column between {after} and the advantage"
    return _only(floats, where, columns)._replace(not_taken=others)


def between(after: str, names: Sequence[str]) -> list[str]:
    """The names that stand between `after` and the logged advantage (or the end)."""
    found: list[str] = []
    for name in names[names.index(after) + 1 :] if after in names else []:
        if name in LOGGED:
            break
        found.append(name)
    return found


def _kinds(field: Field, columns: Columns) -> str:
    return "/".join(sorted({kind_of(value) for value in columns.values(field) if value is not None}))


def _named_in(name: str, columns: Columns) -> list[Field]:
    """The fields whose names the records list in the field `name`."""
    listed = [metric for record in columns.sample for metric in record.get(name) or () if isinstance(metric, str)]
    fields = [Field.named(metric) for metric in dict.fromkeys(listed) if metric in columns.names]
    return [field for field in fields if holds_numbers(columns.values(field))]


def _parts(columns: Columns) -> RewardChoice:
    """Where no total is there: fields that are called like reward functions."""
    fields = _called_like_parts(columns, [])
    if not fields:
        raise _nothing(columns)
    return _only(fields, "called like a reward function", columns)


def _called_like_parts(columns: Columns, beside: Sequence[Field | None]) -> list[Field]:
    """The fields that are called like reward functions, after `beside`; none where that is all there is."""
    named = [Field.named(name) for name in columns.names if re.search(REWARD_PART, name)]
    named = [field for field in named if field not in beside and holds_numbers(columns.values(field))]
    return [*(field for field in beside if field is not None), *named] if named else []


def _only(fields: Sequence[Field], why: str, columns: Columns) -> RewardChoice:
    if len(fields) == 1:
        return RewardChoice(((fields[0], 1.0),), why, [])
    raise InputError(
        f"{len(fields)} fields may be rewards ({', '.join(map(str, fields))}), and the log does not say which, or their"
        " weights",
        file=columns.file,
        hint=f"give the weights that the training had: {reward_flags(fields)}; leave out what is no reward",
    )


def _nothing(columns: Columns) -> InputError:
    if what := what_it_is(columns.names, columns.sample):
        return InputError(f"{what[0]}, not a rollout log", file=columns.file, hint=what[1])
    for name in columns.layout.roles.get("reward", ()):
        field = Field.parse(name) if ALL_FIELDS not in name and "+" not in name else None
        inner = columns.inner_fields(field) if field is not None else []
        if inner:
            options = ", ".join(f"-r '{one}'" for one in inner[:6])
            return InputError(
                f"{field} holds objects, and nothing says which of their fields is the reward",
                file=columns.file,
                hint=f"name one: {options}; -r '{field}.*' sums them all",
            )
    return InputError(
        "no field holds a reward",
        file=columns.file,
        hint=f"say which with --reward FIELD; the fields are: {columns.listing()}",
    )


def _asked(text: str, columns: Columns) -> list[tuple[Field, float]]:
    """`acc`, `fmt=0.5`, `parts.*`: the fields that one --reward names, with their weight."""
    name, weight = text, 1.0
    before, equals, after = text.rpartition("=")
    if equals and before and text not in columns.names:
        try:
            name, weight = before, float(after)
        except ValueError:
            name = text
    if not math.isfinite(weight):
        raise UsageError(f"--reward {text}: a weight is a finite number")
    if not name:
        raise UsageError("--reward is empty", hint="name a field")
    if name not in columns.names and name.endswith(f".{ALL_FIELDS}"):
        inner = columns.expanded(name)
        if not inner:
            outer = name.removesuffix(f".{ALL_FIELDS}")
            raise UsageError(f"--reward {name}: {outer} holds no fields", hint=f"the fields are: {columns.listing()}")
        return [(field, weight) for field in inner]
    return [(columns.in_shape(Field.parse(name, columns.names)), weight)]


def wildcards(asked: Sequence[str], columns: Columns) -> dict[Field, set[str]]:
    """For each `parts.*` that was asked for: the field, and the names that the sample shows in it."""
    found: dict[Field, set[str]] = {}
    for text in asked:
        name = text.rpartition("=")[0] if text not in columns.names and "=" in text else text
        if name.endswith(f".{ALL_FIELDS}") and name not in columns.names:
            inner = columns.expanded(name)
            if inner:
                names = {part.name for part in (field.parts[-1] for field in inner) if isinstance(part, Name)}
                found[Field(inner[0].parts[:-1])] = names
    return found
