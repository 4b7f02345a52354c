"""The page of `show`: what is on it, in the room there is."""

from __future__ import annotations

from grpo_cli.frame import Status
from grpo_cli.render.rollouts import Message, ShownGroup, ShownRollout, draw_groups
from grpo_cli.render.screen import Screen


def group(*said: Message, figures=(("reward", 1.0), ("advantage", None)), place="x.jsonl:7", **more) -> ShownGroup:
    made = {"name": "1f2e  key", "about": "2 rollouts", "status": Status.MIXED, "prompt": [Message(None, "Q?")]}
    return ShownGroup(**made | {"rollouts": [ShownRollout(place, figures, said)]} | more)


def page(*groups: ShownGroup, columns=40, terminal=True, chars=None, **how) -> list[str]:
    screen = Screen.in_memory(columns=columns, terminal=terminal, **how)
    draw_groups(screen, groups, chars=chars)
    lines = screen.text().splitlines()
    assert not terminal or max(map(len, lines)) <= columns
    return lines


def test_a_group():
    assert page(group(Message(None, "A."), left_out=1), group(prompt=[])) == [
        "1f2e  key",
        "◐ mixed  2 rollouts",
        "",
        "── prompt",
        "Q?",
        "",
        "── reward 1  advantage -  x.jsonl:7",
        "A.",
        "",
        "... and 1 more rollout of this group",
        "",
        "1f2e  key",
        "◐ mixed  2 rollouts",
        "",
        "── reward 1  advantage -  x.jsonl:7",
        "(nothing)",
    ]


def test_a_long_heading_takes_lines_and_a_long_place_gives_way():
    figures = [(f"reward_{at}", 0.5) for at in range(4)]
    lines = page(group(Message(None, "A."), figures=figures, place="a/very/long/path/to/a/file.jsonl:12345"))
    assert lines[6:9] == [
        "── reward_0 0.5  reward_1 0.5",
        "   reward_2 0.5  reward_3 0.5",
        "   a/very/long/path/to/a/fi….jsonl:12345",
    ]
    wide = page(group(Message(None, "A."), figures=figures, place="p" * 50), terminal=False)
    assert wide[6] == f"── reward_0 0.5  reward_1 0.5  reward_2 0.5  reward_3 0.5  {'p' * 50}"


def test_turns_are_set_in_and_lines_keep_their_margin():
    lines = page(group(Message("assistant", "def f():\n    return " + "word " * 9), Message("tool", "")))
    assert lines[7:] == [
        "assistant:",
        "  def f():",
        "      return word word word word word",
        "      word word word word ",
        "tool:",
        "  (empty)",
    ]


def test_only_so_many_characters():
    said = [Message("a", "12345"), Message("b", "67890"), Message("c", "x" * 1000)]
    assert page(group(*said), chars=7)[7:] == [
        "a:",
        "  12345",
        "b:",
        "  67",
        "  … 3 more characters",
        "… 1 more message, 1,000 characters",
    ]
    assert page(group(*said), chars=5)[7:] == ["a:", "  12345", "… 2 more messages, 1,005 characters"]


def test_ascii_where_it_must_be():
    lines = page(group(Message(None, "é")), encoding="ascii")
    assert lines[1] == "~ mixed  2 rollouts"
    assert lines[-1] == r"\xe9"
