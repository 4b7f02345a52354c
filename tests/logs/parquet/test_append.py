from __future__ import annotations

import io
import json
import math
import os
import subprocess
import sys
import threading
from decimal import Decimal

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from grpo_cli.errors import InputError, OutputError
from grpo_cli.logs.files.source import LogFile
from grpo_cli.logs.parquet import Parquet, append, compact
from grpo_cli.logs.parquet.footer import MAGIC, footer_of

PARQUET = Parquet()
TABLE = pa.table(
    {
        "prompt_id": pa.array(["a", "a", "b", None] * 25).dictionary_encode(),
        "completion": [f"text {row}" * 5 for row in range(100)],
        "reward": [1.0, 0.0, math.nan, None] * 25,
        "messages": [[{"role": "user", "content": "x"}], [], None, [{"role": "user", "content": None}]] * 25,
        "score": pa.array([Decimal("1.10"), None] * 50, pa.decimal128(10, 2)),
    }
)


def new_columns(rows):
    """One column of each type that is appended, with nulls."""
    numbers = [None if row % 5 == 4 else row * 0.37 for row in range(rows)]
    return pl.DataFrame(
        {
            "advantage": numbers,
            "group_n": [None if row % 7 == 3 else row for row in range(rows)],
            "degenerate": [None if row % 3 == 2 else row % 2 == 0 for row in range(rows)],
            "status": [None if row % 4 == 1 else f"s{row % 3}" for row in range(rows)],
            "advantages": [None if row % 6 == 5 else numbers[: row % 4] for row in range(rows)],
            "names": [["x", None][: row % 3] for row in range(rows)],
        },
        schema={
            "advantage": pl.Float64,
            "group_n": pl.Int64,
            "degenerate": pl.Boolean,
            "status": pl.String,
            "advantages": pl.List(pl.Float64),
            "names": pl.List(pl.String),
        },
    )


def appended(file, columns, metadata=None):
    """The file with the columns, which must have gone in the fast way."""
    target = file.path.with_name("out.parquet")
    with target.open("wb") as stream:
        assert PARQUET.append(file, stream, columns, metadata or {}, replace=False) is None
    return target


def check(file, columns, unchanged):
    """Append, and hold the output to the input byte for byte, and the new columns to what three readers see."""
    target = appended(file, columns, {"estimator": "grpo"})
    before, after = file.path.read_bytes(), target.read_bytes()
    kept = len(before) - 8 - len(footer_of(before))
    assert after[:kept] == before[:kept]
    unchanged(file.path, target, columns.columns)
    with pq.ParquetFile(file.path) as old, pq.ParquetFile(target) as new:
        found = new.read(columns=columns.columns) if old.metadata.num_row_groups else None
        for group in range(old.num_row_groups):
            chunks, more = old.metadata.row_group(group), new.metadata.row_group(group)
            for at in range(chunks.num_columns):
                assert more.column(at).to_dict() == chunks.column(at).to_dict()
            sizes = [more.column(at).total_uncompressed_size for at in range(more.num_columns)]
            assert more.total_byte_size - chunks.total_byte_size == sum(sizes[chunks.num_columns :])
        assert json.loads(new.metadata.metadata[b"grpo-adv"]) == {"estimator": "grpo"}
    if found is not None:
        assert found.to_pydict() == columns.to_dict(as_series=False)
    assert pl.read_parquet(target, columns=columns.columns).equals(columns)
    return target


WRITERS = {
    "plain": {},
    "row groups of one row": {"row_group_size": 1},
    "uneven row groups": {"row_group_size": 33},
    "page version 2": {"data_page_version": "2.0"},
    "small pages": {"data_page_size": 64, "write_batch_size": 8},
    "page index": {"write_page_index": True, "row_group_size": 40, "data_page_size": 64, "write_batch_size": 8},
    "no dictionaries": {"use_dictionary": False},
    "no statistics": {"write_statistics": False},
    "no Arrow schema": {"store_schema": False},
    "checksums": {"write_page_checksum": True},
    "decimals as integers": {"store_decimal_as_integer": True},
    "legacy list names": {"use_compliant_nested_type": False},
    "byte stream split": {"use_dictionary": False, "column_encoding": {"reward": "BYTE_STREAM_SPLIT"}},
    "sorted": {"sorting_columns": [pq.SortingColumn(1)]},
    "a codec a column": {"compression": {"completion": "gzip", "reward": "snappy"}},
    **{codec: {"compression": codec} for codec in ("none", "snappy", "gzip", "brotli", "zstd", "lz4")},
}


@pytest.mark.parametrize("options", WRITERS.values(), ids=WRITERS)
def test_what_is_there_stays_as_it_is(log, unchanged, options):
    check(log(TABLE, **options), new_columns(100), unchanged)


def test_bloom_filters_stay(log, unchanged):
    options = {"bloom_filter_options": {"completion": True}}
    try:
        file = log(TABLE, **options)
    except TypeError:
        pytest.skip("this pyarrow writes no bloom filters")
    target = check(file, new_columns(100), unchanged)
    for path in (file.path, target):
        content = path.read_bytes()
        chunk = compact.read_struct(next(compact.elements(_first_group(content)[1])))[0]
        assert chunk is not None
    assert 14 in _meta(target.read_bytes(), 1)
    assert _meta(target.read_bytes(), 1)[14] == _meta(file.path.read_bytes(), 1)[14]


def _first_group(content):
    return compact.first_of_list(footer_of(content), 4)


def _meta(content, at):
    chunk, _ = compact.read_struct(list(compact.elements(_first_group(content)[1]))[at])
    return compact.read_struct(chunk[3].raw)[0]


def test_the_page_index_of_a_new_column_points_at_its_pages(log):
    columns = pl.DataFrame({"advantage": [row * 0.37 for row in range(3000)]})
    file = log(pa.table({"k": list(range(3000))}), write_page_index=True, row_group_size=1700)
    content = appended(file, columns).read_bytes()
    footer, _ = compact.read_struct(footer_of(content), lists={4: {1: {}}})
    for group in footer[4].structs:
        chunk = group[1].structs[1]
        start, size = compact.integer(chunk[4]), compact.integer(chunk[5])
        index, _ = compact.read_struct(content[start : start + size], lists={1: {}})
        meta, _ = compact.read_struct(chunk[3].raw)
        first = index[1].structs[0]
        assert compact.integer(first[1]) == compact.integer(meta[9])
        start, size = compact.integer(chunk[6]), compact.integer(chunk[7])
        column_index, _ = compact.read_struct(content[start : start + size])
        assert set(column_index) >= {1, 2, 3}  # null_pages, min_values, max_values


def test_a_field_of_the_footer_that_nobody_knows_survives(log):
    content = log(TABLE).path.read_bytes()
    footer, _ = compact.read_struct(footer_of(content), lists={4: {}})
    strange = compact.binary(b"from the future \xff")
    footer[77] = strange
    footer[4].structs[0][50] = strange
    raw = compact.write_struct(footer)
    body = content[: len(content) - 8 - len(footer_of(content))]
    file = log(body + raw + len(raw).to_bytes(4, "little") + MAGIC, "future.parquet")
    target = appended(file, new_columns(100))
    after, _ = compact.read_struct(footer_of(target.read_bytes()), lists={4: {}})
    assert after[77] == after[4].structs[0][50] == strange
    with pq.ParquetFile(target) as parquet:
        assert parquet.read(columns=["advantage"])["advantage"].to_pylist() == new_columns(100)["advantage"].to_list()


@pytest.mark.parametrize("rows", [0, 1])
def test_small_and_empty_files(log, unchanged, rows):
    check(log(TABLE.slice(0, rows)), new_columns(rows), unchanged)


def test_a_file_without_row_groups(tmp_path, unchanged):
    path = tmp_path / "none.parquet"
    pq.ParquetWriter(path, TABLE.schema).close()
    file = LogFile(path, "none.parquet", "parquet", None, path)
    check(file, new_columns(0), unchanged)


def test_an_empty_row_group_among_others(tmp_path, unchanged):
    path = tmp_path / "gap.parquet"
    with pq.ParquetWriter(path, TABLE.schema) as writer:
        for rows in (3, 0, 0, 5, 5, 1):
            writer.write_table(TABLE.slice(0, rows), row_group_size=max(rows, 1))
    file = LogFile(path, "gap.parquet", "parquet", None, path)
    check(file, new_columns(14), unchanged)


def test_append_upon_append(log, unchanged):
    first = new_columns(100).select("advantage", "names")
    target = appended(log(TABLE, row_group_size=30), first, {"estimator": "grpo"})
    again = LogFile(target, target.name, "parquet", None, target)
    last = target.with_name("last.parquet")
    with last.open("wb") as stream:
        columns = first.rename({"advantage": "advantage_rloo", "names": "more"})
        assert PARQUET.append(again, stream, columns, {"estimator": "rloo"}, replace=False) is None
    unchanged(target, last, columns.columns)
    with pq.ParquetFile(last) as parquet:
        assert json.loads(parquet.metadata.metadata[b"grpo-adv-1"]) == {"estimator": "grpo"}


# Other writers


def test_files_by_polars(tmp_path, unchanged):
    frame = pl.DataFrame(
        {"k": ["a", "b"] * 50, "c": pl.Series(["x", "y"] * 50, dtype=pl.Categorical), "r": [0.5] * 100}
    )
    for codec in ("zstd", "lz4", "snappy", "uncompressed"):
        path = tmp_path / f"{codec}.parquet"
        frame.write_parquet(path, compression=codec, row_group_size=30)
        file = LogFile(path, path.name, "parquet", None, path)
        target = check(file, new_columns(100), unchanged)
        assert pl.read_parquet(target).select(frame.columns).equals(frame)


def test_files_by_duckdb(tmp_path, unchanged):
    duckdb = pytest.importorskip("duckdb")
    for options in ("codec zstd", "codec snappy, parquet_version v2", "codec uncompressed, row_group_size 2048"):
        path, query = (
            tmp_path / "duck.parquet",
            "select i, i // 8 as k, i * 0.5 as r, [i, null] as l from range(5000) t(i)",
        )
        duckdb.sql(f"copy ({query}) to '{path}' (format parquet, {options})")
        file = LogFile(path, path.name, "parquet", None, path)
        target = check(file, new_columns(5000), unchanged)
        old, new = (duckdb.sql(f"from '{name}'").fetchall() for name in (path, target))
        assert [row[:4] for row in new] == old
        assert [row[4] for row in new] == new_columns(5000)["advantage"].to_list()
        assert [row[8] for row in new] == new_columns(5000)["advantages"].to_list()


def test_files_by_pandas(tmp_path, unchanged):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"k": ["a", "b"] * 50, "r": [0.5, math.nan] * 50}, index=range(100, 200))
    frame["c"] = frame["k"].astype("category")
    for index, made in (("range", frame), ("column", frame.set_index(frame["k"] + "i"))):
        path = tmp_path / f"{index}.parquet"
        made.to_parquet(path)
        file = LogFile(path, path.name, "parquet", None, path)
        target = check(file, new_columns(100), unchanged)
        again = pandas.read_parquet(target)
        pandas.testing.assert_frame_equal(again[made.columns], made)
        assert list(again.columns) == [*made.columns, *new_columns(0).columns]
        assert again["advantage"].dtype == "float64"


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # fastparquet leaves files open
def test_files_by_fastparquet(tmp_path, unchanged):
    fastparquet = pytest.importorskip("fastparquet")
    pandas = pytest.importorskip("pandas")
    path = tmp_path / "fast.parquet"
    frame = pandas.DataFrame({"k": [1, 2] * 50, "r": [0.5, 1.5] * 50, "b": [True, False] * 50})
    fastparquet.write(str(path), frame, row_group_offsets=[0, 40, 80], compression="GZIP")
    file = LogFile(path, path.name, "parquet", None, path)
    columns = new_columns(100).select("advantage", "group_n", "degenerate", "status")
    target = check(file, columns, unchanged)
    again = fastparquet.ParquetFile(str(target)).to_pandas()
    pandas.testing.assert_frame_equal(again[["k", "r", "b"]], frame)
    for name in columns.columns:
        found = [None if pandas.isna(value) else value for value in again[name]]
        assert found == columns[name].to_list()


# Where the output goes


def test_a_pipe_gets_the_same_bytes(log):
    file = log(TABLE, row_group_size=30)
    expected = appended(file, new_columns(100)).read_bytes()
    reader, writer = os.pipe()
    found = []

    def drain():
        with open(reader, "rb") as stream:  # noqa: PTH123 - a descriptor
            found.append(stream.read())

    thread = threading.Thread(target=drain)
    thread.start()
    with open(writer, "wb") as stream:  # noqa: PTH123 - a descriptor
        PARQUET.append(file, stream, new_columns(100), {}, replace=False)
    thread.join()
    assert found == [expected]


def test_memory_and_append_mode_get_the_same_bytes(log):
    file = log(TABLE)
    target = appended(file, new_columns(100))
    memory = io.BytesIO()
    PARQUET.append(file, memory, new_columns(100), {}, replace=False)
    assert memory.getvalue() == target.read_bytes()
    with target.with_name("mode.parquet").open("ab") as stream:
        PARQUET.append(file, stream, new_columns(100), {}, replace=False)
    assert target.with_name("mode.parquet").read_bytes() == target.read_bytes()


def test_a_kernel_that_cannot_copy_is_helped_out(log, monkeypatch):
    import errno

    file = log(TABLE)
    expected = appended(file, new_columns(100)).read_bytes()
    real, calls = os.copy_file_range, []

    def reluctant(source, target, count, offset_src):
        calls.append(count)
        if len(calls) > 1:
            raise OSError(errno.EXDEV, "other disk")
        return real(source, target, min(count, 1000), offset_src=offset_src)

    monkeypatch.setattr(os, "copy_file_range", reluctant)
    assert appended(file, new_columns(100)).read_bytes() == expected
    assert len(calls) == 2


def test_an_error_of_the_target_is_not_one_of_the_file(log):
    class Full(io.BytesIO):
        def write(self, data):  # noqa: ARG002 - it goes nowhere
            raise OSError(28, "No space left on device")

    file = log(TABLE)
    for work in (
        lambda: PARQUET.append(file, Full(), new_columns(100), {}, replace=False),
        lambda: PARQUET.append(file, Full(), pl.DataFrame({"reward": [1.0] * 100}), {}, replace=True),
        lambda: PARQUET.keep(file, Full(), pl.Series([True] * 100)),
    ):
        with pytest.raises(OSError, match="No space left"):
            work()


# Where it cannot be done


def test_a_file_that_changed_is_refused(log):
    with pytest.raises(InputError, match="changed while it was read"):
        PARQUET.append(log(TABLE), io.BytesIO(), new_columns(99), {}, replace=False)


def test_a_name_that_is_taken_is_refused(log):
    target = io.BytesIO()
    with pytest.raises(OutputError, match="a column reward already"):
        PARQUET.append(log(TABLE), target, pl.DataFrame({"reward": [1.0] * 100}), {}, replace=False)
    assert target.getvalue() == b""


def test_a_footer_of_an_unknown_kind_is_written_anew_and_said(log, unchanged):
    content = log(TABLE).path.read_bytes()
    footer, _ = compact.read_struct(footer_of(content))
    footer[8] = compact.Value(compact.STRUCT, b"\x1c\x00\x00")  # encryption_algorithm: AES_GCM_V1
    raw = compact.write_struct(dict(sorted(footer.items())))
    body = content[: len(content) - 8 - len(footer_of(content))]
    signed = log(body + raw + len(raw).to_bytes(4, "little") + MAGIC, "signed.parquet")
    target = io.BytesIO()
    assert append.append(signed, target, new_columns(100), {}) == "its footer is signed"
    assert target.getvalue() == b""

    file = log(content)
    real = append.join
    try:
        append.join = lambda *_: b"\x00"
        out = file.path.with_name("out.parquet")
        with out.open("wb") as stream:
            assert (
                PARQUET.append(file, stream, new_columns(100), {}, replace=False) == "its footer is of an unknown kind"
            )
    finally:
        append.join = real
    unchanged(file.path, out, new_columns(0).columns)


# Many files


TYPES = {
    pa.int8(): st.integers(-128, 127),
    pa.uint64(): st.integers(0, 2**64 - 1),
    pa.float16(): st.floats(width=16),
    pa.float32(): st.floats(width=32),
    pa.float64(): st.floats(),
    pa.bool_(): st.booleans(),
    pa.string(): st.text(st.characters(exclude_categories=["Cs"]), max_size=9),
    pa.large_binary(): st.binary(max_size=9),
    pa.binary(3): st.binary(min_size=3, max_size=3),
    pa.decimal128(9, 2): st.integers(-(10**8), 10**8).map(lambda value: Decimal(value).scaleb(-2)),
    pa.date32(): st.dates(),
    pa.timestamp("us", "UTC"): st.integers(0, 2**50),
    pa.duration("s"): st.integers(0, 2**30),
    pa.dictionary(pa.int32(), pa.string()): st.sampled_from(["a", "b", ""]),
    pa.list_(pa.float64()): st.lists(st.none() | st.floats(), max_size=3),
    pa.list_(pa.struct([("a", pa.int32()), ("b", pa.string())])): st.lists(
        st.fixed_dictionaries({"a": st.none() | st.integers(0, 9), "b": st.none() | st.text("xyz", max_size=3)}),
        max_size=3,
    ),
    pa.map_(pa.string(), pa.int64()): st.lists(st.tuples(st.text("xyz", max_size=3), st.integers(0, 9)), max_size=3),
    pa.null(): st.none(),
}


@st.composite
def logs(draw):
    """A table of any types, and options of the writer."""
    rows = draw(st.integers(0, 40))
    kinds = draw(st.lists(st.sampled_from(list(TYPES)), min_size=1, max_size=6))
    names = draw(
        st.lists(st.text('abc.é"[]= ', min_size=1, max_size=5), min_size=len(kinds), max_size=len(kinds), unique=True)
    )
    columns = [pa.array(draw(st.lists(st.none() | TYPES[kind], min_size=rows, max_size=rows)), kind) for kind in kinds]
    flat = not any(pa.types.is_nested(kind) or pa.types.is_dictionary(kind) for kind in kinds)
    fields = [
        pa.field(name, kind, metadata=draw(st.sampled_from([None, {"unit": "x"}])))
        for name, kind in zip(names, kinds, strict=True)
    ]
    metadata = draw(st.sampled_from([None, {"run": "7"}]))
    options = {
        "compression": draw(st.sampled_from(["none", "snappy", "gzip", "zstd", "lz4", "brotli"])),
        "row_group_size": draw(st.integers(1, 40)),
        "data_page_version": draw(st.sampled_from(["1.0", "2.0"])),
        "data_page_size": draw(st.sampled_from([16, 1 << 20])),
        "write_batch_size": draw(st.sampled_from([1, 1024])),
        "use_dictionary": draw(st.booleans()),
        "write_statistics": draw(st.booleans()),
        "write_page_index": draw(st.booleans()),
        "write_page_checksum": draw(st.booleans()),
        "store_schema": draw(st.booleans()) or not flat,
        "version": draw(st.sampled_from(["1.0", "2.4", "2.6"])),
    }
    return pa.Table.from_arrays(columns, schema=pa.schema(fields, metadata=metadata)), options


def survives(folder, made, unchanged):
    table, options = made
    path = folder / "log.parquet"
    pq.write_table(table, path, **options)
    file = LogFile(path, path.name, "parquet", None, path)
    columns = new_columns(len(table))
    target = check(file, columns, unchanged)
    try:
        old = pl.read_parquet(path)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
        pass  # there are types that Polars does not know
    else:
        assert pl.read_parquet(target).select(old.columns).equals(old)
    half = pl.Series([row % 2 == 0 for row in range(len(table))], dtype=pl.Boolean)
    kept = folder / "kept.parquet"
    with kept.open("wb") as stream:
        PARQUET.keep(file, stream, half)
    unchanged(path, kept, [], rows=half.to_arrow())


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(made=logs())
def test_any_log_survives(tmp_path_factory, unchanged, made):
    survives(tmp_path_factory.mktemp("any"), made, unchanged)


@pytest.mark.slow
@settings(max_examples=500, deadline=None, suppress_health_check=list(HealthCheck))
@given(made=logs())
def test_five_hundred_logs_survive(tmp_path_factory, unchanged, made):
    survives(tmp_path_factory.mktemp("many"), made, unchanged)


@pytest.mark.slow
def test_a_hundred_thousand_column_chunks_are_no_trouble(tmp_path):
    import time

    table = pa.table({f"c{at}": range(20) for at in range(1000)})
    path = tmp_path / "wide.parquet"
    pq.write_table(pa.concat_tables([table] * 100), path, row_group_size=20)
    file = LogFile(path, path.name, "parquet", None, path)
    began = time.process_time()
    target = appended(file, new_columns(2000))
    assert time.process_time() - began < 10
    with pq.ParquetFile(target) as parquet:
        assert parquet.metadata.num_columns == 1006
        assert parquet.read(columns=["advantage"])["advantage"].to_pylist() == new_columns(2000)["advantage"].to_list()


def test_pyarrow_is_loaded_only_when_a_file_is_opened():
    code = "import sys, grpo_cli.logs.parquet as p; p.Parquet(); assert not {'pyarrow', 'polars'} & set(sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
