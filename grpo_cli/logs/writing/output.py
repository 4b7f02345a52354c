"""Where output goes: a target for every input, settled before anything is read; what would lose data is refused."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from grpo_cli.errors import OutputError, UsageError
from grpo_cli.logs.files.source import COMPRESSED_SUFFIXES, WRITTEN, Compression, LogFile, split_suffixes
from grpo_cli.logs.writing.replacement import is_regular, writing_failed

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import PurePath

STDOUT = "-"


@dataclass(frozen=True)
class Target:
    """Where what becomes of one input file goes. `path` None is standard output."""

    file: LogFile
    path: Path | None
    compression: Compression | None
    """How the output is packed; Parquet packs itself."""

    @property
    def name(self) -> str:
        """What to call it in a message."""
        return "standard output" if self.path is None else str(self.path)


def plan(
    files: Sequence[LogFile],
    *,
    output: str | None,
    in_place: bool = False,
    force: bool = False,
    word: str = WRITTEN,
    also_read: Sequence[LogFile] = (),
) -> list[Target]:
    """One target a file, in order. Several JSONL files may share one: they follow one another.

    What is written beside its input is called `X.WORD.EXT`. Files that are `also_read` are no targets either.

    Raises:
        UsageError: the options do not say where each file goes, or say it twice.
        OutputError: a target exists and there is no --force, or is an input.
    """
    if in_place and output is not None:
        raise UsageError("--in-place and --output exclude each other")
    if output == "":
        raise UsageError("--output is empty", hint="name a file or a folder, or - for standard output")
    try:
        targets = _in_place(files) if in_place else _beside_or_at(files, output, word)
        inputs = {} if in_place else {_identity(file.path): file.name for file in (*files, *also_read)}
        for path in dict.fromkeys(target.path for target in targets):
            if path is not None:
                _refuse_loss(path, inputs, word, force=force or in_place)
    except OSError as error:  # a name that is too long, a folder that may not be looked into
        raise writing_failed(error, str(error.filename or output)) from error
    _refuse_one_for_several(targets)
    return targets


def _in_place(files: Sequence[LogFile]) -> list[Target]:
    for file in files:
        if file.is_stdin:
            raise UsageError(f"--in-place needs a file, and {file.name} is a stream", hint="use -o PATH, or -o -")
    return [Target(file, file.path, file.compression) for file in files]


def _beside_or_at(files: Sequence[LogFile], output: str | None, word: str) -> list[Target]:
    if output is None:
        if len(files) == 1 and files[0].is_stdin:
            return [Target(files[0], None, None)]
        if len(files) == 1:
            return [_named_as_the_input(files[0], _beside(files[0], word))]
        raise UsageError(
            f"{len(files)} input files, and nothing says where the output goes",
            hint="-o DIR/ writes each below that folder"
            + (", --in-place adds to each file" if word == WRITTEN else ""),
        )
    if output == STDOUT:
        _refuse_several_parquet(files, "standard output")
        return [Target(file, None, None) for file in files]
    path = Path(output)
    if output.endswith(os.sep) or path.is_dir():
        return _below(path, files)
    _refuse_several_parquet(files, output)
    return [Target(file, path, _packing(path, file)) for file in files]


def _beside(file: LogFile, word: str) -> Path:
    stem, suffix = split_suffixes(file.path.name)
    return file.path.with_name(f"{stem}.{word}{suffix}")


def _packing(path: Path, file: LogFile) -> Compression | None:
    """An output is packed as its name says, and keeps the format of its input."""
    suffix = split_suffixes(path.name)[1].lower()
    if (suffix in {".parquet", ".pq"}) != (file.format == "parquet") and suffix not in {"", *COMPRESSED_SUFFIXES}:
        raise UsageError(
            f"{file.name} is {_FORMATS[file.format]}, and {path} would be {suffix}",
            hint="the output keeps the format of its input; name it accordingly",
        )
    last = path.suffix.lower()
    if file.format == "parquet" and last in COMPRESSED_SUFFIXES:
        raise UsageError(f"{path}: Parquet packs itself", hint=f"leave {last} out of the name")
    if last in _OTHER_PACKINGS:
        raise UsageError(f"{path}: {last} is not written", hint=f"pack it as {', '.join(COMPRESSED_SUFFIXES)}")
    return COMPRESSED_SUFFIXES.get(last) if file.format == "jsonl" else None


_FORMATS = {"jsonl": "JSONL", "parquet": "Parquet"}
_OTHER_PACKINGS = {".bz2", ".xz", ".lzma", ".lz4", ".7z", ".zip", ".br", ".snappy"}


def _refuse_several_parquet(files: Sequence[LogFile], where: str) -> None:
    if len(files) > 1 and any(file.format == "parquet" for file in files):
        raise UsageError(
            f"{len(files)} input files cannot become one Parquet file ({where})", hint="write them to a folder: -o DIR/"
        )


def _below(folder: Path, files: Sequence[LogFile]) -> list[Target]:
    """Each file at its own place below `folder`."""
    places: dict[PurePath, LogFile] = {}
    for file in files:
        other = places.setdefault(file.relative, file)
        if other is not file:
            raise UsageError(
                f"{other.name} and {file.name} would both be written to {folder / file.relative}",
                hint="give the folder that holds both, so that their places below it are kept",
            )
    return [_named_as_the_input(file, folder / file.relative) for file in files]


def _named_as_the_input(file: LogFile, path: Path) -> Target:
    """Packed as the input is; where that is plain under a name that says otherwise, as the name says."""
    named = COMPRESSED_SUFFIXES.get(path.suffix.lower()) if file.format == "jsonl" else None
    return Target(file, path, file.compression or named)


def _refuse_loss(path: Path, inputs: dict[tuple[int, int], str], word: str, *, force: bool) -> None:
    if not path.exists():
        return
    if path.is_dir():
        raise OutputError(f"{path} is a folder")
    if not is_regular(path):
        return
    same = inputs.get(_identity(path))
    if same is not None:
        hint = "--in-place adds the advantages to the file itself" if word == WRITTEN else "give another with -o PATH"
        raise OutputError(f"{path} is the input {same}", hint=hint)
    if not force:
        raise OutputError(f"{path} exists", hint="--force writes over it")


def _refuse_one_for_several(targets: Sequence[Target]) -> None:
    """Links may lead two paths to one file, of which only the last written would be left."""
    led: dict[str, Path] = {}
    for path in dict.fromkeys(target.path for target in targets):
        if path is not None and is_regular(path):
            other = led.setdefault(os.path.realpath(path), path)
            if other is not path:
                raise OutputError(f"{other} and {path} are one file", hint="write to a new folder: -o DIR/")


def _identity(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_dev, status.st_ino
