"""What a pass over a file has found out about its lines, for the passes that follow: which of them are records.

A file is read before it is written back, and reading is what tells records from bad lines. While the file is the same
(its inode, size and time of change), a later pass need not parse every line again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from grpo_cli.errors import InputError
from grpo_cli.logs.jsonl.lines import record, stripped

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from pathlib import Path

    from grpo_cli.logs.files.source import LogFile

Signature = tuple[int, int, int, int]


@dataclass(frozen=True)
class _Known:
    signature: Signature
    bad: frozenset[int]


_files: dict[Path, _Known] = {}


def signature(file: LogFile) -> Signature | None:
    """What is no longer the same once the file has been written to; None where there is no such file."""
    try:
        found = file.path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def remember(file: LogFile, before: Signature | None, bad: Collection[int]) -> None:
    """Keep the numbers of the bad lines, found by a pass that began when the file's signature was `before`."""
    if before is not None and signature(file) == before:
        _files[file.path] = _Known(before, frozenset(bad))


def bad_lines(file: LogFile) -> frozenset[int] | None:
    """The numbers of the bad lines; None where they are not known."""
    known = _files.get(file.path)
    return known.bad if known is not None and known.signature == signature(file) else None


class RecordTest:
    """Whether a line holds a record: by what is known of the file, else by parsing the line."""

    def __init__(self, file: LogFile | None) -> None:
        """Look up what is known of `file`."""
        self.bad = None if file is None else bad_lines(file)

    def __call__(self, number: int, line: bytes) -> bool:
        """Whether `line`, which is number `number` of the file, holds a record."""
        if self.bad is None:
            return isinstance(record(line), dict)
        return number not in self.bad and bool(stripped(line))

    def any_bad(self, first: int, count: int) -> bool:
        """Whether one of `count` lines from number `first` is known to be bad, or nothing is known."""
        return self.bad is None or not self.bad.isdisjoint(range(first, first + count))

    def all_of(self, first: int, lines: Iterable[bytes]) -> list[bool]:
        """The same for lines that follow one another from number `first`."""
        return [self(number, line) for number, line in enumerate(lines, first)]


def changed(file: LogFile) -> InputError:
    """The error for a file that is not what it was when its values were read."""
    return InputError("changed while it was read", file=file.name, hint="run it again when nothing writes to the file")
