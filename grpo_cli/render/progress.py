"""Progress: how far the reading or writing of files is, on a terminal only, after one second, gone when it is done."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console

PATIENCE: Final = 1.0
"""Seconds after which something is shown."""


class Progress:
    """A line on standard error while a stage of the work goes on.

    It needs a terminal that moves its cursor: under NO_COLOR, on a dumb terminal and in a pipe nothing is shown.
    Threads may advance it together.
    """

    def __init__(self, console: Console, *, quiet: bool) -> None:
        """Show nothing yet."""
        self._console = console
        self._able = not quiet and console.is_terminal and console.color_system is not None
        self._able = self._able and not console.is_dumb_terminal
        self._lock = threading.Lock()
        self._stage: tuple[str, int] | None = None
        self._began = 0.0
        self._bytes = self._rows = 0
        self._bar: Any = None

    @contextmanager
    def stage(self, what: str, total: int) -> Iterator[None]:
        """Within it `advance` counts towards `total` bytes; `what` says what is done, such as `reading`."""
        if not self._able:
            yield
            return
        with self._lock:
            self._stage, self._began = (what, total), time.monotonic()
            self._bytes = self._rows = 0
        try:
            yield
        finally:
            with self._lock:
                self._stage = None
                bar, self._bar = self._bar, None
            if bar is not None:
                bar.stop()

    def advance(self, size: int, rows: int) -> None:
        """So many more bytes and rows are done."""
        if self._stage is None:
            return
        with self._lock:
            if self._stage is None:
                return
            self._bytes += size
            self._rows += rows
            if self._bar is None and time.monotonic() - self._began >= PATIENCE:
                self._bar = self._started(*self._stage)
            if self._bar is not None:
                self._bar.update(0, completed=min(self._bytes, self._stage[1]), rows=_rows(self._rows))

    def _started(self, what: str, total: int) -> Any:
        from rich import progress

        bar = progress.Progress(
            progress.TextColumn("{task.description}"),
            progress.BarColumn(),
            progress.DownloadColumn(),
            progress.TransferSpeedColumn(),
            progress.TextColumn("{task.fields[rows]}"),
            progress.TimeRemainingColumn(),
            console=self._console,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        bar.add_task(what, total=total, rows="")
        bar.tasks[0].start_time = bar.get_time() - (time.monotonic() - self._began)
        bar.start()
        return bar


def _rows(count: int) -> str:
    return f"{count:,} rows" if count else ""
