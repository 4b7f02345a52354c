"""Progress is seen on a terminal only, after a second, and leaves nothing behind."""

from __future__ import annotations

import os
import pty
import re
import select
import subprocess
import sys

import pytest

from grpo_cli.render import progress as progress_module
from grpo_cli.render.screen import Screen

PROGRAM = """
import sys, time
from grpo_cli.render.screen import Screen
screen = Screen.of_process(quiet={quiet})
with screen.progress.stage("reading", 3_000_000):
    for _ in range(3):
        time.sleep({pause})
        screen.progress.advance(1_000_000, 5_000)
    time.sleep(0.3)
print("rich.progress" in sys.modules)
screen.progress.advance(1, 1)
"""


def on_a_terminal(pause, *, quiet=False, **environment):
    """What the program above writes to a terminal, standard error and then what it prints."""
    master, slave = pty.openpty()
    names = ("NO_COLOR", "FORCE_COLOR", "TERM", "COLUMNS")
    plain = {name: value for name, value in os.environ.items() if name not in names}
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM.format(pause=pause, quiet=quiet)],
        stdout=subprocess.PIPE,
        stderr=slave,
        env={**plain, "TERM": "xterm-256color", "COLUMNS": "100", **environment},
        text=True,
    )
    os.close(slave)
    shown = b""
    while select.select([master], [], [], 10)[0]:
        try:
            piece = os.read(master, 65536)
        except OSError:
            break
        if not piece:
            break
        shown += piece
    os.close(master)
    printed, _ = process.communicate(timeout=30)
    assert process.returncode == 0
    return shown.decode(), printed.strip()


def test_bytes_rows_rate_and_time_left_are_shown_and_wiped():
    shown, loaded = on_a_terminal(0.5)
    assert loaded == "True"
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown)
    assert re.search(r"reading .* 3\.0/3\.0 MB .* 15,000 rows", text)
    assert re.search(r"\d MB/s", text)
    assert "0:00:" in text
    assert shown.endswith(("\x1b[2K", "\x1b[1A\x1b[2K")), "the line is erased"
    assert shown.count("\x1b[?25l") == shown.count("\x1b[?25h"), "the cursor is back"


@pytest.mark.parametrize(
    ("pause", "quiet", "environment"),
    [(0.01, False, {}), (0.5, True, {}), (0.5, False, {"NO_COLOR": "1"}), (0.5, False, {"TERM": "dumb"})],
    ids=["short", "quiet", "no colour", "dumb"],
)
def test_nothing_is_written(pause, quiet, environment):
    assert on_a_terminal(pause, quiet=quiet, **environment) == ("", "False")


def test_a_pipe_sees_nothing(monkeypatch):
    monkeypatch.setattr(progress_module, "PATIENCE", 0.0)
    screen = Screen.in_memory(colour=True)
    with screen.progress.stage("reading", 10):
        screen.progress.advance(5, 1)
    assert screen.text("err") == ""


def test_an_error_within_it_leaves_nothing_behind(monkeypatch):
    monkeypatch.setattr(progress_module, "PATIENCE", 0.0)
    screen = Screen.in_memory(colour=True, terminal=True)

    def work():
        with screen.progress.stage("reading", 10):
            screen.progress.advance(5, 1)
            raise ValueError("boom")

    with pytest.raises(ValueError, match="boom"):
        work()
    assert screen.text("err").endswith("\x1b[2K")
    screen.progress.advance(5, 1)
    assert screen.text("err").endswith("\x1b[2K")


def test_stages_count_from_nothing(monkeypatch):
    monkeypatch.setattr(progress_module, "PATIENCE", 0.0)
    screen = Screen.in_memory(colour=True, terminal=True, columns=100)
    for what in ("reading", "writing"):
        with screen.progress.stage(what, 4_000_000):
            screen.progress.advance(2_000_000, 7)
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", screen.text("err"))
    assert "writing" in text
    assert "2.0/4.0 MB" in text
    assert "14 rows" not in text
