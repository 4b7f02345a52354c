from __future__ import annotations

import math
from collections import Counter

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grpo_cli.logs.fields import Field
from grpo_cli.logs.format import Kind, Want
from grpo_cli.logs.parquet import Parquet


def numbers(log, array, field="r"):
    records = Parquet().read(log(pa.table({"r": array})), {"r": Want(Field.parse(field), Kind.NUMBER)}, "error")
    return records.frame["r"].to_list(), records.missing["r"]


KINDS = {
    **{getattr(pa, f"int{bits}")(): st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) for bits in (8, 16, 32, 64)},
    **{getattr(pa, f"uint{bits}")(): st.integers(0, 2**bits - 1) for bits in (8, 16, 32, 64)},
    pa.float16(): st.floats(width=16, allow_infinity=False),
    pa.float32(): st.floats(width=32, allow_infinity=False),
    pa.float64(): st.floats(allow_infinity=False),
    pa.bool_(): st.booleans(),
    pa.dictionary(pa.int16(), pa.int64()): st.integers(-3, 3),
    pa.null(): st.none(),
}


@pytest.mark.parametrize("kind", list(KINDS), ids=str)
def test_every_type_of_number_is_float64(log, kind):
    @settings(max_examples=20, deadline=None)
    @given(st.lists(st.none() | KINDS[kind], max_size=20))
    def check(values):
        array = pa.array(values, kind)
        plain = [None if value is None else float(value) for value in array.to_pylist()]
        found, missing = numbers(log, array)
        assert found == [None if value is None or math.isnan(value) else value for value in plain]
        nans = sum(value is not None and math.isnan(value) for value in plain)
        assert missing == +Counter(null=plain.count(None), nan=nans)

    check()


@settings(max_examples=25, deadline=None)
@given(rows=st.lists(st.none() | st.lists(st.none() | st.integers(-100, 100), max_size=4), min_size=1, max_size=9))
@pytest.mark.parametrize("how", ["sum", "mean", "min", "max"])
def test_a_reduction_is_that_of_the_record(tmp_path_factory, how, rows):
    import pyarrow.parquet as pq

    from grpo_cli.logs.files.source import LogFile

    path = tmp_path_factory.mktemp("reduced") / "log.parquet"
    pq.write_table(pa.table({"r": pa.array(rows, pa.list_(pa.int64()))}), path)
    file = LogFile(path, "log.parquet", "parquet", None, path)
    field = Field.parse(f"r[{how}]")
    records = Parquet().read(file, {"r": Want(field, Kind.NUMBER)}, "error")
    assert records.frame["r"].to_list() == [field.of({"r": row}) for row in rows]


def test_a_nan_in_a_list_makes_its_number_missing(log):
    found, missing = numbers(log, pa.array([[1.0, math.nan], [math.nan], [2.0]]), "r[max]")
    assert found == [None, None, 2.0]
    assert missing == Counter(nan=2)


def test_fixed_size_and_large_lists(log):
    assert numbers(log, pa.array([[1, 2], [3, 4]], pa.list_(pa.int8(), 2)), "r[-1]")[0] == [2.0, 4.0]
    assert numbers(log, pa.array([[1, 2], None, []], pa.large_list(pa.int8())), "r[sum]")[0] == [3.0, None, None]
