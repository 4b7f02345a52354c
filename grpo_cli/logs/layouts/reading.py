"""Reading: which field of a log plays which role, and why. `logs.layouts.choosing` makes one."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from grpo_cli.logs.layouts.layout import RECORD

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from grpo_cli.logs.fields import Field
    from grpo_cli.logs.layouts.keys import Key
    from grpo_cli.logs.layouts.layout import Layout
    from grpo_cli.logs.layouts.places import Split
    from grpo_cli.logs.layouts.roles import Role

NO_STEP: Final = "none"
STEP_FROM_PATH: Final = "path"
"""What `--step` calls the step that the layout reads from a file's path."""
BY_FILE: Final = "file"
BY_SPLIT: Final = "split"
PLACES: Final = (BY_FILE, BY_SPLIT, RECORD)
"""What `--group-by` calls the file, the split and the record that a rollout is in."""
ASKED: Final = "asked for"


@dataclass(frozen=True)
class Asked:
    """What the person said about the fields of the log; None where nothing was said."""

    group_by: Sequence[str] = ()
    reward: Sequence[str] = ()
    step: str | None = None
    layout: str | None = None
    split: Split | None = None
    length: str | None = None
    rollout_id: str | None = None
    outcome: str | None = None
    baseline: str | None = None
    logged: str | None = None


class NotTaken(NamedTuple):
    """A field that might have played a role."""

    role: Role
    name: str
    why: str


@dataclass(frozen=True)
class Reading:
    """Which field plays which role in this log."""

    layout: Layout
    key: tuple[Key, ...]
    rewards: tuple[tuple[Field, float], ...]
    step: Field | None = None
    """The field of the step; called `path` where the path says it."""
    step_from_path: bool = False
    places: tuple[str, ...] = ()
    """Which of `PLACES` are part of the key."""
    length: Field | None = None
    rollout: Key | None = None
    outcome: Field | None = None
    baseline: Field | None = None
    logged: Field | None = None
    completion: Field | None = None
    split: str | None = None
    """`train`, `eval` or `all`, where the files tell."""
    evidence: str = ""
    """What the layout was recognised by."""
    why: Mapping[Role, str] = field(default_factory=dict)
    not_taken: tuple[NotTaken, ...] = ()

    @property
    def weights(self) -> list[float]:
        """The weights of the rewards, in order."""
        return [weight for _, weight in self.rewards]

    @property
    def weighted(self) -> bool:
        """Whether the reward is an object of scores with weights beside them."""
        return bool(self.layout.weighted) and self.layout.weighted in {str(field) for field, _ in self.rewards}

    @property
    def key_names(self) -> list[str]:
        """What the parts of the key are called, in order."""
        return [*map(str, self.key), *self.places]

    def flags(self) -> str:
        """The options that would reproduce this choice."""
        flags = [f"--layout {self.layout.name}"] if self.layout.has else []
        flags += [f"-g {_shell(name)}" for name in self.key_names]
        flags += [f"-r {_shell(reward_text(*reward))}" for reward in self.rewards]
        flags.append(f"--step {_shell(str(self.step)) if self.step else NO_STEP}")
        named = {"--length": self.length, "--rollout-id": self.rollout, "--outcome": self.outcome}
        flags += [f"{option} {_shell(str(given))}" for option, given in named.items() if given]
        flags += [f"--split {self.split}"] if self.split else []
        return " ".join(flags)


def reward_text(field: Field, weight: float) -> str:
    """A reward as it is asked for: `acc`, or `fmt=0.5` where its weight is not 1."""
    return f"{field}={weight:g}" if weight != 1 else str(field)


def reward_flags(fields: Sequence[Field]) -> str:
    """The options that would sum `fields`, with a weight to be set for each."""
    return " ".join(f"-r {_shell(f'{field}=1')}" for field in fields)


def _shell(text: str) -> str:
    return text if re.fullmatch(r"[\w./=:-]+", text) else "'" + text.replace("'", "'\\''") + "'"
