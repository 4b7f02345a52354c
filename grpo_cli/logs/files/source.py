"""Which files a log is in, found from paths, globs, folders and standard input.

A file's format is told by its first bytes and not by its name: logs are saved under all sorts of names, and a name
can lie. What is no rollout log at all is named for what it is.
"""

from __future__ import annotations

import fcntl
import glob
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, BinaryIO, Literal

from grpo_cli.errors import InputError, UsageError
from grpo_cli.logs.files.first_bytes import refuse_what_is_no_log

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

FormatName = Literal["jsonl", "parquet"]
Compression = Literal["gzip", "zstd"]
Watch = Callable[[int, int], None]
"""Told how many more bytes of a file and rows of it are done; from any thread."""

STDIN = "-"
COMPRESSED_SUFFIXES: dict[str, Compression] = {
    ".gz": "gzip",
    ".gzip": "gzip",
    ".zst": "zstd",
    ".zstd": "zstd",
}
LOG_SUFFIXES = (".jsonl", ".ndjson", ".parquet", ".pq")
WRITTEN = "advantages"
"""What stands before the suffix of an output that is written beside its input."""
FILTERED = "filtered"
"""The same of an output that is only some groups of its input."""


@dataclass(frozen=True)
class LogFile:
    """One file of a log."""

    path: Path
    """Where its bytes are (for standard input, a temporary file)."""
    name: str
    """What the person called it; used in every message."""
    format: FormatName
    compression: Compression | None
    relative: PurePath
    """Its place below the folder that was named, or just its file name: `-o DIR/` mirrors it."""
    is_stdin: bool = False
    searched: bool = False
    """Whether it was found in a folder or by a glob, and not named: then it may turn out to be no log."""
    watch: Watch | None = field(default=None, compare=False, repr=False)
    """Who is told how far it has been read or copied."""

    def passed(self, size: int, rows: int) -> None:
        """Tell whoever watches that so many more bytes and rows are done."""
        if self.watch is not None:
            self.watch(size, rows)


@dataclass(frozen=True)
class Found:
    """The files of a log in natural order, and what was left out of it."""

    files: tuple[LogFile, ...]
    notes: tuple[str, ...]

    def watched(self, watch: Watch) -> Found:
        """The same files, with somebody who is told how far each has been read or copied."""
        return replace(self, files=tuple(replace(file, watch=watch) for file in self.files))


def bytes_of(files: Iterable[LogFile]) -> int:
    """Bytes of the files that are there."""
    return sum(file.path.stat().st_size for file in files if file.path.exists())


def find(paths: Sequence[str]) -> Found:
    """The files that `paths` name: files, globs, folders (every log in them), `-` for standard input.

    Raises:
        UsageError: nothing is named, or a glob or folder holds no log.
        InputError: a file is missing, unreadable, empty, or no log at all.
    """
    notes: list[str] = []
    files: list[LogFile] = []
    seen: dict[tuple[int, int], str] = {}
    for text in paths:
        if not text:  # an unset variable must not mean the folder that one happens to stand in
            raise UsageError("an empty file name")
        for path, name, relative, searched in _named(text, notes):
            identity = _identity(path, name)
            if identity in seen:
                notes.append(f"{name} is the same file as {seen[identity]}: it is read once")
                continue
            seen[identity] = name
            if searched and not path.stat().st_size:
                notes.append(f"{name} is empty: left out")
                continue
            file = _recognise(path, name, relative, is_stdin=path in _spooled)
            files.append(replace(file, searched=searched))
    if not files:
        raise InputError("empty: there is no rollout in it", file=", ".join(paths))
    return Found(tuple(files), tuple(notes))


def natural(text: str) -> list[tuple[int, int | str]]:
    """A sort key by which `2.jsonl` comes before `10.jsonl`."""
    return [(0, int(part)) if part.isdecimal() else (1, part) for part in re.split(r"(\d+)", text) if part]


def split_suffixes(name: str) -> tuple[str, str]:
    """`a.b.jsonl.gz` as `a.b` and `.jsonl.gz`; a name without a log's suffix has an empty second part."""
    stem, last = os.path.splitext(name)  # noqa: PTH122 - a name is no path: "." and "a." stay whole
    if last.lower() in COMPRESSED_SUFFIXES:
        inner, suffix = os.path.splitext(stem)  # noqa: PTH122 - same
        return (inner, suffix + last) if suffix.lower() in LOG_SUFFIXES else (stem, last)
    return (stem, last) if last.lower() in LOG_SUFFIXES else (name, "")


def _identity(path: Path, name: str) -> tuple[int, int]:
    try:
        status = path.stat()
    except FileNotFoundError as error:
        raise _dangling(name) from error
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=name) from error
    return status.st_dev, status.st_ino


def _dangling(name: str) -> InputError:
    return InputError("a symbolic link to nothing", file=name)


Named = tuple[Path, str, PurePath, bool]
"""A file's path, what it is called, its place below the folder that was named, and whether it was found there."""


def _named(text: str, notes: list[str]) -> list[Named]:
    try:
        return list(_expand(text, notes))
    except PermissionError as error:
        raise InputError("no permission to read it", file=error.filename or text) from error
    except OSError as error:  # a name that is too long, a disk that fails
        raise InputError(f"cannot be read: {error.strerror}", file=error.filename or text) from error


def _expand(text: str, notes: list[str]) -> Iterator[Named]:
    if text == STDIN:
        yield _spool(sys.stdin.buffer), "standard input", PurePath("stdin"), False
        return
    path = Path(text)
    if path.is_dir():
        yield from _in_folder(path, text, notes)
    elif path.is_file():
        yield path, text, PurePath(path.name), False
    elif path.exists():  # a pipe: <(zcat log.jsonl.gz)
        with path.open("rb") as stream:
            yield _spool(stream), text, PurePath(path.name), False
    elif path.is_symlink():
        raise _dangling(text)
    elif matches := sorted(glob.glob(text, recursive=True), key=natural):  # noqa: PTH207 - absolute globs too
        for match in matches:
            inner = Path(match)
            if inner.is_dir():
                yield from _in_folder(inner, match, notes)
            else:
                yield inner, match, PurePath(inner.name), True
    elif glob.has_magic(text):
        raise UsageError(f"{text}: no file matches")
    else:
        raise InputError("no such file", file=text)


def _in_folder(folder: Path, text: str, notes: list[str]) -> Iterator[Named]:
    found: list[Path] = []
    left_out: list[str] = []
    walked: set[tuple[int, int]] = set()
    for place, folders, names in os.walk(folder, onerror=_raise, followlinks=True):
        identity = _identity(Path(place), place)
        if identity in walked:  # a link that leads back
            folders.clear()
            continue
        walked.add(identity)
        folders[:] = sorted((name for name in folders if not name.startswith(".")), key=natural)
        present = set(names)
        for name in names:
            if name.startswith(".") or not split_suffixes(name)[1]:
                continue
            if _written_beside(name, present):
                left_out.append(name)
            else:
                found.append(Path(place, name))
    if left_out:
        one = len(left_out) == 1
        notes.append(
            f"{text}: left out {left_out[0] if one else f'{len(left_out)} files'} written by an earlier run"
            f" ({' or '.join(f'*.{word}.*' for word in _words(left_out))})"
        )
    if not found:
        raise UsageError(
            f"{text}: no log in this folder", hint=f"looked for {', '.join(LOG_SUFFIXES)}, also compressed"
        )
    for path in sorted(sorted(found), key=lambda path: natural(str(path))):  # 007 and 7 are equal in it
        yield path, str(path), path.relative_to(folder), True


def _raise(error: OSError) -> None:
    """A folder that cannot be read is no empty folder: half a log has other numbers than the whole."""
    raise error


def _written_beside(name: str, present: set[str]) -> bool:
    stem, suffix = split_suffixes(name)
    return any(
        stem.endswith(f".{word}") and stem.removesuffix(f".{word}") + suffix in present for word in (WRITTEN, FILTERED)
    )


def _words(names: Sequence[str]) -> list[str]:
    """What the outputs among `names` are called after."""
    return [word for word in (WRITTEN, FILTERED) if any(split_suffixes(name)[0].endswith(f".{word}") for name in names)]


_spooled: dict[Path, BinaryIO] = {}
_PREFIX, _SUFFIX = "grpo-adv-", ".spool"


def _spool(stream: BinaryIO) -> Path:
    """A stream as a file: a log is read twice, once for the rewards and once to be written back.

    It is locked while this run lives, so that the next one can tell and sweep what a killed run left.
    """
    _sweep_spools()
    descriptor, name = tempfile.mkstemp(prefix=_PREFIX, suffix=_SUFFIX)
    spool = os.fdopen(descriptor, "wb")
    fcntl.flock(spool, fcntl.LOCK_EX)
    _spooled[Path(name)] = spool
    shutil.copyfileobj(stream, spool, 1 << 20)
    spool.flush()
    return Path(name)


def _sweep_spools() -> None:
    for path in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*{_SUFFIX}"):
        with suppress(OSError), path.open("rb") as left:
            fcntl.flock(left, fcntl.LOCK_EX | fcntl.LOCK_NB)
            path.unlink()


def remove_spooled() -> None:
    """Take away the temporary copies of streams."""
    while _spooled:
        path, spool = _spooled.popitem()
        path.unlink(missing_ok=True)
        with suppress(OSError):
            spool.close()


def _recognise(path: Path, name: str, relative: PurePath, *, is_stdin: bool) -> LogFile:
    try:
        with path.open("rb") as stream:
            head = stream.read(512)
    except PermissionError as error:
        raise InputError("no permission to read it", file=name) from error
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=name) from error
    if not head:
        raise InputError("empty: there is no rollout in it", file=name)
    if head.startswith(b"PAR1"):
        return LogFile(path, name, "parquet", None, relative, is_stdin)
    if head.startswith(b"\x1f\x8b"):
        return LogFile(path, name, "jsonl", "gzip", relative, is_stdin)
    if head.startswith(b"\x28\xb5\x2f\xfd"):
        return LogFile(path, name, "jsonl", "zstd", relative, is_stdin)
    refuse_what_is_no_log(head, name)
    return LogFile(path, name, "jsonl", None, relative, is_stdin)
