"""Damaged logs: whatever is in the file, a run ends in one line or in an output that is the input plus a field."""

from __future__ import annotations

import gzip
import io
import json
import math
import random
import re

import pytest

from grpo_cli.logs.jsonl import lines

SPLICED = rb',? ?"%s": (?:-?[0-9.e+-]+|null)(?=[ \t\r]*\})'


def parts(count: int, quick: int) -> list:
    """Parts of the 2,000 mutations; the first ones run in every test run."""
    return [pytest.param(part, marks=[pytest.mark.slow] if part >= quick else []) for part in range(count)]


def jsonl_seed() -> bytes:
    records = [
        {"prompt_id": "a", "reward": 1, "text": 'x "}" \\ é', "step": 1},
        {"prompt_id": "a", "reward": 0.5, "info": {"reward": [1, {"a": None}]}, "step": 1},
        {"prompt_id": "a", "reward": None, "text": "\ud83d", "step": 2},
        {"prompt_id": 7, "reward": -1e-3, "step": 2},
        {"prompt_id": 7, "reward": True, "step": 2},
    ]
    return b"".join(json.dumps(record).encode() + b"\r\n" for record in records)


def parquet_seed() -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = [
        {"prompt_id": f"p{at // 3}", "reward": at % 2 / 2, "text": "x" * at, "info": [{"a": at}]} for at in range(12)
    ]
    target = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows), target, row_group_size=5, compression="snappy")
    return target.getvalue()


JSON_PIECES = [
    *(
        b'"',
        b"{",
        b"}",
        b"[",
        b"]",
        b",",
        b":",
        b" ",
        b"\\",
        b"\n",
        b"\r",
        b"\0",
        b"\xff",
        b"\xef\xbb\xbf",
        b"\xe2\x80\xa8",
    ),
    *(b"NaN", b"Infinity", b"1e999", b"-0", b"null", b"9" * 400, b"\\u0000"),
    *(b'"reward":', b'"prompt_id": {}, ', b'"advantage": 1,'),
]


def mutated(data: bytes, chance: random.Random, pieces: list[bytes]) -> bytes:
    changed = bytearray(data)
    for _ in range(chance.choice([1, 1, 1, 2, 5])):
        at = chance.randrange(len(changed) + 1) if changed else 0
        size = chance.choice([1, 1, 4, 40])
        match chance.randrange(6):
            case 0:
                changed[at : at + 1] = bytes([chance.randrange(256)])
            case 1:
                del changed[at : at + size]
            case 2:
                changed[at:at] = changed[at : at + size]
            case 3:
                changed[at:at] = chance.choice(pieces)
            case 4 if pieces is JSON_PIECES or chance.random() < 0.2:
                del changed[at:]
            case _:
                if at < len(changed):
                    changed[at] ^= 1 << chance.randrange(8)
    return bytes(changed)


def check_jsonl(before: bytes, after: bytes) -> None:
    """`after` is `before` with a field in each record."""
    old, new = before.split(b"\n"), after.split(b"\n")
    assert len(old) == len(new)
    for was, now in zip(old, new, strict=True):
        record = lines.record(was)
        if not isinstance(record, dict):
            assert now == was
            continue
        ((name, value),) = [pair for pair in lines.record(now).items() if pair[0] not in record]
        assert value is None or math.isfinite(value)
        assert re.sub(SPLICED % name.encode(), b"", now) == was


def values_of(table) -> str:
    """The values as text: NaN is then itself, and text that is no UTF-8 is bytes."""
    import pyarrow as pa

    columns = [
        [chunk.view(pa.binary()) if pa.types.is_string(chunk.type) else chunk for chunk in column.chunks]
        for column in table.columns
    ]
    return repr([[chunk.to_pylist() for chunk in column] for column in columns])


def check_parquet(before: bytes, after: bytes) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    new = pq.ParquetFile(io.BytesIO(after))
    name = new.schema_arrow.names[-1]
    assert name.startswith("advantage")
    values = new.read([name])[name].to_pylist()
    assert all(value is None or math.isfinite(value) for value in values)
    try:
        old = pq.ParquetFile(io.BytesIO(before)).read()
    except (OSError, pa.ArrowException):  # damage in a column that nobody had to read is carried along
        return
    assert values_of(new.read(new.schema_arrow.names[:-1])) == values_of(old)


def one_run(grpo, here, name: str, data: bytes, options: tuple[str, ...]):
    path = here / name
    path.write_bytes(data)
    made = here / f"made{name.removeprefix('x')}"
    ran = grpo("compute", name, "-o", made.name, "-q", *options)
    assert ran.code in {0, 2}, ran
    assert "Traceback" not in ran.err
    assert "grpo-adv: unexpected " not in ran.err
    assert path.read_bytes() == data, "the input is never changed"
    if ran.code == 2:
        assert ran.err.startswith("grpo-adv: "), ran.err
        assert len(ran.err.splitlines()) <= 2, ran.err
        assert not made.exists()
        output = None
    else:
        output = made.read_bytes()
        made.unlink()
    assert [entry.name for entry in here.iterdir()] == [name], "litter"
    return output


ROLES = ("-g", "prompt_id", "-r", "reward")
OPTIONS = [(), ROLES, (*ROLES, "--on-bad-line", "skip"), (*ROLES, "--step", "none", "--on-bad-line", "skip")]


@pytest.mark.parametrize("part", parts(10, 3))
def test_mutated_jsonl(grpo, here, part):
    seed, done = jsonl_seed(), 0
    for number in range(100):
        chance = random.Random(f"jsonl {part} {number}")
        data = mutated(seed, chance, JSON_PIECES)
        output = one_run(grpo, here, "x.jsonl", data, chance.choice(OPTIONS))
        if output is not None:
            done += 1
            check_jsonl(data, output)
    assert done >= 10, "some mutations do no harm"


@pytest.mark.parametrize("part", parts(5, 1))
def test_mutated_gzip(grpo, here, part):
    for number in range(80):
        chance = random.Random(f"gzip {part} {number}")
        if chance.random() < 0.5:
            data = mutated(gzip.compress(jsonl_seed()), chance, [b"\0", b"\x1f\x8b", b"\xff" * 9])
        else:
            data = gzip.compress(mutated(jsonl_seed(), chance, JSON_PIECES))
        output = one_run(grpo, here, "x.jsonl.gz", data, chance.choice(OPTIONS))
        if output is not None and data.startswith(b"\x1f\x8b"):
            check_jsonl(gzip.decompress(data), gzip.decompress(output))


@pytest.mark.parametrize("part", parts(10, 2))
def test_mutated_parquet(grpo, here, part):
    seed, done = parquet_seed(), 0
    footer = int.from_bytes(seed[-8:-4], "little") + 8
    for number in range(60):
        chance = random.Random(f"parquet {part} {number}")
        if number % 2:
            data = mutated(seed, chance, [b"\0" * 8, b"\xff", b"PAR1"])
        else:  # only the data, or only the footer: the length and the magic stay
            cut = len(seed) - footer
            data = bytearray(seed)
            for _ in range(chance.choice([1, 2, 4])):
                at = chance.randrange(4, cut) if number % 4 else chance.randrange(cut, len(seed) - 8)
                data[at] = chance.randrange(256)
            data = bytes(data)
        output = one_run(grpo, here, "x.parquet", data, chance.choice([(), ROLES]))
        if output is not None:
            done += 1
            check_parquet(data, output)
    assert done, "some mutations do no harm"
