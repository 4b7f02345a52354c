from __future__ import annotations

import gzip
import json
from collections import Counter

import polars as pl
import pytest

from grpo_cli.errors import InputError
from grpo_cli.logs.codes import digest
from grpo_cli.logs.fields import MISSING, Field
from grpo_cli.logs.format import Kind, Want
from grpo_cli.logs.jsonl import Jsonl


def wants(**fields):
    """`r=("reward", Kind.NUMBER)`; a bare text is a KEY."""
    return {
        name: Want(Field.parse(field), Kind.KEY) if isinstance(field, str) else Want(Field.parse(field[0]), field[1])
        for name, field in fields.items()
    }


PLAIN = wants(k="id", r=("reward", Kind.NUMBER))


def read(file, wanted=PLAIN, on_bad_line="error"):
    return Jsonl().read(file, wanted, on_bad_line)


def column(log, values, kind=Kind.NUMBER, field="x"):
    """What the field `x` reads as when it has these values (as JSON text, or absent where None)."""
    lines = [f'{{"x": {value}}}' if value is not None else "{}" for value in values]
    return read(log("\n".join(lines)), wants(x=(field, kind)))


def test_numbers_of_every_kind(log):
    found = column(log, ["1", "0.5", "true", "false", "-0.0", "1e-3", str(10**30), "null", "NaN", None])
    expected = [1.0, 0.5, 1.0, 0.0, -0.0, 0.001, 1e30, None, None, None]
    assert found.frame["x"].dtype == pl.Float64
    assert found.frame["x"].to_list() == expected
    assert found.missing == {"x": Counter(null=1, nan=1, absent=1)}
    assert found.text_numbers == []


def test_a_column_of_numeric_strings_is_read_as_numbers_and_named(log):
    found = column(log, ['"1"', '" -2.5e3 "', '"True"', '"false"', '"nan"', "NaN", "null", '".5"'])
    assert found.frame["x"].to_list() == [1.0, -2500.0, 1.0, 0.0, None, None, None, 0.5]
    assert found.text_numbers == ["x"]
    assert found.missing == {"x": Counter(nan=2, null=1)}


@pytest.mark.parametrize(
    ("values", "line", "message"),
    [
        (["1", '"0.5"'], 2, 'string "0.5" where a number is needed'),
        (["null", '"0.5"', '"1"', "1"], 2, 'string "0.5" where a number is needed'),
        (['"0.5"', "true"], 1, 'string "0.5" where a number is needed'),
        (['"1"', '"n/a"'], 2, 'string "n/a" where a number is needed'),
        (["1", '""'], 2, 'string "" where a number is needed'),
        (['"1_000"'], 1, 'string "1_000" where a number is needed'),
        (['"\u0661"'], 1, 'string "\u0661" where a number is needed'),
        (["1", json.dumps("a completion " * 9)], 2, "a long string where a number is needed"),
        (["1", '"\\u001b[31m"'], 2, "a long string where a number is needed"),
        (["1", "Infinity"], 2, "the value is infinite (Infinity)"),
        (["1", "-1e999"], 2, "the value is infinite (-Infinity)"),
        (["1", "9" * 400], 2, "the value is infinite (an integer beyond float64)"),
        (['"inf"'], 1, "the value is infinite (Infinity)"),
        (["1", "[1, 2]"], 2, "a list where a number is needed"),
        (["1", '{"total": 2}'], 2, "an object where a number is needed"),
    ],
)
def test_what_is_no_number_is_an_error_at_its_line(log, values, line, message):
    with pytest.raises(InputError) as caught:
        column(log, values)
    assert str(caught.value) == f"log.jsonl:{line}: column x: {message}"
    assert (caught.value.line, caught.value.column) == (line, "x")


def test_lists_and_objects_get_a_hint_that_names_an_element(log):
    for values, hint in [("[1]", "x[-1], x[sum]"), ('{"total": 1}', "x.total"), ('{"a.b": 1}', 'x."a.b"')]:
        with pytest.raises(InputError) as caught:
            column(log, [values])
        assert hint in caught.value.hint


def test_a_list_made_into_one_number(log):
    assert column(log, ["[1, 2, null]", "3", "[]"], field="x[sum]").frame["x"].to_list() == [3.0, 3.0, None]
    assert column(log, ["[1, 2]", "[]"], field="x[-1]").frame["x"].to_list() == [2.0, None]
    for value, message in [('["a"]', "does not hold numbers"), (f"[{10**400}, 0.5]", "infinite")]:
        with pytest.raises(InputError, match=rf"log.jsonl:1: column x\[sum\]: .*{message}"):
            column(log, [value], field="x[sum]")


def test_fields_with_brackets_are_lists(log):
    found = column(log, ["[1, null, NaN, true]", "[]", "null", None], field="x[]")
    assert found.frame["x"].dtype == pl.List(pl.Float64)
    assert found.frame["x"].to_list() == [[1.0, None, None, 1.0], [], None, None]
    assert found.missing == {"x": Counter(null=2, nan=1, absent=1)}
    keys = column(log, ['[{"k": 7.0}, {"k": "a"}, {}]'], Kind.KEY, field="x[].k")
    assert keys.frame["x"].to_list() == [["7", "a", None]]
    assert keys.frame["x"].dtype == pl.List(pl.String)


def test_keys_are_what_they_spell(log):
    values = ["7", "7.0", '"7"', '"007"', "12345678901234567890123456789012", "true", "null", "NaN", "1e2", "0.5"]
    values += ['{"b": 1, "a": [1.0]}', '{"a": [1.0], "b": 1}', '"p\\ud83d"', '"\\u0000"', None]
    found = column(log, values, Kind.KEY).frame["x"].to_list()
    assert found[:4] == ["7", "7", "7", "007"]
    assert found[4:10] == ["12345678901234567890123456789012", "true", None, None, "100", "0.5"]
    assert found[10] == found[11] == '{"a":[1.0],"b":1}'
    assert found[12:] == ["p\0d83d", "\0" + "0000", None]


def test_codes_stand_for_keys(log):
    values = [
        "7",
        "7.0",
        '"7"',
        '"x"',
        "null",
        "null",
        None,
        '"\\u0000"',
        json.dumps("long " * 999),
        '["x"]',
        '[ "x" ]',
    ]
    keys = column(log, values, Kind.KEY).frame["x"]
    codes = column(log, values, Kind.CODE).frame["x"]
    assert isinstance(codes.dtype, pl.Categorical)
    assert codes.to_list() == [None if key is None else digest(key) for key in keys]
    listed = column(log, ['["a", null, "a"]', "[]", None], Kind.CODE, field="x[]").frame["x"].to_list()
    assert listed == [["a", None, "a"], [], None]


def test_json_is_json_text(log):
    found = column(log, ['{"a": "é\\ud83d"}', '"x"', "null", None], Kind.JSON).frame["x"].to_list()
    assert found == ['{"a": "\\u00e9\\ud83d"}', '"x"', None, None]


def test_late_and_drifting_fields(log):
    lines = ['{"id": 1}'] * 150 + ['{"id": "one", "reward": 0.5, "note": {"x": 1}}', '{"id": [1], "note": {"y": "q"}}']
    found = read(log("\n".join(lines)))
    assert found.frame["r"].to_list() == [None] * 150 + [0.5, None]
    assert found.names == ["id", "reward", "note"]


def test_bom_crlf_blank_lines_and_no_final_newline(log):
    data = b'\xef\xbb\xbf{"id": "a", "reward": 1}\r\n\r\n  \n{"id": "b", "reward": 0}'
    assert read(log(data)).frame.rows() == [("a", 1.0), ("b", 0.0)]
    with pytest.raises(InputError, match=r"log.jsonl:6: column reward"):
        read(log(data + b'\n\n{"id": "c", "reward": "x"}\n'))


GOOD = '{"id": "a", "reward": 1}\n'


def test_bad_lines_are_one_error_that_names_the_first_and_counts_the_rest(log):
    file = log(GOOD + '{"id": "a"\n' + GOOD + "[1]\nnope\n")
    with pytest.raises(InputError) as caught:
        read(file)
    assert str(caught.value) == (
        "log.jsonl:2: not valid JSON (Expecting ',' delimiter at character 11); 2 more bad lines in this file"
    )
    assert "--on-bad-line skip" in caught.value.hint
    found = read(file, on_bad_line="skip")
    assert found.bad == [2, 4, 5]
    assert found.frame.height == 2


def test_the_first_fault_in_the_file_is_the_one_that_is_named(log):
    with pytest.raises(InputError, match=r":2: not valid JSON .*; 1 more bad line in this file$"):
        read(log(GOOD + "{\n" + '{"id": 1, "reward": Infinity}\n{\n'))
    with pytest.raises(InputError, match=r":2: column reward: the value is infinite"):
        read(log(GOOD + '{"id": 1, "reward": Infinity}\n{\n'))


def test_a_torn_last_line_may_still_be_being_written(log):
    for torn in ('{"id": "b", "rew', '{"id": "b", "reward": 1', "{", '{"id": "é'.encode()[:-1]):
        data = GOOD.encode() + (torn if isinstance(torn, bytes) else torn.encode())
        with pytest.raises(InputError, match=r"log.jsonl:2: the last line is cut short \(.*still be being written"):
            read(log(data))
        assert read(log(data), on_bad_line="skip").bad == [2]
        with pytest.raises(InputError, match=r"log.jsonl:2: not "):
            read(log(data + b"\n"))
    with pytest.raises(InputError, match=r"a list where a JSON object is needed$"):
        read(log(GOOD + "[1]"))


def test_bombs_are_bad_lines(log):
    for bomb in ("[" * 200_000, '{"a":' * 5000 + "1" + "}" * 5000, '{"id": ' + "9" * 5000 + "}"):
        with pytest.raises(InputError, match=r"log.jsonl:2: (nested|an integer)"):
            read(log(GOOD + bomb + "\n"))


def test_a_role_field_that_comes_twice_is_an_error(log):
    for twice in ('"reward": 1, "reward": 0', '"reward": 1, "rew\\u0061rd": 0'):
        with pytest.raises(InputError) as caught:
            read(log(GOOD + f'{{"id": "a", {twice}}}\n'))
        assert str(caught.value) == 'log.jsonl:2: column reward: the name "reward" appears twice in one object'
    with pytest.raises(InputError, match=r":1: column info.reward: the name .info. appears twice"):
        read(log('{"info": {"reward": 1}, "info": {}}'), wants(r=("info.reward", Kind.NUMBER)))
    with pytest.raises(InputError, match=r":1: column id: the name .id. appears twice"):
        read(log('{"id": 1, "id": 1, "reward": 1}'))
    assert read(log('{"id": "reward", "reward": 1, "m": {"reward": 2}, "t": 1, "t": 2}')).frame.rows() == [
        ("reward", 1.0)
    ]


def test_a_misspelt_reward_is_not_silently_missing(log):
    with pytest.raises(InputError) as caught:
        read(log(GOOD + '{"id": "a", "rewrad": 0}\n' + GOOD))
    assert str(caught.value) == "log.jsonl:2: column reward: no reward; this line has 'rewrad'"


def test_a_close_name_that_stands_beside_the_right_one_is_no_misspelling(log):
    beside = '{"id": "a", "rewards": 0}\n' + '{"id": "a", "reward": 1, "rewards": 0}\n'
    assert read(log(beside)).missing == {"r": Counter(absent=1)}
    two = wants(a=("reward_1", Kind.NUMBER), b=("reward_2", Kind.NUMBER))
    found = read(log('{"reward_1": 1}\n{"reward_2": 1}\n'), two)
    assert found.missing == {"a": Counter(absent=1), "b": Counter(absent=1)}
    assert read(log(GOOD + '{"id": "a"}\n{"id": "a", "text": 1}')).missing == {"r": Counter(absent=2)}


def test_an_empty_file_is_an_empty_frame(log):
    for data in (b"", b"\n\n"):
        found = read(log(data))
        assert found.frame.schema == {"k": pl.String, "r": pl.Float64}
        assert found.frame.height == 0


def test_sample_names_locate_and_values(log):
    file = log('{"id": 1, "reward": 0}\n\nbad\n{"reward": 1, "t": {"u": [5]}}\n{"id": 3}\n')
    jsonl = Jsonl()
    assert jsonl.names(file) == ["id", "reward", "t"]
    assert jsonl.sample(file, 2) == [{"id": 1, "reward": 0}, {"reward": 1, "t": {"u": [5]}}]
    assert jsonl.sample(file, 9, only=["id"]) == [{"id": 1}, {}, {"id": 3}]
    assert [jsonl.locate(file, index) for index in range(3)] == [1, 4, 5]
    fields = [Field.parse("id"), Field.parse("t.u[0]")]
    assert jsonl.values(file, [1, 2], fields) == [[MISSING, 5], [3, MISSING]]
    assert jsonl.values(file, [], fields) == []
    for beyond in (lambda: jsonl.locate(file, 3), lambda: jsonl.values(file, [0, 3], fields)):
        with pytest.raises(InputError, match="changed while it was read"):
            beyond()


def test_a_file_of_two_gzip_members(log):
    packed = gzip.compress(GOOD.encode()) + gzip.compress(b'{"id": "b", "reward": 0}\n')
    assert read(log(packed, "gzip", "log.jsonl.gz")).frame.rows() == [("a", 1.0), ("b", 0.0)]
