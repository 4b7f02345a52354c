"""Where output goes, and how a file is replaced: whole, or not at all.

`plan` settles every target before anything is read, and refuses what would lose data. `Replacement` writes each file
under a temporary name beside its target, and puts all of them in place only when all are whole and on disk. A failure,
Ctrl-C, a full disk or `kill -9` at any moment leaves the old file or the new one; the temporary files of a killed run
are swept by the next one that writes beside them (they are locked while their writer lives).
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Self

from grpo_cli.errors import OutputError, UsageError
from grpo_cli.logs.source import COMPRESSED_SUFFIXES, WRITTEN, Compression, LogFile, split_suffixes

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import PurePath
    from types import TracebackType

STDOUT = "-"
_PREFIX, _SUFFIX = ".grpo-adv-", ".tmp"


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


def plan(files: Sequence[LogFile], *, output: str | None, in_place: bool, force: bool) -> list[Target]:
    """One target a file, in order. Several JSONL files may share one: they follow one another.

    Raises:
        UsageError: the options do not say where each file goes, or say it twice.
        OutputError: a target exists and there is no --force, or is an input.
    """
    if in_place and output is not None:
        raise UsageError("--in-place and --output exclude each other")
    targets = _in_place(files) if in_place else _beside_or_at(files, output)
    inputs = {} if in_place else {_identity(file.path): file.name for file in files}
    for target in targets:
        if target.path is not None:
            _refuse_loss(target.path, inputs, force=force or in_place)
    return targets


def is_regular(path: Path) -> bool:
    """Whether a file can be renamed over it; a device or pipe is written through."""
    return not path.exists() or path.is_file()


class Replacement:
    """The files of one run, written aside and put in place together by `commit`."""

    def __init__(self) -> None:
        """Nothing is written yet."""
        self._staged: list[tuple[Path, Path, BinaryIO]] = []
        self._through: list[BinaryIO] = []
        self._made_folders: list[Path] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Take away whatever was not put in place."""
        for temporary, _, stream in self._staged:
            with suppress(OSError):
                stream.close()
            with suppress(OSError):
                temporary.unlink()
        for folder in reversed(self._made_folders):
            with suppress(OSError):
                folder.rmdir()
        for stream in self._through:
            with suppress(OSError):
                stream.close()

    def open(self, path: Path) -> BinaryIO:
        """A stream for what will stand at `path` (a link is followed to its target).

        Raises:
            OutputError: nothing can be written there.
        """
        real = Path(os.path.realpath(path))
        try:
            if not is_regular(real):
                self._through.append(real.open("wb"))
                return self._through[-1]
            self._make_folder(real.parent)
            sweep(real.parent)
            stream, temporary = _temporary_in(real.parent)
        except OSError as error:
            raise writing_failed(error, str(path)) from error
        self._staged.append((temporary, real, stream))
        return stream

    def commit(self) -> None:
        """Put every file in place: first all are synced, then all are renamed.

        Raises:
            OutputError: one cannot be; those not yet renamed stay as they were.
        """
        try:
            for through in self._through:
                through.flush()
        except OSError as error:
            raise writing_failed(error, str(through.name)) from error
        for _, real, stream in self._staged:
            try:
                stream.flush()
                _take_over_mode(stream.fileno(), real)
                os.fsync(stream.fileno())
            except OSError as error:
                raise writing_failed(error, str(real)) from error
        while self._staged:
            temporary, real, stream = self._staged[0]
            try:
                temporary.replace(real)
                _sync_folder(real.parent)
            except OSError as error:
                raise writing_failed(error, str(real)) from error
            stream.close()
            self._staged.pop(0)
        self._made_folders.clear()

    def _make_folder(self, folder: Path) -> None:
        missing = [place for place in (folder, *folder.parents) if not place.exists()]
        for place in reversed(missing):
            place.mkdir()
            self._made_folders.append(place)


def _temporary_in(folder: Path) -> tuple[BinaryIO, Path]:
    """A new file, locked while it is open, so that no other run sweeps it."""
    while True:
        descriptor, name = tempfile.mkstemp(prefix=_PREFIX, suffix=_SUFFIX, dir=folder)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        if os.fstat(descriptor).st_nlink:
            return os.fdopen(descriptor, "w+b"), Path(name)
        os.close(descriptor)  # swept by another run before it was locked


def sweep(folder: Path) -> None:
    """Remove the temporary files that killed runs left in `folder`: those that nobody holds a lock on."""
    for path in folder.glob(f"{_PREFIX}*{_SUFFIX}"):
        with suppress(OSError), path.open("rb") as stream:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            path.unlink()


def writing_failed(error: OSError, name: str) -> OutputError:
    """An operating-system error as one line."""
    hint = None
    if error.errno in {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}:
        hint = "nothing was changed; make room, or write elsewhere with -o PATH"
    return OutputError(f"{name}: cannot be written: {(error.strerror or str(error)).lower()}", hint=hint)


def _in_place(files: Sequence[LogFile]) -> list[Target]:
    for file in files:
        if file.is_stdin:
            raise UsageError("--in-place needs a file, and standard input is none", hint="use -o PATH")
    return [Target(file, file.path, file.compression) for file in files]


def _beside_or_at(files: Sequence[LogFile], output: str | None) -> list[Target]:
    if output is None:
        if len(files) == 1 and files[0].is_stdin:
            return [Target(files[0], None, None)]
        if len(files) == 1:
            return [Target(files[0], _beside(files[0]), files[0].compression)]
        raise UsageError(
            f"{len(files)} input files, and nothing says where the output goes",
            hint="-o DIR/ writes each below that folder, --in-place adds to each file",
        )
    if output == STDOUT:
        _refuse_several_parquet(files, "standard output")
        return [Target(file, None, None) for file in files]
    path = Path(output)
    if output.endswith(os.sep) or path.is_dir():
        return _below(path, files)
    _refuse_several_parquet(files, output)
    return [Target(file, path, _packing(path, file)) for file in files]


def _beside(file: LogFile) -> Path:
    stem, suffix = split_suffixes(file.path.name)
    return file.path.with_name(f"{stem}.{WRITTEN}{suffix}")


def _packing(path: Path, file: LogFile) -> Compression | None:
    """An output is packed as its name says, and keeps the format of its input."""
    suffix = split_suffixes(path.name)[1].lower()
    if (suffix in {".parquet", ".pq"}) != (file.format == "parquet") and suffix not in {"", *COMPRESSED_SUFFIXES}:
        raise UsageError(
            f"{file.name} is {_FORMATS[file.format]}, and {path} would be {suffix}",
            hint="the output keeps the format of its input; name it accordingly",
        )
    last = path.suffix.lower()
    return COMPRESSED_SUFFIXES.get(last) if file.format == "jsonl" else None


_FORMATS = {"jsonl": "JSONL", "parquet": "Parquet"}


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
    return [Target(file, folder / file.relative, file.compression) for file in files]


def _refuse_loss(path: Path, inputs: dict[tuple[int, int], str], *, force: bool) -> None:
    if not path.exists():
        return
    if path.is_dir():
        raise OutputError(f"{path} is a folder")
    if not is_regular(path):
        return
    same = inputs.get(_identity(path))
    if same is not None:
        raise OutputError(f"{path} is the input {same}", hint="--in-place adds the advantages to the file itself")
    if not force:
        raise OutputError(f"{path} exists", hint="--force writes over it")


def _identity(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_dev, status.st_ino


def _take_over_mode(descriptor: int, real: Path) -> None:
    """The mode and owner of the file that is replaced; a new file gets what the umask leaves."""
    try:
        status = real.stat()
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        os.fchmod(descriptor, 0o666 & ~mask)
        return
    if (status.st_uid, status.st_gid) != (os.geteuid(), os.getegid()):
        with suppress(OSError):  # only root may give a file away; the content is right either way
            os.fchown(descriptor, status.st_uid, status.st_gid)
    os.fchmod(descriptor, stat.S_IMODE(status.st_mode))


def _sync_folder(folder: Path) -> None:
    """Make a rename last through a power cut."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):  # some network file systems cannot sync a folder
            os.fsync(descriptor)
    finally:
        os.close(descriptor)
