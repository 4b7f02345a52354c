"""The machine and the versions that a measurement holds for."""

from __future__ import annotations

import os
import platform
import time
from importlib.metadata import version
from pathlib import Path

PACKAGES = ("grpo-adv", "polars", "duckdb", "pandas", "pyarrow", "typer", "rich")
_PIECE = 256 << 20


def described(folder: Path) -> dict[str, str]:
    """What there is, and how fast what is written into `folder` comes to rest on its disk."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
    return {
        "versions": ", ".join(f"{name} {version(name)}" for name in PACKAGES),
        "python": platform.python_version(),
        "machine": f"{_processor()}, {os.cpu_count()} cores, {memory:.0f} GB, {platform.system()} {platform.release()}",
        "load": f"{os.getloadavg()[0]:.1f} processes in the last minute",
        "disk": f"{_synced(folder) / 1e6:.0f} MB/s written and synced",
    }


def _processor() -> str:
    try:
        with Path("/proc/cpuinfo").open(encoding="utf-8") as lines:
            return next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def _synced(folder: Path) -> float:
    """Bytes a second."""
    path = folder / "sync"
    folder.mkdir(parents=True, exist_ok=True)
    began = time.perf_counter()
    with path.open("wb") as stream:
        stream.write(os.urandom(1 << 20) * (_PIECE >> 20))
        stream.flush()
        os.fsync(stream.fileno())
    seconds = time.perf_counter() - began
    path.unlink()
    return _PIECE / seconds
