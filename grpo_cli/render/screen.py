"""Screen: the two streams of the program, and the only way that anything gets onto them.

Data goes to `out`, talk to `err`; each follows what its own stream is. A terminal gets tables that fit it, a pipe gets
whole lines. NO_COLOR wins over FORCE_COLOR, and means no escape at all, bold included.
"""

from __future__ import annotations

import io
import os
import sys
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import IO, TYPE_CHECKING, Literal, TextIO, get_args

from rich.console import Console
from rich.text import Text

from grpo_cli.errors import OutputError, UsageError, did_you_mean
from grpo_cli.frame import Status
from grpo_cli.render.progress import Progress
from grpo_cli.render.tables import Kind, Table, draw
from grpo_cli.render.text import Charset, tsv, wrap

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    import polars as pl

Format = Literal["auto", "table", "json", "jsonl", "csv", "tsv", "md"]
To = Literal["out", "err"]
FORMATS: tuple[str, ...] = get_args(Format)
ROWS_ON_A_TERMINAL = 20


class _Stream(Console):
    """A console that lets a closed pipe be seen: Rich itself would end the program with exit code 1."""

    def on_broken_pipe(self) -> None:
        del self._buffer[:]
        raise  # noqa: PLE0704 - Rich calls this while it handles the BrokenPipeError


@dataclass(frozen=True)
class Screen:
    """Standard output and standard error, and what each can show.

    `quiet` leaves nothing on standard error but errors. A closed pipe raises `BrokenPipeError`.
    """

    out: Console
    err: Console
    quiet: bool = False

    @cached_property
    def progress(self) -> Progress:
        """How far the work is, on standard error."""
        return Progress(self.err, quiet=self.quiet)

    @classmethod
    def of_process(cls, *, quiet: bool = False) -> Screen:
        """The streams of this process, as its environment wants them."""
        out = _stream(_buffered(sys.stdout), os.environ)
        return cls(out, _stream(_buffered(sys.stderr), os.environ, stderr=True), quiet)

    @classmethod
    def in_memory(
        cls,
        *,
        columns: int = 80,
        terminal: bool = False,
        colour: bool = False,
        encoding: str = "utf-8",
        quiet: bool = False,
    ) -> Screen:
        """Both streams kept as text (see `text`): for tests, and for whoever wants the words alone."""
        environ = {"COLUMNS": str(columns), "FORCE_COLOR" if colour else "NO_COLOR": "1"}
        out, err = _Memory(encoding, terminal=terminal), _Memory(encoding, terminal=terminal)
        return cls(_stream(out, environ), _stream(err, environ), quiet)

    def text(self, of: To = "out") -> str:
        """What a screen `in_memory` has been given so far."""
        file = self._stream(of).file
        assert isinstance(file, _Memory)
        return file.written()

    def room(self, to: To = "out") -> int | None:
        """How many columns a line may have: None where there is no terminal, and so no limit."""
        stream = self._stream(to)
        return stream.width if stream.is_terminal else None

    def charset(self, to: To = "out") -> Charset:
        """What the stream's encoding can show."""
        return Charset(self._stream(to).encoding)

    def tabular(self, format: str, to: To = "out") -> bool:  # noqa: A002 - it is the name of the option
        """Whether `format` draws a table on the stream: what stands below one is then for people."""
        return format == "table" or (format == "auto" and (self._stream(to).is_terminal or to == "err"))

    def show(
        self,
        table: Table,
        *,
        format: str = "auto",  # noqa: A002 - it is the name of the option
        sort: str | None = None,
        descending: bool = False,
        limit: int | None = None,
        to: To = "out",
    ) -> None:
        """Print a table; `auto` is a table on a terminal (and on standard error), TSV in a pipe.

        `limit` rows of it: None is 20 for a table on a terminal and all of them otherwise, 0 is all of them. What is
        left out is said on standard error. Raises `UsageError` for a column or a format that there is not.
        """
        if format not in FORMATS:
            raise UsageError(f"there is no format {format}", hint=did_you_mean(format, FORMATS))
        if limit is not None and limit < 0:
            raise UsageError(f"--limit {limit} is less than nothing", hint="--limit 0 shows all rows")
        terminal = self._stream(to).is_terminal
        as_table = self.tabular(format, to)
        frame = table.frame if sort is None else _sorted(table, sort, descending=descending)
        if limit is None:
            limit = ROWS_ON_A_TERMINAL if as_table and terminal else 0
        kept = frame.head(limit) if limit else frame
        kept_table = replace(table, frame=kept)
        if to == "err" and self.quiet:
            return
        left_out: list[str] = []
        if as_table:
            drawing = draw(kept_table, room=self.room(to), charset=self.charset(to))
            left_out = drawing.left_out
            self.draw(drawing.lines, to=to)
        else:
            from grpo_cli.render import machine

            form = "tsv" if format == "auto" else format
            for chunk in machine.written(kept_table, form, terminal=terminal):
                self._write(chunk, to)
        if rest := frame.height - kept.height:
            self._remark(f"... and {rest} more {_noun(table.name, rest)}; --limit 0 shows all")
        elif as_table and frame.is_empty():
            self._remark(f"no {table.name}")
        if left_out:
            self._remark(f"no room for {', '.join(left_out)}; --format json shows all")

    def draw(self, lines: Iterable[Text], *, to: To = "out") -> None:
        """Print lines that `render` made, as they are; on standard error silent when quiet."""
        if to == "out" or not self.quiet:
            self._print(lines, to)

    def print(self, *lines: str) -> None:
        """Print lines of data, such as ids, on standard output; a line stays one line."""
        spelled = self.charset().visible if self.out.is_terminal else tsv
        self._write("".join(f"{spelled(line)}\n" for line in lines), "out")

    def say(self, text: str) -> None:
        """Say on standard error what was done, such as the run line; silent when quiet."""
        self._talk("", "", text)

    def note(self, text: str) -> None:
        """Say on standard error what deserves a look; silent when quiet."""
        self._talk("note: ", "dim", text)

    def error(self, message: str, hint: str | None = None) -> None:
        """Say on standard error what went wrong, and what to do; never silent, never wrapped."""
        for prefix, style, text in (("grpo-adv: ", "red", message), ("hint: ", "dim", hint)):
            if text is not None:
                self._print([Text().append(prefix, style).append(self.charset("err").visible(text))], "err")

    def _talk(self, prefix: str, style: str, text: str) -> None:
        if self.quiet:
            return
        room = self.room("err")
        shown = self.charset("err").visible(text)
        indent = " " * (len(prefix) or 2)
        lines = [shown] if room is None else wrap(shown, room - len(indent))
        self.draw(
            [Text().append(*((indent, "") if i else (prefix, style))).append(line) for i, line in enumerate(lines)],
            to="err",
        )

    def _remark(self, text: str) -> None:
        if not self.quiet:
            room = self.room("err")
            self.draw([Text(line, "dim") for line in (wrap(text, room) if room else [text])], to="err")

    def _print(self, lines: Iterable[Text], to: To) -> None:
        stream = self._stream(to)
        with _writing(to):
            if stream.is_terminal or stream.color_system:
                stream.print(Text("\n").join(lines), soft_wrap=True, markup=False, emoji=False, highlight=False)
            else:
                # The same bytes in a third of the time.
                stream.file.write("".join(f"{line.plain}\n" for line in lines))
                stream.file.flush()

    def _write(self, text: str, to: To) -> None:
        # Data is UTF-8 whatever the locale says: a JSON reader expects nothing else.
        file = self._stream(to).file
        buffer = getattr(file, "buffer", None)
        with _writing(to):
            if buffer is None:
                file.write(text)
            else:
                file.flush()
                buffer.write(text.encode())
            file.flush()

    def _stream(self, to: To) -> Console:
        return self.out if to == "out" else self.err


@contextmanager
def _writing(to: To) -> Iterator[None]:
    """Data that cannot be written ends the run; talk that nobody can hear does not."""
    try:
        yield
    except OSError as error:
        if to == "err":
            return
        if isinstance(error, BrokenPipeError):
            raise
        raise OutputError(f"standard output: cannot be written: {(error.strerror or str(error)).lower()}") from error


class _Memory(io.TextIOWrapper):
    def __init__(self, encoding: str, *, terminal: bool) -> None:
        super().__init__(io.BytesIO(), encoding=encoding, newline="\n")
        self._terminal = terminal

    def isatty(self) -> bool:
        return self._terminal

    def written(self) -> str:
        assert isinstance(self.buffer, io.BytesIO)
        return self.buffer.getvalue().decode(self.encoding)


def _buffered(file: TextIO) -> TextIO:
    """The stream itself, or one over the same descriptor that writes all it is given.

    Under PYTHONUNBUFFERED a write goes to the descriptor just once: what a signal or a closing reader cuts short
    would be lost without a word, and the closed pipe never seen.
    """
    if not isinstance(getattr(file, "buffer", None), io.RawIOBase):
        return file
    file.flush()
    return open(file.fileno(), "w", encoding=file.encoding, errors=file.errors, newline="", closefd=False)


def _stream(file: IO[str], environ: Mapping[str, str], *, stderr: bool = False) -> Console:
    terminal = _is_terminal(file)
    forced, dumb = environ.get("FORCE_COLOR", ""), environ.get("TERM", "") in ("dumb", "unknown")
    colour = not environ.get("NO_COLOR", "") and bool(forced or (terminal and not dumb))
    return _Stream(
        file=file,
        stderr=stderr,
        width=_width(file, environ),
        # The sixteen colours that every theme makes readable, light or dark; no detection, no surprises.
        color_system="standard" if colour else None,
        force_terminal=terminal,
        no_color=False,
        markup=False,
        emoji=False,
        highlight=False,
        force_jupyter=False,
        legacy_windows=False,
    )


def _is_terminal(file: IO[str]) -> bool:
    try:
        return file.isatty()
    except (AttributeError, ValueError):  # no stream at all, or a closed one
        return False


def _width(file: IO[str], environ: Mapping[str, str]) -> int:
    columns = environ.get("COLUMNS", "")
    if columns.isdecimal() and int(columns) > 0:
        return int(columns)
    try:
        return os.get_terminal_size(file.fileno()).columns or 80
    except (AttributeError, OSError, ValueError):
        return 80


def check_sort(columns: Iterable[str], sort: str | None) -> None:
    """Refuse to sort by a column that there is not: for a command that writes before it shows.

    Raises:
        UsageError: there is no such column.
    """
    if sort is not None and sort not in columns:
        raise UsageError(f"there is no column {sort} to sort by", hint=did_you_mean(sort, columns))


def _sorted(table: Table, sort: str, *, descending: bool) -> pl.DataFrame:
    import polars as pl

    check_sort(table.columns, sort)
    kind = table.columns[sort]
    by = pl.col(sort)
    if kind is Kind.STATUS:
        by = by.cast(pl.String).replace_strict(
            {status.value: place for place, status in enumerate(Status)}, default=None, return_dtype=pl.UInt8
        )
    elif kind in (Kind.SPARK, Kind.HISTOGRAM):
        by = by.list.mean()
    return table.frame.sort(by, descending=descending, nulls_last=True, maintain_order=True)


def _noun(plural: str, count: int) -> str:
    return plural.removesuffix("s") if count == 1 else plural
