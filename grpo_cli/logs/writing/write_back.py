"""Writing back: every file of a log with its new fields, each to its target, all of them or none."""

from __future__ import annotations

import os
import sys
from contextlib import ExitStack
from typing import TYPE_CHECKING, BinaryIO, cast

from grpo_cli.errors import OutputError, UsageError
from grpo_cli.logs.files.pool import in_order, workers_for
from grpo_cli.logs.writing.replacement import Replacement, writing_failed

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence
    from pathlib import Path

    from grpo_cli.logs.rollouts import NewFields, RolloutLog
    from grpo_cli.logs.writing.output import Target


def write_back(log: RolloutLog, targets: Sequence[Target], fields: NewFields) -> list[Target]:
    """Write every file of `log` to its target with its new fields; return the targets that were written.

    A target of a file that was left out of the log is left alone.

    Raises:
        OutputError: something cannot be written; every file is then as it was.
        BrokenPipeError: the reader of standard output has gone.
    """
    of_file = {target.file: target for target in targets}
    written = [of_file[part.file] for part in log.parts]
    write_each(written, lambda at, stream: log.append(log.parts[at], stream, fields))
    return written


def write_each(targets: Sequence[Target], write: Callable[[int, BinaryIO], None]) -> None:
    """Call `write` with the number of each target and a stream for it; put all in place, or none.

    Targets that share a path follow one another in one stream.

    Raises:
        OutputError: something cannot be written; every file is then as it was.
        BrokenPipeError: the reader of standard output has gone.
    """
    at_path: dict[Path | None, list[int]] = {}
    for at, target in enumerate(targets):
        at_path.setdefault(target.path, []).append(at)

    def fill(opened: tuple[list[int], BinaryIO, ExitStack]) -> None:
        there, stream, stack = opened
        try:
            with stack:
                lines = _WholeLines(stream) if len(there) > 1 else stream
                for at in there:
                    write(at, cast("BinaryIO", lines))  # several are JSONL, which is only written to it
                    if isinstance(lines, _WholeLines):
                        lines.end()
                stream.flush()
        except BrokenPipeError:
            raise
        except OSError as error:
            raise writing_failed(error, targets[there[0]].name) from error

    with Replacement() as replacement:
        opened = (_opened(there, targets[there[0]], replacement) for there in at_path.values())
        for _ in in_order(fill, opened, workers_for([target.file for target in targets])):
            pass
        replacement.commit()


def _opened(there: list[int], target: Target, replacement: Replacement) -> tuple[list[int], BinaryIO, ExitStack]:
    """A stream for the targets of these numbers, and what is to be closed behind it."""
    with ExitStack() as stack:
        stream = _stream(target, replacement, stack)
        return there, stream, stack.pop_all()


def field_name(wanted: str | None, taken: Collection[str], fallback: str, *, force: bool) -> tuple[str, str | None]:
    """What to call the advantage, and a note where it is not the usual name.

    Raises:
        UsageError: the wanted name is empty.
        OutputError: the log has fields of these names, and there is no --force.
    """
    if wanted == "":
        raise UsageError("--column is empty", hint="leave it out to call the field advantage")
    if wanted is not None:
        refuse_taken([wanted], taken, force=force)
        return wanted, None
    name = "advantage"
    if name not in taken:
        return name, None
    # Its second run finds the field of the first: that is replaced where --force says so, and never doubled.
    refuse_taken([fallback], taken, force=force)
    return fallback, f"the log has a field {name} already: ours is {fallback} (--column NAME to choose)"


def refuse_taken(names: Collection[str], taken: Collection[str], *, force: bool) -> None:
    """Refuse to write a field that the log has already.

    Raises:
        OutputError: it has one, and there is no --force.
    """
    clash = [name for name in names if name in taken]
    if clash and not force:
        raise OutputError(
            f"the log has a field {clash[0]!r} already",
            hint="choose another name with --column, or replace it with --force",
        )


class _WholeLines:
    """A stream for several JSONL files after one another: the last line of each is ended before the next begins."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._last = b"\n"

    def write(self, data: bytes) -> int:
        self._last = data[-1:] or self._last
        return self._stream.write(data)

    def writelines(self, pieces: Iterable[bytes]) -> None:
        for piece in pieces:
            self.write(piece)

    def end(self) -> None:
        if self._last != b"\n":
            self.write(b"\n")


def _stream(target: Target, replacement: Replacement, stack: ExitStack) -> BinaryIO:
    """The stream of a target, packed as the target is."""
    if target.path is not None:
        stream = replacement.open(target.path)
    else:
        if target.file.format == "parquet" and os.isatty(sys.stdout.fileno()):
            raise OutputError(
                "Parquet is not for a terminal", hint="send it to a file or a program: -o PATH, or a pipe"
            )
        sys.stdout.flush()
        # Not sys.stdout.buffer: unbuffered (python -u), that writes what fits into the pipe and drops the rest.
        stream = stack.enter_context(open(sys.stdout.fileno(), "wb", closefd=False))  # noqa: SIM115 - closed by it
    if target.file.format == "jsonl":
        from grpo_cli.logs.jsonl import blocks

        return cast("BinaryIO", stack.enter_context(blocks.packed(stream, target.compression)))
    return stream
