from __future__ import annotations

import math
import re
from collections import Counter
from decimal import Decimal

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from grpo_cli.errors import InputError
from grpo_cli.logs.fields import MISSING, Field
from grpo_cli.logs.format import Kind, Want
from grpo_cli.logs.parquet import Parquet

PARQUET = Parquet()


def read(file, field, kind=Kind.NUMBER):
    records = PARQUET.read(file, {"it": Want(Field.parse(field), kind)}, "error")
    return records.frame["it"], records


@pytest.fixture
def rollouts(log):
    table = pa.table(
        {
            "id": ["a", "a", "b", None, "c"],
            "reward": [1.0, 0.0, None, math.nan, 0.5],
            "doc": [{"id": 7, "text": "x" * 100}] * 4 + [None],
            "metric": [{"pass@k:k=1&n=1": 0.25, "other": "y"}] * 5,
            "score": [[1.0, 2.0], [], None, [None, 4.0], [3.0]],
            "turns": [[{"reward": 1, "text": "t"}, {"reward": 2, "text": "u"}]] * 3 + [[], None],
            "a.b": [1, 2, 3, 4, 5],
            "a": [{"b": "inner"}] * 5,
        }
    )
    return log(table, row_group_size=2)


def test_names_are_the_top_level_columns(rollouts):
    assert PARQUET.names(rollouts) == ["id", "reward", "doc", "metric", "score", "turns", "a.b", "a"]


def test_sample_takes_the_first_rows_and_only_the_named_columns(rollouts):
    assert PARQUET.sample(rollouts, 3, ["reward", "id", "no such"]) == [
        {"id": "a", "reward": 1.0},
        {"id": "a", "reward": 0.0},
        {"id": "b", "reward": None},
    ]
    everything = PARQUET.sample(rollouts, 99)
    assert len(everything) == 5
    assert everything[0]["turns"] == [{"reward": 1, "text": "t"}, {"reward": 2, "text": "u"}]
    assert everything[4]["doc"] is None
    assert PARQUET.sample(rollouts, 2, []) == [{}, {}]


def test_a_plain_number_with_null_and_nan_counted_apart(rollouts):
    found, records = read(rollouts, "reward")
    assert found.dtype == pl.Float64
    assert found.to_list() == [1.0, 0.0, None, None, 0.5]
    assert records.missing == {"it": Counter({"null": 1, "nan": 1})}
    assert records.names == PARQUET.names(rollouts)
    assert records.bad == []


@pytest.mark.parametrize(
    ("field", "expected"),
    [
        ("doc.id", [7.0, 7.0, 7.0, 7.0, None]),
        ('metric."pass@k:k=1&n=1"', [0.25] * 5),
        ("score[sum]", [3.0, None, None, 4.0, 3.0]),
        ("score[mean]", [1.5, None, None, 4.0, 3.0]),
        ("score[min]", [1.0, None, None, 4.0, 3.0]),
        ("score[max]", [2.0, None, None, 4.0, 3.0]),
        ("score[-1]", [2.0, None, None, 4.0, 3.0]),
        ("score[0]", [1.0, None, None, None, 3.0]),
        ("score[1]", [2.0, None, None, 4.0, None]),
        ("reward[sum]", [1.0, 0.0, None, None, 0.5]),
        ("turns[-1].reward", [2.0, 2.0, 2.0, None, None]),
        ("score[]", [[1.0, 2.0], [], None, [None, 4.0], [3.0]]),
        ("turns[].reward", [[1.0, 2.0]] * 3 + [[], None]),
        ("a.b", [1.0, 2.0, 3.0, 4.0, 5.0]),
    ],
)
def test_a_way_into_the_record(rollouts, field, expected):
    found, _ = read(rollouts, field)
    assert found.to_list() == expected
    assert found.dtype == (pl.List(pl.Float64) if "[]" in field else pl.Float64)


def test_missing_is_counted_by_reason(rollouts):
    counts = {
        field: read(rollouts, field)[1].missing["it"]
        for field in ("doc.id", "score[0]", "score[1]", "score[]", "turns[-1].reward", "no", "doc.no", "reward.no[]")
    }
    assert counts == {
        "doc.id": Counter(null=1),
        "score[0]": Counter(absent=1, null=2),  # an empty list has no first element, one list has null there
        "score[1]": Counter(absent=2, null=1),
        "score[]": Counter(null=2),
        "turns[-1].reward": Counter(absent=1, null=1),
        "no": Counter(absent=5),
        "doc.no": Counter(absent=4, null=1),
        "reward.no[]": Counter(absent=4, null=1),
    }


def test_a_column_that_is_not_there_is_null(rollouts):
    assert read(rollouts, "rewrad")[0].to_list() == [None] * 5
    assert read(rollouts, "no[]")[0].dtype == pl.List(pl.Float64)
    assert read(rollouts, "no", Kind.KEY)[0].dtype == pl.String


def test_no_wants_still_count_the_rows(rollouts):
    assert PARQUET.read(rollouts, {}, "error").frame.height == 5


def test_an_infinite_value_is_an_error_with_its_row(log):
    file = log(pa.table({"r": [1.0] * 70_000 + [-math.inf]}))
    with pytest.raises(InputError, match=r"log.parquet:70001: column r: the value is infinite \(-inf\)") as error:
        read(file, "r")
    assert (error.value.line, error.value.column) == (70_001, "r")


def test_an_error_within_a_list_names_the_record(log):
    file = log(pa.table({"s": [[1.0], [], [0.5, math.inf]]}))
    with pytest.raises(InputError, match=r"log.parquet:3: column s\[\]"):
        read(file, "s[]")
    with pytest.raises(InputError, match=r"log.parquet:3: column s\[sum\]: the value is infinite"):
        read(file, "s[sum]")


@pytest.mark.parametrize(
    ("values", "hint"),
    [
        ([None, [1.0]], r"r\[-1\], r\[sum\]"),
        ([None, {"total": 1.0}], r"r\.total"),
        ([None, ["a"]], r"r\[-1\]"),
    ],
)
def test_lists_and_structs_are_no_numbers(log, values, hint):
    with pytest.raises(
        InputError, match=r"log.parquet:2: column r: an? (list|object) where a number is needed"
    ) as error:
        read(log(pa.table({"r": values})), "r")
    assert re.search(hint, error.value.hint)


def test_a_list_of_texts_has_no_sum(log):
    with pytest.raises(InputError, match="does not hold numbers"):
        read(log(pa.table({"r": [["a"]]})), "r[sum]")


def test_a_moment_is_no_number(log):
    with pytest.raises(InputError, match="a timestamp"):
        read(log(pa.table({"r": pa.array([0], pa.timestamp("us"))})), "r")


@pytest.mark.parametrize("nested", [pa.list_(pa.float64()), pa.struct([("a", pa.int64())]), pa.timestamp("us")])
def test_nulls_are_missing_whatever_their_type(log, nested):
    found, records = read(log(pa.table({"r": pa.array([None, None], nested)})), "r")
    assert found.to_list() == [None, None]
    assert records.missing["it"] == Counter(null=2)


def test_numeric_strings_are_read_as_numbers_and_named(log):
    table = pa.table({"r": ["1.0", " 0 ", "True", None, "nan", "-2e1"], "n": [None] * 6, "f": [1.0] * 6})
    file = log(table.set_column(1, "n", pa.array([None] * 6, pa.string())))
    wants = {name: Want(Field.named(name), Kind.NUMBER) for name in ("r", "n", "f")}
    records = PARQUET.read(file, wants, "error")
    assert records.frame["r"].to_list() == [1.0, 0.0, 1.0, None, None, -20.0]
    assert records.missing["r"] == Counter(null=1, nan=1)
    assert records.text_numbers == ["r"]


def test_the_first_string_that_is_no_number_is_named(log):
    file = log(pa.table({"r": ["1", "2", "oops", "also"]}), row_group_size=2)
    with pytest.raises(InputError, match=r'log.parquet:3: column r: string "oops" where a number is needed'):
        read(file, "r")


def test_a_long_text_is_not_shown_in_an_error(log):
    with pytest.raises(InputError, match="a long string where") as error:
        read(log(pa.table({"r": ["secret completion " * 20]})), "r")
    assert "secret" not in str(error.value)


def test_an_infinite_string_is_an_error(log):
    with pytest.raises(InputError, match=r'log.parquet:2: .*infinite \(string "inf"\)'):
        read(log(pa.table({"r": ["1", "inf"]})), "r")


def test_an_unused_entry_of_a_dictionary_is_nobodys_fault(log):
    array = pa.DictionaryArray.from_arrays(pa.array([0, 1, 0], pa.int8()), pa.array(["1", "0", "unused"]))
    assert read(log(pa.table({"r": array})), "r")[0].to_list() == [1.0, 0.0, 1.0]


def test_dictionaries_are_one_by_text_and_may_be_ordered(log):
    ordered = pa.DictionaryArray.from_arrays(pa.array([0, 1, None, 0], pa.int8()), pa.array(["z", "y"]), ordered=True)
    assert read(log(pa.table({"k": ordered})), "k", Kind.KEY)[0].to_list() == ["z", "y", None, "z"]


def test_decimals_are_rounded_once(log):
    values = [Decimal("0.30"), Decimal("0.70"), Decimal("123456789012345678901234567.89"), None]
    for kind in (pa.decimal128(38, 2), pa.decimal256(60, 2)):
        found, _ = read(log(pa.table({"r": pa.array(values, kind)})), "r")
        assert found.to_list() == [0.3, 0.7, 123456789012345678901234567.89, None]


def test_many_row_groups_and_batches_keep_their_order(log):
    rows = 150_000
    table = pa.table({"k": [f"p{row // 8}" for row in range(rows)], "r": pa.array(range(rows), pa.int32())})
    file = log(table, row_group_size=40_000)
    assert read(file, "r")[0].to_list() == [float(row) for row in range(rows)]
    assert read(file, "k", Kind.KEY)[0].to_list() == table["k"].to_pylist()


def test_long_texts_that_repeat_are_held_once(log):
    prompts = [f"{row // 1000} " + "long prompt " * 100 for row in range(60_000)]
    file = log(pa.table({"k": prompts}), row_group_size=30_000)
    before = pa.total_allocated_bytes()
    keys, _ = read(file, "k", Kind.KEY)
    assert pa.total_allocated_bytes() - before < 2_000_000  # 72 MB in the file's rows, 0.07 MB of them distinct
    assert keys.to_list() == prompts


def test_json_is_the_value_as_json_text(log):
    table = pa.table({"m": [[{"role": "user", "n": 1.0}], None], "s": ['{"a": 1}', "x"]})
    assert read(log(table), "m", Kind.JSON)[0].to_list() == ['[{"role": "user", "n": 1.0}]', None]
    assert read(log(table), "s", Kind.JSON)[0].to_list() == ['"{\\"a\\": 1}"', '"x"']


def test_values_come_by_row_number_from_the_row_groups_needed(rollouts):
    fields = [Field.parse(text) for text in ("id", "turns[0].text", "doc.id", "nowhere", "a.b")]
    assert PARQUET.values(rollouts, [0, 3, 4], fields) == [
        ["a", "t", 7, MISSING, 1],
        [None, MISSING, 7, MISSING, 4],
        ["c", None, None, MISSING, 5],
    ]
    assert PARQUET.values(rollouts, [], fields) == []
    assert PARQUET.values(rollouts, [1, 2], [Field.parse("nowhere")]) == [[MISSING], [MISSING]]


def test_values_of_row_groups_that_are_not_needed_are_not_read(log):
    file = log(pa.table({"k": [str(row) * 50 for row in range(40)]}), row_group_size=10, compression="none")
    content = bytearray(file.path.read_bytes())
    with pq.ParquetFile(file.path) as parquet:
        chunk = parquet.metadata.row_group(1).column(0)
    start = chunk.dictionary_page_offset
    content[start : start + chunk.total_compressed_size] = b"\xff" * chunk.total_compressed_size
    file.path.write_bytes(content)
    assert PARQUET.values(file, [5, 25], [Field.named("k")]) == [["5" * 50], ["25" * 50]]
    with pytest.raises(InputError):
        PARQUET.values(file, [15], [Field.named("k")])


def test_a_row_beyond_the_end_is_an_error(rollouts):
    with pytest.raises(InputError, match="no row 100"):
        PARQUET.values(rollouts, [1, 99], [Field.named("id")])


def test_a_record_is_a_row_counted_from_1(rollouts):
    assert PARQUET.locate(rollouts, 0) == 1


def test_an_exact_name_wins_over_the_dotted_path(rollouts, log):
    assert read(rollouts, "a.b", Kind.KEY)[0].to_list() == ["1", "2", "3", "4", "5"]
    assert read(log(pa.table({"a": [{"b": "inner"}]})), "a.b", Kind.KEY)[0].to_list() == ["inner"]
    assert read(log(pa.table({"s[sum]": [4.0], "s": [[1.0]]})), "s[sum]")[0].to_list() == [4.0]


def test_a_map_is_an_object(log):
    scores = pa.array([[("acc", 1.0), ("fmt", 0.5)], [("fmt", 0.0)], None], pa.map_(pa.string(), pa.float64()))
    file = log(pa.table({"scores": scores}))
    found, records = read(file, "scores.acc")
    assert found.to_list() == [1.0, None, None]
    assert records.missing["it"] == Counter(absent=1, null=1)
    assert read(file, "scores", Kind.KEY)[0].to_list() == ['{"acc":1.0,"fmt":0.5}', '{"fmt":0.0}', None]


def test_two_columns_of_one_name_cannot_be_told_apart(log):
    file = log(pa.Table.from_arrays([pa.array([1.0]), pa.array([2.0])], names=["r", "r"]))
    with pytest.raises(InputError, match="2 columns have this name"):
        read(file, "r")


def test_an_empty_file_has_no_rows(log):
    file = log(pa.table({"r": pa.array([], pa.float64()), "k": pa.array([], pa.string())}))
    assert read(file, "r")[0].to_list() == []
    assert read(file, "k[]", Kind.KEY)[0].dtype == pl.List(pl.String)
    assert PARQUET.sample(file, 5) == []
