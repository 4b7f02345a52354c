from __future__ import annotations

import io
from pathlib import Path

import pytest

from grpo_cli.logs.files.source import LogFile

BASE = (
    b'{"id": "p1", "text": "some \\"words\\", {x}", "reward": 0.5, '
    b'"info": {"key": 3, "score": 1}, "scores": [1, 0.5]}\n'
    b'{"id":"p1","text":"\\u00e9\\u4e2d \xc3\xa9","reward":1,"info":{"key":"x","score":0.25},"scores":[],"step":1}\n'
    b'{"id": "p2", "reward": 0, "info": {"key": "y", "score": 3e-1}, "scores": [0], "length": 12}\r\n'
)
PIECES = b'"reward" "id" null NaN } { " \\ \\u0072 1 - , \xff [ ] 1e999 true "1"'.split(b" ")


@pytest.fixture
def log(tmp_path):
    """A LogFile that holds the given bytes."""

    def make(data: bytes | str, compression=None, name="log.jsonl"):
        path = tmp_path / name
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
        return LogFile(path, name, "jsonl", compression, Path(name))

    return make


@pytest.fixture
def written():
    """What an action writes to the target that it is given."""

    def run(action) -> bytes:
        target = io.BytesIO()
        action(target)
        assert not target.closed
        return target.getvalue()

    return run


@pytest.fixture
def mutated():
    """Makes a log with bytes flipped, cut, doubled and put in."""
    return _mutated


def _mutated(rng):
    """A log of a few lines with some faults put into it."""
    data = bytearray(BASE * rng.randint(1, 4))
    for _ in range(rng.choice([1, 1, 2, 5])):
        at, to = sorted(rng.randrange(len(data)) for _ in range(2))
        match rng.randrange(7):
            case 0:
                data[at] ^= 1 << rng.randrange(8)
            case 1:
                del data[at : min(to, at + 20)]
            case 2:
                data[at:at] = data[at : at + rng.randrange(60)]
            case 3:
                data[at:at] = rng.choice(PIECES)
            case 4:
                data[at : at + 1] = rng.choice(PIECES)
            case 5:
                data[at:at] = b"\n"
            case 6 if rng.random() < 0.2:
                del data[to:]
    return bytes(data)
