"""What cannot be right about a log that was read, and what should be said about one that may be."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import polars as pl

from grpo_cli.errors import InputError, did_you_mean
from grpo_cli.frame import ROLLOUT, reward_part
from grpo_cli.logs.fields import Field
from grpo_cli.logs.format import Kind, OnBadLine, Want
from grpo_cli.logs.grouping import STEP, key_column
from grpo_cli.logs.layouts.places import hive
from grpo_cli.logs.layouts.rewards import between, wildcards
from grpo_cli.logs.looking import SAMPLE_RECORDS
from grpo_cli.logs.rollouts import format_of, locate
from grpo_cli.logs.rows import CONDITION

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from grpo_cli.logs.files.source import LogFile
    from grpo_cli.logs.layouts.reading import Asked, Reading
    from grpo_cli.logs.layouts.roles import Role
    from grpo_cli.logs.looking import Look
    from grpo_cli.logs.rollouts import Part
    from grpo_cli.logs.rows import Read
    from grpo_cli.logs.selection import Condition


def refuse_what_was_read(
    asked: Asked,
    reading: Reading,
    read: Sequence[Read],
    wants: Mapping[str, Want],
    seen: Look,
    condition: Condition | None,
) -> None:
    """Refuse fields that no record has, and a choice that the rest of the log shows to have been a guess.

    Raises:
        InputError: so it is.
        UsageError: the condition names a field that no record has.
    """
    every = list(dict.fromkeys(name for file, records in read for name in (*records.names, *hive(file))))
    _refuse_unknown_fields(wants, every, [file for file, _ in read])
    if condition is not None:
        condition.check_names(every, {name: Field.parse(name, seen.names).top for name in condition.fields})
    _refuse_late_fields(asked, reading, read, seen.names)
    for outer, names in wildcards(asked.reward, seen.columns).items():
        _refuse_late_parts(outer, names, read)


def _refuse_late_parts(outer: Field, names: Collection[str], read: Sequence[Read]) -> None:
    """`parts.*` is what the first records have; a part that comes later must not be left out of the sum."""
    for file, _ in read:
        texts = format_of(file).read(file, {"parts": Want(outer, Kind.JSON)}, "skip").frame["parts"]
        if outer.has_each:
            texts = texts.explode()
        for text in texts.drop_nulls().unique().to_list():
            value = json.loads(text)
            late = [name for name in value if name not in names] if isinstance(value, dict) else []
            if late:
                raise InputError(
                    f"{outer} has a field {late[0]} that comes only after the first {SAMPLE_RECORDS} records",
                    file=file.name,
                    hint=f"name the fields one by one: -r {outer}.{late[0]} and so on",
                )


def _refuse_unknown_fields(wants: Mapping[str, Want], names: Sequence[str], files: Sequence[LogFile]) -> None:
    """Refuse a field that no record has."""
    where = files[0].name if len(files) == 1 else f"{files[0].name} and {len(files) - 1} more"
    for name, want in wants.items():
        if want.field.top not in names and not name.startswith(CONDITION):
            raise InputError(
                f"no record has a field {want.field.top!r}", file=where, hint=did_you_mean(want.field.top, names)
            )


def _refuse_late_fields(asked: Asked, reading: Reading, read: Sequence[Read], looked_at: Sequence[str]) -> None:
    """A better candidate that shows up only beyond the sample makes the choice a guess: ask."""
    every = dict.fromkeys(name for _, records in read for name in records.names)
    late = [name for name in every if name not in looked_at]
    if not late:
        return
    after = reading.layout.rewards_follow
    if after and not asked.reward:
        for file, records in read:
            if found := [name for name in between(after, records.names) if name in late]:
                raise InputError(
                    f"{found[0]} stands among the reward functions' columns, and the files looked at first lack it",
                    file=file.name,
                    hint=f"say which fields are rewards, such as -r {reading.rewards[0][0]} -r {found[0]}",
                )
    choices: tuple[tuple[Role, str, object, object], ...] = (
        ("key", "--group-by", asked.group_by, reading.key[0] if reading.key else None),
        ("reward", "--reward", asked.reward, reading.rewards[0][0]),
        ("step", "--step", asked.step, reading.step),
    )
    for role, option, given, chosen in choices:
        candidates = reading.layout.roles.get(role, ())
        rank = candidates.index(str(chosen)) if str(chosen) in candidates else len(candidates)
        better = [name for name in late if name in candidates[:rank]]
        if better and not given:
            raise InputError(
                f"the field {better[0]} comes only after the first {SAMPLE_RECORDS} records",
                file=read[0].file.name,
                hint=f"say which field to take: {option} {better[0]}, or {option} {chosen or 'none'}",
            )


def key_columns(reading: Reading) -> list[tuple[str, str]]:
    """The columns that place a rollout, with what they are called."""
    columns = [(key_column(at), str(key)) for at, key in enumerate(reading.key)]
    if reading.step is not None:
        columns.append((STEP, "step in its path" if reading.step_from_path else str(reading.step)))
    if reading.rollout is not None:
        columns.append((ROLLOUT, str(reading.rollout)))
    return columns


def placed(reading: Reading, parts: Sequence[Part], rollouts: pl.DataFrame, on_bad_line: OnBadLine) -> pl.Series | None:
    """Which rollouts have all that places them in a group; None: all.

    Raises:
        InputError: one has not, and bad lines are not to be skipped; or none has.
    """
    columns = key_columns(reading)
    if not any(rollouts[column].null_count() for column, _ in columns):
        return None
    there = pl.all_horizontal(pl.col(column).is_not_null() for column, _ in columns)
    in_groups = rollouts.select(there.alias("placed"))["placed"]
    if on_bad_line == "error" or not in_groups.any():
        raise _missing_key(columns, parts, rollouts)
    return in_groups


def _missing_key(columns: list[tuple[str, str]], parts: Sequence[Part], rollouts: pl.DataFrame) -> InputError:
    column, name = next(one for one in columns if rollouts[one[0]].null_count())
    count = rollouts[column].null_count()
    file, line = locate(parts, int(rollouts[column].is_null().arg_true()[0]))
    more = f" ({count} records are so)" if count > 1 else ""
    hints = ["--on-bad-line skip leaves such records out of all groups"] if count < rollouts.height else []
    hints += ["--step none leaves the step out of the key"] if column == STEP else []
    return InputError(
        f"no {name} here, and a rollout without one belongs to no group{more}",
        file=file,
        line=line,
        hint="; ".join(hints) or None,
    )


def about_reading(reading: Reading, read: Sequence[Read]) -> list[str]:
    """Numbers that were text, and lines that were no records."""
    notes: list[str] = []
    for at, (field, _) in enumerate(reading.rewards):
        files = [file.name for file, records in read if reward_part(at) in records.text_numbers]
        if files:
            where = files[0] if len(files) == 1 else f"{len(files)} files"
            notes.append(f"{where}: {field} holds numbers as text; they are read as numbers")
    for file, records in read:
        if lines := records.bad:
            shown = ", ".join(str(line) for line in lines[:5]) + (", ..." if len(lines) > 5 else "")
            one = len(lines) == 1
            notes.append(
                f"{file.name}: skipped {len(lines)} bad line{'' if one else 's'} (line{'' if one else 's'} {shown});"
                f" {'it stays' if one else 'they stay'} in the output as {'it is' if one else 'they are'}"
            )
    return notes


def about_skipped(parts: Sequence[Part], in_groups: pl.Series | None) -> list[str]:
    """The records that are no rollouts."""
    if in_groups is None or in_groups.all():
        return []
    count = in_groups.len() - int(in_groups.sum())
    file, line = locate(parts, int(in_groups.not_().arg_true()[0]))
    first = f"{file}:{line}" if count == 1 else f"the first is {file}:{line}"
    return [f"skipped {count} record{'' if count == 1 else 's'} without a key, which belong to no group ({first})"]
