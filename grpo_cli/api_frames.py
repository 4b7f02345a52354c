"""What the Python interface takes made canonical: frames of any library, dicts, lists, arrays, logs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from grpo_cli import frame as cf
from grpo_cli.core.rewards import total
from grpo_cli.errors import UsageError, did_you_mean
from grpo_cli.logs.layouts.roles import PROMPT_IDS, PROMPTS, REWARDS, WEAK_IDS

_KEYS = ("group", *(name for name in PROMPT_IDS if name not in WEAK_IDS and name.isidentifier()), *PROMPTS)
_STEP = "step"


@dataclass(frozen=True)
class Nested:
    """Rewards without columns: one group, or a group a row."""

    frame: pl.DataFrame
    lengths: list[int] | None
    """How many rewards each row has; None for one group."""

    def shaped(self, values: pl.Series) -> pl.Series:
        """One value a reward, in the shape that the rewards had."""
        if self.lengths is None:
            return values
        rows = pl.Series([row for row, length in enumerate(self.lengths) for _ in range(length)], dtype=pl.UInt32)
        lists = pl.DataFrame({"row": rows, "value": values}).group_by("row", maintain_order=True).agg("value")
        every = pl.DataFrame({"row": pl.int_range(len(self.lengths), dtype=pl.UInt32, eager=True)})
        shaped = every.join(lists, on="row", how="left", maintain_order="left")["value"].alias(values.name)
        shaped = shaped.fill_null(pl.Series([[]], dtype=pl.List(pl.Float64)))
        if len(set(self.lengths)) == 1 and self.lengths[0]:
            return shaped.cast(pl.Array(pl.Float64, self.lengths[0]))
        return shaped


@dataclass(frozen=True)
class Frame:
    """A frame made canonical, and the columns that its groups are told apart by."""

    canonical: pl.DataFrame
    keys: pl.DataFrame

    def keys_of_groups(self) -> pl.DataFrame:
        """The keys of each group, in the order of the group numbers."""
        firsts = self.canonical.with_row_index("row").group_by(cf.GROUP).agg(pl.col("row").min()).sort(cf.GROUP)["row"]
        return self.keys[firsts]


def nested(data: Any) -> Nested | None:
    """Rewards alone as a canonical frame: a list or an array of numbers, or of lists; None for anything else."""
    if isinstance(data, pl.Series) or (hasattr(data, "tolist") and not hasattr(data, "columns")):
        data = data.to_list() if isinstance(data, pl.Series) else data.tolist()
    if isinstance(data, str | bytes | Mapping) or not isinstance(data, Sequence) or not data:
        return None
    data = [_plain(one) for one in data]
    if all(one is None or isinstance(one, int | float) for one in data):
        return Nested(_of_groups([data]), None)
    if not all(isinstance(one, Sequence) and not isinstance(one, str | bytes) for one in data):
        return None
    if not all(value is None or isinstance(value, int | float) for row in data for value in row):
        raise UsageError("rewards alone are a list of numbers, or a list of lists of numbers")
    return Nested(_of_groups(data), [len(row) for row in data])


def _plain(value: Any) -> Any:
    """Scalars, rows and arrays of other libraries as Python's own."""
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, pl.Series):
        return value.to_list()
    return [_plain(one) for one in value] if isinstance(value, list | tuple) else value


def as_frame(data: Any) -> pl.DataFrame:
    """Any frame as a Polars frame.

    Raises:
        UsageError: it is no frame.
    """
    if isinstance(data, pl.DataFrame):
        return data
    if isinstance(data, pl.LazyFrame):
        return data.collect()
    if hasattr(data, "__arrow_c_stream__"):
        return pl.DataFrame(data)
    # Not strict: [1, 0, 0.5] are numbers; numbers among text become text, and are refused as rewards.
    if isinstance(data, Mapping):
        return pl.DataFrame(data, strict=False)
    if isinstance(data, Sequence) and data and all(isinstance(row, Mapping) for row in data):
        return pl.DataFrame(list(data), infer_schema_length=None, strict=False)
    raise UsageError(
        f"this is no frame: {type(data).__name__}",
        hint="give a frame of Polars, pandas, pyarrow or DuckDB, a dict of columns, a list of dicts, or rewards alone",
    )


def canonical(
    frame: pl.DataFrame,
    *,
    reward: str | Sequence[str] | Mapping[str, float] | None,
    group_by: str | Sequence[str] | None,
    step: str | None,
    length: str | None = None,
    rollout_id: str | None = None,
    baseline: str | None = None,
) -> tuple[Frame, list[float]]:
    """A frame made canonical, and the weights of its rewards.

    Raises:
        UsageError: a column is not there, or holds what it cannot.
    """
    if frame.is_empty():
        raise UsageError("the frame has no rows")
    rewards = rewards_of(reward if reward is not None else _known(frame, REWARDS, "reward"))
    keys = [group_by] if isinstance(group_by, str) else list(group_by or [_known(frame, _KEYS, "group_by")])
    batch = [step] if step is not None and (step != _STEP or step in frame.columns) else []
    names = list(dict.fromkeys([*batch, *keys]))
    for name in [*names, *rewards, *(name for name in (length, rollout_id, baseline) if name)]:
        if name not in frame.columns:
            raise UsageError(f"the frame has no column {name}", hint=did_you_mean(name, frame.columns))
    for name in names:
        if frame[name].null_count():
            raise UsageError(f"column {name} has a null, and a rollout without a key belongs to no group")
    columns = {cf.GROUP: numbered(frame, names), cf.BATCH: numbered(frame, batch)}
    columns |= {cf.reward_part(at): _numbers(frame, name) for at, name in enumerate(rewards)}
    if length:
        columns[cf.LENGTH] = _numbers(frame, length)
    if baseline:
        columns[cf.BASELINE] = _numbers(frame, baseline)
    if rollout_id:
        columns[cf.ROLLOUT] = numbered(frame, [rollout_id])
    return Frame(cf.check(pl.DataFrame(columns)), frame.select(names)), list(rewards.values())


def rewards_of(reward: str | Sequence[str] | Mapping[str, float]) -> dict[str, float]:
    """Reward columns with their weights."""
    if isinstance(reward, str):
        return {reward: 1.0}
    if isinstance(reward, Mapping):
        return {name: float(weight) for name, weight in reward.items()}
    return dict.fromkeys(reward, 1.0)


def numbered(frame: pl.DataFrame, columns: list[str]) -> pl.Series:
    """The distinct values of `columns`, numbered by first appearance."""
    if not columns:
        return pl.repeat(0, frame.height, dtype=pl.UInt32, eager=True)
    values = frame.select(pl.struct(columns).alias("key")).with_row_index("row")
    firsts = values.group_by("key").agg(pl.col("row").min()).sort("row").with_row_index("number")
    return values.join(firsts, on="key", how="left", maintain_order="left", nulls_equal=True)["number"]


def of_log(
    paths: Sequence[str], *, group_size: int | None, steps: str | None, on_bad_line: str, **asked: Any
) -> pl.DataFrame:
    """The rollouts of a log as one frame, by the names that its fields have."""
    from grpo_cli.logs.files.source import find
    from grpo_cli.logs.layouts.reading import Asked
    from grpo_cli.logs.opening import Selection, open_log

    if on_bad_line not in ("error", "skip"):
        raise UsageError(f"on_bad_line is {on_bad_line}", hint="error or skip")
    selection = Selection(on_bad_line="skip" if on_bad_line == "skip" else "error", group_size=group_size, steps=steps)
    log = open_log(find(paths), Asked(**asked), selection, roles={cf.LENGTH, cf.LOGGED})
    named = log.groups.named[log.frame[cf.GROUP].cast(pl.Int64)]
    columns = [named["id"].alias("group"), named["key"]]
    if log.reading.step is not None:
        columns.append(named["step"])
    columns.append(total(log.frame, log.reading.weights))
    if len(log.reading.rewards) > 1:
        taken = {column.name for column in columns} | {cf.LENGTH, "logged_advantage"}
        for at, (field, _) in enumerate(log.reading.rewards):
            name = str(field) if str(field) not in taken else f"reward:{field}"
            columns.append(log.frame[cf.reward_part(at)].alias(name))
    if cf.LENGTH in log.frame.columns:
        columns.append(log.frame[cf.LENGTH])
    if cf.LOGGED in log.frame.columns:
        columns.append(log.frame[cf.LOGGED].alias("logged_advantage"))
    return pl.DataFrame(columns)


def _known(frame: pl.DataFrame, names: Sequence[str], argument: str) -> str:
    for name in names:
        if name in frame.columns:
            return name
    raise UsageError(f"say which column it is: {argument}=", hint=f"columns: {', '.join(frame.columns)}")


def _numbers(frame: pl.DataFrame, name: str) -> pl.Series:
    column = frame[name]
    if not (column.dtype.is_numeric() or column.dtype in (pl.Boolean, pl.Null)):
        raise UsageError(f"column {name} is {column.dtype}, and should hold numbers")
    numbers = column.cast(pl.Float64).fill_nan(None)
    infinite = numbers.is_infinite().arg_true()
    if len(infinite):
        raise UsageError(f"column {name} has an infinite value in row {infinite[0]}")
    return numbers


def _of_groups(rows: Sequence[Sequence[float | None]]) -> pl.DataFrame:
    values = pl.DataFrame(
        {
            cf.GROUP: [group for group, row in enumerate(rows) for _ in row],
            cf.REWARD: [None if value is None else float(value) for row in rows for value in row],
        },
        schema={cf.GROUP: pl.UInt32, cf.REWARD: pl.Float64},
    )
    if values.is_empty():
        raise UsageError("there are no rewards")
    reward = _numbers(values, cf.REWARD).alias(cf.reward_part(0))
    batch = pl.repeat(0, values.height, dtype=pl.UInt32, eager=True).alias(cf.BATCH)
    return cf.check(pl.DataFrame([values[cf.GROUP], batch, reward]))
