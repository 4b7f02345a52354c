"""The Parquet data sets."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from rewards import GROUP, SEED, rewards
from texts import text_bytes, texts

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

ROW_GROUP = 100_000
WIDE_ROWS = 64
"""Rows of a row group of the file that is all footer."""


def short_keys(path: Path, rows: int) -> None:
    """Rows with a text of 500 bytes, and ids for keys."""
    _write(path, rows, _ids)


def long_prompts(path: Path, rows: int) -> None:
    """The same with prompts of 2 KB for keys."""
    pool = text_bytes(np.random.default_rng(SEED + 1), 2000)
    at = np.random.default_rng(SEED + 2).integers(0, len(pool), rows // GROUP + 1)
    _write(path, rows, lambda groups: _column(pool[at[groups]]))


def messages(path: Path, rows: int) -> None:
    """The same with chat messages for keys, as TRL logs them."""
    asked = texts(np.random.default_rng(SEED + 1), rows // GROUP + 1, 300)
    system = {"role": "system", "content": "You are a helpful assistant. Think first, then answer."}

    def key(groups: np.ndarray) -> pa.Array:
        return pa.array([[system, {"role": "user", "content": f"{at} {asked[at]}"}] for at in groups.tolist()])

    _write(path, rows, key)


def step_files(path: Path, rows: int, files: int) -> None:
    """A folder with a file a step."""
    path.mkdir()
    rng = np.random.default_rng(SEED)
    pool = text_bytes(rng, 500)
    each = max(rows // files // GROUP, 1) * GROUP
    for step in range(files):
        uid = np.arange(step * each, (step + 1) * each)
        table = _table(rng, uid, rewards(rng, each), _ids, pool)
        pq.write_table(table, path / f"step_{step:04d}.parquet", compression="zstd")


def wide(path: Path, row_groups: int, columns: int) -> None:
    """Many columns in many small row groups: a file that is all footer."""
    rng = np.random.default_rng(SEED)

    def table(group: int) -> pa.Table:
        uid = np.arange(group * WIDE_ROWS, (group + 1) * WIDE_ROWS)
        named = {"uid": uid, "prompt": _ids(uid // GROUP), "reward": rewards(rng, WIDE_ROWS)}
        metrics = {f"metric_{at:03d}": rng.random(WIDE_ROWS, np.float32) for at in range(columns - len(named))}
        return pa.table(named | metrics)

    _save(path, row_groups, table)


def _write(path: Path, rows: int, key: Callable[[np.ndarray], pa.Array]) -> None:
    rng = np.random.default_rng(SEED)
    pool = text_bytes(rng, 500)
    scores = rewards(rng, rows)

    def table(group: int) -> pa.Table:
        uid = np.arange(group * ROW_GROUP, min((group + 1) * ROW_GROUP, rows))
        return _table(rng, uid, scores[uid], key, pool)

    _save(path, -(-rows // ROW_GROUP), table)


def _table(
    rng: np.random.Generator,
    uid: np.ndarray,
    scores: np.ndarray,
    key: Callable[[np.ndarray], pa.Array],
    pool: np.ndarray,
) -> pa.Table:
    return pa.table(
        {
            "uid": uid,
            "prompt": key(uid // GROUP),
            "completion": _column(pool[rng.integers(0, len(pool), len(uid))]),
            "reward": scores,
            "length": rng.integers(20, 4000, len(uid), np.int32),
        }
    )


def _save(path: Path, groups: int, table: Callable[[int], pa.Table]) -> None:
    first = table(0)
    with pq.ParquetWriter(path, first.schema, compression="zstd") as writer:
        writer.write_table(first)
        for group in range(1, groups):
            writer.write_table(table(group))


def _ids(groups: np.ndarray) -> pa.Array:
    return pa.array([f"gsm8k-train-{group:07d}" for group in groups.tolist()])


def _column(values: np.ndarray) -> pa.Array:
    """Rows of bytes as an Arrow string column, without a Python object for each."""
    rows, size = values.shape
    offsets = pa.py_buffer(np.arange(0, (rows + 1) * size, size, dtype=np.int32))
    return pa.StringArray.from_buffers(rows, offsets, pa.py_buffer(np.ascontiguousarray(values)))
