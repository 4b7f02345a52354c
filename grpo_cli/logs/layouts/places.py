"""What the path of a file says about its rollouts: hive columns, the step, train or eval, and what it repeats."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal
from urllib.parse import unquote

import polars as pl

from grpo_cli.errors import UsageError
from grpo_cli.logs.fields import MISSING
from grpo_cli.logs.files.source import WRITTEN
from grpo_cli.logs.format import spell
from grpo_cli.logs.selection import steps_in_range

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from grpo_cli.logs.fields import Field
    from grpo_cli.logs.files.source import LogFile
    from grpo_cli.logs.layouts.layout import Layout

Split = Literal["train", "eval", "all"]
DEFAULT_SPLIT: Final = "train"

_HIVE = re.compile(r"([A-Za-z_][\w.-]*)=([^/]*)")


@dataclass(frozen=True)
class Narrowed:
    """The files of a log that are read, and what was said about the others."""

    files: tuple[LogFile, ...]
    notes: tuple[str, ...] = ()
    split: str | None = None
    """`train`, `eval` or `all`, where the layout knows splits and the files show one."""


def hive(file: LogFile) -> dict[str, str]:
    """The columns that the names of its folders spell (`step=7/env=math/part.parquet`), as text: `007` stays `007`.

    Only folders below the one that was named count.
    """
    pairs = (_HIVE.fullmatch(part) for part in file.relative.parts[:-1])
    return {pair[1]: unquote(pair[2]) for pair in pairs if pair}


def step_of(file: LogFile, layout: Layout) -> str | None:
    """The step that the path says by the layout's pattern, without leading zeros."""
    if not layout.step_path or file.is_stdin:
        return None
    found = list(re.finditer(layout.step_path, _path(file)))
    return str(int(found[-1][1])) if found else None


def split_of(file: LogFile, layout: Layout) -> str | None:
    """`train` or `eval` as the path says; where only eval has a pattern, all else is train."""
    if not layout.splits or file.is_stdin:
        return None
    path = _path(file)
    for name in ("eval", "train"):
        pattern = layout.splits.get(name)
        if pattern and re.search(pattern, path):
            return name
    return DEFAULT_SPLIT if layout.splits.get(DEFAULT_SPLIT) == "" else None


def narrow(files: Sequence[LogFile], layout: Layout, split: Split | None) -> Narrowed:
    """Leave out what repeats other files, and the split that is not read.

    Raises:
        UsageError: a split is asked for that the layout does not know, or that no file is of.
    """
    notes: list[str] = []
    kept = _without_repeats(files, layout, notes)
    if split is not None and not layout.splits:
        raise UsageError(
            f"--split {split}: the layout {layout.name} does not tell train from eval by its files",
            hint="name the files that are meant",
        )
    splits = {file: split_of(file, layout) for file in kept}
    there = sorted({name for name in splits.values() if name})
    by_default = layout.splits.get(DEFAULT_SPLIT) == "" and there == [DEFAULT_SPLIT]
    if split in {None, "all"} and (not there or by_default):
        return Narrowed(tuple(kept), tuple(notes))
    if split is not None and split != "all" and split not in there:
        raise UsageError(f"--split {split}: none of the files is of it", hint=_there_is(there))
    default: Split = "train" if DEFAULT_SPLIT in there else "eval"
    wanted = split or (default if any(file.searched for file in kept) else "all")  # what was named is read
    if wanted == "all":
        return Narrowed(tuple(kept), tuple(notes), "all" if len(there) > 1 else there[0])
    chosen = [file for file in kept if splits[file] in {wanted, None}]
    left = len(kept) - len(chosen)
    if left and split is None:
        others = ", ".join(name for name in there if name != wanted)
        notes.append(
            f"read the {wanted} files only: {left} {others} file{'' if left == 1 else 's'} left out"
            f" (--split {others} or --split all)"
        )
    return Narrowed(tuple(chosen), tuple(notes), wanted)


def within_steps(
    files: Sequence[LogFile],
    layout: Layout,
    step: Field,
    samples: Mapping[LogFile, Sequence[Mapping[str, Any]]],
    steps: str,
) -> tuple[LogFile, ...]:
    """The files that may hold the steps `A:B`, going by their paths; all where the paths do not tell.

    A path is believed where no field says the step, or where the records that were looked at agree with it.
    """
    told = [hive(file).get(str(step)) or step_of(file, layout) for file in files]
    if any(one is None for one in told):
        return tuple(files)
    by_path = dict(zip(files, told, strict=True))
    for file, records in samples.items():
        for record in records:
            value = step.of(record)
            logged = [value] if not isinstance(value, list) else value
            if value is not MISSING and any(spell(one) != by_path.get(file) for one in logged):
                return tuple(files)
    inside = steps_in_range(pl.Series(told, dtype=pl.String), steps)
    return tuple(file for file, one in zip(files, inside, strict=True) if one)


def _without_repeats(files: Sequence[LogFile], layout: Layout, notes: list[str]) -> list[LogFile]:
    if layout.repeats is None:
        return list(files)
    part, whole = layout.repeats
    paths = {_path(file) for file in files}
    kept = [file for file in files if re.sub(part, whole, _path(file)) not in paths - {_path(file)}]
    if left := len(files) - len(kept):
        files_are = "1 file" if left == 1 else f"{left} files"
        notes.append(f"left out {files_are} in {part.strip('/')}/: {whole.strip('/')}/ beside it has the same rollouts")
    return kept


def _there_is(there: Sequence[str]) -> str:
    return f"they are of: {', '.join(there)}" if there else "their paths do not say which they are of"


def _path(file: LogFile) -> str:
    """The whole path, as if the file had not been written by us beside its source."""
    path = os.path.abspath(file.path)  # noqa: PTH100 - a link keeps the name that it has
    return re.sub(rf"\.{WRITTEN}(?=(\.\w+)+$)", "", path)
