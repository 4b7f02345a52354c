import csv
import io
import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grpo_cli.errors import UsageError
from grpo_cli.frame import Status
from grpo_cli.render.screen import FORMATS, Screen
from grpo_cli.render.tables import Kind, Table
from grpo_cli.render.text import width

ROOT = Path(__file__).resolve().parents[2]


def table_of(rows=25):
    frame = pl.DataFrame(
        {
            "id": [f"{i:06x}" for i in range(rows)],
            "key": [f"[red]q{i}[/red] :x:" for i in range(rows)],
            "mean": [None if i == 3 else (i * 7 % 5) / 4 for i in range(rows)],
            "status": [list(Status)[i % 6].value for i in range(rows)],
        },
        schema={"id": pl.String, "key": pl.String, "mean": pl.Float64, "status": pl.String},
    )
    columns = {"id": Kind.ID, "key": Kind.KEY, "mean": Kind.NUMBER, "status": Kind.STATUS}
    return Table("groups", frame, columns, narrow=("mean",))


def ids(screen):
    return [line.split("\t")[0] for line in screen.text().splitlines()[1:]]


def test_auto_is_a_table_on_a_terminal_and_tsv_in_a_pipe():
    terminal, pipe = Screen.in_memory(terminal=True), Screen.in_memory()
    for screen in (terminal, pipe):
        screen.show(table_of(2))
    assert terminal.text() == (
        "id      key                mean  status\n"
        "───────────────────────────────────────────\n"
        "000000  [red]q0[/red] :x:   0    ◐ mixed\n"
        "000001  [red]q1[/red] :x:   0.5  ✓ all-pass\n"
    )
    assert pipe.text() == (
        "id\tkey\tmean\tstatus\n000000\t[red]q0[/red] :x:\t0.0\tmixed\n000001\t[red]q1[/red] :x:\t0.5\tall-pass\n"
    )


def test_a_terminal_shows_twenty_rows_and_says_how_many_more():
    screen = Screen.in_memory(terminal=True)
    screen.show(table_of())
    assert len(screen.text().splitlines()) == 2 + 20
    assert screen.text("err") == "... and 5 more groups; --limit 0 shows all\n"


def test_what_is_left_out_is_said_for_one_row_too():
    screen = Screen.in_memory(terminal=True)
    screen.show(table_of(), limit=24)
    assert screen.text("err") == "... and 1 more group; --limit 0 shows all\n"


@pytest.mark.parametrize("form", FORMATS)
def test_a_pipe_gets_all_rows(form):
    screen = Screen.in_memory()
    screen.show(table_of(), format=form)
    assert screen.text().count("[red]q") == 25
    assert not screen.text("err")


def test_limit_holds_in_every_format_and_0_is_all():
    screen = Screen.in_memory()
    screen.show(table_of(), format="json", limit=3)
    assert len(json.loads(screen.text())) == 3
    assert screen.text("err") == "... and 22 more groups; --limit 0 shows all\n"
    terminal = Screen.in_memory(terminal=True)
    terminal.show(table_of(), limit=0)
    assert len(terminal.text().splitlines()) == 2 + 25


def test_columns_left_out_are_named():
    screen = Screen.in_memory(columns=34, terminal=True)
    screen.show(table_of(2))
    assert "mean" not in screen.text()
    assert screen.text("err").replace("\n", " ") == "no room for mean; --format json shows all "


def test_an_empty_table_is_said_to_be_empty():
    screen = Screen.in_memory(terminal=True)
    screen.show(table_of(0))
    assert screen.text("err") == "no groups\n"


def test_sorting_is_stable_with_nulls_last_both_ways():
    up, down = Screen.in_memory(), Screen.in_memory()
    up.show(table_of(8), sort="mean")
    down.show(table_of(8), sort="mean", descending=True)
    # Means are 0, 2, 4, null, 3, 0, 2, 4 quarters.
    assert ids(up) == ["000000", "000005", "000001", "000006", "000004", "000002", "000007", "000003"]
    assert ids(down) == ["000002", "000007", "000004", "000001", "000006", "000000", "000005", "000003"]


def test_statuses_sort_in_their_own_order():
    screen = Screen.in_memory()
    screen.show(table_of(7), sort="status")
    assert [line.split("\t")[-1] for line in screen.text().splitlines()[1:]] == ["mixed", *map(str, Status)]


def test_a_column_that_is_not_there_gets_a_suggestion():
    with pytest.raises(UsageError) as caught:
        Screen.in_memory().show(table_of(), sort="meen")
    assert caught.value.message == "there is no column meen to sort by"
    assert caught.value.hint == "did you mean mean? there is: id, key, mean, status"


@pytest.mark.parametrize("options", [{"format": "jsn"}, {"limit": -1}])
def test_a_wrong_option_is_a_usage_error_with_a_hint(options):
    screen = Screen.in_memory()
    with pytest.raises(UsageError) as caught:
        screen.show(table_of(), **options)
    assert caught.value.hint
    assert not screen.text()


def test_a_table_on_standard_error_is_a_table_and_leaves_standard_output_alone():
    screen = Screen.in_memory()
    screen.show(table_of(2), to="err")
    assert "✓ all-pass" in screen.text("err")
    assert not screen.text()


def test_notes_are_wrapped_on_a_terminal_only():
    terminal, pipe = Screen.in_memory(columns=30, terminal=True), Screen.in_memory(columns=30)
    for screen in (terminal, pipe):
        screen.say("plain, key prompt_id, reward reward")
        screen.note("12 rows have no reward \x1b[2J [red]x[/red]")
    assert pipe.text("err") == (
        "plain, key prompt_id, reward reward\n" + r"note: 12 rows have no reward \x1b[2J [red]x[/red]" + "\n"
    )
    assert terminal.text("err") == (
        "plain, key prompt_id, reward\n  reward\nnote: 12 rows have no reward\n      \\x1b[2J [red]x[/red]\n"
    )


def test_quiet_leaves_errors_only():
    screen = Screen.in_memory(quiet=True, terminal=True)
    screen.say("said")
    screen.note("noted")
    screen.show(table_of(), limit=1)
    screen.show(table_of(), to="err")
    screen.error("in.jsonl:2: \x1b[31m[red]no reward", "try :x:")
    assert screen.text("err") == "grpo-adv: in.jsonl:2: \\x1b[31m[red]no reward\nhint: try :x:\n"
    assert "[red]q0" in screen.text()


def test_an_error_without_a_hint_is_one_line():
    screen = Screen.in_memory(columns=20, terminal=True)
    screen.error("a message that is longer than the terminal is wide\nand tries a second line")
    message = r"a message that is longer than the terminal is wide\nand tries a second line"
    assert screen.text("err") == f"grpo-adv: {message}\n"


def test_printed_lines_stay_lines():
    pipe, terminal = Screen.in_memory(), Screen.in_memory(terminal=True)
    for screen in (pipe, terminal):
        screen.print("3f2a91", "a\nb\x1b \\[x]")
    assert pipe.text() == terminal.text() == "3f2a91\n" + r"a\nb\x1b \[x]" + "\n"


@pytest.mark.parametrize("form", ["json", "jsonl", "csv", "tsv", "md"])
@pytest.mark.parametrize("terminal", [True, False])
def test_machine_formats_are_never_coloured(form, terminal):
    screen = Screen.in_memory(terminal=terminal, colour=True)
    screen.show(table_of(), format=form)
    assert "\x1b" not in screen.text()


def test_machine_formats_are_utf8_in_any_locale():
    screen = Screen.in_memory(encoding="ascii")
    table = Table("groups", pl.DataFrame({"key": ["数学"]}), {"key": Kind.KEY})
    screen.show(table, format="json")
    assert json.loads(screen.out.file.buffer.getvalue()) == [{"key": "数学"}]
    screen.show(table, format="table", to="err")
    assert screen.text("err").splitlines()[2] == r"\u6570\u5b66"


@given(st.text(max_size=80), st.integers(20, 120))
def test_talk_is_never_wider_than_the_terminal(text, columns):
    screen = Screen.in_memory(columns=columns, terminal=True, colour=False)
    screen.note(text)
    screen.say(text)
    assert all(width(line) <= columns for line in screen.text("err").split("\n"))


CHILD = """
import sys
import polars as pl
from grpo_cli.render.screen import Screen
from grpo_cli.render.tables import Kind, Table
screen = Screen.of_process()
frame = pl.DataFrame({"key": ["esc\\x1b[2J"] * int(sys.argv[2]), "status": ["mixed"] * int(sys.argv[2])})
screen.note("a note")
try:
    screen.show(Table("groups", frame, {"key": Kind.KEY, "status": Kind.STATUS}), format=sys.argv[1])
except BrokenPipeError:
    sys.stderr.write("broken pipe")
    sys.stderr.flush()
    import os
    os._exit(0)
"""


def run(form, rows=1, *, out_terminal=False, err_terminal=False, environ=()):
    """What a process of its own writes to its two streams, each a terminal or a pipe."""
    clean = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "TERM")}
    ends = [pty.openpty() if terminal else os.pipe() for terminal in (out_terminal, err_terminal)]
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, form, str(rows)],
        cwd=ROOT,
        env=clean | {"TERM": "xterm-256color", "PYTHONUTF8": "1"} | dict(environ),
        stdout=ends[0][1],
        stderr=ends[1][1],
    )
    for _, theirs in ends:
        os.close(theirs)
    texts = []
    for ours, _ in ends:
        text = b""
        # The far end of a terminal that is closed is an OSError, of a pipe an empty read.
        while chunk := _read(ours):
            text += chunk
        os.close(ours)
        texts.append(text.decode().replace("\r\n", "\n"))
    assert child.wait(timeout=30) == 0
    return texts


def _read(descriptor):
    try:
        return os.read(descriptor, 65536)
    except OSError:
        return b""


def test_each_stream_follows_what_it_is():
    out, err = run("auto", out_terminal=True)
    assert "\x1b[32m◐ mixed\x1b[0m" in out
    assert r"esc\x1b[2J" in out
    assert "\x1b" not in err
    out, err = run("auto", err_terminal=True)
    assert out == "key\tstatus\n" + r"esc\x1b[2J" + "\tmixed\n"
    assert "\x1b[2mnote: \x1b[0m" in err


@pytest.mark.parametrize(
    "environ",
    [{"NO_COLOR": "1"}, {"NO_COLOR": "1", "FORCE_COLOR": "1"}, {"TERM": "dumb"}],
    ids="+".join,
)
def test_no_color_means_no_escape_at_all(environ):
    out, err = run("auto", out_terminal=True, err_terminal=True, environ=environ)
    assert "◐ mixed" in out
    assert "\x1b" not in out + err


def test_force_color_colours_a_table_in_a_pipe_but_no_data():
    out, err = run("table", environ={"FORCE_COLOR": "1", "NO_COLOR": ""})
    assert "\x1b[32m◐ mixed\x1b[0m" in out
    assert "\x1b[2mnote" in err
    for form in ("auto", "json"):
        assert "\x1b" not in run(form, environ={"FORCE_COLOR": "1"})[0]


def test_a_pipe_is_plain_even_for_a_table():
    out, err = run("table")
    assert "\x1b" not in out + err
    assert re.search(r"esc\\x1b\[2J +◐ mixed", out)


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("form", ["auto", "table"])
def test_a_closed_pipe_comes_out_as_the_error_it_is(form, unbuffered):
    ours, theirs = os.pipe()
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, form, "20000"],
        cwd=ROOT,
        env=os.environ | {"PYTHONUNBUFFERED": unbuffered},
        stdout=theirs,
        stderr=subprocess.PIPE,
    )
    os.close(theirs)
    os.read(ours, 100)
    os.close(ours)
    _, err = child.communicate(timeout=60)
    assert child.returncode == 0
    assert err.decode().endswith("broken pipe")


def test_a_closed_stream_is_no_trouble():
    child = subprocess.run(
        ["sh", "-c", 'exec "$0" -c "$1" auto 1 2>&-', sys.executable, CHILD],
        cwd=ROOT,
        capture_output=True,
        check=True,
        timeout=60,
    )
    assert list(csv.reader(io.StringIO(child.stdout.decode()), delimiter="\t"))[1][1] == "mixed"


def test_a_screen_without_a_table_loads_no_polars():
    code = "import sys; from grpo_cli.render.screen import Screen; Screen.of_process().error('x'); print(*sys.modules)"
    child = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, check=True, timeout=60)
    assert not {"polars", "pyarrow", "rich.progress"} & set(child.stdout.decode().split())
    assert child.stderr == b"grpo-adv: x\n"
