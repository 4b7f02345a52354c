"""Reading: which field of a log plays which role, and why.

What the person asked for wins; nothing is guessed in silence.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from grpo_cli.errors import InputError, UsageError, did_you_mean
from grpo_cli.logs.fields import ALL_FIELDS, MISSING, Field, Name
from grpo_cli.logs.format import spell
from grpo_cli.logs.layouts import LAYOUTS, WEAK_IDS, Layout, Role, recognise

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

NO_STEP = "none"
BY_FILE = "file"
"""What `--group-by` calls the file that a rollout is in."""

Sample = list[dict[str, Any]]


@dataclass(frozen=True)
class Asked:
    """What the person said about the fields of the log; None where nothing was said."""

    group_by: Sequence[str] = ()
    reward: Sequence[str] = ()
    step: str | None = None
    layout: str | None = None
    length: str | None = None
    rollout_id: str | None = None
    outcome: str | None = None
    baseline: str | None = None
    logged: str | None = None


@dataclass(frozen=True)
class Reading:
    """Which field plays which role in this log."""

    layout: Layout
    key: tuple[Field, ...]
    rewards: tuple[tuple[Field, float], ...]
    step: Field | None = None
    by_file: bool = False
    """Whether the file is part of the key."""
    length: Field | None = None
    rollout: Field | None = None
    outcome: Field | None = None
    baseline: Field | None = None
    logged: Field | None = None
    why: Mapping[Role, str] = field(default_factory=dict)

    @property
    def weights(self) -> list[float]:
        """The weights of the rewards, in order."""
        return [weight for _, weight in self.rewards]

    def flags(self) -> str:
        """The options that would reproduce this choice."""
        key = [str(part) for part in self.key] + ([BY_FILE] if self.by_file else [])
        flags = [f"-g {_shell(name)}" for name in key]
        flags += [f"-r {_shell(reward_text(*reward))}" for reward in self.rewards]
        flags.append(f"--step {_shell(str(self.step)) if self.step else NO_STEP}")
        named = {"--length": self.length, "--rollout-id": self.rollout, "--outcome": self.outcome}
        flags += [f"{option} {_shell(str(given))}" for option, given in named.items() if given]
        return " ".join(flags)


def reward_text(field: Field, weight: float) -> str:
    """A reward as it is asked for: `acc`, or `fmt=0.5` where its weight is not 1."""
    return f"{field}={weight:g}" if weight != 1 else str(field)


def choose(asked: Asked, names: Collection[str], sample: Sample, file: str) -> Reading:
    """Choose the fields of a log whose top-level fields are `names`, looking at the values of a `sample` of it.

    Raises:
        UsageError: a field that was asked for cannot be.
        InputError: a role that is needed has no candidate, or two of one rank; it lists the fields and the option.
    """
    layout = _layout(asked.layout, names)
    columns = _Columns(names, sample, file)
    key, by_file, key_why = _key(asked, layout, columns)
    rewards, reward_why = _rewards(asked, layout, columns)
    step, step_why = _step(asked, layout, columns)
    reading = Reading(
        layout=layout,
        key=tuple(field for field in key if field != step),
        by_file=by_file,
        rewards=rewards,
        step=step,
        why={"key": key_why, "reward": reward_why, "step": step_why},
    )
    if not reading.key and not by_file and step is None:
        raise UsageError("--group-by names no field")
    return replace(
        reading,
        length=columns.named(asked.length, "--length") if asked.length else columns.first(layout.roles["length"]),
        rollout=columns.named(asked.rollout_id, "--rollout-id"),
        outcome=columns.named(asked.outcome, "--outcome"),
        baseline=columns.named(asked.baseline, "--baseline"),
        logged=columns.named(asked.logged, "--logged") or columns.first(layout.roles["logged"]),
    )


class _Columns:
    """The fields of a log as its sample shows them."""

    def __init__(self, names: Collection[str], sample: Sample, file: str) -> None:
        self.names, self.sample, self.file = names, sample, file

    def named(self, text: str | None, option: str) -> Field | None:
        """The field that an option names; that it is nowhere is found only by reading, so it may be late."""
        if text is None:
            return None
        if not text:
            raise UsageError(f"{option} is empty", hint="name a field")
        return Field.parse(text, self.names)

    def first(self, candidates: Sequence[str], usable: Callable[[list[Any]], bool] = lambda _: True) -> Field | None:
        """The first of `candidates` that the log has, and whose values are `usable`."""
        for candidate in candidates:
            for field in self._spellings(candidate):
                values = self.values(field)
                if any(value is not MISSING for value in values) and usable(values):
                    return field
        return None

    def values(self, field: Field) -> list[Any]:
        return [field.of(record) for record in self.sample]

    def _spellings(self, candidate: str) -> list[Field]:
        """`candidate` as it is written, then in other letter cases."""
        if "." in candidate:
            return [Field.parse(candidate)]
        exact = [candidate] if candidate in self.names else []
        return [
            Field.named(name)
            for name in exact + [name for name in self.names if name != candidate and name.lower() == candidate]
        ]

    def listing(self) -> str:
        """The fields with their types, for an error's hint."""
        shown = []
        for name in self.names:
            kinds = {_kind(record[name]) for record in self.sample if record.get(name) is not None}
            shown.append(f"{name} ({'/'.join(sorted(kinds)) or 'null'})")
        return ", ".join(shown)


def _layout(name: str | None, names: Collection[str]) -> Layout:
    if name is None:
        return recognise(names)
    if name not in LAYOUTS:
        raise UsageError(f"there is no layout {name!r}", hint=did_you_mean(name, LAYOUTS))
    return LAYOUTS[name]


def _key(asked: Asked, layout: Layout, columns: _Columns) -> tuple[list[Field], bool, str]:
    if asked.group_by:
        texts = _split_commas(asked.group_by, columns.names)
        by_file = BY_FILE in texts and BY_FILE not in columns.names
        fields = [Field.parse(text, columns.names) for text in texts if text != BY_FILE or not by_file]
        return list(dict.fromkeys(fields)), by_file, "asked for"
    candidates = layout.roles["key"]
    for name in candidates:
        usable = _repeats if name in WEAK_IDS else _spells
        if found := columns.first((name,), usable):
            return [found], False, "known name"
    if found := columns.first(WEAK_IDS, _spells):
        return [found], False, "known name, though it never repeats"
    raise InputError(
        "no field names the prompt",
        file=columns.file,
        hint=f"say which with --group-by FIELD; the fields are: {columns.listing()}",
    )


def _rewards(asked: Asked, layout: Layout, columns: _Columns) -> tuple[tuple[tuple[Field, float], ...], str]:
    if asked.reward:
        return tuple(pair for text in asked.reward for pair in _reward(text, columns)), "asked for"
    candidates = layout.roles["reward"]
    field = columns.first(candidates, _holds_numbers) or columns.first(candidates, _all_missing)
    if field is None:
        raise InputError(
            "no field holds a reward",
            file=columns.file,
            hint=f"say which with --reward FIELD; the fields are: {columns.listing()}",
        )
    return ((field, 1.0),), "known name"


def _reward(text: str, columns: _Columns) -> list[tuple[Field, float]]:
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
    if name not in columns.names and name.endswith(f".{ALL_FIELDS}"):
        return [(inner, weight) for inner in _inner_fields(name.removesuffix(f".{ALL_FIELDS}"), columns)]
    field = columns.named(name, "--reward")
    assert field is not None
    return [(field, weight)]


def _inner_fields(text: str, columns: _Columns) -> list[Field]:
    outer = Field.parse(text, columns.names)
    found: dict[str, None] = {}
    for value in columns.values(outer):
        if isinstance(value, dict):
            found.update(dict.fromkeys(value))
    if not found:
        raise UsageError(f"--reward {text}.*: {text} holds no fields", hint=f"the fields are: {columns.listing()}")
    return [Field((*outer.parts, Name(name))) for name in found]


def _step(asked: Asked, layout: Layout, columns: _Columns) -> tuple[Field | None, str]:
    if asked.step == NO_STEP and NO_STEP not in columns.names:
        return None, "asked for none"
    if asked.step is not None:
        return columns.named(asked.step, "--step"), "asked for"
    return columns.first(layout.roles["step"], _spells), "known name"


def _split_commas(texts: Sequence[str], names: Collection[str]) -> list[str]:
    """`-g a,b` is two fields, unless the log has a field of exactly that name; commas in quotes are part of a name."""
    fields: list[str] = []
    for text in texts:
        if text in names:
            fields.append(text)
        else:
            fields += [part.strip() for part in re.findall(r'(?:"(?:[^"\\]|\\.)*"|[^,"])+', text)]
    if not all(fields) or not fields:
        raise UsageError("--group-by names an empty field")
    return fields


def _repeats(values: list[Any]) -> bool:
    """Whether some key comes again, and not all are one: what a prompt's key does."""
    spelled = [spell(value) for value in values if value is not MISSING and value is not None]
    return 1 < len(set(spelled)) < len(spelled)


def _spells(values: list[Any]) -> bool:
    return any(value is not MISSING and spell(value) is not None for value in values)


def _holds_numbers(values: list[Any]) -> bool:
    """Whether these can be rewards: numbers, or text that spells them. The reader names stray text among numbers."""
    there = [value for value in values if value is not MISSING and value is not None]
    scalars = sum(isinstance(value, int | float | str) for value in there)
    some_numbers = any(isinstance(value, int | float) for value in there)
    all_spelled = all(_is_number_text(value) for value in there)
    return bool(there) and (all_spelled or (some_numbers and scalars >= 0.9 * len(there)))


def _all_missing(values: list[Any]) -> bool:
    return all(value is MISSING or value is None for value in values)


def _is_number_text(value: object) -> bool:
    if not isinstance(value, str):
        return False
    try:
        float(value)
    except ValueError:
        return value in {"True", "False", "true", "false"}
    return True


def _kind(value: object) -> str:
    match value:
        case bool():
            return "true/false"
        case int() | float():
            return "number"
        case str():
            return "text"
        case list():
            return "list"
        case _:
            return "object"


def _shell(text: str) -> str:
    return text if re.fullmatch(r"[\w./=\[\]-]+", text) else "'" + text.replace("'", "'\\''") + "'"
