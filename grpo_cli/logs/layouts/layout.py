"""Layout: how one framework lays its log out. `logs.layouts.table` is the table of them.

A layout says which fields play which role, and what its files are called. It never says which formula made a number:
that is `core.frameworks`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from grpo_cli.logs.layouts.roles import Role

Shape = Literal["row", "columns", "objects"]
Form = Literal["list", "objects", "object", "numbers"]

MOSTLY: Final = 0.9
"""The share of records that have to be laid out as the layout says."""
RECORD: Final = "record"
"""What `--group-by` calls the record that a rollout is in: the key where a record is a group."""
PER_GROUP_SIZE: Final = "//"
"""`idx//` in a row of the table: the number divided by the group size, once that is known."""


@dataclass(frozen=True)
class Layout:
    """How one framework lays its log out."""

    name: str
    summary: str
    shape: Shape = "row"
    has: tuple[str, ...] = ()
    """The top-level fields that tell this layout from every other; `a|b` is either of two."""
    lacks: tuple[str, ...] = ()
    holds: Mapping[str, Form] = field(default_factory=dict)
    """What the values of some of them must be, where the names alone do not tell."""
    is_table: bool = False
    """Whether a line is a table: every value a list, all of one length."""
    is_wrapped: bool = False
    """Whether every value but some is in a list of length 1."""
    at: str = ""
    """The list of objects that the rollouts of a record are in."""
    roles: Mapping[Role, tuple[str, ...]] = field(default_factory=dict)
    """The fields that may play each role, best first. `a,b` in a key is both; `a+b` in a reward is their sum."""
    rewards_follow: str = ""
    """The field after which the columns of reward functions stand, up to the logged advantage."""
    rewards_named_in: str = ""
    """The field that lists the names of the reward columns."""
    weighted: str = ""
    """The field that holds rewards as `{name: {score, weight}}`."""
    rollout: str = ""
    """What tells the rollouts of a group apart, where one may be several rows; the reward of its last row counts."""
    step_path: str = ""
    """A pattern on a file's path that gives the step, where no field does."""
    splits: Mapping[str, str] = field(default_factory=dict)
    """For `train` and `eval`, a pattern on a file's path."""
    repeats: tuple[str, str] | None = None
    """(part, whole): patterns on a path; files of the first repeat rows of files of the second."""
    framework: str = ""
    """Whose conventions go with it; its own name where this is empty."""

    def matches(self, names: Collection[str], sample: Sequence[Mapping[str, Any]]) -> bool:
        """Whether records with these top-level fields are laid out like this."""
        there = all(any(name in names for name in either.split("|")) for either in self.has)
        if not there or any(name in names for name in self.lacks):
            return False
        if not all(_holds(form, [record.get(name) for record in sample]) for name, form in self.holds.items()):
            return False
        return not self.is_table or _is_table(sample)

    @property
    def why(self) -> str:
        """Why a field plays a role that the layout gives to it."""
        return "the layout's" if self.has else "known name"

    def evidence(self, names: Collection[str]) -> str:
        """What records with the top-level fields `names` show of this layout."""
        there = [", ".join(name for name in either.split("|") if name in names) for either in self.has]
        said = [f"has {', '.join(there)}"] if there else []
        said += [f"{name} holds {_FORMS[form]}" for name, form in self.holds.items()]
        said += ["every value is a list, all of one length"] if self.is_table else []
        said += [f"has no {self.lacks[0]}"] if self.lacks else []
        return "; ".join(said) or "no other layout fits"


_FORMS: Mapping[Form, str] = {
    "list": "lists",
    "objects": "lists of objects",
    "object": "objects",
    "numbers": "lists of numbers",
}


def _holds(form: Form, values: Sequence[Any]) -> bool:
    there = [value for value in values if value is not None]
    if form == "object":
        return bool(there) and all(isinstance(value, dict) for value in there)
    if not there or not all(isinstance(value, list) for value in there):
        return False
    inner = [element for value in there for element in value if element is not None]
    if form == "objects":
        return all(isinstance(element, dict) for element in inner)
    return form == "list" or all(isinstance(element, int | float) for element in inner)


def _is_table(sample: Sequence[Mapping[str, Any]]) -> bool:
    """Whether every value of a record is a list, all of one length, in all records but the odd broken one."""
    tables = sum(_is_one_table([value for value in record.values() if value is not None]) for record in sample)
    return tables > 0 and tables >= MOSTLY * len(sample)


def _is_one_table(values: Sequence[Any]) -> bool:
    return all(isinstance(value, list) for value in values) and len({len(value) for value in values}) == 1
