"""Whether an output is what it should be: the advantages of ours to 1e-9, every other column as it was.

`python agreement.py SOURCE OURS OTHER...` ends with 0 where all agree, and says what differs where they do not. Rows
are matched by `uid`, since DuckDB is also run without keeping their order.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow.parquet as pq

TOLERANCE = 1e-9


def main(source: Path, ours: Path, others: list[Path]) -> int:
    """The number of faults found, each of which is printed."""
    faults = []
    for file in sorted(source.iterdir()) if source.is_dir() else [source]:
        mine = ours / file.name if source.is_dir() else ours
        faults += _untouched(file, mine, in_place=True)
        expected = _advantages(mine)
        for other in others:
            theirs = other / file.name if source.is_dir() else other
            faults += _untouched(file, theirs, in_place=False)
            found = _advantages(theirs)
            if len(found) != len(expected):
                faults.append(f"{theirs}: {len(found)} rows where there are {len(expected)}")
            elif not np.allclose(found, expected, rtol=0, atol=TOLERANCE):
                faults.append(f"{theirs}: advantages are up to {np.abs(found - expected).max():.3g} apart")
    print("\n".join(faults))
    return len(faults)


def _advantages(path: Path) -> np.ndarray:
    """The advantages in the order of `uid`."""
    if path.suffix == ".parquet":
        # pyarrow and not Polars, and column by column: by other code than what wrote them
        uid, advantage = (pq.read_table(path, columns=[name]).column(0).to_numpy() for name in ("uid", "advantage"))
    else:
        frame = pl.scan_ndjson(path, schema={"uid": pl.Int64, "advantage": pl.Float64}).collect(engine="streaming")
        uid, advantage = frame["uid"].to_numpy(), frame["advantage"].to_numpy()
    return advantage[np.argsort(uid)]


def _untouched(source: Path, path: Path, *, in_place: bool) -> list[str]:
    """Faults in what is not the advantage. `in_place`: the very bytes of a JSONL line must be there."""
    if path.suffix != ".parquet":
        return _same_lines(source, path) if in_place else _same_values(source, path)
    before, after = (_digest(file) for file in (source, path))
    changed = [name for name, digest in before.items() if after.get(name) != digest]
    return [f"{path}: column {name} is not what it was" for name in changed]


def _digest(path: Path) -> dict[str, int]:
    """For each column but ours: the sum of the hashes of its values, each with its row's uid."""
    frame = pl.scan_parquet(path)
    names = [name for name in frame.collect_schema().names() if name != "advantage"]
    uid = pl.col("uid").hash()
    row = frame.select((pl.col(name).hash() ^ uid).sum().alias(name) for name in names).collect(engine="streaming")
    return row.row(0, named=True)


def _same_lines(source: Path, path: Path) -> list[str]:
    with source.open("rb") as before, path.open("rb") as after:
        for number, (old, new) in enumerate(zip(before, after, strict=True), 1):
            at = new.rindex(b', "advantage": ')
            if new[:at] + new[new.rindex(b"}") :] != old:
                return [f"{path}:{number}: the line is not what it was"]
    return []


def _same_values(source: Path, path: Path) -> list[str]:
    """A re-encoded line is other bytes: the first 1,000 lines must say the same."""
    wanted = {}
    with path.open("rb") as after:
        for line, _ in zip(after, range(1000), strict=False):
            record = json.loads(line)
            del record["advantage"]
            wanted[record["uid"]] = record
    with source.open("rb") as before:
        for line in before:
            record = json.loads(line) if wanted else None
            if record and wanted.pop(record["uid"], record) != record:
                return [f"{path}: the record with uid {record['uid']} is not what it was"]
            if not wanted:
                break
    return [f"{path}: {len(wanted)} records are not of the log"] if wanted else []


if __name__ == "__main__":
    sys.exit(min(main(Path(sys.argv[1]), Path(sys.argv[2]), [Path(name) for name in sys.argv[3:]]), 1))
