"""Which fields of a log may be rewards: those it is known by, and every other field that holds numbers."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from grpo_cli.errors import InputError
from grpo_cli.logs.fields import MISSING, Field, Reduce
from grpo_cli.logs.layouts.candidates import Columns, holds_lists_of_numbers, holds_numbers
from grpo_cli.logs.layouts.reading import reward_text
from grpo_cli.logs.layouts.rewards import choose_rewards
from grpo_cli.logs.layouts.roles import LENGTHS, LOGGED, PROMPT_IDS, STEPS, WITHOUT_TAIL
from grpo_cli.logs.looking import look

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from grpo_cli.logs.files.source import Found

MOST = 12
"""How many fields are given at most."""

_LIKE_A_REWARD = re.compile(r"reward|score|acc|correct|format|fmt|orm\b|success|pass|metric", re.IGNORECASE)


@dataclass(frozen=True)
class RewardCandidates:
    """What a log's reward may be, as a person would type it for `--reward`."""

    known: list[str]
    """The reward that the log is known to have, with weights; empty where nothing tells."""
    others: list[str]
    """Other fields that hold numbers, the likeliest first."""


def reward_candidates(found: Found, layout: str | None, taken: Iterable[str]) -> RewardCandidates:
    """Look for them in the first records of a log; `taken` are fields that play another part.

    Raises:
        InputError, UsageError: a file cannot be read, or there is no such layout.
    """
    seen = look(found.files, layout)
    columns = Columns(seen.names, seen.sample, seen.file.name, seen.layout)
    try:
        known = list(choose_rewards((), columns).chosen)
    except InputError:
        known = []
    roles = seen.layout.roles
    named = [*taken, *STEPS, *LOGGED, *LENGTHS, *PROMPT_IDS]
    named += [name for role in ("step", "logged", "length", "key") for name in roles.get(role, ())]
    others = {WITHOUT_TAIL: 0} | dict.fromkeys(named)
    fields = [field for field in _numbers(columns) if str(field) not in others and field.top not in _tops(named)]
    fields = [field for field in fields if all(field != one for one, _ in known)]
    fields.sort(key=lambda field: not _LIKE_A_REWARD.search(str(field)))
    return RewardCandidates([reward_text(*pair) for pair in known], [str(field) for field in fields[:MOST]])


def _tops(names: Sequence[str]) -> set[str]:
    return {name for name in names if re.fullmatch(r"\w+", name)}


def _numbers(columns: Columns) -> Iterator[Field]:
    """Every field that holds a number a rollout, two levels deep."""
    for name in columns.names:
        field = columns.in_shape(Field.named(name))
        yield from _inside(field, columns, depth=2)


def _inside(field: Field, columns: Columns, *, depth: int) -> Iterator[Field]:
    values = columns.values(field)
    there = [value for value in values if value is not MISSING and value is not None]
    if there and all(isinstance(value, dict) for value in there) and depth:
        for inner in columns.inner_fields(field):
            yield from _inside(inner, columns, depth=depth - 1)
    elif all(isinstance(value, int | float) for value in there) and holds_numbers(values):
        yield field
    elif holds_lists_of_numbers(values) and depth == 2 and _LIKE_A_REWARD.search(str(field)):
        yield Field((*field.parts, Reduce("sum")))
