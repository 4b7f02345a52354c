"""One run of a program in a process of its own: how long it took, and the most memory it held.

Nothing heavy may be imported in the process that measures: Linux counts its memory as the least that a child ever held.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_MAXRSS_UNIT = 1 if sys.platform == "darwin" else 1024
MEGA = 1_000_000
_UNLIKE_A_PERSONS = {"PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED"}


@dataclass(frozen=True)
class Run:
    """One run."""

    seconds: float
    busy: float
    """Seconds of CPU, of all threads: steadier than the clock where a machine is shared."""
    peak: int
    """Bytes of memory held at most."""


@dataclass(frozen=True)
class Runs:
    """All runs of one contender on one work."""

    runs: Sequence[Run]
    fault: str = ""
    """The last line it printed, where it failed."""

    @property
    def seconds(self) -> float:
        """The median."""
        return median(run.seconds for run in self.runs)

    @property
    def busy(self) -> float:
        """The median."""
        return median(run.busy for run in self.runs)

    @property
    def peak(self) -> int:
        """The most that any run held."""
        return max(run.peak for run in self.runs)


class FailedRunError(Exception):
    """A run that ended with an error: the last line that it printed."""


def run(command: Sequence[str]) -> Run:
    """Run `command` and measure it; what it prints is kept from the terminal.

    Raises:
        FailedRunError: it failed.
    """
    # as an installed program runs: with its bytecode, and buffered
    environment = {name: value for name, value in os.environ.items() if name not in _UNLIKE_A_PERSONS}
    began = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment)
    assert process.stderr is not None
    said = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise FailedRunError((said.decode(errors="replace").strip().splitlines() or ["no word"])[-1])
    return Run(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * _MAXRSS_UNIT)
