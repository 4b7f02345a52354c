"""The same work done by Polars, DuckDB and pandas, as somebody who knows them would write it.

`python contenders.py WHO SOURCE TARGET` is one run. A folder as SOURCE is a log of many files, each to be written at
the same place below TARGET. The advantage is (r - mean) / std (ddof 0) over the prompt, 0 where the std is 0.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    import polars as pl

KEY, REWARD, ADVANTAGE = "prompt", "reward", "advantage"


def polars(source: Path, target: Path) -> None:
    """Lazily: `over`, and a sink."""
    import polars as pl

    centred = pl.col(REWARD) - pl.col(REWARD).mean().over(_polars_key(source))
    std = pl.col(REWARD).std(ddof=0).over(_polars_key(source))
    frame = _polars_scan(source).with_columns(pl.when(std > 0).then(centred / std).otherwise(0.0).alias(ADVANTAGE))
    if source.suffix == ".parquet":
        frame.sink_parquet(target, compression="zstd")
    else:
        frame.sink_ndjson(target)


def _polars_scan(source: Path) -> pl.LazyFrame:
    import polars as pl

    return pl.scan_parquet(source) if source.suffix == ".parquet" else pl.scan_ndjson(source)


def _polars_key(source: Path) -> pl.Expr:
    """Polars groups by texts and numbers, and by chat messages once they are one text."""
    import polars as pl

    key = pl.col(KEY)
    if _polars_scan(source).collect_schema()[KEY].base_type() != pl.List:
        return key
    message = pl.concat_str(pl.element().struct.field("role"), pl.element().struct.field("content"), separator="\x1f")
    return key.list.eval(message).list.join("\x1e")


def duckdb(source: Path, target: Path) -> None:
    """A window, and COPY."""
    _duckdb(source, target, "SELECT *, {advantage} FROM {table}")


def duckdb_ordered(source: Path, target: Path) -> None:
    """The same with the rows in the order of the file."""
    numbered = "(SELECT *, row_number() OVER () AS place FROM {table})"
    _duckdb(source, target, f"SELECT * EXCLUDE (place), {{advantage}} FROM {numbered} ORDER BY place")


def _duckdb(source: Path, target: Path, query: str) -> None:
    import duckdb as db

    parquet = source.suffix == ".parquet"
    table = f"read_parquet('{source}')" if parquet else f"read_json('{source}', format = 'newline_delimited')"
    std = f"stddev_pop({REWARD}) OVER groups"
    advantage = f"CASE WHEN {std} > 0 THEN ({REWARD} - avg({REWARD}) OVER groups) / {std} ELSE 0 END AS {ADVANTAGE}"
    select = query.format(advantage=advantage, table=table)
    before, order, after = select.partition(" ORDER BY")
    named = f"{before} WINDOW groups AS (PARTITION BY {KEY}){order}{after}"
    options = "FORMAT parquet, COMPRESSION zstd" if parquet else "FORMAT json"
    with db.connect() as connection:
        connection.execute(f"COPY ({named}) TO '{target}' ({options})")


def pandas(source: Path, target: Path) -> None:
    """`groupby` and `transform`, all in memory."""
    import pandas as pd

    parquet = source.suffix == ".parquet"
    frame = pd.read_parquet(source) if parquet else pd.read_json(source, lines=True)
    key = frame[KEY]
    if len(key) and not isinstance(key.iloc[0], str):
        key = key.map(str)
    groups = frame.groupby(key, sort=False)[REWARD]
    std = groups.transform("std", ddof=0)
    frame[ADVANTAGE] = ((frame[REWARD] - groups.transform("mean")) / std).where(std > 0, 0.0)
    if parquet:
        frame.to_parquet(target, compression="zstd", index=False)
    else:
        frame.to_json(target, orient="records", lines=True, force_ascii=False)


def copy(source: Path, target: Path) -> None:
    """What nothing that writes a file can do without: its bytes copied, and the two columns read."""
    import polars as pl

    if source.is_dir():
        shutil.copytree(source, target, dirs_exist_ok=True)
    else:
        shutil.copyfile(source, target)
    if source.suffix == ".parquet":
        pl.read_parquet(source, columns=[KEY, REWARD])


def polars_groups(source: Path, target: Path) -> None:
    """A row per group."""
    import polars as pl

    reward = pl.col(REWARD)
    statistics = [pl.len().alias("n"), reward.mean().alias("mean"), reward.std(ddof=0).alias("std")]
    statistics += [reward.min().alias("min"), reward.max().alias("max")]
    _polars_scan(source).group_by(KEY, maintain_order=True).agg(statistics).sink_csv(target)


def duckdb_groups(source: Path, target: Path) -> None:
    """A row per group."""
    import duckdb as db

    statistics = f"count(*), avg({REWARD}), stddev_pop({REWARD}), min({REWARD}), max({REWARD})"
    with db.connect() as connection:
        connection.execute(
            f"COPY (SELECT {KEY}, {statistics} FROM '{source}' GROUP BY {KEY}) TO '{target}' (FORMAT csv)"
        )


def pandas_groups(source: Path, target: Path) -> None:
    """A row per group."""
    import pandas as pd

    groups = pd.read_parquet(source, columns=[KEY, REWARD]).groupby(KEY, sort=False)[REWARD]
    statistics = groups.agg(["count", "mean", "min", "max"])
    statistics["std"] = groups.std(ddof=0)
    statistics.to_csv(target)


def main(who: str, source: Path, target: Path) -> None:
    """One run."""
    work: Callable[[Path, Path], None] = globals()[who]
    if not source.is_dir() or who == "copy":
        work(source, target)
        return
    target.mkdir(parents=True, exist_ok=True)
    for file in sorted(source.iterdir()):
        work(file, target / file.name)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]))
