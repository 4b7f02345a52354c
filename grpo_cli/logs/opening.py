"""Opening a log: find its files, choose its fields, read them, number its groups, refuse what cannot be right."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NoReturn

import polars as pl

from grpo_cli.errors import InputError, UsageError, did_you_mean
from grpo_cli.frame import (
    BASELINE,
    LENGTH,
    LOGGED,
    OUTCOME,
    ROLLOUT,
    SCORED,
    check,
    reward_part,
    reward_parts,
)
from grpo_cli.logs.fields import Field
from grpo_cli.logs.format import Kind, OnBadLine, Records, Want
from grpo_cli.logs.grouping import STEP, group_rollouts, key_column
from grpo_cli.logs.reading import BY_FILE, Asked, Reading, choose
from grpo_cli.logs.rollouts import Part, RolloutLog, format_of, locate
from grpo_cli.logs.selection import Condition, from_json, steps_in_range
from grpo_cli.logs.shapes import explode

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from grpo_cli.logs.source import Found, LogFile

SAMPLE_RECORDS = 1000
"""How many records of the first file are looked at to choose the fields."""
SAMPLE_FILES = 16
"""How many files are asked for the names of their fields."""

_UNSCORED = "unscored_if_"


@dataclass(frozen=True)
class Selection:
    """Which rollouts count, and how their keys are split."""

    on_bad_line: OnBadLine = "error"
    group_size: int | None = None
    unscored_if: str | None = None
    steps: str | None = None
    pass_threshold: float | None = None


def open_log(
    found: Found, asked: Asked, selection: Selection | None = None, *, roles: Collection[str] = ()
) -> RolloutLog:
    """Open the files that were found as one log.

    `roles` are the optional columns that the caller needs (`length`, `baseline`, `logged`).

    Raises:
        InputError: a file is at fault; it names file, line and column.
        UsageError: an option is at fault.
    """
    selection = selection or Selection()
    condition = Condition(selection.unscored_if, "--unscored-if") if selection.unscored_if is not None else None
    names, sample = _look(found.files)
    reading, read = _read(found.files, asked, selection, condition, roles, names, sample)
    parts, rollouts = _rollouts(read)
    _refuse_missing_keys(reading, parts, rollouts)
    keys, key_names = _keys(reading, parts, rollouts)
    numbered, groups, odd = group_rollouts(keys, key_names, selection.group_size)
    frame = check(_canonical(numbered, rollouts, condition, selection))
    log = RolloutLog(
        parts=parts,
        reading=reading,
        frame=frame,
        groups=groups,
        notes=[*found.notes, *_notes(reading, read)],
        missing=_missing(reading, read),
        odd_blocks=odd,
        group_size=selection.group_size,
    )
    return log if selection.steps is None else _only_steps(log, selection, keys)


def _look(files: Sequence[LogFile]) -> tuple[list[str], list[dict[str, object]]]:
    """The top-level fields of the first files, and the first records of the first that has any."""
    names: dict[str, None] = {}
    sample: list[dict[str, object]] = []
    for at, file in enumerate(files):
        if at >= SAMPLE_FILES and sample:
            break
        names.update(dict.fromkeys(format_of(file).names(file)))
        if not sample:
            sample = format_of(file).sample(file, SAMPLE_RECORDS)
            for record in sample:
                names.update(dict.fromkeys(record))
    return list(names), sample


Read = list[tuple["LogFile", Records]]


def _read(
    files: Sequence[LogFile],
    asked: Asked,
    selection: Selection,
    condition: Condition | None,
    roles: Collection[str],
    names: list[str],
    sample: list[dict[str, object]],
) -> tuple[Reading, Read]:
    if not sample:
        _refuse_no_record(files, selection.on_bad_line)
    reading = choose(asked, names, sample, files[0].name)
    wants = _wants(reading, condition, roles, names)
    read = [(file, format_of(file).read(file, wants, selection.on_bad_line)) for file in files]
    if not any(records.frame.height for _, records in read):
        raise InputError("there is no rollout in it", file=files[0].name)
    every = list(dict.fromkeys(name for _, records in read for name in records.names))
    _refuse_unknown_fields(wants, every, files)
    if condition is not None:
        condition.check_names(every, {name: Field.parse(name, names).top for name in condition.fields})
    _refuse_late_fields(asked, reading, every, names, files[0].name)
    return reading, read


def _refuse_no_record(files: Sequence[LogFile], on_bad_line: OnBadLine) -> NoReturn:
    """Where there is no record at all, its fields are not what is missing: name the bad line, or the empty file."""
    for file in files:
        format_of(file).read(file, {}, on_bad_line)
    raise InputError("there is no rollout in it", file=files[0].name)


def _wants(
    reading: Reading, condition: Condition | None, roles: Collection[str], names: Collection[str]
) -> dict[str, Want]:
    wants = {key_column(at): Want(field, Kind.KEY) for at, field in enumerate(reading.key)}
    wants |= {reward_part(at): Want(field, Kind.NUMBER) for at, (field, _) in enumerate(reading.rewards)}
    optional = {
        STEP: (reading.step, Kind.KEY),
        ROLLOUT: (reading.rollout, Kind.KEY),
        OUTCOME: (reading.outcome, Kind.NUMBER),
        LENGTH: (reading.length if LENGTH in roles else None, Kind.NUMBER),
        BASELINE: (reading.baseline, Kind.NUMBER),
        LOGGED: (reading.logged if LOGGED in roles else None, Kind.NUMBER),
    }
    wants |= {name: Want(field, kind) for name, (field, kind) in optional.items() if field is not None}
    for at, name in enumerate(condition.fields if condition else ()):
        wants[f"{_UNSCORED}{at}"] = Want(Field.parse(name, names), Kind.JSON)
    return wants


def _rollouts(read: Read) -> tuple[list[Part], pl.DataFrame]:
    """The records of all files as rollouts, one under the other."""
    parts: list[Part] = []
    frames: list[pl.DataFrame] = []
    for file, records in read:
        lists = [name for name, dtype in records.frame.schema.items() if isinstance(dtype, pl.List)]
        try:
            rollouts, lengths = explode(records.frame, lists)
        except UsageError as error:
            raise InputError(error.message, file=file.name) from error
        frames.append(rollouts)
        parts.append(Part(file, records.names, records.frame.height, rollouts.height, records.bad, lengths))
    return parts, pl.concat(frames)


def _keys(reading: Reading, parts: Sequence[Part], rollouts: pl.DataFrame) -> tuple[pl.DataFrame, list[str]]:
    """The text columns that groups are told apart by, and what the key's fields are called."""
    names = [str(field) for field in reading.key]
    columns = [key_column(at) for at in range(len(names))]
    keys = rollouts.select(*columns, *(name for name in (STEP, ROLLOUT) if name in rollouts.columns))
    if not reading.by_file:
        return keys, names
    files = pl.Series(key_column(len(names)), [part.file.name for part in parts])
    lengths = pl.Series([part.rollouts for part in parts], dtype=pl.UInt32)
    file = pl.select(pl.lit(files).repeat_by(pl.lit(lengths)).alias(files.name)).explode(files.name).drop_nulls()
    return keys.hstack(file), [*names, BY_FILE]


def _canonical(
    numbered: pl.DataFrame, rollouts: pl.DataFrame, condition: Condition | None, selection: Selection
) -> pl.DataFrame:
    kept = [
        *reward_parts(rollouts),
        *(name for name in (LENGTH, BASELINE, LOGGED) if name in rollouts.columns),
    ]
    frame = numbered.hstack(rollouts.select(kept))
    if OUTCOME in rollouts.columns:
        bar = 1.0 if selection.pass_threshold is None else selection.pass_threshold
        frame = frame.with_columns((rollouts[OUTCOME] >= bar).alias(OUTCOME))
    if condition is not None:
        fields = {name: from_json(rollouts[f"{_UNSCORED}{at}"]) for at, name in enumerate(condition.fields)}
        frame = frame.with_columns(condition.holds(pl.DataFrame(fields)).not_().alias(SCORED))
    return frame


def _only_steps(log: RolloutLog, selection: Selection, keys: pl.DataFrame) -> RolloutLog:
    """The log without the rollouts of other steps; its groups and batches are numbered anew."""
    if STEP not in keys.columns:
        raise UsageError("--steps needs a step, and this log has none", hint="name it with --step FIELD")
    assert selection.steps is not None
    kept = steps_in_range(keys[STEP], selection.steps)
    key_names = list(log.groups.fields)
    numbered, groups, odd = group_rollouts(keys.filter(kept), key_names, selection.group_size)
    rest = log.frame.filter(kept).drop(numbered.columns)
    return replace(log, frame=check(numbered.hstack(rest)), groups=groups, odd_blocks=odd, kept=kept)


def _refuse_unknown_fields(wants: Mapping[str, Want], names: list[str], files: Sequence[LogFile]) -> None:
    where = files[0].name if len(files) == 1 else f"{files[0].name} and {len(files) - 1} more"
    for name, want in wants.items():
        if want.field.top not in names and not name.startswith(_UNSCORED):
            raise InputError(
                f"no record has a field {want.field.top!r}",
                file=where,
                hint=did_you_mean(want.field.top, names),
            )


def _refuse_late_fields(asked: Asked, reading: Reading, every: list[str], looked_at: list[str], file: str) -> None:
    """A better candidate that shows up only beyond the sample makes the choice a guess: ask."""
    late = [name for name in every if name not in looked_at]
    for role, option, given, chosen in (
        ("key", "--group-by", asked.group_by, reading.key[0] if reading.key else None),
        ("reward", "--reward", asked.reward, reading.rewards[0][0]),
        ("step", "--step", asked.step, reading.step),
    ):
        candidates = reading.layout.roles[role]  # type: ignore[index] - the tuple above holds roles only
        rank = candidates.index(str(chosen)) if str(chosen) in candidates else len(candidates)
        better = [name for name in late if name in candidates[:rank]]
        if better and not given:
            raise InputError(
                f"the field {better[0]} comes only after the first {SAMPLE_RECORDS} records",
                file=file,
                hint=f"say which field to take: {option} {better[0]}, or {option} {chosen or 'none'}",
            )


def _refuse_missing_keys(reading: Reading, parts: Sequence[Part], rollouts: pl.DataFrame) -> None:
    columns = [(key_column(at), field) for at, field in enumerate(reading.key)]
    if reading.step is not None:
        columns.append((STEP, reading.step))
    if reading.rollout is not None:
        columns.append((ROLLOUT, reading.rollout))
    for column, field in columns:
        if rollouts[column].null_count():
            file, line = locate(parts, int(rollouts[column].is_null().arg_true()[0]))
            hint = "--step none leaves the step out of the key" if column == STEP else None
            raise InputError(
                f"no {field} here, and a rollout without one belongs to no group",
                file=file,
                line=line,
                hint=hint,
            )


def _missing(reading: Reading, read: Read) -> dict[str, Counter[str]]:
    """For each reward field, how many values were absent, null or NaN, over all files."""
    totals: dict[str, Counter[str]] = {}
    for at, (field, _) in enumerate(reading.rewards):
        counts: Counter[str] = Counter()
        for _, records in read:
            counts.update(records.missing.get(reward_part(at), Counter()))
        totals[str(field)] = counts
    return totals


def _notes(reading: Reading, read: Read) -> list[str]:
    notes: list[str] = []
    for at, (field, _) in enumerate(reading.rewards):
        files = [file.name for file, records in read if reward_part(at) in records.text_numbers]
        if files:
            where = files[0] if len(files) == 1 else f"{len(files)} files"
            notes.append(f"{where}: {field} holds numbers as text; they are read as numbers")
    skipped = [(file.name, records.bad) for file, records in read if records.bad]
    for name, lines in skipped:
        shown = ", ".join(str(line) for line in lines[:5]) + (", ..." if len(lines) > 5 else "")
        one = len(lines) == 1
        notes.append(
            f"{name}: skipped {len(lines)} bad line{'' if one else 's'} (line{'' if one else 's'} {shown});"
            f" {'it stays' if one else 'they stay'} in the output as {'it is' if one else 'they are'}"
        )
    return notes
