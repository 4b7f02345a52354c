from __future__ import annotations

import io
from pathlib import Path

import pytest

from grpo_cli.logs.source import LogFile


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
