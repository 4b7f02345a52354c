"""Field: one grammar for naming a value in a record.

    reward            a top-level field
    info.reward       a field of a field
    "odd.name".score  a name with dots (or any other sign of the grammar) in quotes
    turns[-1].reward  an element of a list
    scores[]          every element: one value per rollout where a record holds several
    score[sum]        a list made into one number: sum, mean, min, max or len; text[len] is how many characters
    rewards.*         every field of a field (expanded by the reader of the options)

An exact top-level name always wins over the grammar: a column called `metrics/acc.v2` is named as it is.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from grpo_cli.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Mapping


class Missing:
    """The type of `MISSING`."""

    def __repr__(self) -> str:
        return "MISSING"


MISSING: Final = Missing()
"""What `Field.of` returns where a record has no such field. A JSON null is None."""

EACH: Final = "[]"
ALL_FIELDS: Final = "*"
REDUCTIONS: Final[Mapping[str, Callable[[list[float]], float]]] = {
    "sum": sum,
    "mean": lambda values: sum(values) / len(values),
    "min": min,
    "max": max,
    "len": len,
}

_PART = re.compile(
    r"""
    "(?P<quoted>(?:[^"\\]|\\.)*)"   # "odd.name"
    | (?P<name>[^.\[\]"]+)          # name
    | \[(?P<inside>[^\]]*)\]        # [] [-1] [sum]
    """,
    re.VERBOSE,
)


@dataclass(frozen=True)
class Name:
    """A step into an object."""

    name: str


@dataclass(frozen=True)
class Element:
    """A step into a list by position."""

    index: int


@dataclass(frozen=True)
class Each:
    """A step into every element of a list."""


@dataclass(frozen=True)
class Reduce:
    """A list of numbers made into one."""

    how: str


Part = Name | Element | Each | Reduce


@dataclass(frozen=True)
class Field:
    """Where a value stands in a record. Made by `Field.parse` or `Field.named`."""

    parts: tuple[Part, ...]

    @classmethod
    def named(cls, name: str) -> Field:
        """The top-level field called exactly `name`."""
        return cls((Name(name),))

    @classmethod
    def parse(cls, text: str, names: Container[str] = ()) -> Field:
        """Read `text`; where it is one of `names` (the top-level fields there are), it is that field.

        Raises:
            UsageError: the text is not in the grammar.
        """
        if text in names:
            return cls.named(text)
        parts: list[Part] = []
        at = 0
        while at < len(text):
            if parts and text[at] == "." and at + 1 < len(text):
                at += 1
            elif parts and text[at] != "[":
                raise _not_a_field(text)
            match = _PART.match(text, at)
            if match is None:
                raise _not_a_field(text)
            parts.append(_part(match, text))
            at = match.end()
        if not parts or not isinstance(parts[0], Name):
            raise _not_a_field(text)
        return cls(tuple(parts))

    @property
    def top(self) -> str:
        """The name of the top-level field that the value is in."""
        first = self.parts[0]
        assert isinstance(first, Name)
        return first.name

    @property
    def names(self) -> tuple[str, ...]:
        """Every object key on the way, outermost first."""
        return tuple(part.name for part in self.parts if isinstance(part, Name))

    @property
    def is_plain(self) -> bool:
        """Whether it is one top-level name."""
        return len(self.parts) == 1

    @property
    def has_each(self) -> bool:
        """Whether a record holds a list of values, one a rollout."""
        return any(isinstance(part, Each) for part in self.parts)

    def of(self, record: object) -> Any:
        """The value in `record`; `MISSING` where it is not there; a list where the field `has_each`."""
        return _walk(record, self.parts)

    def __str__(self) -> str:
        """The field as a person would type it; `parse` reads it back."""
        text = ""
        for part in self.parts:
            match part:
                case Name(name):
                    text += ("." if text else "") + _quoted(name)
                case Element(index):
                    text += f"[{index}]"
                case Each():
                    text += EACH
                case Reduce(how):
                    text += f"[{how}]"
        return text


def _walk(value: object, parts: tuple[Part, ...]) -> Any:
    for at, part in enumerate(parts):
        if value is None:
            return None
        match part:
            case Name(name):
                if not isinstance(value, dict) or name not in value:
                    return MISSING
                value = value[name]
            case Element(index):
                if not isinstance(value, list) or not -len(value) <= index < len(value):
                    return MISSING
                value = value[index]
            case Each():
                if not isinstance(value, list):
                    return MISSING
                return [_walk(element, parts[at + 1 :]) for element in value]
            case Reduce(how):
                return _reduced(value, how)
    return value


def _reduced(value: object, how: str) -> Any:
    """A list of numbers as one, the length of a list or text; a bare number stands for itself (some log either)."""
    if how == "len" and isinstance(value, str):
        return len(value)
    if not isinstance(value, list):
        return value
    if how == "len":
        return len(value)
    numbers = [element for element in value if element is not None]
    if not numbers:
        return None
    if not all(isinstance(element, int | float) for element in numbers):
        return value
    return REDUCTIONS[how](numbers)


def _part(match: re.Match[str], text: str) -> Part:
    if (quoted := match["quoted"]) is not None:
        return Name(re.sub(r"\\(.)", r"\1", quoted))
    if (name := match["name"]) is not None:
        return Name(name)
    inside = match["inside"].strip()
    if not inside:
        return Each()
    if inside in REDUCTIONS:
        return Reduce(inside)
    if re.fullmatch(r"-?\d+", inside):
        return Element(int(inside))
    raise UsageError(
        f"{text}: [{inside}] is not a way into a list",
        hint=f"[] is every element, [-1] the last one, and [{'], ['.join(REDUCTIONS)}] make one number",
    )


def _quoted(name: str) -> str:
    if name and not re.search(r'[.\[\]"=,*]', name):
        return name
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _not_a_field(text: str) -> UsageError:
    return UsageError(
        f"{text!r} does not name a field",
        hint='write name, name.inner, "odd.name", list[], list[-1] or list[sum]',
    )
