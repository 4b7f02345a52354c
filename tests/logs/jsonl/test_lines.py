from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grpo_cli.logs.fields import Field
from grpo_cli.logs.jsonl.lines import MAX_DEPTH, Bad, Member, Names, members, record, repeated


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (b'{"a": 1}\n', {"a": 1}),
        (b' \t{"a": 1} \r\n', {"a": 1}),
        (b'\xef\xbb\xbf{"a": 1}', {"a": 1}),
        (b"{}", {}),
        (b'{"a": 123456789012345678901234567890}', {"a": 123456789012345678901234567890}),
        (b'{"a": "\\ud83d"}', {"a": "\ud83d"}),
        (b'{"a": "\xed\xa0\xbd"}', {"a": "\ud83d"}),
        (b'{"a": -Infinity}', {"a": float("-inf")}),
    ],
)
def test_a_record_is_what_python_reads(line, expected):
    assert record(line) == expected


@pytest.mark.parametrize("line", [b"", b"\n", b" \t\r\n", b"\xef\xbb\xbf\n"])
def test_a_blank_line_is_nothing(line):
    assert record(line) is None


@pytest.mark.parametrize(
    ("line", "reason", "torn"),
    [
        (b'{"a": 1', "not valid JSON (Expecting ',' delimiter at character 8)", True),
        (b'{"a": "\xff"}', "not UTF-8 at byte 8", True),
        (b"\xef\xbb\xbf\xef\xbb\xbf{}", "not valid JSON", True),
        (b'{"a": "x\ty"}', "not valid JSON (Invalid control character", True),
        (b"[1]", "a list where a JSON object is needed", False),
        (b'"text"', "a string where a JSON object is needed", False),
        (b"null", "null where a JSON object is needed", False),
        (b"true", "true or false where a JSON object is needed", False),
        (b"NaN", "a number where a JSON object is needed", False),
        (b'{"a": ' + b"9" * 5000 + b"}", "an integer with too many digits", False),
        (b"[" * 100_000, "nested more than 500 levels deep", False),
        (b'{"a":' * 600 + b"1" + b"}" * 600, "nested more than 500 levels deep", False),
    ],
)
def test_a_bad_line_has_a_reason_and_none_of_its_text(line, reason, torn):
    found = record(line)
    assert isinstance(found, Bad)
    assert found.reason.startswith(reason)
    assert found.torn is torn


def test_depth_counts_levels_not_brackets_and_none_in_strings():
    deep = b'{"a": ' + b"[" * (MAX_DEPTH - 1) + b"]" * (MAX_DEPTH - 1) + b"}"
    assert isinstance(record(deep), dict)
    wide = json.dumps({"a": [[1]] * 5000, "code": "[{" * 5000, "quote": '"[' * 5000}).encode()
    assert isinstance(record(wide), dict)
    assert isinstance(record(deep.replace(b": [", b": [[").replace(b"]}", b"]]}")), Bad)


@pytest.mark.parametrize(
    ("line", "names", "expected"),
    [
        (b'{"reward": 1, "x": 2}', ["reward"], False),
        (b'{"reward": 1, "reward": 2}', ["reward"], True),
        (b'{"reward": 1, "\\u0072eward": 2}', ["reward"], True),
        (b'{"reward": 1, "rew\\u0041rd": 2}', ["reward"], False),
        (b'{"reward": 1, "rew\\u0061rd": 2}', ["reward"], True),
        (b'{"k": 1, "\\u006B": 2}', ["k"], True),
        (b'{"a/b": 1, "a\\/b": 2}', ["a/b"], True),
        (b'{"reward": 1, "t": "\\u00e9 \\u003c \\n"}', ["reward"], False),
        ('{"é": 1}'.encode(), ["é"], True),
        (b'{"a": 1}', ['od"d'], True),
    ],
)
def test_the_quick_test_for_repeated_names(line, names, expected):
    assert Names(names).may_repeat(line) is expected


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(["ab", "a/b", "é", 'q"', "\n", ""]), st.booleans()), max_size=4),
    st.sampled_from(["ab", "a/b", "é", 'q"', "\n", ""]),
)
def test_the_quick_test_never_clears_a_line_that_repeats_or_has_a_name(pairs, name):
    def spelled(text, escaped):
        return '"' + "".join(f"\\u{ord(c):04X}" for c in text) + '"' if escaped else json.dumps(text)

    line = ("{" + ", ".join(f"{spelled(text, escaped)}: 1" for text, escaped in pairs) + "}").encode()
    times = [text for text, _ in pairs].count(name)
    assert Names([name]).may_repeat(line) or times < 2
    assert Names([name]).may_have(line) or times < 1
    assert (repeated(line, Field.named(name)) is not None) is (times > 1)


@pytest.mark.parametrize(
    ("line", "field", "expected"),
    [
        (b'{"info": {"reward": 1}, "reward": 2}', "info.reward", None),
        (b'{"info": {"reward": 1, "reward": 2}}', "info.reward", "reward"),
        (b'{"info": {}, "info": {"reward": 2}}', "info.reward", "info"),
        (b'{"turns": [{"r": 1, "r": 2}, {"r": 3}]}', "turns[-1].r", None),
        (b'{"turns": [{"r": 1}, {"r": 3, "r": 2}]}', "turns[-1].r", "r"),
        (b'{"turns": [{"r": 1}, {"r": 3, "r": 2}]}', "turns[].r", "r"),
        (b'{"turns": [{"r": 1}, {"q": {"r": 3, "r": 2}}]}', "turns[].r", None),
        (b'{"other": {"reward": 1, "reward": 2}, "reward": 2}', "reward", None),
    ],
)
def test_a_name_is_repeated_only_within_one_object_on_the_way(line, field, expected):
    assert repeated(line, Field.parse(field)) == expected


def test_members_are_places_in_the_bytes():
    line = ' \ufeff {"é": "ü", "\\u0061" :1.50 ,"b": [1, {"c": "}"}],"b":null}\r\n'.encode()
    found = members(line)
    assert [(m.name, line[m.start : m.end].decode()) for m in found] == [
        ("é", '"ü"'),
        ("a", "1.50"),
        ("b", '[1, {"c": "}"}]'),
        ("b", "null"),
    ]
    assert members(b"{ }") == []
    assert members(b'{"a":{}}') == [Member("a", 5, 7)]
