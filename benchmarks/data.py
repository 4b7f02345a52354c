"""The data sets of the benchmarks: seeded, so that a machine measures the same bytes every time.

`python data.py NAME PATH SCALE` makes one, whole or not at all; a process of its own, so that whoever measures
stays small (a child's peak memory is never less than that of the process that started it).
"""

from __future__ import annotations

import shutil
import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

QUICK = 0.01
"""How much of each set `--quick` makes."""
FILES = 1000


@dataclass(frozen=True)
class DataSet:
    """A file, or a folder of files, of so many rows."""

    name: str
    rows: int
    kind: str
    """`parquet` or `jsonl`."""
    maker: str
    """The function of `parquet_data` or `jsonl_data` that makes it."""
    files: int = 1
    columns: int = 0
    scaled: bool = True

    @property
    def path(self) -> str:
        """Its place below the data folder."""
        return self.name if self.files > 1 else f"{self.name}.{self.kind}"

    def size(self, scale: float) -> int:
        """Its rows at this scale."""
        if not self.scaled:
            return self.rows
        return max(int(self.rows * scale) // 8 * 8, 8)


_ALL = (
    DataSet("parquet-6m", 6_000_000, "parquet", "short_keys"),
    DataSet("parquet-1m", 1_000_000, "parquet", "short_keys"),
    DataSet("parquet-600k", 600_000, "parquet", "short_keys"),
    DataSet("jsonl-2600k", 2_600_000, "jsonl", "completions"),
    DataSet("jsonl-260k", 260_000, "jsonl", "completions"),
    DataSet("prompts-parquet-1m", 1_000_000, "parquet", "long_prompts"),
    DataSet("prompts-parquet-100k", 100_000, "parquet", "long_prompts"),
    DataSet("messages-parquet-1m", 1_000_000, "parquet", "messages"),
    DataSet("prompts-jsonl-40k", 40_000, "jsonl", "long_prompts"),
    DataSet("tokens-jsonl-30k", 30_000, "jsonl", "token_arrays"),
    DataSet("steps-jsonl-1000", 512_000, "jsonl", "step_files", files=FILES),
    DataSet("steps-parquet-1000", 512_000, "parquet", "step_files", files=FILES),
    DataSet("chunks-parquet-100k", 25_600, "parquet", "wide", columns=250),
    DataSet("jsonl-64", 64, "jsonl", "completions", scaled=False),
    DataSet("parquet-64", 64, "parquet", "short_keys", scaled=False),
)
SETS = {made.name: made for made in _ALL}


def make(data: DataSet, path: Path, scale: float) -> None:
    """Make `data` at `path`, unless it is there."""
    if path.exists():
        return
    import jsonl_data
    import parquet_data

    made: Callable[..., None] = getattr(parquet_data if data.kind == "parquet" else jsonl_data, data.maker)
    rows = data.size(scale)
    if data.files > 1:
        made = partial(made, files=max(int(data.files * scale), 2))
    if data.columns:
        made = partial(made, columns=data.columns)
        rows = max(rows // parquet_data.WIDE_ROWS, 1)
    half = path.with_name(f".{path.name}.half")
    if half.is_dir():
        shutil.rmtree(half)
    path.parent.mkdir(parents=True, exist_ok=True)
    made(half, rows)
    half.rename(path)


if __name__ == "__main__":
    make(SETS[sys.argv[1]], Path(sys.argv[2]), float(sys.argv[3]))
