from __future__ import annotations

import io
import math
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grpo_cli.errors import GrpoAdvError
from grpo_cli.logs.files.source import LogFile
from grpo_cli.logs.jsonl import fast_splice, reference, splice
from grpo_cli.logs.jsonl.blocks import Block
from grpo_cli.logs.jsonl.splice import Splicer


def outcome(append, file, columns, **options):
    target = io.BytesIO()
    try:
        append(file, target, columns, **options)
    except GrpoAdvError as error:
        return f"{error} ({error.hint})"
    return target.getvalue()


def both(path: Path, data: bytes, make_columns, *, replace=False, size=1 << 20):
    """What the two splices write into `data`, of which it is known which lines are records."""
    path.write_bytes(data)
    file = LogFile(path, "x.jsonl", "jsonl", None, Path("x.jsonl"))
    count = sum(1 for _ in reference.records(file))
    columns = make_columns(count)
    unknown = outcome(splice.append, file, columns, replace=replace, size=size)
    reference.read(file, {}, "skip")
    assert outcome(splice.append, file, columns, replace=replace, size=size) == unknown
    assert outcome(fast_splice.append, file, columns, replace=replace, size=size, least=0) == unknown
    return unknown


def halves(count):
    return pl.DataFrame({"adv": [index / 2 for index in range(count)]})


def done_fast(data: bytes, columns) -> bool:
    """Whether Polars may splice this block, every line being known to be a record."""
    splicer = Splicer(None, columns, replace=False)
    splicer.holds_record.bad = frozenset()
    return fast_splice.splice(fast_splice.Task(Block.of(data), 0), splicer) is not None


GOOD = b'{"id": "a", "reward": 1}\n'


@pytest.mark.parametrize(
    ("odd", "fast"),
    [
        (b'{"id": "\\"adv\\": }{ , \\n"}\n', True),
        (b' \t{"id":1 }\n', True),
        (b'\xef\xbb\xbf{"id": 1}\n', True),
        (b'{"id": "\\u00e9\\u0041"}\n', True),
        (b'{"id": "\xc3\xa9\xe2\x80\xa8\x7f"}\n', True),
        (b'{"id": 1}', True),
        (b"{}\n", False),
        (b" { \t}\n", False),
        (b"\xef\xbb\xbf{}\n", False),
        (b'{"id": 1} \n', False),
        (b'{"id": 1}\r\n', False),
        (b'{"id": 1}\r', False),
        (b"\n", False),
        (b'{"id": "adv"}\n', False),
        (b'{"id": "\\u0061"}\n', False),
        (b'{"id": "\xed\xa0\xbd"}\n', False),
    ],
)
def test_odd_lines_among_good_ones(tmp_path, odd, fast):
    data = GOOD * 4 + odd
    for size in (20, 60, 1 << 20):
        assert isinstance(both(tmp_path / "x", data, halves, size=size), bytes)
        assert isinstance(
            both(tmp_path / "x", odd + GOOD * 4 if odd.endswith(b"\n") else data, halves, size=size), bytes
        )
    assert done_fast(data, halves(5)) is fast


def test_windows_line_ends(tmp_path):
    lines = GOOD.replace(b"\n", b"\r\n") * 3
    for data in (lines, lines[:-2], lines + b"{}\r\n", lines.replace(b"\r", b"", 1)):
        both(tmp_path / "x", data, halves, size=60)
    assert done_fast(lines, halves(3))
    assert done_fast(lines[:-2], halves(3))


def test_a_name_that_is_there_is_refused_or_replaced(tmp_path):
    for there in (b'{"id": 1, "adv": 3}\n', b'{"\\u0061dv": 3}\n', b'{"adv": 1, "adv": 2}\n'):
        data = GOOD * 5 + there + GOOD * 5
        assert both(tmp_path / "x", data, halves, size=60).startswith("x.jsonl:6: column adv: ")
        both(tmp_path / "x", data, halves, size=60, replace=True)


def test_values_follow_their_records_past_blank_and_bad_lines(tmp_path):
    data = GOOD * 5 + b"\n\n" + GOOD * 5 + b"bad\n[1]\n" + GOOD * 7 + b" \r\n" + GOOD * 20 + b'{"torn": '
    for size in (1, 30, 60, 200):
        out = both(tmp_path / "x", data, halves, size=size)
        assert out.count(b'"adv": ') == 37
        assert b'"adv": 18.0}\n{"torn": ' in out


def test_a_file_with_too_few_or_too_many_records(tmp_path):
    for more in (-1, 1):
        said = both(tmp_path / "x", GOOD * 20, lambda count, more=more: halves(count + more), size=60)
        assert "changed while it was read" in said


FLOATS = st.one_of(
    st.floats(),
    st.floats(-2, 2),
    st.sampled_from([0.0, -0.0, 1e-4, 9.999e-5, 5e-324, 1e16, 1e15, 123456789012345680.0, math.inf, math.nan]),
)
KINDS = {
    "adv": (FLOATS, pl.Float64),
    "n": (st.integers(-(2**63), 2**63 - 1), pl.Int64),
    "b": (st.booleans(), pl.Boolean),
    "s": (st.text(max_size=5), pl.String),
    "l": (st.lists(FLOATS | st.none(), max_size=3), pl.List(pl.Float64)),
    "é": (st.integers(0, 3), pl.Int64),
}
ODD = [
    b"\n",
    b"{}\n",
    b'{"n":1}\n',
    b'{"s": {"adv": 2}, "id": 1}\n',
    b"nope}\n",
    b'{"id": 1}\r\n',
    b'{"id":"%d \\u0062"}\n',
    b'{"id": "\\u4e2d \xc3\xa9"}\n',
    b' {"id": 1, "x": [] } \n',
    b'"}"\n',
    b"\xff}\n",
]
LINES = st.one_of(*[st.just(GOOD)] * 6, st.sampled_from(ODD))


@settings(max_examples=200, deadline=None)
@given(st.data(), st.lists(LINES, max_size=12), st.booleans(), st.booleans(), st.integers(10, 200))
def test_the_fast_splice_equals_the_reference(tmp_path_factory, data, lines, last, replace, size):
    names = data.draw(st.lists(st.sampled_from(sorted(KINDS)), min_size=1, max_size=3, unique=True))

    def columns(count):
        return pl.DataFrame(
            {name: data.draw(st.lists(KINDS[name][0] | st.none(), min_size=count, max_size=count)) for name in names},
            schema={name: KINDS[name][1] for name in names},
        )

    whole = b"".join(lines)
    path = tmp_path_factory.getbasetemp() / "splice"
    both(path, whole if last else whole.rstrip(b"\n"), columns, replace=replace, size=size)


def test_numbers_are_spelt_as_python_does():
    values = [10.0**e * f for e in range(-320, 308) for f in (1, -1.5, 1 / 3, 9.87654321)]
    frame = pl.DataFrame({"adv": values})
    data = GOOD * len(values)
    splicer = Splicer(None, frame, replace=False)
    splicer.holds_record.bad = frozenset()
    out = fast_splice.splice(fast_splice.Task(Block.of(data), 0), splicer)
    assert bytes(out) == b"".join(b'{"id": "a", "reward": 1, "adv": %b}\n' % repr(v).encode() for v in values)
