"""A prompt or a completion as turns, whatever shape it was logged in."""

from __future__ import annotations

import json

import pytest

from grpo_cli.logs.texts import Turn, turns

CHAT = [{"role": "user", "content": "Hi?"}, {"role": "assistant", "content": "Ho."}]


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (None, []),
        ("text", [Turn(None, "text")]),
        ("", [Turn(None, "")]),
        ("[1, 2]", [Turn(None, "[1, 2]")]),
        ('[{"a": 1}]', [Turn(None, '[{"a": 1}]')]),
        ('[{"role": broken', [Turn(None, '[{"role": broken')]),
        (CHAT, [Turn("user", "Hi?"), Turn("assistant", "Ho.")]),
        (json.dumps(CHAT), [Turn("user", "Hi?"), Turn("assistant", "Ho.")]),
        ([{"from": "gpt", "value": "Ho."}], [Turn("gpt", "Ho.")]),
        ([{"role": "user", "content": None}], [Turn("user", "")]),
        (
            [{"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "image"}]}],
            [Turn("user", "a\n[image]")],
        ),
        ([{"index": 0, "message": CHAT[1]}], [Turn("assistant", "Ho.")]),
        ({"output": [{"type": "message", "role": "assistant", "content": "Ho."}]}, [Turn("assistant", "Ho.")]),
        ([{"type": "reasoning", "text": "Hm."}], [Turn("reasoning", "Hm.")]),
        ([7, 8, 9], [Turn(None, "3 token ids: 7 8 9")]),
        (["one", "two"], [Turn(None, "one"), Turn(None, "two")]),
        ([], []),
        (5, [Turn(None, "5")]),
        ({"a": 1}, [Turn(None, '{"a": 1}')]),
    ],
)
def test_turns(value, said):
    assert turns(value) == said


def test_calls_and_thoughts_are_turns_of_their_own():
    call = {"function": {"name": "f", "arguments": {"x": 1}}}
    message = {"role": "assistant", "content": "Ho.", "reasoning": "Hm.", "tool_calls": [call, "raw"]}
    assert turns([message]) == [
        Turn("assistant (reasoning)", "Hm."),
        Turn("assistant", "Ho."),
        Turn("assistant (tool call)", 'f({"x": 1})'),
        Turn("assistant (tool call)", "raw"),
    ]
