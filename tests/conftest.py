"""How tests run the program: in this process (quick), as a process of its own, and on a terminal."""

from __future__ import annotations

import fcntl
import functools
import io
import json
import os
import pty
import signal
import struct
import subprocess
import sys
import tempfile
import termios
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
import typer.main
from hypothesis import settings

# A shell that starts the tests in the background has them ignore Ctrl-C, and so would every program they start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# A loaded machine is no fault of the program's.
settings.register_profile("grpo-adv", deadline=None)
settings.load_profile("grpo-adv")

# The commands are the same in every run, and take longer to build than a small log takes to compute.
typer.main.get_command = functools.cache(typer.main.get_command)

PROGRAM = (sys.executable, "-m", "grpo_cli")
_COLOURS = ("NO_COLOR", "FORCE_COLOR", "PY_COLORS", "GITHUB_ACTIONS", "TERM", "COLUMNS", "GRPO_ADV_DEBUG", "CLICOLOR")


@dataclass(frozen=True)
class Ran:
    """What a run of the program gave."""

    code: int
    raw: bytes
    """Standard output as bytes."""
    err: str

    @property
    def out(self) -> str:
        return self.raw.decode()

    @property
    def records(self) -> list[dict]:
        """Standard output as JSONL."""
        return [json.loads(line) for line in self.out.splitlines() if line.strip()]

    @property
    def rows(self) -> list[dict]:
        """Standard output as one JSON array."""
        return json.loads(self.out)

    @property
    def advantages(self) -> list[float | None]:
        return [record["advantage"] for record in self.records]

    def refused(self, *said: str) -> Ran:
        """That it ended as refusals do: exit code 2, nothing on stdout, one line and perhaps a hint on stderr."""
        assert self.code == 2, (self.code, self.err)
        assert self.raw == b""
        first, *rest = self.err.splitlines()
        assert first.startswith("grpo-adv: "), self.err
        assert not rest or (len(rest) == 1 and rest[0].startswith("hint: ")), self.err
        assert not first.startswith("grpo-adv: unexpected "), self.err
        for text in said:
            assert text in self.err, (text, self.err)
        return self


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch):
    """No colours, widths or debugging from whoever runs the tests."""
    for name in _COLOURS:
        monkeypatch.delenv(name, raising=False)


@contextmanager
def _streams(stdin: bytes):
    """Standard streams over real files, as a shell redirects them."""
    before = sys.stdin, sys.stdout, sys.stderr
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        sys.stdin = io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8")
        sys.stdout = io.TextIOWrapper(io.BufferedWriter(out.raw), encoding="utf-8", errors="strict")
        sys.stderr = io.TextIOWrapper(io.BufferedWriter(err.raw), encoding="utf-8", errors="backslashreplace")
        try:
            yield out, err
        finally:
            for stream in (sys.stdout, sys.stderr):
                stream.flush()
                stream.detach().detach()
            sys.stdin, sys.stdout, sys.stderr = before


def run_here(*arguments: object, stdin: bytes = b"") -> Ran:
    """Run the program in this process."""
    from grpo_cli import app

    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        with _streams(stdin) as (out, err):
            try:
                code = app.run([str(argument) for argument in arguments])
            except SystemExit as left:
                code = left.code
            for stream in (sys.stdout, sys.stderr):
                stream.flush()
            raw, said = (os.pread(file.fileno(), os.fstat(file.fileno()).st_size, 0) for file in (out, err))
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    return Ran(code, raw, said.decode())


@pytest.fixture
def grpo():
    """Run the program in this process."""
    return run_here


def _environment(env: dict | None) -> dict:
    clean = {name: value for name, value in os.environ.items() if name not in _COLOURS}
    return clean | {"PYTHONWARNINGS": "error"} | (env or {})


@pytest.fixture
def process():
    """Run the program as a process of its own."""

    def run(*arguments: object, stdin: bytes = b"", env: dict | None = None, cwd: Path | None = None) -> Ran:
        done = subprocess.run(
            [*PROGRAM, *map(str, arguments)],
            input=stdin,
            capture_output=True,
            env=_environment(env),
            cwd=cwd,
            timeout=60,
            check=False,
        )
        return Ran(done.returncode, done.stdout, done.stderr.decode())

    return run


@pytest.fixture
def shell():
    """Run a line of bash in which `grpo-adv` is the program; `pipefail` is on."""

    def run(line: str, env: dict | None = None, cwd: Path | None = None) -> Ran:
        start = f'set -o pipefail; grpo-adv() {{ "{sys.executable}" -m grpo_cli "$@"; }}; '
        done = subprocess.run(
            ["bash", "-c", start + line],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env=_environment(env),
            cwd=cwd,
            timeout=60,
            check=False,
        )
        return Ran(done.returncode, done.stdout, done.stderr.decode())

    return run


@pytest.fixture
def terminal():
    """Run the program on a terminal, which is both its standard output and its standard error."""

    def run(*arguments: object, columns: int = 100, env: dict | None = None, cwd: Path | None = None) -> Ran:
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        with subprocess.Popen(
            [*PROGRAM, *map(str, arguments)],
            stdin=subprocess.DEVNULL,
            stdout=theirs,
            stderr=theirs,
            env=_environment({"TERM": "xterm-256color"} | (env or {})),
            cwd=cwd,
        ) as started:
            os.close(theirs)
            seen = b""
            while True:
                try:
                    piece = os.read(ours, 65536)
                except OSError:  # the other end is closed: this is how Linux says so
                    break
                if not piece:
                    break
                seen += piece
            os.close(ours)
            code = started.wait(timeout=60)
        return Ran(code, seen.replace(b"\r\n", b"\n"), "")

    return run


@pytest.fixture
def here(tmp_path, monkeypatch):
    """An empty folder to work in, so that messages have short names."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def jsonl(*records: object) -> bytes:
    """Records, or lines as they are, as JSONL."""
    lines = [record.encode() if isinstance(record, str) else json.dumps(record).encode() for record in records]
    return b"".join(line + b"\n" for line in lines)


@pytest.fixture
def log(here):
    """Write a log: rows of {"prompt_id", "reward"} given as `a=[1, 0]`, or records, or lines."""

    def write(*records: object, name: str = "x.jsonl", **groups: list) -> Path:
        rows = [{"prompt_id": key, "reward": reward} for key, rewards in groups.items() for reward in rewards]
        path = here / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(jsonl(*records, *rows))
        return Path(name)

    return write


@pytest.fixture
def parquet(here):
    """Write a Parquet log from columns."""

    def write(columns: object, name: str = "x.parquet", **how: object) -> Path:
        import pyarrow as pa
        import pyarrow.parquet as pq

        table = columns if isinstance(columns, pa.Table) else pa.table(columns)
        pq.write_table(table, here / name, **how)
        return Path(name)

    return write


def listing(folder: Path) -> dict[str, bytes]:
    """Every file below a folder and its bytes: what must not change where nothing may."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.fixture
def untouched(here):
    """A check that the folder is as it is now, litter and all."""

    def remember():
        before = listing(here)

        def check():
            after = listing(here)
            assert after.keys() == before.keys()
            assert after == before

        return check

    return remember
