"""Errors that a person is meant to read.

    GrpoAdvError             base: a message, an optional hint, and the exit code
    ├── UsageError           the options do not fit, or name something that does not exist
    ├── RowError             a rollout that breaks a rule; whoever knows the files makes an InputError of it
    ├── InputError           a file that cannot be read as what it should be (file, line, column)
    ├── OutputError          a result that cannot or must not be written where it was asked for
    └── CheckFailed          a check that was asked for did not hold (exit 1)

They are raised where the fault is seen, and become words in one place: `grpo_cli.app`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


class GrpoAdvError(Exception):
    """An error that can be shown as it is: one line, and a hint that says what to do."""

    exit_code = 2

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        """Keep the message and what to do about it."""
        super().__init__(message)
        self.message = message
        self.hint = hint


class UsageError(GrpoAdvError):
    """Options that do not fit together, or a name that does not exist."""


class RowError(GrpoAdvError):
    """A rollout that breaks a rule: `row` is its row in the canonical frame, counted from 0."""

    def __init__(self, message: str, *, row: int, hint: str | None = None) -> None:
        """Keep the row, so that whoever knows the files can name its file and line."""
        super().__init__(message, hint=hint)
        self.row = row


class InputError(GrpoAdvError):
    """A file that cannot be read as a rollout log.

    `file` is the name the person gave, `line` counts from 1 (a row for Parquet), `column` names the field.
    """

    def __init__(
        self,
        message: str,
        *,
        file: str | None = None,
        line: int | None = None,
        column: str | None = None,
        hint: str | None = None,
    ) -> None:
        """Put the place before the message: `FILE:LINE: column C: what is wrong`."""
        place = f"{file}:{line}: " if file and line else f"{file}: " if file else ""
        super().__init__(f"{place}{f'column {column}: ' if column else ''}{message}", hint=hint)
        self.file, self.line, self.column = file, line, column


class OutputError(GrpoAdvError):
    """A result that cannot, or must not, be written where it was asked for."""


class CheckFailed(GrpoAdvError):  # noqa: N818 - a failed check is an answer, not a fault of the program
    """A check that was asked for did not hold."""

    exit_code = 1


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A hint for an unknown name: the nearest ones, then the list of what there is."""
    import difflib

    known = list(known)
    close = difflib.get_close_matches(name, known, n=3, cutoff=0.6)
    there_is = f"there is: {', '.join(known)}" if known else ""
    if close:
        return f"did you mean {' or '.join(close)}? {there_is}".rstrip()
    return there_is
