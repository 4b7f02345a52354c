"""The canonical frame: one row per rollout, in input order, with the same column names for every log.

| column        | type    | what                                                                          |
|---------------|---------|-------------------------------------------------------------------------------|
| `group`       | UInt32  | which group the rollout is in, numbered by first appearance from 0            |
| `batch`       | UInt32  | which step it is in, numbered by first appearance (0 everywhere without steps)|
| `reward_0..k` | Float64 | the reward columns; null is missing, never NaN or infinite                    |
| `scored`      | Boolean | optional: false where `--unscored-if` takes a rollout out                      |
| `rollout`     | UInt32  | optional: rows with the same number in one group are one rollout              |
| `length`      | Float64 | optional: completion length in tokens                                         |
| `outcome`     | Boolean | optional: passed or not, read from a column of its own                        |
| `baseline`    | Float64 | optional: an external baseline                                                |
| `logged`      | Float64 | optional: the advantage that the log already carries                          |

The log keeps, beside the frame, a row per group (`GROUPS`): what it is called, and where it begins.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

GROUP = "group"
BATCH = "batch"
REWARD = "reward"
SCORED = "scored"
ROLLOUT = "rollout"
LENGTH = "length"
OUTCOME = "outcome"
BASELINE = "baseline"
LOGGED = "logged"
ADVANTAGE = "advantage"


def reward_part(index: int) -> str:
    """The name of the reward column number `index`."""
    return f"{REWARD}_{index}"


def reward_parts(frame: pl.DataFrame) -> list[str]:
    """The reward columns of a canonical frame, in order."""
    return [name for name in frame.columns if name.startswith(f"{REWARD}_")]


class Status(StrEnum):
    """What the rewards of a group say. Zero-variance is `all-pass`, `all-fail` or `tied`."""

    MIXED = "mixed"
    ALL_PASS = "all-pass"  # noqa: S105 - every rollout passed; no password
    ALL_FAIL = "all-fail"
    TIED = "tied"
    SINGLETON = "singleton"
    UNSCORED = "unscored"

    @property
    def zero_variance(self) -> bool:
        """Two rollouts or more with one reward: no policy-gradient signal comes from such a group."""
        return self in (Status.ALL_PASS, Status.ALL_FAIL, Status.TIED)


def check(frame: pl.DataFrame) -> pl.DataFrame:
    """Return `frame` where it is canonical; raise `ValueError` that names the fault where it is not."""
    import polars as pl

    types: dict[str, pl.DataType] = {GROUP: pl.UInt32(), BATCH: pl.UInt32()}
    types |= {name: pl.Float64() for name in reward_parts(frame)}
    optional = {
        SCORED: pl.Boolean(),
        ROLLOUT: pl.UInt32(),
        LENGTH: pl.Float64(),
        OUTCOME: pl.Boolean(),
        BASELINE: pl.Float64(),
        LOGGED: pl.Float64(),
    }
    types |= {name: dtype for name, dtype in optional.items() if name in frame.columns}
    if reward_part(0) not in types:
        raise ValueError("a canonical frame has at least one reward column: reward_0")
    for name, dtype in types.items():
        if name not in frame.columns:
            raise ValueError(f"a canonical frame has a column {name}")
        if frame.schema[name] != dtype:
            raise ValueError(f"column {name} is {frame.schema[name]}, and should be {dtype}")
    for name in (GROUP, BATCH):
        if frame[name].null_count():
            raise ValueError(f"column {name} has nulls")
    for name in reward_parts(frame):
        if frame[name].is_finite().not_().any():
            raise ValueError(f"column {name} has a value that is not finite")
    return frame
