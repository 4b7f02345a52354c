from __future__ import annotations

import io
import json

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from grpo_cli.errors import InputError, OutputError
from grpo_cli.logs.parquet import Parquet, rewrite

FEATURES = {
    "prompt_id": {"dtype": "string", "_type": "Value"},
    "reward": {"dtype": "float64", "_type": "Value"},
    "label": {"names": ["bad", "good"], "_type": "ClassLabel"},
}


@pytest.fixture
def table():
    made = pa.table(
        {
            "prompt_id": pa.array(["a", "b"] * 20).dictionary_encode(),
            "reward": pa.array([1.0, None] * 20, pa.float32()),
            "label": pa.array([1, 0] * 20, pa.int64()),
            "messages": [[{"role": "user", "content": "x"}]] * 40,
            "when": pa.array(range(0, 40_000, 1000), pa.timestamp("ns", "UTC")),
        }
    )
    schema = made.schema.set(2, made.schema.field(2).with_metadata({b"unit": b"class"}))
    info = json.dumps({"info": {"features": FEATURES}})
    return made.cast(schema.with_metadata({"huggingface": info, "run_id": "r-17"}))


OPTIONS = {
    "plain": {},
    "mixed": {
        "row_group_size": 7,
        "compression": {"prompt_id": "zstd", "reward": "none", "messages.list.element.role": "gzip"},
        "use_dictionary": ["prompt_id"],
        "column_encoding": {"reward": "BYTE_STREAM_SPLIT", "label": "DELTA_BINARY_PACKED"},
        "write_statistics": ["label"],
        "write_page_index": True,
    },
    "sorted": {"sorting_columns": [pq.SortingColumn(2, descending=True)]},
    "old": {"version": "1.0", "use_deprecated_int96_timestamps": True},
}


EVERYDAY = {"PLAIN", "RLE", "PLAIN_DICTIONARY", "RLE_DICTIONARY"}
"""What `has_dictionary_page` tells already, under the names of two versions."""


def encodings(path):
    with pq.ParquetFile(path) as parquet:
        group = parquet.metadata.row_group(0)
        chunks = [group.column(at) for at in range(group.num_columns)]
        return [
            (set(chunk.encodings) - EVERYDAY, chunk.is_stats_set, chunk.has_dictionary_page, chunk.has_offset_index)
            for chunk in chunks
        ], group.sorting_columns


def rewritten(file, columns, metadata=None, *, replace=False):
    target = file.path.with_name("out.parquet")
    with target.open("wb") as stream:
        rewrite.append(file, stream, columns, metadata or {}, replace=replace)
    return target


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_a_column_more_and_all_else_as_it_is(log, unchanged, table, options):
    file = log(table, **options)
    columns = pl.DataFrame({"advantage": [0.5, None] * 20, "all": [[0.5], []] * 20})
    target = rewritten(file, columns, {"estimator": "grpo"})
    unchanged(file.path, target, ["advantage", "all"])
    (before, order), (after, order_after) = encodings(file.path), encodings(target)
    assert after[: len(before)] == before
    assert order_after == order
    with pq.ParquetFile(target) as parquet:
        assert parquet.read(columns=["advantage", "all"]).to_pydict() == columns.to_dict(as_series=False)
        assert json.loads(parquet.metadata.metadata[b"grpo-adv"]) == {"estimator": "grpo"}
        assert parquet.metadata.metadata[b"run_id"] == b"r-17"
        assert parquet.schema_arrow.field("label").metadata[b"unit"] == b"class"


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_a_column_gives_way_to_another_in_its_place(log, table, options):
    file = log(table, **options)
    new = pl.DataFrame({"reward": [[0.25, None]] * 40, "more": ["x"] * 40})
    target = file.path.with_name("out.parquet")
    with target.open("wb") as stream:
        assert Parquet().append(file, stream, new, {}, replace=True) == "a column of it is replaced"
    with pq.ParquetFile(file.path) as old, pq.ParquetFile(target) as parquet:
        assert parquet.schema_arrow.names == [*table.schema.names, "more"]
        was, now = old.read(), parquet.read()
        assert now["reward"].to_pylist() == [[0.25, None]] * 40
        others = [name for name in table.schema.names if name != "reward"]
        assert now.select(others).equals(was.select(others), check_metadata=False)
        features = json.loads(parquet.metadata.metadata[b"huggingface"])["info"]["features"]
        assert [*features] == [*FEATURES, "more"]
        assert features["reward"]["_type"] == "Sequence"
        for group in range(old.num_row_groups):
            before, after = old.metadata.row_group(group), parquet.metadata.row_group(group)
            assert before.num_rows == after.num_rows
            assert before.column(0).compression == after.column(0).compression


def test_replacing_what_is_not_there_is_adding(log, unchanged, table):
    file = log(table)
    target = file.path.with_name("out.parquet")
    with target.open("wb") as stream:
        assert Parquet().append(file, stream, pl.DataFrame({"new": [1] * 40}), {}, replace=True) is None
    unchanged(file.path, target, ["new"])


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_keep_leaves_rows_out_and_nothing_else(log, unchanged, table, options):
    file = log(table, **options)
    mask = pl.Series([row % 3 == 0 or row < 7 for row in range(40)])
    target = file.path.with_name("kept.parquet")
    with target.open("wb") as stream:
        Parquet().keep(file, stream, mask)
    unchanged(file.path, target, [], rows=mask.to_arrow())
    assert encodings(target)[0] == encodings(file.path)[0]


def test_keep_follows_the_row_groups(log, table):
    file = log(table, row_group_size=10)
    target = io.BytesIO()
    Parquet().keep(file, target, pl.Series([row < 3 or row >= 20 for row in range(40)]))
    written = pq.ParquetFile(pa.BufferReader(target.getvalue())).metadata
    assert [written.row_group(group).num_rows for group in range(written.num_row_groups)] == [3, 10, 10]


def test_keep_nothing_is_a_file_of_no_rows(log, table):
    target = io.BytesIO()
    Parquet().keep(log(table), target, pl.Series([False] * 40))
    written = pq.ParquetFile(pa.BufferReader(target.getvalue()))
    assert written.metadata.num_rows == 0
    assert written.schema_arrow.names == table.schema.names


def test_a_row_group_that_pyarrow_cannot_read_at_once(log, unchanged, table, monkeypatch):
    """Over 2 GiB of text within lists or structs, here only said to be so."""
    file = log(table, row_group_size=25)

    def refuse(*_):
        raise pa.ArrowNotImplementedError("Nested data conversions not implemented for chunked array outputs")

    with monkeypatch.context() as patch:
        patch.setattr(pq.ParquetFile, "read_row_group", refuse)
        target = rewritten(file, pl.DataFrame({"advantage": [0.5] * 40}))
    unchanged(file.path, target, ["advantage"])


def test_what_does_not_fit_is_refused(log, table):
    file = log(table)
    with pytest.raises(InputError, match="changed while it was read"):
        rewritten(file, pl.DataFrame({"advantage": [0.5]}))
    with pytest.raises(InputError, match="changed while it was read"):
        Parquet().keep(file, io.BytesIO(), pl.Series([True]))
    with pytest.raises(OutputError, match="a column reward already"):
        rewritten(file, pl.DataFrame({"reward": [0.5] * 40}))


def test_of_two_columns_of_one_name_none_can_give_way(log):
    file = log(pa.Table.from_arrays([pa.array([1.0]), pa.array([2.0])], names=["r", "r"]))
    with pytest.raises(InputError, match="2 columns have this name"):
        rewritten(file, pl.DataFrame({"r": [0.5]}), replace=True)
