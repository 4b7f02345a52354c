from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grpo_cli.logs.parquet import compact
from grpo_cli.logs.parquet.compact import Value

# A struct of every type, written out by hand from the specification.
EVERY = bytes.fromhex(
    "11"  # 1: true
    "12"  # 2: false
    "13 7f"  # 3: byte 127
    "14 03"  # 4: i16 -2
    "15 ac02"  # 5: i32 150
    "16 01"  # 6: i64 -1
    "17 000000000000f03f"  # 7: double 1.0
    "18 03 61ff00"  # 8: three bytes, not UTF-8
    "19 35 02 04 06"  # 9: list of i32 1, 2, 3
    "19 2c 1500 00 00"  # 10: list of two structs: {1: 0} and {}
    "1c 18 01 78 00"  # 11: struct {1: "x"}
    "1d 000102030405060708090a0b0c0d0e0f"  # 12: UUID
    "09 c801 22 01 02"  # 100, in long form: list of two booleans
    "00"
)


def test_a_struct_of_every_type_comes_back_byte_for_byte():
    fields, end = compact.read_struct(EVERY)
    assert end == len(EVERY)
    assert list(fields) == [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 100]
    assert compact.write_struct(fields) == EVERY
    assert [compact.integer(fields[number]) for number in (4, 5, 6)] == [-2, 150, -1]
    assert compact.as_bytes(fields[8]) == b"a\xff\x00"
    assert list(compact.elements(fields[9])) == [b"\x02", b"\x04", b"\x06"]


def test_lists_of_structs_are_read_into_where_asked():
    fields, _ = compact.read_struct(EVERY, lists={10: {}})
    assert [list(one) for one in fields[10].structs] == [[1], []]
    fields[10].structs.append({7: Value(compact.I64, b"\x02")})
    again, _ = compact.read_struct(compact.write_struct(fields), lists={10: {}})
    assert [list(one) for one in again[10].structs] == [[1], [], [7]]


def test_the_first_of_a_list_is_found_without_reading_on():
    assert compact.first_of_list(EVERY[:40], 10) == {1: Value(5, b"\x00")}
    assert compact.first_of_list(b"\x19\x0c\x00", 1) is None
    assert compact.first_of_list(b"\x15\x00\x00", 2) is None


@given(st.integers(-(2**63), 2**63 - 1))
def test_integers_come_back(number):
    value = compact.with_integer(Value(compact.I64, b"\x00"), number)
    assert compact.integer(value) == number


@given(st.binary(max_size=300))
def test_bytes_come_back(content):
    assert compact.as_bytes(compact.binary(content)) == content


@given(st.integers(0, 40), st.integers(0, 40))
def test_a_list_grows_at_its_end(before, more):
    old = compact.list_of(compact.I64, [b"\x02"] * before)
    assert list(compact.elements(compact.extended(old, [b"\x04"] * more))) == [b"\x02"] * before + [b"\x04"] * more


@given(st.binary(max_size=60))
def test_any_bytes_are_a_struct_or_an_error(content):
    try:
        fields, end = compact.read_struct(content)
    except (ValueError, LookupError):
        return
    assert end <= len(content)
    assert compact.read_struct(compact.write_struct(fields))[0] == fields


@pytest.mark.parametrize("size", range(len(EVERY)))
def test_a_struct_cut_short_is_an_error(size):
    with pytest.raises((ValueError, IndexError)):
        compact.read_struct(EVERY[:size])
