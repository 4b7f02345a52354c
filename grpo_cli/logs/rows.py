"""From the records of files to rollouts: what is read of each record, and what its file says beside it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from grpo_cli.errors import InputError, RowError, UsageError
from grpo_cli.frame import BASELINE, LENGTH, LOGGED, OUTCOME, ROLLOUT, reward_part
from grpo_cli.logs.codes import code_type, coded
from grpo_cli.logs.fields import Field
from grpo_cli.logs.format import Kind, Records, Want, text_number
from grpo_cli.logs.grouping import STEP, key_column
from grpo_cli.logs.layouts.layout import RECORD
from grpo_cli.logs.layouts.places import hive, split_of, step_of
from grpo_cli.logs.layouts.reading import BY_FILE
from grpo_cli.logs.rollouts import Part, format_of, locate
from grpo_cli.logs.shapes import explode

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from grpo_cli.logs.files.source import LogFile
    from grpo_cli.logs.layouts.candidates import Columns
    from grpo_cli.logs.layouts.reading import Reading
    from grpo_cli.logs.selection import Condition

CONDITION = "unscored_if_"


class Read(NamedTuple):
    """A file and what was read of it."""

    file: LogFile
    records: Records


def wants_of(
    reading: Reading, condition: Condition | None, roles: Collection[str], columns: Columns
) -> dict[str, Want]:
    """What is read of each record: a want for each column that the rollouts will have."""
    scores = Kind.JSON if reading.weighted else Kind.NUMBER
    wants = {
        key_column(at): Want(key.field, Kind.KEY if key.changes else Kind.CODE) for at, key in enumerate(reading.key)
    }
    wants |= {reward_part(at): Want(field, scores) for at, (field, _) in enumerate(reading.rewards)}
    optional = {
        STEP: (None if reading.step_from_path else reading.step, Kind.CODE),
        ROLLOUT: (reading.rollout.field if reading.rollout else None, Kind.KEY),
        OUTCOME: (reading.outcome, Kind.NUMBER),
        LENGTH: (reading.length if LENGTH in roles else None, Kind.NUMBER),
        BASELINE: (reading.baseline, Kind.NUMBER),
        LOGGED: (reading.logged if LOGGED in roles else None, Kind.NUMBER),
    }
    wants |= {name: Want(field, kind) for name, (field, kind) in optional.items() if field is not None}
    for at, name in enumerate(condition.fields if condition else ()):
        wants[f"{CONDITION}{at}"] = Want(columns.in_shape(Field.parse(name, columns.names)), Kind.JSON)
    _refuse_scalar_rewards(reading, wants)
    return wants


def _refuse_scalar_rewards(reading: Reading, wants: dict[str, Want]) -> None:
    """A reward a record cannot be that of each of its rollouts."""
    each = next((want.field for want in wants.values() if want.field.has_each), None)
    scalar = next((field for field, _ in reading.rewards if not field.has_each), None)
    if each is not None and scalar is not None:
        raise UsageError(
            f"{each} is one value a rollout, and the reward {scalar} one a record",
            hint="name a reward with [] too, or no field with []",
        )


def rollouts_of(read: Sequence[Read], reading: Reading, wants: dict[str, Want]) -> tuple[list[Part], pl.DataFrame]:
    """The records of all files as rollouts, one under the other, with the keys' texts as they are to be compared."""
    parts: list[Part] = []
    frames: list[pl.DataFrame] = []
    lists = [name for name, want in wants.items() if want.field.has_each]
    for file, records in read:
        frame = _beside(file, records, reading, wants)
        try:
            rollouts, lengths = explode(frame, lists)
        except RowError as error:
            message = error.message
            for name, want in wants.items():
                message = message.replace(f"{name} has", f"{want.field} has")  # the names of columns are ours
            line = format_of(file).locate(file, error.row)
            raise InputError(message, file=file.name, line=line) from error
        if reading.layout.is_wrapped and lengths is not None:
            _refuse_unwrapped(file, lengths, reading)
        frames.append(rollouts)
        parts.append(Part(file, records.names, frame.height, rollouts.height, records.bad, lengths))
    rollouts = pl.concat(frames)
    if not rollouts.height:
        raise InputError("there is no rollout in it", file=read[0].file.name)
    if reading.layout.rollout and reading.rollout is not None:
        rollouts = _last_output_counts(rollouts, reading)
    if reading.weighted:
        try:
            sums = [_weighted(rollouts[reward_part(at)], str(field)) for at, (field, _) in enumerate(reading.rewards)]
        except RowError as error:
            name, line = locate(parts, error.row)
            raise InputError(error.message, file=name, line=line) from error
        rollouts = rollouts.with_columns(sums)
    keys = [key.apply(key_column(at)).alias(key_column(at)) for at, key in enumerate(reading.key) if key.changes]
    if reading.rollout is not None:
        keys.append(reading.rollout.apply(ROLLOUT).alias(ROLLOUT))
    rollouts = rollouts.with_columns(keys)
    places = [key_column(at) for at in range(len(reading.key_names))]
    return parts, rollouts.with_columns(coded(rollouts[name]) for name in places)


def _refuse_unwrapped(file: LogFile, lengths: pl.Series, reading: Reading) -> None:
    """Where every value is wrapped in a list, a longer one is not this row's."""
    if (lengths != 1).any():
        row = int((lengths != 1).arg_true()[0])
        raise InputError(
            f"{reading.rewards[0][0]} has {lengths[row]} elements, where {reading.layout.name} wraps one value a row",
            file=file.name,
            line=format_of(file).locate(file, row),
            hint="under dynamic sampling rewards are not those of the row: name the filtered ones with -r",
        )


def _beside(file: LogFile, records: Records, reading: Reading, wants: dict[str, Want]) -> pl.DataFrame:
    """The records with what their file says of all of them: hive columns, the step, and the places in the key."""
    frame = records.frame
    constants = hive(file)
    said: dict[str, pl.Expr] = {}
    for name, want in wants.items():
        if want.field.is_plain and want.field.top in constants and want.field.top not in records.names:
            text = constants[want.field.top]
            number = want.kind is Kind.NUMBER
            said[name] = pl.lit(text_number(text), dtype=pl.Float64) if number else _constant(text, want.kind)
            if number and name in records.missing:
                records.missing[name].clear()
    if reading.step_from_path:
        said[STEP] = _constant(step_of(file, reading.layout), Kind.CODE)
    for at, place in enumerate(reading.places, len(reading.key)):
        match place:
            case str() if place == RECORD:
                told = pl.int_range(1, pl.len() + 1).cast(pl.String).cast(code_type())
            case str() if place == BY_FILE:
                told = _constant(file.name, Kind.CODE)
            case _:
                told = _constant(split_of(file, reading.layout) or "train", Kind.CODE)
        said[key_column(at)] = told
    if not said:
        return frame
    if not frame.width:
        frame = pl.DataFrame({"": pl.Series([None] * frame.height)})
    return frame.with_columns(expr.alias(name) for name, expr in said.items())


def _constant(text: str | None, kind: Kind) -> pl.Expr:
    """One text for all records, as a want of this kind is read."""
    value = coded(pl.Series([text], dtype=pl.String)) if kind is Kind.CODE else pl.Series([text], dtype=pl.String)
    return pl.lit(value).first()


def _weighted(texts: pl.Series, name: str) -> pl.Series:
    """Objects `{name: {score, weight}}` as JSON, each as its sum of score x weight; null without a score."""
    distinct = texts.drop_nulls().unique()
    sums = pl.Series([_sum(json.loads(text)) for text in distinct], dtype=pl.Float64)
    infinite = sums.is_infinite() | sums.is_nan()
    if infinite.any():
        text = distinct.filter(infinite)[0]
        row = int((texts == text).arg_true()[0])
        raise RowError(f"the sum of score x weight in {name} is not finite", row=row)
    table = pl.DataFrame({"text": distinct, "sum": sums})
    return texts.to_frame("text").join(table, on="text", how="left", maintain_order="left")["sum"].alias(texts.name)


def _sum(rewards: Any) -> float | None:
    """Sum of score x weight; a bare number is a score of weight 1. None where nothing is scored."""
    if not isinstance(rewards, dict):
        return None
    total: float | None = None
    for value in rewards.values():
        score, weight = (value.get("score"), value.get("weight", 1.0)) if isinstance(value, dict) else (value, 1.0)
        if isinstance(score, int | float) and isinstance(weight, int | float):
            total = (total or 0.0) + score * weight
    return total


def _last_output_counts(rollouts: pl.DataFrame, reading: Reading) -> pl.DataFrame:
    """Of a rollout logged as several rows (GROUP_ROLLOUT_OUTPUT) the reward is that of its last output."""
    assert reading.rollout is not None
    rewards = [reward_part(at) for at in range(len(reading.rewards))]
    steps = [STEP] if STEP in rollouts.columns else []
    numbered = rollouts.select(
        *steps,
        reading.rollout.apply(ROLLOUT).alias("of"),
        pl.col(ROLLOUT).str.extract(r"_(\d+)$", 1).cast(pl.Int64, strict=False).alias("output"),
        *rewards,
    )
    if numbered.select(*steps, "of").n_unique() == rollouts.height:
        return rollouts
    last = [pl.col(name).sort_by("output").last().over([*steps, "of"]) for name in rewards]
    return rollouts.with_columns(numbered.select(last))
