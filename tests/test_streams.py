"""Pipes, terminals and colours: what a run puts where, and how it takes a reader that leaves."""

from __future__ import annotations

import json
import os
import re

import pytest

ESCAPE = "\x1b"


@pytest.fixture
def long_log(log):
    return log(*({"prompt_id": f"p{at // 4:06d}", "reward": at % 3} for at in range(40_000)))


@pytest.mark.parametrize(
    "line",
    [
        "compute x.jsonl -o - | head -1",
        "groups x.jsonl | head -1",
        "groups x.jsonl --format table | head -1",
        "estimators | head -1",
        "compute --help | head -1",
    ],
)
def test_a_reader_that_leaves_ends_the_run_quietly(shell, long_log, here, line):
    ran = shell(f"grpo-adv {line}")
    assert ran.code == 0, ran
    assert len(ran.out.splitlines()) == 1
    assert not re.search("Traceback|BrokenPipe|Exception ignored|grpo-adv: ", ran.err)
    assert [entry.name for entry in here.iterdir()] == ["x.jsonl"]
    assert long_log


def test_a_reader_of_the_talk_that_leaves_does_not_stop_the_work(shell, log, here):
    log(a=[1, 0], b=[1, 0, 0])
    ran = shell("grpo-adv compute x.jsonl --in-place 2>&1 | head -1")
    assert ran.code == 0
    assert (here / "x.jsonl").read_bytes().count(b"advantage") == 5


def test_rows_flow_through_a_pipe(shell, log):
    log(a=[1, 0], b=[1, 1])
    python = "import json, sys; print([json.loads(line)['advantage'] for line in sys.stdin])"
    ran = shell(f'cat x.jsonl | grpo-adv compute - | python3 -c "{python}"')
    assert ran.code == 0, ran.err
    assert json.loads(ran.out) == [1.0, -1.0, 0.0, 0.0]
    assert "standard input" in ran.err
    ran = shell("grpo-adv compute <(cat x.jsonl) -o - -q | wc -l")
    assert ran.out.strip() == "4"
    ran = shell(
        "grpo-adv compute x.jsonl -o - -q | grpo-adv compute - -q --column again | grpo-adv groups - -q | wc -l"
    )
    assert ran.out.strip() == "3"


def test_with_rows_on_stdout_the_tables_go_to_stderr(grpo, log):
    path = log(a=[1, 0])
    ran = grpo("compute", path, "-o", "-")
    assert len(ran.records) == 2
    assert "status" in ran.err
    ran = grpo("compute", path)
    assert "status" in ran.out
    assert "wrote x.advantages.jsonl" in ran.err
    quiet = grpo("compute", path, "--force", "-q")
    assert (quiet.out, quiet.err) == ("", "")


def test_a_pipe_gets_every_group_on_one_whole_line(grpo, log, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    long = "x" * 300
    path = log(**{f"{long}{at}": [0, 1] for at in range(50)})
    for form in ((), ("--format", "table")):
        out = grpo("groups", path, *form).out
        assert out.count(long) == 50
        assert "…" not in out


def test_a_terminal_gets_a_table_that_fits_with_colours(terminal, log):
    path = log(**{f"{'long-key-' * 9}{at}": [0, 1] for at in range(30)})
    for columns in (60, 100):
        ran = terminal("groups", path, columns=columns)
        assert ran.code == 0
        assert ESCAPE in ran.out
        plain = re.sub(r"\x1b\[[0-9;]*m", "", ran.out)
        assert max(map(len, plain.splitlines())) <= columns
        assert "10 more groups; --limit 0 shows all" in " ".join(plain.split())
        assert "mixed" in plain


def test_columns_says_how_wide_it_is(terminal, log):
    path = log(a=[0, 1])
    ran = terminal("groups", path, columns=200, env={"COLUMNS": "50", "NO_COLOR": "1"})
    assert max(map(len, ran.out.splitlines())) <= 50


@pytest.mark.parametrize(
    "arguments", [("groups", "x.jsonl"), ("compute", "--help"), ("groups", "nope.jsonl"), ("nope",)]
)
def test_no_color_wins_in_tables_help_and_errors(terminal, log, arguments):
    log(a=[0, 1])
    ran = terminal(*arguments, env={"NO_COLOR": "1", "FORCE_COLOR": "1"})
    assert ran.code == (2 if "nope" in arguments[-1] else 0)
    assert ran.out.strip()
    assert ESCAPE not in ran.out


def test_colours_can_be_forced_into_a_pipe_but_never_into_data(grpo, log, monkeypatch):
    path = log(a=[0, 1])
    assert ESCAPE not in grpo("groups", path, "--format", "table").out
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert ESCAPE in grpo("groups", path, "--format", "table").out
    for form in ("json", "jsonl", "csv", "tsv", "md", "auto"):
        assert ESCAPE not in grpo("groups", path, "--format", form, "-q").out
    monkeypatch.setenv("NO_COLOR", "1")
    assert ESCAPE not in grpo("groups", path, "--format", "table").out


def test_nothing_but_ascii_where_the_encoding_has_no_more(process, log, here):
    path = log(**{"é😀": [0, 1], "ok": [1, 1]})
    ran = process("groups", path, "--format", "table", env={"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}, cwd=here)
    assert ran.code == 0, ran.err
    assert ran.raw.isascii()
    ran = process("groups", path, env={"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}, cwd=here)
    assert "é😀" in ran.out, "data is UTF-8 whatever the locale says"


@pytest.mark.parametrize("closed", [">&-", "<&- >&- 2>&-"])
def test_closed_streams_do_no_harm(shell, log, here, closed):
    log(a=[1, 0])
    ran = shell(f"grpo-adv compute x.jsonl --in-place {closed}")
    assert ran.code == 0, ran
    assert (here / "x.jsonl").read_text().count("advantage") == 2


def test_parquet_is_not_for_a_terminal(terminal, parquet):
    path = parquet({"prompt_id": ["a", "a"], "reward": [1, 0]})
    ran = terminal("compute", path, "-o", "-")
    assert ran.code == 2
    assert "Parquet is not for a terminal" in ran.out


def test_unbuffered_output_loses_nothing(process, long_log, here):
    ran = process("compute", long_log, "-o", "-", "-q", env={"PYTHONUNBUFFERED": "1"}, cwd=here)
    assert len(ran.raw.splitlines()) == 40_000


def test_errors_are_one_line_and_a_hint(grpo, log, here, untouched):
    path = log('{"prompt_id": "a", "completion": "PRIVATE-TEXT", "reward": 1}', '{"prompt_id": "a", "rewrad": 0}')
    (here / "folder").mkdir()
    (here / "empty.jsonl").write_bytes(b"")
    (here / "blank.jsonl").write_bytes(b"\n\n")
    (here / "binary.jsonl").write_bytes(bytes(range(256)) * 9)
    (here / "latin.jsonl").write_bytes(b'{"prompt_id": "\xe9", "reward": 1}\n')
    (here / "dangling.jsonl").symlink_to("nowhere")
    (here / "loop.jsonl").symlink_to("loop.jsonl")
    (here / "pretty.json").write_text(json.dumps([{"prompt_id": "a", "reward": 1}], indent=2))
    unchanged = untouched()
    for name, said in {
        str(path): "x.jsonl:2: column reward: ",
        "nope.jsonl": "nope.jsonl: no such file",
        "nope*.jsonl": "no file matches",
        "folder": "folder: no log in this folder",
        "empty.jsonl": "empty.jsonl: empty",
        "blank.jsonl": "blank.jsonl: there is no rollout in it",
        "binary.jsonl": "binary.jsonl: binary data",
        "latin.jsonl": "latin.jsonl:1: not UTF-8",
        "dangling.jsonl": "dangling.jsonl: a symbolic link to nothing",
        "loop.jsonl": "loop.jsonl: ",
        "pretty.json": "pretty.json: ",
        "": "empty file name",
        "x" * 300: "name too long",
        "x.jsonl/y": "x.jsonl/y: ",
    }.items():
        ran = grpo("compute", name).refused(said)
        assert "PRIVATE-TEXT" not in ran.err
        grpo("groups", name).refused(said)
    unchanged()


def test_outputs_that_cannot_be_are_refused_before_anything_is_read(grpo, log, here, untouched):
    path = log(a=[1, 0])
    log(a=[1, 0], name="y.jsonl")
    (here / "folder").mkdir()
    (here / "hard.jsonl").hardlink_to(here / path)
    (here / "soft.jsonl").symlink_to(path)
    (here / "round").symlink_to("folder")
    (here / "x.advantages.jsonl").write_text("keep me")
    unchanged = untouched()
    for options, said in {
        (): "x.advantages.jsonl exists",
        ("-o", "x.jsonl", "-f"): "is the input",
        ("-o", "./x.jsonl", "-f"): "is the input",
        ("-o", "folder/../x.jsonl", "-f"): "is the input",
        ("-o", "round/../x.jsonl", "-f"): "is the input",
        ("-o", "hard.jsonl", "-f"): "is the input",
        ("-o", "soft.jsonl", "-f"): "is the input",
        ("-o", ".", "-f"): "is the input",
        ("-o", "y.jsonl"): "y.jsonl exists",
        ("-o", ""): "--output is empty",
        ("-o", "z.parquet"): "would be .parquet",
        ("-o", "z.jsonl.bz2"): ".bz2 is not written",
        ("-o", "x.jsonl/z.jsonl"): "not a directory",
        ("-o", "z" * 300): "name too long",
        ("-o", "z.jsonl", "-i"): "exclude each other",
        ("-i", "--column", ""): "--column is empty",
        ("-i", "--column", "reward"): "'reward' already",
        ("-i", "--column", "group_n", "--with-group-stats"): "group_n",
        ("y.jsonl",): "nothing says where the output goes",
        ("y.jsonl", "-o", "y.jsonl", "-f"): "is the input",
    }.items():
        grpo("compute", path, *options, "-q").refused(said)
    unchanged()


def test_two_outputs_that_links_lead_to_one_file_are_refused(grpo, log, here, untouched):
    log(a=[1, 0], name="d/a.jsonl")
    log(a=[1, 0], name="d/b.jsonl")
    (here / "out").mkdir()
    (here / "out/a.jsonl").symlink_to("b.jsonl")
    unchanged = untouched()
    grpo("compute", "d", "-o", "out/", "-q", "--force").refused("are one file")
    unchanged()


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_what_may_not_be_read_is_said(grpo, log, here):
    path = here / log(a=[1, 0], name="d/x.jsonl")
    path.chmod(0)
    grpo("compute", "d/x.jsonl").refused("no permission to read it")
    path.chmod(0o644)
    path.parent.chmod(0)
    grpo("compute", "d/x.jsonl").refused("d/x.jsonl: ")
    grpo("compute", "d").refused("d: ")
    path.parent.chmod(0o755)
