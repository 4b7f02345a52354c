"""What is carried along stays as it was: JSONL byte for byte, Parquet in every value, type, codec and entry."""

from __future__ import annotations

import gzip
import json
import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

SPLICED = re.compile(rb', "advantage": (?:-?[0-9.e+-]+|null)(?=[ \t]*\}[ \t]*\r?$)')
QUICK = settings(
    max_examples=20,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)

# A field that nobody reads may hold anything that JSON can spell, and in any spelling.
odd_values = st.sampled_from(
    ["1.0", "1e5", "1E+2", "-0", "0.10", "123456789012345678901234567890", '"\\u00e9\\/\\ud83d"', '"é😀"', "NaN",
     "null", "-Infinity", '{"b":1,"a":[ ]}', '{ "x" : {"advantages": 2} }', "[ 1 , 2]", '"}"', "true", '"\\\\"',
     '"{\\"advantage\\": 1}"', '"\u2028"', '""', '"a\\\\\\"}"']
)  # fmt: skip
spaces = st.sampled_from(["", "", " ", "  ", "\t"])
names = st.sampled_from(["text", "info", "", "rewards", "prompt", "x y", "\\u0061b", "日本", "{", "advantages"])


@st.composite
def lines(draw):
    fields = [
        ("prompt_id", draw(st.sampled_from(['"a"', '"b"', "7", '"c}"']))),
        ("reward", draw(st.sampled_from(["1", "0", "0.5", "1e-3", "null", "true", "-2.50", "NaN"]))),
    ]
    extra = draw(st.lists(st.tuples(names, odd_values), max_size=4, unique_by=lambda pair: pair[0]))
    fields = draw(st.permutations(fields + extra))
    space = [draw(spaces) for _ in range(4)]
    inside = f"{space[1]},{space[0]}".join(f'"{name}"{space[2]}:{space[3]}{value}' for name, value in fields)
    return f"{space[0]}{{{space[1]}{inside}{space[2]}}}{space[3]}"


@st.composite
def logs(draw):
    kept = draw(st.lists(lines(), min_size=1, max_size=8))
    end = draw(st.sampled_from(["\n", "\r\n"]))
    blank = [draw(st.sampled_from(["", "", "", "\n", "\r\n", " \t\n"])) for _ in kept]
    text = "".join(empty + line + end for empty, line in zip(blank, kept, strict=True))
    if draw(st.booleans()):
        text = text.removesuffix(end)
    return (b"\xef\xbb\xbf" if draw(st.booleans()) else b"") + text.encode("utf-8", "surrogatepass")


def without_the_field(data: bytes) -> bytes:
    return b"\n".join(SPLICED.sub(b"", line) for line in data.split(b"\n"))


def zstd(data: bytes) -> bytes:
    import pyarrow as pa

    return pa.compress(data, codec="zstd", asbytes=True)


def unzstd(data: bytes) -> bytes:
    import pyarrow as pa

    with pa.CompressedInputStream(pa.BufferReader(data), "zstd") as stream:
        return stream.read()


@QUICK
@given(data=logs())
def test_a_jsonl_log_minus_the_field_is_the_log(grpo, here, data):
    (here / "x.jsonl").write_bytes(data)
    (here / "x.jsonl.gz").write_bytes(gzip.compress(data))
    (here / "x.jsonl.zst").write_bytes(zstd(data))
    options = ("-q", "--force", "-g", "prompt_id", "-r", "reward")
    plain = grpo("compute", "x.jsonl", "-o", "-", *options)
    assert plain.code == 0, plain.err
    assert without_the_field(plain.raw) == data
    assert plain.raw.count(b'"advantage"') == data.count(b'"prompt_id"')
    assert grpo("compute", "-", *options, stdin=data).raw == plain.raw
    for name, unpack in (("x.jsonl", bytes), ("x.jsonl.gz", gzip.decompress), ("x.jsonl.zst", unzstd)):
        assert grpo("compute", name, *options).code == 0
        made = here / name.replace("x.", "x.advantages.")
        assert unpack(made.read_bytes()) == plain.raw
    assert (here / "x.jsonl").read_bytes() == data
    assert grpo("compute", "x.jsonl", "--in-place", *options).code == 0
    assert (here / "x.jsonl").read_bytes() == plain.raw


@QUICK
@given(data=st.lists(logs(), min_size=2, max_size=3))
def test_several_logs_follow_one_another_line_by_line(grpo, here, data):
    files = [f"{at}.jsonl" for at in range(len(data))]
    for name, content in zip(files, data, strict=True):
        (here / name).write_bytes(content)
    ran = grpo("compute", *files, "-o", "-", "-q", "-g", "prompt_id", "-r", "reward")
    assert ran.code == 0, ran.err
    joined = b"".join(content if content.endswith(b"\n") else content + b"\n" for content in data)
    assert without_the_field(ran.raw) == joined
    assert grpo("compute", *files, "-o", "y/", "-q", "-f", "-g", "prompt_id", "-r", "reward").code == 0
    for name, content in zip(files, data, strict=True):
        assert without_the_field((here / "y" / name).read_bytes()) == content


@pytest.mark.parametrize("size", [3, 2000])
def test_large_blocks_and_long_lines(grpo, here, size):
    records = [{"prompt_id": at // 4, "reward": at % 3, "text": "x" * (size * (at % 7))} for at in range(400)]
    data = b"\r\n".join(json.dumps(record).encode() for record in records)
    (here / "x.jsonl").write_bytes(data)
    ran = grpo("compute", "x.jsonl", "-o", "-", "-q")
    assert without_the_field(ran.raw) == data


def test_skipped_lines_stay_as_they_are(grpo, here):
    good = b'{"prompt_id": "a", "reward": 1}\n'
    bad = [
        b"ruff check --fix .\n",
        b"[1]\n",
        b'"text"\n',
        b'{"prompt_id": "a"\n',
        b"\xff\xfe{}\n",
        b'{"prompt_id": "a", "rew',
    ]
    data = good + bad[0] + good + b"".join(bad[1:])
    (here / "x.jsonl").write_bytes(data)
    grpo("compute", "x.jsonl", "-o", "-").refused("x.jsonl:2: ", "5 more bad lines")
    ran = grpo("compute", "x.jsonl", "-o", "-", "--on-bad-line", "skip")
    assert ran.code == 0
    assert without_the_field(ran.raw) == data
    assert ran.raw.count(b"advantage") == 2
    assert "skipped 6 bad lines (lines 2, 4, 5, 6, 7, ...)" in ran.err


def parquet_files():
    """Tables of every type, in every codec and shape that matters."""
    import decimal

    import pyarrow as pa

    n = 50
    key = pa.array([f"p{at // 4}" for at in range(n)])
    reward = pa.array([None if at % 9 == 8 else at % 3 / 2 for at in range(n)])
    nested = pa.array([[{"role": "user", "content": f"c{at}"}] * (at % 3) if at % 5 else None for at in range(n)])
    extra = {
        "i": pa.array(range(n), pa.int8()),
        "d": pa.array([decimal.Decimal(at) / 100 for at in range(n)], pa.decimal128(10, 2)),
        "cat": pa.array([f"k{at % 3}" for at in range(n)]).dictionary_encode(),
        "t": pa.array(range(n), pa.timestamp("us", tz="UTC")),
        "null": pa.nulls(n),
        "bytes": pa.array([bytes([at]) for at in range(n)], pa.binary()),
        "map": pa.array([[("k", at)] for at in range(n)], pa.map_(pa.string(), pa.int32())),
        "float": pa.array([float("nan") if at % 4 else -0.0 for at in range(n)], pa.float32()),
        "big": pa.array(["x" * at for at in range(n)], pa.large_string()),
    }
    wide = pa.table({"prompt_id": key, "reward": reward, "messages": nested, **extra})
    plain = pa.table({"prompt_id": key, "reward": reward})
    fields = [field.with_metadata({"unit": "class"}) if field.name == "i" else field for field in wide.schema]
    told = wide.cast(pa.schema(fields, metadata={"run_id": "r-17", "note": "ünï"}))
    some_snappy = dict.fromkeys(["i", "d", "cat", "t", "null", "bytes", "float"], "snappy")
    return {
        "told": (told, {}),
        "snappy": (wide, {"compression": "snappy", "row_group_size": 7}),
        "zstd": (wide, {"compression": "zstd", "row_group_size": 1000, "version": "1.0", "data_page_version": "2.0"}),
        "mixed": (wide, {"compression": {"prompt_id": "gzip", "reward": "none", "big": "zstd"} | some_snappy,
                         "use_dictionary": ["big"], "write_statistics": False}),
        "indexed": (plain, {"write_page_index": True, "row_group_size": 13, "use_dictionary": False}),
        "schemaless": (plain, {"store_schema": False, "compression": "lz4"}),
        "renamed": (plain.rename_columns(["prompt_id", "reward"]).append_column("a.b", key), {"data_page_size": 64}),
    }  # fmt: skip


@pytest.mark.parametrize("name", ["told", "snappy", "zstd", "mixed", "indexed", "schemaless", "renamed"])
@pytest.mark.parametrize("how", ["beside", "in-place", "stdout"])
def test_a_parquet_log_minus_the_column_is_the_log(grpo, parquet, here, name, how):
    import pyarrow as pa
    import pyarrow.parquet as pq

    table, options = parquet_files()[name]
    path = here / parquet(table, **options)
    original = path.read_bytes()
    where = {"beside": (), "in-place": ("--in-place",), "stdout": ("-o", "-")}[how]
    ran = grpo("compute", "x.parquet", "-q", *where)
    assert ran.code == 0, ran.err
    made = {"beside": here / "x.advantages.parquet", "in-place": path, "stdout": here / "out.parquet"}[how]
    if how == "stdout":
        made.write_bytes(ran.raw)
    (here / "old.parquet").write_bytes(original)
    old, new = pq.ParquetFile(here / "old.parquet"), pq.ParquetFile(made)

    assert new.schema_arrow.names == [*old.schema_arrow.names, "advantage"]
    assert new.schema_arrow.field("advantage").type == pa.float64()
    for field in old.schema_arrow:
        assert new.schema_arrow.field(field.name).equals(field, check_metadata=True), field.name
    assert repr(new.read().drop(["advantage"]).to_pylist()) == repr(old.read().to_pylist())
    before, after = old.metadata.metadata or {}, new.metadata.metadata
    for key, value in before.items():
        assert key == b"ARROW:schema" or after[key] == value
    assert set(after) - set(before) == {b"grpo-adv"}
    embedded = (new.schema_arrow.metadata or {}).items()
    assert {key: value for key, value in embedded if key != b"grpo-adv"} == (old.schema_arrow.metadata or {})

    assert new.metadata.num_row_groups == old.metadata.num_row_groups
    assert new.metadata.format_version == old.metadata.format_version
    for group in range(old.metadata.num_row_groups):
        was, now = old.metadata.row_group(group), new.metadata.row_group(group)
        assert now.num_rows == was.num_rows
        for column in range(was.num_columns):
            a, b = was.column(column), now.column(column)
            assert (b.path_in_schema, b.compression, b.physical_type) == (
                a.path_in_schema,
                a.compression,
                a.physical_type,
            )
            assert b.has_dictionary_page == a.has_dictionary_page
            assert b.is_stats_set == a.is_stats_set
            assert b.has_column_index == a.has_column_index
    advantages = new.read(["advantage"])["advantage"].to_pylist()
    missing = [value is None for value in old.read(["reward"])["reward"].to_pylist()]
    assert [value is None for value in advantages] == missing


def test_parquet_carries_group_statistics_too(grpo, parquet, here):
    import pyarrow.parquet as pq

    path = parquet({"prompt_id": ["a", "a", "b"], "reward": [1.0, 0.0, None]})
    assert grpo("compute", path, "-q", "--with-group-stats").code == 0
    rows = pq.read_table(here / "x.advantages.parquet").to_pylist()
    assert [row["group_n"] for row in rows] == [2, 2, 1]
    assert [row["group_mean"] for row in rows] == [0.5, 0.5, None]
    assert [row["group_status"] for row in rows] == ["mixed", "mixed", "unscored"]


def test_a_column_is_replaced_only_by_force(grpo, parquet, log, here, untouched):
    import pyarrow.parquet as pq

    path = parquet({"prompt_id": ["a", "a"], "advantage": [9.0, 9.0], "reward": [1.0, 0.0], "z": [1, 2]})
    unchanged = untouched()
    grpo("compute", path, "--in-place", "--column", "advantage", "-q").refused("advantage")
    unchanged()
    ran = grpo("compute", path, "--in-place")
    assert "advantage_grpo" in ran.err
    assert pq.read_table(here / path)["advantage"].to_pylist() == [9.0, 9.0]
    assert grpo("compute", path, "--in-place", "--column", "advantage", "--force", "-q").code == 0
    table = pq.read_table(here / path)
    assert table["advantage"].to_pylist() == [1.0, -1.0]
    assert table["z"].to_pylist() == [1, 2]
    line = '{"advantage":9,"prompt_id":"a", "reward":1 }'
    lines = log(line, '{"prompt_id":"a","reward":0}')
    grpo("compute", lines, "--in-place", "--column", "advantage", "-q").refused("advantage")
    ran = grpo("compute", lines, "-o", "-", "--column", "advantage", "--force", "-q")
    assert ran.raw.splitlines()[0] == b'{"advantage":1.0,"prompt_id":"a", "reward":1 }'


@pytest.mark.parametrize("where", [("--in-place",), (), ("-o", "made/")])
@pytest.mark.parametrize("suffix", [".gz", ".zst"])
def test_compressed_in_compressed_out(grpo, here, suffix, where):
    text = b'{"prompt_id": "a", "reward": 1}\n{"prompt_id": "a", "reward": 0}'
    pack, unpack = {".gz": (gzip.compress, gzip.decompress), ".zst": (zstd, unzstd)}[suffix]
    path = here / f"x.jsonl{suffix}"
    path.write_bytes(pack(text))
    assert grpo("compute", path.name, "-q", *where).code == 0
    made = {"--in-place": path, "-o": here / "made" / path.name}.get(
        "".join(where[:1]), here / f"x.advantages.jsonl{suffix}"
    )
    assert without_the_field(unpack(made.read_bytes())) == text


def test_several_gzip_members_and_what_follows_them(grpo, here, untouched):
    text = b'{"prompt_id": "a", "reward": 1}\n{"prompt_id": "a", "reward": 0}\n'
    whole = gzip.compress(text)
    (here / "x.jsonl.gz").write_bytes(whole + gzip.compress(b"") + whole + bytes(64))
    assert len(grpo("compute", "x.jsonl.gz", "-o", "-").records) == 4
    for damaged in (whole[:-3], whole[:12], whole + b"junk", whole[:-8] + bytes(8), whole + whole[:20]):
        (here / "x.jsonl.gz").write_bytes(damaged)
        unchanged = untouched()
        grpo("compute", "x.jsonl.gz").refused("x.jsonl.gz: ")
        unchanged()


def test_no_plain_text_under_a_name_that_says_compressed(grpo, here):
    text = b'{"prompt_id": "a", "reward": 1}\n{"prompt_id": "a", "reward": 0}\n'
    (here / "liar.jsonl.gz").write_bytes(text)
    assert grpo("compute", "liar.jsonl.gz", "-q").code == 0
    assert without_the_field(gzip.decompress((here / "liar.advantages.jsonl.gz").read_bytes())) == text
    assert grpo("compute", "liar.jsonl.gz", "-o", "made/", "-q").code == 0
    assert (here / "made/liar.jsonl.gz").read_bytes()[:2] == b"\x1f\x8b"
    assert grpo("compute", "liar.jsonl.gz", "-o", "y.zst", "-q").code == 0
    assert without_the_field(unzstd((here / "y.zst").read_bytes())) == text
    assert grpo("compute", "liar.jsonl.gz", "--in-place", "-q").code == 0
    assert without_the_field((here / "liar.jsonl.gz").read_bytes()) == text


def test_parquet_is_not_packed_twice(grpo, parquet):
    grpo("compute", parquet({"prompt_id": ["a"], "reward": [1]}), "-o", "y.gz").refused("Parquet packs itself")


def test_a_fault_in_any_file_leaves_all_files(grpo, log, untouched):
    log(a=[1, 0], name="d/1.jsonl")
    log(a=[1, 0], name="d/2.jsonl")
    log('{"prompt_id": "a", "reward": 1}', '{"prompt_id": "a", "reward": "n/a"}', name="d/3.jsonl")
    unchanged = untouched()
    grpo("compute", "d", "--in-place").refused("d/3.jsonl:2: ")
    grpo("compute", "d", "-o", "made/").refused("d/3.jsonl:2: ")
    unchanged()


@pytest.mark.parametrize("late", [150, 1500])
def test_what_comes_late_is_read_all_the_same(grpo, log, late):
    early = [{"prompt_id": at // 4, "reward": 1} for at in range(late)]
    rows = [
        *early,
        {"prompt_id": "z", "reward": 0.5, "note": "x"},
        {"prompt_id": "z", "reward": None},
        {"prompt_id": "z"},
    ]
    ran = grpo("compute", log(*rows), "-o", "-", "-q")
    assert ran.code == 0, ran.err
    assert ran.advantages == [0.0] * (late + 1) + [None, None]
    assert [{k: v for k, v in record.items() if k != "advantage"} for record in ran.records] == rows
    grpo("compute", log(*early, {"reward": 1}), "-o", "-", "-q").refused(f"x.jsonl:{late + 1}: no prompt_id")
    grpo("compute", log(*early, {"prompt_id": "z", "reward": {}}), "-o", "-", "-q").refused(f"x.jsonl:{late + 1}: ")
