from __future__ import annotations

import gzip
import json
import re

import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grpo_cli.errors import InputError
from grpo_cli.logs.jsonl import Jsonl
from grpo_cli.logs.jsonl.blocks import Block
from grpo_cli.logs.jsonl.splice import Splicer, json_text


def append(file, written, columns, replace=False):
    frame = pl.DataFrame(columns)
    return written(lambda target: Jsonl().append(file, target, frame, {}, replace=replace)).decode()


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('{"a": 1}\n', '{"a": 1, "adv": 0.5}\n'),
        ('{"a":1}\r\n', '{"a":1, "adv": 0.5}\r\n'),
        (' {"a": 1 } \n', ' {"a": 1 , "adv": 0.5} \n'),
        ("{}", '{"adv": 0.5}'),
        ("{ }\n", '{ "adv": 0.5}\n'),
        ('\ufeff{"a": {}}\n', '\ufeff{"a": {}, "adv": 0.5}\n'),
        ('{"a": "}{"}\n\n', '{"a": "}{", "adv": 0.5}\n\n'),
        ('{"a": "adv", "b": {"adv": 1}}', '{"a": "adv", "b": {"adv": 1}, "adv": 0.5}'),
    ],
)
def test_the_field_goes_in_before_the_closing_brace(log, written, line, expected):
    assert append(log(line), written, {"adv": [0.5]}) == expected


def test_every_type_is_written_as_json(log, written):
    columns = {
        "f": [1.0, None, 1e-05, float("nan"), 1e16, -0.1],
        "i": [1, None, -3, 2**53 + 1, 0, 5],
        "b": [True, False, None, True, True, True],
        'q"é': ["x", None, 'a"\\\n\t\u0001é', "", "mixed", "}"],
        "l": [[1.0, None], [], None, [0.1, float("inf")], [2.0], [3.0]],
        "s": [["a"], ['"'], None, [], [None], ["é"]],
    }
    out = append(log("{}\n" * 6), written, columns)
    first, *_ = lines = out.splitlines()
    assert first == '{"f": 1.0, "i": 1, "b": true, "q\\"é": "x", "l": [1.0, null], "s": ["a"]}'
    assert re.findall(r'"f": ([^,]*),', out) == ["1.0", "null", "1e-05", "null", "1e+16", "-0.1"]
    read = [json.loads(line) for line in lines]
    columns["f"][3] = columns["l"][3][1] = None  # what is not finite is null
    for name, values in columns.items():
        assert [r[name] for r in read] == values


@settings(deadline=None)
@given(st.floats() | st.integers(-(2**63), 2**63 - 1) | st.text() | st.booleans() | st.none())
def test_json_text_reads_back_the_same(value):
    read = json.loads(json_text(value))
    finite = not isinstance(value, float) or value - value == 0
    assert (read == value and type(read) is type(value)) if finite else read is None


def test_bad_and_blank_lines_stay_as_they_are(log, written):
    data = '\n{"a": 1}\nnot json }\n[1]\n  \r\n{"a": 2}\n{"torn": '
    out = append(log(data), written, {"adv": [1.0, 2.0]})
    assert out == '\n{"a": 1, "adv": 1.0}\nnot json }\n[1]\n  \r\n{"a": 2, "adv": 2.0}\n{"torn": '


def test_a_name_that_is_there_already_is_refused(log, written):
    for there in ('{"a": 1, "adv": 2}', '{"\\u0061dv": 2}', '{"adv"  : null}'):
        with pytest.raises(InputError, match=r'log.jsonl:2: column adv: there is a field "adv" already') as caught:
            append(log('{"a": 1}\n' + there), written, {"adv": [1.0, 2.0]})
        assert "--force" in caught.value.hint


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('{"adv": [1, {"x": "}"}], "é": 1}\r\n', '{"adv": 0.5, "é": 1, "n": 3}\r\n'),
        ('\ufeff {"é": 1 , "\\u0061dv"  :\tnull}', '\ufeff {"é": 1 , "\\u0061dv"  :\t0.5, "n": 3}'),
        ('{"n":1,"adv":2}', '{"n":3,"adv":0.5}'),
        ('{"adv":2,"x": {"n": 1},"n":1e5}', '{"adv":0.5,"x": {"n": 1},"n":3}'),
        ('{"x": "adv"}', '{"x": "adv", "adv": 0.5, "n": 3}'),
    ],
)
def test_replacing_touches_the_value_and_nothing_else(log, written, line, expected):
    assert append(log(line), written, {"adv": [0.5], "n": [3]}, replace=True) == expected


def test_a_name_that_is_there_twice_cannot_be_replaced(log, written):
    with pytest.raises(InputError, match=r"log.jsonl:1: column adv: .* twice"):
        append(log('{"adv": 1, "adv": 2}'), written, {"adv": [0.5]}, replace=True)


@pytest.mark.parametrize("rows", [1, 3])
def test_a_file_that_changed_is_an_error(log, written, rows):
    file = log('{"a": 1}\n{"a": 2}\n')
    with pytest.raises(InputError, match=r"log.jsonl: changed while it was read"):
        append(file, written, {"adv": [0.5] * rows})
    mask = pl.Series([True] * rows)
    with pytest.raises(InputError, match=r"log.jsonl: changed while it was read"):
        written(lambda target: Jsonl().keep(file, target, mask))


def test_keep_writes_whole_lines_and_leaves_bad_and_blank_ones(log, written):
    file = log(b'\xef\xbb\xbf{"a": 1}\r\n\nbad\n{"a": 2}\n {"a" :3}')
    out = written(lambda target: Jsonl().keep(file, target, pl.Series([False, True, True])))
    assert out == b'\nbad\n{"a": 2}\n {"a" :3}'


@pytest.mark.parametrize("compression", ["gzip", "zstd"])
def test_compressed_lines_are_written_as_plain_ones(log, written, compression):
    data = b'{"a": 1}\n' * 1000
    packed = gzip.compress(data) if compression == "gzip" else pa.compress(data, codec="zstd", asbytes=True)
    file = log(packed, compression)
    frame = pl.DataFrame({"adv": [0.5] * 1000})
    out = written(lambda target: Jsonl().append(file, target, frame, {}, replace=False))
    assert out == b'{"a": 1, "adv": 0.5}\n' * 1000


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
RECORD = st.dictionaries(st.text(max_size=5).filter(lambda name: name != "adv"), JSON, max_size=4)
STYLE = st.fixed_dictionaries(
    {
        "ensure_ascii": st.booleans(),
        "separators": st.sampled_from([(",", ":"), (", ", ": "), (" ,\t", " : ")]),
    }
)
LINE = st.one_of(
    st.builds(lambda record, style: json.dumps(record, **style), RECORD, STYLE),
    st.sampled_from(["", " \t", "{}", "{ }", "\ufeff", "[1]", "}", "{", '"a}"', "null"]),
)
END = st.sampled_from(["\n", "\r\n", " \r\n"])


@settings(deadline=None)
@given(st.lists(st.tuples(LINE, END), max_size=6), st.booleans(), st.booleans(), st.integers(1, 80))
def test_output_without_the_field_is_the_input(lines, bom, last_newline, size):
    """Byte for byte, over generated files: byte-order marks, blank and bad lines, every line end."""
    text = ("\ufeff" if bom else "") + "".join(line + end for line, end in lines)
    data = text.encode("utf-8", "surrogatepass")
    data = data if last_newline else data.rstrip(b"\r\n")
    blocks, at, number = [], 0, 1
    while at < len(data):
        end = data.find(b"\n", at + size) + 1 or len(data)
        blocks.append(Block.of(data[at:end], at, number))
        number += data.count(b"\n", at, end)
        at = end
    values = iter(range(10**6))
    count = sum(isinstance(_python(line), dict) for line in data.split(b"\n"))
    splicer = Splicer(None, pl.DataFrame({"adv": [f"v{next(values)}" for _ in range(count)]}), replace=False)
    out = b"".join(splicer.splice(block) for block in blocks)
    splicer.finish()
    assert re.sub(rb'(?:, )?"adv": "v\d+"', b"", out) == data
    got = [r["adv"] for line in out.split(b"\n") if isinstance(r := _python(line), dict)]
    assert got == [f"v{index}" for index in range(count)]


def _python(line):
    try:
        return json.loads(line.strip(b" \t\r").removeprefix(b"\xef\xbb\xbf").decode("utf-8", "surrogatepass"))
    except ValueError:
        return None
