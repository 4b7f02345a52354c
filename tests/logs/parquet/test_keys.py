"""Keys must be exactly what `spell` gives for the Python value; here that value comes from pyarrow's `to_pylist`."""

from __future__ import annotations

import datetime as dt
import json
import uuid
from decimal import Decimal

import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from grpo_cli.errors import InputError
from grpo_cli.logs.codes import coded
from grpo_cli.logs.fields import Field
from grpo_cli.logs.format import Kind, Want, spell
from grpo_cli.logs.parquet import Parquet


def keys(log, array):
    want = {"k": Want(Field.named("k"), Kind.KEY)}
    return Parquet().read(log(pa.table({"k": array})), want, "error").frame["k"].to_list()


def without_nulls(value):
    """The value as JSONL would have it: no field where there is nothing."""
    if isinstance(value, dict):
        return {name: without_nulls(inner) for name, inner in value.items() if inner is not None}
    return [without_nulls(inner) for inner in value] if isinstance(value, list) else value


text = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
message = st.fixed_dictionaries({"role": st.sampled_from(["user", "assistant"]), "content": st.none() | text})
WIDTHS = ((16, pa.int16()), (64, pa.int64()))
VALUES = {
    **{kind: st.integers(0, 2**bits - 1) for bits, kind in ((8, pa.uint8()), (64, pa.uint64()))},
    **{kind: st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) for bits, kind in WIDTHS},
    **{kind: st.floats(width=bits) for bits, kind in ((16, pa.float16()), (32, pa.float32()), (64, pa.float64()))},
    pa.bool_(): st.booleans(),
    pa.string(): text,
    pa.large_string(): text,
    pa.dictionary(pa.int8(), pa.string()): st.sampled_from(["a", "", "007", "\0"]),
    pa.list_(pa.float64()): st.lists(st.none() | st.floats(), max_size=3),
    pa.list_(pa.struct([("role", pa.string()), ("content", pa.string())])): st.lists(message, max_size=3),
    pa.struct([("b", pa.int32()), ("a", pa.list_(pa.string()))]): st.fixed_dictionaries(
        {"b": st.none() | st.integers(-9, 9), "a": st.none() | st.lists(text, max_size=2)}
    ),
}


@pytest.mark.parametrize("kind", list(VALUES), ids=str)
def test_a_key_is_what_spell_gives(log, kind):
    @settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(st.lists(st.none() | VALUES[kind], max_size=12))
    def check(values):
        array = pa.array(values, kind)
        assert keys(log, array) == [spell(without_nulls(value)) for value in array.to_pylist()]

    check()


@pytest.mark.parametrize(
    ("array", "expected"),
    [
        (pa.array([7.0, -0.0, 1e300, 0.1]), ["7", "0", str(int(1e300)), "0.1"]),
        (pa.array([2**53 + 1, -7, None]), ["9007199254740993", "-7", None]),
        (pa.array([True, False]), ["true", "false"]),
        (pa.array(["007", "7", "a\0b"]), ["007", "7", "a\x000000b"]),
        (pa.array([Decimal("7.00"), Decimal("1.10"), None], pa.decimal128(10, 2)), ["7", "1.1", None]),
        (pa.array([Decimal("1" * 37 + ".5")], pa.decimal256(50, 1)), ["1" * 37 + ".5"]),
        (pa.array([b"text", b"\xff\x00", None]), ["text", "ff00", None]),
        (pa.array([b"\xff\x00"], pa.binary(2)), ["ff00"]),
        (pa.array([dt.date(2026, 1, 2)]), ["2026-01-02"]),
        (pa.array([0, 1_500_000_000], pa.timestamp("ns")), ["1970-01-01T00:00:00", "1970-01-01T00:00:01.5"]),
        (pa.array([1000], pa.timestamp("ms", "Europe/Berlin")), ["1970-01-01T00:00:01Z"]),
        (pa.array([None], pa.null()), [None]),
        (
            pa.ExtensionArray.from_storage(pa.uuid(), pa.array([uuid.UUID(int=5).bytes], pa.binary(16))),
            [str(uuid.UUID(int=5))],
        ),
    ],
    ids=str,
)
def test_types_beyond_json(log, array, expected):
    assert keys(log, array) == expected


def test_a_chat_message_is_one_key_in_parquet_and_jsonl(log):
    messages = [{"role": "user", "content": "2+2?\n"}]
    array = pa.array([messages, [{"content": "2+2?\n", "role": "user", "name": "bob"}]])
    assert array.type.value_type.num_fields == 3
    first, second = keys(log, array)
    assert first == spell(json.loads(json.dumps(messages)))
    assert second == '[{"content":"2+2?\\n","name":"bob","role":"user"}]'


@pytest.mark.parametrize("field", ["k", "k[]", "k[0].content", "nowhere", "nowhere[]"])
def test_a_code_stands_for_the_key(log, field):
    messages = [[{"role": "user", "content": f"{row % 3}" * 50}] for row in range(20)]
    file = log(pa.table({"k": [*messages, None, []]}), row_group_size=7)
    wants = {kind.name: Want(Field.parse(field), kind) for kind in (Kind.KEY, Kind.CODE)}
    frame = Parquet().read(file, wants, "error").frame
    assert frame["CODE"].dtype == coded(frame["KEY"]).dtype
    assert frame["CODE"].to_list() == coded(frame["KEY"]).to_list()


def test_codes_of_texts_are_those_of_their_keys(log):
    texts = ["long prompt " * 9 + str(row % 4) for row in range(60)]
    file = log(pa.table({"k": texts}), row_group_size=20)
    want = {"k": Want(Field.named("k"), Kind.CODE)}
    found = Parquet().read(file, want, "error").frame["k"]
    assert found.to_list() == coded(pl.Series(texts)).to_list()


def test_text_that_is_not_utf8_is_an_error_with_its_row(log):
    text = pa.Array.from_buffers(pa.string(), 2, pa.array([b"fine", b"\xff"]).buffers())
    with pytest.raises(InputError, match=r"log.parquet:2: column k: text that is not UTF-8"):
        keys(log, text)
