from __future__ import annotations

import polars as pl

from grpo_cli.render.labelled import headed, labelled
from grpo_cli.render.screen import Screen
from grpo_cli.render.tables import Kind, Table


def test_facts_stand_beside_their_labels_and_are_wrapped():
    screen = Screen.in_memory(columns=30, terminal=True)
    labelled(screen, [("one", ["a short line", "another"]), ("second", ["a line that is longer than that"])])
    assert screen.text() == (
        "one     a short line\n        another\nsecond  a line that is longer\n        than that\n"
    )


def test_only_labels_stand_out():
    screen = Screen.in_memory(terminal=True, colour=True)
    labelled(screen, [("one", ["said"])])
    assert screen.text() == "\x1b[1mone\x1b[0m  said\n"


def test_nothing_in_a_line_is_obeyed():
    screen = Screen.in_memory()
    labelled(screen, [("one", ["[red]a\x1b[2J\nb"])])
    assert screen.text() == "one  [red]a\\x1b[2J\\nb\n"


def test_a_table_below_its_title():
    screen = Screen.in_memory()
    table = Table("rows", pl.DataFrame({"n": [2, 1, 3]}), {"n": Kind.COUNT})
    headed(screen, "Rows", table, sort="n", limit=2)
    assert screen.text().splitlines() == ["", "Rows", "n", "─", "1", "2"]
    assert screen.text("err") == "... and 1 more row; --limit 0 shows all\n"
