"""Putting new files in place of old ones: all of a run, or none, whatever happens in between.

Every file is written under a temporary name beside its target, and put in place only when all are whole and on disk. A
failure, Ctrl-C, a full disk or `kill -9` at any moment leaves the old file or the new one; the temporary files of a
killed run are swept by the next one that writes beside them (they are locked while their writer lives).
"""

from __future__ import annotations

import errno
import fcntl
import os
import resource
import signal
import stat
import tempfile
import threading
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Self

from grpo_cli.errors import OutputError
from grpo_cli.logs.files.pool import in_order

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType

_PREFIX, _SUFFIX = ".grpo-adv-", ".tmp"
_SYNCS = 8
"""How many files are brought to rest at once: the disk then does them together."""
_OPEN_FILES = 64
"""How many more files than the staged ones a run may have open."""

placed: list[Path] = []
"""The files that this run has put in place so far: what an interruption finds changed."""


class Replacement:
    """The files of one run, written aside and put in place together by `commit`."""

    def __init__(self) -> None:
        """Nothing is written yet."""
        self._staged: list[tuple[Path, Path, BinaryIO]] = []
        self._through: list[BinaryIO] = []
        self._made_folders: list[Path] = []
        self._swept: set[Path] = set()

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
            if not is_regular(path):  # not `real`: /dev/stdout leads to a pipe that has no name
                self._through.append(path.open("wb"))
                return self._through[-1]
            with _undisturbed():
                return self._stage(real)
        except OSError as error:
            raise writing_failed(error, str(path)) from error

    def _stage(self, real: Path) -> BinaryIO:
        self._make_folder(real.parent)
        if real.parent not in self._swept:
            sweep(real.parent)
            self._swept.add(real.parent)
        _allow_one_more_open_file(len(self._staged))
        stream, temporary = _temporary_in(real.parent)
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
        for _ in in_order(_settle, self._staged, _SYNCS):
            pass
        with _undisturbed():
            self._put_in_place()
        self._made_folders.clear()

    def _put_in_place(self) -> None:
        folders: dict[Path, Path] = {}
        while self._staged:
            temporary, real, stream = self._staged[0]
            try:
                temporary.replace(real)
            except OSError as error:
                raise _half_done(writing_failed(error, str(real))) from error
            placed.append(real)
            folders[real.parent] = real
            stream.close()
            self._staged.pop(0)
        for folder, real in folders.items():
            try:
                _sync_folder(folder)
            except OSError as error:
                raise _half_done(writing_failed(error, str(real))) from error

    def _make_folder(self, folder: Path) -> None:
        missing = [place for place in (folder, *folder.parents) if not place.exists()]
        for place in reversed(missing):
            place.mkdir()
            self._made_folders.append(place)


def _settle(staged: tuple[Path, Path, BinaryIO]) -> None:
    """Bring a file to rest on its disk, with the mode that it will have."""
    _, real, stream = staged
    try:
        stream.flush()
        _take_over_mode(stream.fileno(), real)
        os.fsync(stream.fileno())
    except OSError as error:
        raise writing_failed(error, str(real)) from error


def _allow_one_more_open_file(staged: int) -> None:
    """A staged file stays open: its lock keeps other runs from sweeping it. A shell may allow only 256 or 1024."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = staged + _OPEN_FILES
    if soft != resource.RLIM_INFINITY and soft < wanted:
        most = 2 * wanted if hard == resource.RLIM_INFINITY else min(2 * wanted, hard)
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, most), hard))


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


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Within it Ctrl-C and SIGTERM wait, so that they find all files put in place or none."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    waiting: list[int] = []

    def wait(number: int, _frame: object) -> None:
        waiting.append(number)

    before = {number: signal.signal(number, wait) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for waited in waiting:
            signal.raise_signal(waited)


def _half_done(error: OutputError) -> OutputError:
    """A disk that fails between two renames: say which files are the new ones."""
    if placed:
        error.hint = f"written before that: {', '.join(map(str, placed))}; the other files are as they were"
    return error


def writing_failed(error: OSError, name: str) -> OutputError:
    """An operating-system error as one line."""
    hint = None
    if error.errno in {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}:
        hint = "nothing was changed; make room, or write elsewhere with -o PATH"
    return OutputError(f"{name}: cannot be written: {(error.strerror or str(error)).lower()}", hint=hint)


def is_regular(path: Path) -> bool:
    """Whether a file can be renamed over it; a device or pipe is written through."""
    return not path.exists() or path.is_file()


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
