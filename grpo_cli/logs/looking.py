"""A first look at the files of a log: a sample of their records, the fields there are, and the layout."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from grpo_cli.errors import InputError, UsageError, did_you_mean
from grpo_cli.frame import REWARD
from grpo_cli.logs.files.live import read_live
from grpo_cli.logs.files.pool import in_order, workers_for
from grpo_cli.logs.files.strangers import what_it_is
from grpo_cli.logs.grouping import KEY
from grpo_cli.logs.layouts.candidates import Columns
from grpo_cli.logs.layouts.places import hive
from grpo_cli.logs.layouts.reading import ASKED
from grpo_cli.logs.layouts.table import LAYOUTS, PLAIN, recognise
from grpo_cli.logs.rollouts import format_of
from grpo_cli.logs.rows import Read

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from grpo_cli.logs.files.source import LogFile
    from grpo_cli.logs.format import OnBadLine, Records, Want
    from grpo_cli.logs.layouts.layout import Layout

SAMPLE_RECORDS = 1000
"""How many records are looked at to choose the fields."""
SAMPLE_FILES = 16
"""How many files are looked at, evenly spread over the log."""
NOTES = 3
"""How many files are named that are left out."""
FIRST_RECORDS = 32
"""How many records of a file show its layout."""


@dataclass(frozen=True)
class Look:
    """What the first look at a log shows."""

    layout: Layout
    evidence: str
    names: list[str]
    """The top-level fields of the files that were looked at, and of the names of their folders."""
    samples: dict[LogFile, list[dict[str, Any]]]
    """The first records of each of them."""
    file: LogFile
    """The file that the layout was recognised by."""

    @property
    def sample(self) -> list[dict[str, Any]]:
        """The records of all of them, each with what the names of its folders say."""
        found: list[dict[str, Any]] = []
        for file, records in self.samples.items():
            constant = hive(file)
            found += [{**constant, **record} for record in records] if constant else records
        return found

    @property
    def columns(self) -> Columns:
        """The fields as the sample shows them."""
        return Columns(self.names, self.sample, self.file.name, self.layout)


def look(files: Sequence[LogFile], layout: str | None) -> Look:
    """Look at some files of a log; `layout` is the name of the one that was asked for.

    Raises:
        UsageError: there is no such layout.
        InputError: a file cannot be read.
    """
    each = max(SAMPLE_RECORDS // min(len(files), SAMPLE_FILES), FIRST_RECORDS)
    leading, found, evidence, first = _leading(files, layout, each)
    names = _names(leading, first)
    samples = {leading: first}
    for file in _spread(files, SAMPLE_FILES):
        if file == leading:
            continue
        try:
            records = format_of(file).sample(file, each)
            here = _names(file, records)
        except InputError:
            continue  # it is said when the file is read, if it is
        if found.matches(here, records):
            names = _merged(names, here)
            samples[file] = records
    return Look(found, evidence, names, samples, leading)


def read_files(
    files: Sequence[LogFile], wants: Mapping[str, Want], layout: Layout, on_bad_line: OnBadLine, *, live: bool = False
) -> tuple[list[Read], list[str]]:
    """What is wanted of every file; and notes on files of a folder that hold nothing of it, which are left out.

    In a `live` log an unfinished last line is left out too, and noted.

    Raises:
        InputError: a file is at fault, or none holds a rollout.
        UsageError: files of two layouts are read as one log.
    """
    read: list[Read] = []
    notes: list[str] = []
    needed = {want.field.top for name, want in wants.items() if name.startswith((KEY, REWARD))}
    unfinished: list[str] = []

    def of(file: LogFile) -> tuple[Records, str | None]:
        return read_live(file, wants, on_bad_line) if live else (format_of(file).read(file, wants, on_bad_line), None)

    for file, (records, torn) in in_order(of, files, workers_for(files)):
        unfinished += [torn] if torn else []
        if file.searched and needed and not needed & {*records.names, *hive(file)}:
            notes.append(f"{file.name}: left out, {_stranger(file, layout)}")
        else:
            read.append(Read(file, records))
    if not any(records.frame.height for _, records in read):
        raise InputError("there is no rollout in it", file=files[0].name)
    if len(notes) > NOTES:
        notes[NOTES:] = [f"{len(notes) - NOTES} more files without a rollout are left out"]
    return read, [*notes, *unfinished]


def _stranger(file: LogFile, layout: Layout) -> str:
    """What a file is that does not read as `layout`."""
    records = format_of(file).sample(file, FIRST_RECORDS)
    names = _names(file, records)
    other = recognise(names, records)
    if other not in (PLAIN, layout):
        raise UsageError(
            f"{file.name} is laid out as {other.name}, and other files as {layout.name}",
            hint="name the files of one log",
        )
    what = what_it_is(names, records)
    return f"it is {what[0]}" if what else "it has neither the key nor the reward"


def _leading(
    files: Sequence[LogFile], asked: str | None, limit: int
) -> tuple[LogFile, Layout, str, list[dict[str, Any]]]:
    """The file that shows the layout: the first that shows one, else the first that looks like rollouts.

    With it the layout, what it is recognised by, and the first `limit` records.
    """
    if asked is not None and asked not in LAYOUTS:
        raise UsageError(f"there is no layout {asked!r}", hint=did_you_mean(asked, LAYOUTS))
    layout, evidence = (LAYOUTS[asked], ASKED) if asked else (PLAIN, PLAIN.evidence(()))
    read: list[tuple[LogFile, list[dict[str, Any]]]] = []
    fault: InputError | None = None
    for file in _spread(files, SAMPLE_FILES):
        try:
            records = format_of(file).sample(file, limit)
            names = _names(file, records)
        except InputError as error:
            fault = fault or error
            continue
        found = recognise(names, records)
        if asked is None and found != PLAIN:
            return file, found, found.evidence(names), records
        if layout.matches(names, records) and (asked or _looks_like_rollouts(names)):
            return file, layout, evidence, records
        read.append((file, records))
    if not read:
        assert fault is not None
        raise fault
    return read[0][0], layout, evidence, read[0][1]


def _looks_like_rollouts(names: Sequence[str]) -> bool:
    tops = {role: {name.partition(".")[0] for name in PLAIN.roles[role]} for role in ("key", "reward")}
    lowered = {name.lower() for name in names}
    return bool(lowered & tops["key"]) and bool(lowered & tops["reward"])


def _names(file: LogFile, records: Sequence[dict[str, Any]]) -> list[str]:
    names = dict.fromkeys(name for record in records for name in record)
    if file.format == "parquet":
        names = dict.fromkeys(format_of(file).names(file))
    return list(dict.fromkeys([*names, *hive(file)]))


def _merged(names: list[str], more: Sequence[str]) -> list[str]:
    """`names` with those of another file, each new one after the one that it follows there."""
    merged, known = list(names), set(names)
    for at, name in enumerate(more):
        if name not in known:
            merged.insert(merged.index(more[at - 1]) + 1 if at else 0, name)
            known.add(name)
    return merged


def _spread(files: Sequence[LogFile], count: int) -> list[LogFile]:
    """At most `count` files, evenly spread, the first and the last among them."""
    if len(files) <= count:
        return list(files)
    return [files[round(at * (len(files) - 1) / (count - 1))] for at in range(count)]
