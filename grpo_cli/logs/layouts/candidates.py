"""Columns: the fields of a log as a sample of it shows them, and which of them can play a role."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from grpo_cli.errors import InputError, UsageError
from grpo_cli.logs.fields import ALL_FIELDS, MISSING, Each, Field, Name
from grpo_cli.logs.format import spell, text_number
from grpo_cli.logs.layouts.keys import Key

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from grpo_cli.logs.layouts.layout import Layout

Sample = list[dict[str, Any]]
MOSTLY = 0.9
"""The share of values that have to be numbers for a field to be a reward."""


class Columns:
    """The fields of a log as its sample shows them."""

    def __init__(self, names: Collection[str], sample: Sample, file: str, layout: Layout) -> None:
        """Look at a `sample` of the records of a log whose top-level fields are `names`."""
        self.names, self.sample, self.file, self.layout = names, sample, file, layout

    def named(self, text: str | None, option: str) -> Field | None:
        """The field that an option names; that it is nowhere is found only by reading, so it may be late."""
        if text is None:
            return None
        if not text:
            raise UsageError(f"{option} is empty", hint="name a field")
        return self.in_shape(Field.parse(text, self.names))

    def in_shape(self, field: Field) -> Field:
        """`field`, with `[]` where it names a list of one value a rollout, or a field of the objects in a record."""
        if field.has_each:
            return field
        if self.layout.shape == "objects" and field.top not in self.names:
            inner = Field((*Field.named(self.layout.at).parts, Each(), *field.parts))
            return inner if any(value is not MISSING for value in self.values(inner)) else field
        if self.layout.shape == "columns" and field.is_plain:
            values = [value for value in self.whole(field) if value is not MISSING and value is not None]
            if values and all(isinstance(value, list) for value in values) and self.is_parallel(field.top):
                return Field((*field.parts, Each()))
        return field

    def is_parallel(self, name: str) -> bool:
        """Whether the lists of `name` are as long as those that hold the rewards of the same record."""
        rewards = [Field.parse(text).top for text in self.layout.roles.get("reward", ())]
        beside = [other for other in rewards if other in self.names] or list(self.names)
        for record in self.sample:
            value, others = record.get(name), [record.get(other) for other in beside]
            lengths = {len(other) for other in others if isinstance(other, list)}
            if isinstance(value, list) and lengths and len(value) not in lengths:
                return False
        return True

    def whole(self, field: Field) -> list[Any]:
        """The value of `field` in each record; a list where it has `[]`."""
        return [field.of(record) for record in self.sample]

    def values(self, field: Field) -> list[Any]:
        """The value of `field` for each rollout."""
        found = self.whole(field)
        if not field.has_each:
            return found
        return [value for values in found if isinstance(values, list) for value in values]

    def is_there(self, field: Field) -> bool:
        """Whether any rollout has it; where there is none at all, whether there are lists for them."""
        if not field.has_each:
            return any(value is not MISSING for value in self.whole(field))
        lists = [values for values in self.whole(field) if isinstance(values, list)]
        elements = [value for values in lists for value in values]
        return any(value is not MISSING for value in elements) if elements else bool(lists)

    def spellings(self, candidate: str) -> Iterator[Field]:
        """`candidate` as it is written; one plain name also in other letter cases."""
        field = Field.parse(candidate)
        if not field.is_plain:
            yield field
            return
        if candidate in self.names:
            yield field
        yield from (Field.named(name) for name in self.names if name != candidate and name.lower() == candidate)

    def first(self, candidates: Sequence[str], usable: Callable[[list[Any]], bool] = lambda _: True) -> Field | None:
        """The first of `candidates` that the log has, and whose values are `usable`.

        Raises:
            InputError: several fields are spelled like it, and none exactly so.
        """
        for candidate in candidates:
            fields = [field for field in self.spellings(candidate) if self.is_there(field)]
            fields = [field for field in fields if usable(self.values(field))]
            if len(fields) > 1 and str(fields[0]) != candidate:
                names = " and ".join(str(field) for field in fields)
                raise InputError(
                    f"{names} are both called {candidate}",
                    file=self.file,
                    hint="name the one that is meant: -g, -r or --step",
                )
            if fields:
                return fields[0]
        return None

    def keys(self, candidate: str) -> list[tuple[Key, ...]]:
        """The keys that a candidate of a layout names: `a,b` is both; none where the log lacks one of them."""
        parts: list[list[Key]] = []
        for text in candidate.split(","):
            key = Key.parse(text)
            parts.append(
                [replace(key, field=field) for field in self.spellings(str(key.field)) if self.is_there(field)]
            )
        return [tuple(found[0] for found in parts)] if all(parts) else []

    def spelled(self, keys: Sequence[Key]) -> list[tuple[str, ...]]:
        """What the keys of each rollout spell; rollouts that lack one are left out."""
        columns = [[key.of(value) for value in self.values(key.field)] for key in keys]
        if len({len(column) for column in columns}) > 1:  # a value a record beside one a rollout
            columns = [[key.of(value) for value in self.whole(key.field) if not key.field.has_each] for key in keys]
        return [row for row in zip(*columns, strict=False) if all(value is not None for value in row)]

    def inner_fields(self, outer: Field) -> list[Field]:
        """The fields of the objects at `outer`, by first appearance."""
        found: dict[str, None] = {}
        for value in self.values(outer):
            if isinstance(value, dict):
                found.update(dict.fromkeys(value))
        return [Field((*outer.parts, Name(name))) for name in found]

    def expanded(self, text: str) -> list[Field]:
        """`parts.*` as the fields of parts; any other text as the one field that it names."""
        if text.endswith(f".{ALL_FIELDS}") and text not in self.names:
            return self.inner_fields(self.in_shape(Field.parse(text.removesuffix(f".{ALL_FIELDS}"), self.names)))
        return [self.in_shape(Field.parse(text, self.names))]

    def listing(self) -> str:
        """The fields with their types, for an error's hint."""
        shown = []
        for name in self.names:
            kinds = {kind_of(record[name]) for record in self.sample if record.get(name) is not None}
            shown.append(f"{name} ({'/'.join(sorted(kinds)) or 'null'})")
        if self.layout.at:
            shown += [str(field) for field in self.inner_fields(Field((*Field.named(self.layout.at).parts, Each())))]
        return ", ".join(shown)


def repeats(spelled: Sequence[tuple[str, ...]]) -> bool:
    """Whether some key comes again, and not all are one: what a prompt's key does."""
    return 1 < len(set(spelled)) < len(spelled)


def spells(values: list[Any]) -> bool:
    """Whether any value is there."""
    return any(value is not MISSING and spell(value) is not None for value in values)


def holds_numbers(values: list[Any]) -> bool:
    """Whether these can be rewards: numbers, or text that spells them. The reader names stray text among numbers."""
    there = [value for value in values if value is not MISSING and value is not None]
    scalars = sum(isinstance(value, int | float | str) for value in there)
    some_numbers = any(isinstance(value, int | float) for value in there)
    all_spelled = all(isinstance(value, str) and text_number(value) is not None for value in there)
    return bool(there) and (all_spelled or (some_numbers and scalars >= MOSTLY * len(there)))


def holds_lists_of_numbers(values: list[Any]) -> bool:
    """Whether these are lists of numbers, some of them perhaps bare numbers."""
    there = [value for value in values if value is not MISSING and value is not None]
    inner = [element for value in there if isinstance(value, list) for element in value if element is not None]
    lists = any(isinstance(value, list) for value in there)
    return lists and all(isinstance(value, list | int | float) for value in there) and holds_numbers([*inner, 0.0])


def holds_floats(values: list[Any]) -> bool:
    """Whether every number is a float, as the columns of reward functions are, or none is there at all."""
    there = [value for value in values if value is not MISSING and value is not None]
    return all(isinstance(value, float) for value in there)


def all_missing(values: list[Any]) -> bool:
    """Whether there is no value."""
    return all(value is MISSING or value is None for value in values)


def kind_of(value: object) -> str:
    """A value's type in words."""
    match value:
        case bool():
            return "true/false"
        case int():
            return "whole number"
        case float():
            return "number"
        case str():
            return "text"
        case list():
            return "list"
        case None:
            return "null"
        case _:
            return "object"
