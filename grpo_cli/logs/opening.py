"""Opening a log: look at its files, choose its fields, read them, number its groups, refuse what cannot be right."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NoReturn

import polars as pl

from grpo_cli.errors import InputError
from grpo_cli.frame import BASELINE, LENGTH, LOGGED, OUTCOME, ROLLOUT, SCORED, check, reward_part, reward_parts
from grpo_cli.logs.files.copies import about_files
from grpo_cli.logs.files.live import finished, read_live
from grpo_cli.logs.grouping import STEP, group_rollouts, key_column
from grpo_cli.logs.layouts.choosing import choose
from grpo_cli.logs.layouts.layout import RECORD
from grpo_cli.logs.layouts.places import narrow, step_of, within_steps
from grpo_cli.logs.layouts.reading import BY_FILE, BY_SPLIT
from grpo_cli.logs.long_keys import reader
from grpo_cli.logs.looking import look, read_files
from grpo_cli.logs.refusals import about_reading, about_skipped, placed, refuse_what_was_read
from grpo_cli.logs.rollouts import RolloutLog, format_of
from grpo_cli.logs.rows import CONDITION, Read, rollouts_of, wants_of
from grpo_cli.logs.selection import Condition, from_json, steps_of

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from grpo_cli.logs.files.source import Found, LogFile
    from grpo_cli.logs.format import OnBadLine
    from grpo_cli.logs.layouts.places import Narrowed
    from grpo_cli.logs.layouts.reading import Asked, Reading
    from grpo_cli.logs.looking import Look


@dataclass(frozen=True)
class Selection:
    """Which rollouts count, and how their keys are split."""

    on_bad_line: OnBadLine = "error"
    group_size: int | None = None
    unscored_if: str | None = None
    steps: str | None = None
    pass_threshold: float | None = None
    live: bool = False
    """Whether the log is still being written: an unfinished last line or file is then left out."""


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
    found = finished(found) if selection.live else found
    condition = Condition(selection.unscored_if, "--unscored-if") if selection.unscored_if is not None else None
    seen, narrowed, reading = _chosen(found, asked, selection)
    wants = wants_of(reading, condition, roles, seen.columns)
    read, left_out = read_files(narrowed.files, wants, reading.layout, selection.on_bad_line, live=selection.live)
    refuse_what_was_read(asked, reading, read, wants, seen, condition)
    parts, rollouts = rollouts_of(read, reading, wants)
    in_groups = placed(reading, parts, rollouts, selection.on_bad_line)
    kept = steps_of(rollouts, in_groups, selection.steps) if selection.steps is not None else in_groups
    rows = rollouts if kept is None else rollouts.filter(kept)
    keys = [key_column(at) for at in range(len(reading.key_names))]
    numbered, groups, odd = group_rollouts(
        rows.select(*keys, *(name for name in (STEP, ROLLOUT) if name in rows.columns)),
        reading.key_names,
        selection.group_size,
        batch_by=[keys[reading.key_names.index(BY_SPLIT)]] if BY_SPLIT in reading.places else [],
    )
    groups = replace(groups, texts=reader(parts, reading, kept))
    return RolloutLog(
        parts=parts,
        reading=reading,
        frame=check(_canonical(numbered, rows, condition, selection)),
        groups=groups,
        notes=[
            *found.notes,
            *narrowed.notes,
            *left_out,
            *about_reading(reading, read),
            *about_skipped(parts, in_groups),
            *about_files(reading, parts, rollouts, keys),
        ],
        missing=_missing(reading, read, rollouts, in_groups),
        odd_blocks=odd,
        group_size=selection.group_size,
        kept=kept,
    )


def _chosen(found: Found, asked: Asked, selection: Selection) -> tuple[Look, Narrowed, Reading]:
    """A look at the log, the files of it that are read, and which fields are."""
    seen = look(found.files, asked.layout)
    narrowed = narrow(found.files, seen.layout, asked.split)
    if narrowed.files != found.files:
        seen = replace(look(narrowed.files, seen.layout.name), evidence=seen.evidence)
    if not seen.sample:
        _refuse_no_record(narrowed.files, selection)
    reading = choose(
        asked,
        seen.layout,
        seen.names,
        seen.sample,
        seen.file.name,
        group_size=selection.group_size,
        step_in_path=any(step_of(file, seen.layout) for file in narrowed.files),
    )
    places = reading.places
    if RECORD in places and BY_FILE not in places and len(narrowed.files) > 1:
        places = (BY_FILE, *places)
    if narrowed.split == "all" and BY_SPLIT not in places:
        places = (*places, BY_SPLIT)
    reading = replace(reading, places=places, split=narrowed.split, evidence=seen.evidence)
    if selection.steps is not None and reading.step is not None:
        files = within_steps(narrowed.files, reading.layout, reading.step, seen.samples, selection.steps)
        narrowed = replace(narrowed, files=files)
    return seen, narrowed, reading


def _refuse_no_record(files: Sequence[LogFile], selection: Selection) -> NoReturn:
    """Where there is no record at all, its fields are not what is missing: name the bad line, or the empty file."""
    for file in files:
        if selection.live:
            read_live(file, {}, selection.on_bad_line)
        else:
            format_of(file).read(file, {}, selection.on_bad_line)
    raise InputError("there is no rollout in it", file=files[0].name)


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
        fields = {name: from_json(rollouts[f"{CONDITION}{at}"]) for at, name in enumerate(condition.fields)}
        frame = frame.with_columns(condition.holds(pl.DataFrame(fields)).not_().alias(SCORED))
    return frame


def _missing(
    reading: Reading, read: Sequence[Read], rollouts: pl.DataFrame, in_groups: pl.Series | None
) -> dict[str, Counter[str]]:
    """For each reward field, how many values were absent, null or NaN, over the rollouts of all files."""
    totals: dict[str, Counter[str]] = {}
    for at, (field, _) in enumerate(reading.rewards):
        counts: Counter[str] = Counter()
        for _, records in read:
            counts.update(records.missing.get(reward_part(at), Counter()))
        if in_groups is not None:  # what is no rollout misses no reward
            column = rollouts[reward_part(at)].filter(~in_groups)
            counts["absent"] -= min(counts["absent"], column.null_count())
        if reading.weighted:
            counts["absent"] += rollouts[reward_part(at)].null_count()
        totals[str(field)] = +counts
    return totals
