from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from grpo_cli.logs.files.source import LogFile

TOLD = {b"ARROW:schema", b"pandas", b"huggingface", b"grpo-adv"}
"""Metadata that learns of new columns."""


def log_file(path):
    return LogFile(path=path, name=path.name, format="parquet", compression=None, relative=Path(path.name))


@pytest.fixture
def log(tmp_path):
    """A log file of a table (with options of pyarrow's writer) or of bytes."""

    def make(content, name="log.parquet", **options):
        path = tmp_path / name
        if isinstance(content, bytes):
            path.write_bytes(content)
        else:
            pq.write_table(content, path, **options)
        return log_file(path)

    return make


@pytest.fixture
def unchanged():
    """Check that the file `after` minus `added` is the file `before`: values, types, metadata, codecs, row groups."""

    def check(before, after, added, rows=None):
        with pq.ParquetFile(before) as old, pq.ParquetFile(after) as new:
            assert new.schema_arrow.names == [*old.schema_arrow.names, *added]
            for at, field in enumerate(old.schema_arrow):
                assert new.schema_arrow.field(at).equals(field, check_metadata=True), field
            was, now = old.read(), new.read()
            if rows is not None:
                was = was.filter(rows)
            for at, column in enumerate(was.columns):
                assert repr(now.column(at).to_pylist()) == repr(column.to_pylist()), was.schema.field(at)
            _same_metadata(old.metadata.metadata or {}, new.metadata.metadata or {})
            if rows is None:
                assert _sizes(old) == _sizes(new)
            for group in range(min(old.num_row_groups, new.num_row_groups)):
                olds, news = old.metadata.row_group(group), new.metadata.row_group(group)
                for at in range(olds.num_columns):
                    assert olds.column(at).compression == news.column(at).compression
                    assert olds.column(at).physical_type == news.column(at).physical_type

    return check


def _sizes(parquet):
    return [parquet.metadata.row_group(group).num_rows for group in range(parquet.num_row_groups)]


def _same_metadata(old, new):
    assert set(old) <= set(new)
    assert all(key.startswith(b"grpo-adv") for key in set(new) - set(old))
    for key in set(old) - TOLD:
        assert old[key] == new[key]
    if b"huggingface" in old:
        was, now = json.loads(old[b"huggingface"]), json.loads(new[b"huggingface"])
        features = now["info"]["features"]
        now["info"]["features"] = {name: features[name] for name in was["info"]["features"]}
        assert was == now
    if b"pandas" in old:
        was, now = json.loads(old[b"pandas"]), json.loads(new[b"pandas"])
        now["columns"] = [entry for entry in now["columns"] if entry in was["columns"]]
        assert was == now
