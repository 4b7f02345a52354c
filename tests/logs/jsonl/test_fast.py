from __future__ import annotations

import json
import random
import time
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from grpo_cli.errors import GrpoAdvError
from grpo_cli.logs.fields import Field
from grpo_cli.logs.files.source import LogFile
from grpo_cli.logs.format import Kind, Want
from grpo_cli.logs.jsonl import fast, reference
from grpo_cli.logs.jsonl.blocks import Block


def wants(*fields):
    """`"id"` is a KEY; `("reward",)` is a NUMBER."""
    named = {field: Kind.KEY for field in fields if isinstance(field, str)}
    named |= {field[0]: Kind.NUMBER for field in fields if isinstance(field, tuple)}
    return {name: Want(Field.parse(name), kind) for name, kind in named.items()}


PLAIN = wants("id", ("reward",))


def outcome(read, file, wanted, how, **options):
    """All that a read says, or the words of its error."""
    try:
        found = read(file, wanted, how, **options)
    except GrpoAdvError as error:
        return f"{type(error).__name__}: {error} ({error.hint})"
    columns = {name: [repr(value) for value in found.frame[name].to_list()] for name in found.frame.columns}
    return columns, found.frame.dtypes, found.names, found.bad, found.missing, found.text_numbers


def both(path: Path, data: bytes, wanted, size=1 << 20):
    """What the two readers say of `data`; they must say the same."""
    path.write_bytes(data)
    file = LogFile(path, "x.jsonl", "jsonl", None, Path("x.jsonl"))
    for how in ("skip", "error"):
        expected = outcome(reference.read, file, wanted, how, size=size)
        assert outcome(fast.read, file, wanted, how, size=size, least=0) == expected
    return expected


def parsed(data: bytes, wanted):
    """How many rows Polars was believed on; None where the block was left to the reference."""
    found = fast.parse(Block.of(data), fast.Plan.of(wanted.items()))
    return None if found is None else found.frame.height - len(found.doubted)


GOOD = b'{"id": "a", "text": "x", "reward": 1, "info": {"score": 2}}\n'


@pytest.mark.parametrize(
    ("odd", "believed"),
    [
        (b'{"id": 7, "reward": 0.30000000000000004}', 9),
        (b'{"id": 12345678901234567890123456, "reward": 12345678901234567890}', 9),
        (b' {"reward" :-0.0 , "id"\t:"7"} \r', 9),
        (b'{"id": "[INST] x", "reward": 1}', 9),
        (b'{"id": "1234567890123456789", "reward": 1}', 9),
        (b'{"id": "\\u00e9\\ud83d\\ude00", "reward": 1}', 9),
        (b'{"id": 7.0, "reward": 1e2}', 9),
        (b'{"id": true, "reward": 1}', 9),
        # doubted: read again, alone
        (b'{"id": 1e-7, "reward": 1}', 8),
        (b'{"id": -0.0, "reward": 1}', 8),
        (b'{"id": 1.2345678901234567e29, "reward": 1}', 8),
        (b'{"id": ["b", {"x": 1.0}], "reward": 1}', 9),
        (b'{"id": {"b": 1, "a": 2}, "reward": 1}', 9),
        (b'{"id": "p\\ud83d", "reward": 1}', 8),
        (b'{"id": "\\u0000", "reward": 1}', 8),
        (b'{"id": "b", "reward": null}', 8),
        (b'{"id": "b"}', 8),
        (b'{"reward": 1, "id": null}', 8),
        (b"{}", 8),
        (b'{"id": "b", "reward": 1, "m": {"reward": 2}}', 8),
        (b'{"id": "reward", "reward": 1}', 8),
        (b'{"id": "b", "m": {"reward": 2}}', 8),
        (b'{"id": "b", "rew\\u0061rd": 2}', 9),
        (b'{"id": "b", "reward": 1, "t": "\\u0061"}', 8),
        (b'{"id": "b", "reward": 1, "reward": 2}', 8),
        (b'{"id": "b", "reward": 1, "\\u0072eward": 2}', 8),
        (b'{"id": "b", "reward": 1, "deep": ' + b"[" * 499 + b"]" * 499 + b"}", 9),
        (b'{"id": "b", "reward": 1, "wide": ' + json.dumps([[]] * 900).encode() + b"}", 8),
        # left to the reference, all of it
        (b'{"id": "b", "reward": 1, "deep": ' + b"[" * 501 + b"]" * 501 + b"}", None),
        (b'{"id": "b", "reward": true}', None),
        (b'{"id": "b", "reward": "1"}', None),
        (b'{"id": "b", "reward": NaN}', None),
        (b'{"id": "b", "reward": 1e999}', None),
        (b'{"id": "b", "reward": [1]}', None),
        (b'{"id": "b", "reward": 1', None),
        (b'\xef\xbb\xbf{"id": "b", "reward": 1}', None),
        (b'{"id": "\xff", "reward": 1}', None),
        (b'{"id": "\xed\xa0\xbd", "reward": 1}', None),
        (b'{"id": ' + b"9" * 45 + b', "reward": 1}', None),
        (b'{"id": "b", "reward": ' + b"9" * 400 + b"}", None),
        (b'{"id": "b", "reward": 1, "n": ' + b"9" * 5000 + b"}", None),
        (b"[1]", None),
        (b"null", None),
        (b'{"id": "b", "reward": 1}{"id": "b", "reward": 1}', None),
        (b'{"id": "b"\n"reward": 1}', None),
    ],
)
def test_odd_lines_among_good_ones(tmp_path, odd, believed):
    for data in (GOOD * 4 + odd + b"\n" + GOOD * 4, odd + b"\n\n" + GOOD * 8, GOOD * 8 + b" \r\n" + odd):
        both(tmp_path / "x", data, PLAIN)
        assert parsed(data, PLAIN) == believed


def test_the_order_of_strings_and_numbers_over_blocks(tmp_path):
    number, text = GOOD * 3, GOOD.replace(b": 1,", b': "1",') * 3
    for data in (number + text, text + number, text * 2, text + b'{"id": 1, "reward": null}\n' * 3):
        both(tmp_path / "x", data, PLAIN, size=len(number))


def test_a_misspelling_is_weighed_against_records_that_polars_read(tmp_path):
    beside = GOOD.replace(b'"text"', b'"rewards"')
    absent = GOOD.replace(b'"reward"', b'"rewards"')
    for data in (GOOD * 9 + absent, GOOD * 9 + absent + GOOD * 9 + beside, absent + beside * 9, beside * 9 + absent):
        said = both(tmp_path / "x", data, PLAIN, size=len(GOOD) * 3)
        assert ("this line has 'rewards'" in said) is (beside not in data)


@pytest.mark.parametrize(
    ("fields", "possible"),
    [
        (["id", ("reward",)], True),
        (["info.id", ("info.reward",), ("other.score",)], True),
        (["id", ("scores[]",)], True),
        (["id", ("reward",), "step", ("info.length",)], True),
        (["id", ('"id"',)], False),
        (["info", ("info.reward",)], False),
        (["reward.reward"], False),
        (["info.reward", ("reward",)], False),
        ([("turns[-1].reward",)], False),
        ([("turns[].reward",)], False),
        ([("score[sum]",)], False),
        (["é"], False),
        (['"a/b"'], False),
    ],
)
def test_what_polars_can_be_asked_for(fields, possible):
    assert (fast.Plan.of(wants(*fields).items()) is not None) is possible


MESSAGES = [
    '[{"role": "user", "content": "a"}]',
    '[{"content": "a", "role": "user"}]',
    '[{"role":"user","content":"a"}]',
    '[{"role": "user", "content": "b \\ud83d"}]',
    '[{"role": "user", "content": "b \\ud83e"}]',
    '[{"role": "user", "content": "\\u00e9 ], \\"reward\\": 2"}]',
    '[{"role": "user", "content": 1}]',
    '[{"role": "user", "content": 1.0}]',
    '[{"role": "user", "content": 1, "content": 2}]',
    '{"b": 100000000000000000001, "a": []}',
    '{"b": 1e2, "a": []}',
    "[]",
    "{}",
    '"[]"',
    "7",
    '"é"',
]


@pytest.mark.parametrize(
    "form", ['{"id": %s, "reward": 1}', '{"reward":1,"id" :\t%s }', '{"id":%s,"x":[1,"]"],"reward":0}']
)
def test_messages_as_keys_are_canonical_and_are_not_left_to_the_reference(tmp_path, form):
    lines = [form % text for text in MESSAGES]
    data = "\n".join(lines * 2).encode()
    found = both(tmp_path / "x", data, PLAIN)
    assert len(set(found[0]["id"])) == 13
    assert parsed(data, PLAIN) == len(lines) * 2
    mixed = "\n".join(['{"reward": 0, "id": 1}', *lines, '{"x": 1, "id": [2], "reward": 2}'])
    both(tmp_path / "x", mixed.encode(), PLAIN, size=300)


def test_blocks_of_blank_lines_and_empty_files(tmp_path):
    for data in (b"", b"\n", b"\n \r\n\n", b"\n" * 50 + GOOD):
        both(tmp_path / "x", data, PLAIN, size=10)


CODED = {"id": Want(Field.named("id"), Kind.CODE), "reward": PLAIN["reward"]}
SETS = [
    CODED,
    PLAIN,
    wants("info.key", ("info.score",), ("reward",)),
    wants("id", ("scores[]",)),
    wants("step", ("reward",), "id", ("length",)),
]
NAMES = st.sampled_from(["id", "reward", "rewards", "info", "score", "scores", "step", "length", "text", "Reward", ""])
NUMBERS = st.one_of(
    st.integers(-3, 3),
    st.integers(-(10**45), 10**45),
    st.floats(),
    st.sampled_from([0.0001, 1e-5, 1e15, 1e16, 1e22, 2**53 + 1, -0.0, True, False]),
)
TEXTS = st.one_of(
    st.text(max_size=6),
    st.sampled_from(["7", "7.0", "007", "-0", "0.00001", "[1]", "{", "true", "null", "\ud83d", "\0", "reward", "1e5"]),
    st.integers().map(str),
)
SCALARS = NUMBERS | TEXTS | st.none()
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=5,
)
KEYS = st.one_of(
    st.sampled_from(["a", "b", 7, "[INST] x", "0.00001", "-0", 10**20, [{"role": "user", "content": "é"}]]),
    st.integers(-(10**30), 10**30),
    st.text('abc é中😀\n\\"/{[\x7f', max_size=6),
)
SCORE = st.one_of(st.integers(-2, 2), st.floats(0, 1), st.floats(-1e300, 1e300))


@st.composite
def rollouts(draw):
    """A line as it should be: Polars can be believed on it."""
    record = {"id": draw(KEYS), "text": draw(st.text(max_size=4)), "reward": draw(SCORE)}
    record["info"] = {"key": draw(KEYS), "score": draw(SCORE)}
    record["scores"] = draw(st.lists(SCORE, max_size=3))
    record |= {"step": draw(st.integers(0, 3)), "length": draw(st.integers(0, 99))}
    return json.dumps(record, ensure_ascii=draw(st.booleans()))


@st.composite
def odd_rollouts(draw):
    """A line with one thing or other about it odd."""
    ascii_only, spaced = draw(st.booleans()), draw(st.booleans())
    pairs = [
        ("id", draw(KEYS | VALUES)),
        ("reward", draw(SCORE | VALUES)),
        ("info", {"key": draw(TEXTS), "score": draw(SCORE)} if draw(st.booleans()) else draw(VALUES)),
        ("scores", draw(st.lists(SCORE | st.none(), max_size=3) | VALUES)),
        ("step", draw(st.integers(0, 3) | SCALARS)),
        ("length", draw(SCORE | st.none())),
        (draw(NAMES), draw(VALUES)),
    ]
    chosen = draw(st.lists(st.sampled_from(pairs), unique_by=id, min_size=4, max_size=7) | st.just(pairs[:-1]))
    comma, colon = (", ", ": ") if spaced else (",", ":")
    text = comma.join(json.dumps(name) + colon + json.dumps(value, ensure_ascii=ascii_only) for name, value in chosen)
    line = draw(st.sampled_from(["{%s}"] * 20 + ["{%s} ", "\t{%s}\r", "[{%s}]", "{%s", "\ufeff{%s}"])) % text
    if draw(st.integers(0, 30)) == 0:
        line = line.replace('"r', '"\\u0072', 1)
    return draw(st.sampled_from([line] * 20 + ["", " ", "{}"]))


@pytest.fixture
def believed(monkeypatch):
    """Counts the blocks on which Polars was believed, wholly or but for some lines, and those left to the reference."""
    counts = Counter()
    parse = fast.parse

    def counting(block, plan):
        found = parse(block, plan)
        counts["left" if found is None else "mended" if found.doubted else "whole"] += 1
        return found

    monkeypatch.setattr(fast, "parse", counting)
    return counts


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.one_of(*[rollouts()] * 5, odd_rollouts()), max_size=9),
    st.sampled_from(SETS),
    st.sampled_from([200, 400, 1 << 20]),
    st.booleans(),
)
@example(['{"id": 1, "reward": 1e-5}'] * 2, PLAIN, 80, True)
def test_the_fast_reader_equals_the_reference_on_generated_files(tmp_path_factory, repeated, wanted, size, end):
    data = "\n".join(repeated).encode("utf-8", "surrogatepass") + (b"\n" if end else b"")
    both(tmp_path_factory.getbasetemp() / "fast", data, wanted, size)


def test_the_fast_reader_equals_the_reference_on_mutated_bytes(tmp_path, believed, mutated):
    rng = random.Random(20261201)
    began, done = time.monotonic(), 0
    while done < 400 and time.monotonic() - began < 10:
        both(tmp_path / "x", mutated(rng), rng.choice(SETS), rng.choice([150, 300, 1 << 20]))
        done += 1
    assert done > 40
    assert believed["whole"] > done / 4, "or this has compared the reference with itself"
    assert believed["mended"]


def test_floats_are_read_to_the_last_bit(tmp_path):
    rng = random.Random(7)
    texts = [repr(rng.uniform(-1, 1) * 10.0 ** rng.randint(-300, 300)) for _ in range(2000)]
    texts += [f"{rng.randrange(10)}.{rng.getrandbits(100)}e{rng.randint(-30, 30)}" for _ in range(2000)]
    texts += [str(rng.getrandbits(rng.randint(1, 125))) for _ in range(2000)]
    data = "".join(f'{{"id": "a", "reward": {text}}}\n' for text in texts).encode()
    assert parsed(data, PLAIN) == len(texts)
    both(tmp_path / "x", data, PLAIN)


def test_a_file_on_disk_is_read_by_polars_where_it_pays(tmp_path, monkeypatch):
    path = tmp_path / "x"
    path.write_bytes(GOOD * 3000)
    file = LogFile(path, "x", "jsonl", None, Path("x"))
    monkeypatch.setattr(reference.Reader, "take_line", None)  # no line is left to the reference
    found = fast.read(file, PLAIN, "error").frame
    assert found.rows() == [("a", 1.0)] * 3000
