"""The rollouts of chosen groups with their text: which are shown, and that nothing of them is obeyed."""

from __future__ import annotations

import json

import pytest


def rollouts(**groups):
    return [
        {"prompt_id": prompt, "prompt": f"Question {prompt}?", "completion": f"{prompt}{at}", "reward": reward}
        for prompt, rewards in groups.items()
        for at, reward in enumerate(rewards)
    ]


@pytest.fixture
def small(log):
    return log(*rollouts(a=[0, 1, None, 1], b=[1, 1], c=[0, 0], d=[0, 1], e=[1, 1]))


def said(ran) -> list[str]:
    assert ran.code == 0, ran.err
    return [row["completion"] for row in ran.rows]


def test_the_highest_reward_comes_first_and_none_last(grpo, small):
    ran = grpo("show", small, "--key", "a", "--format", "json")
    assert said(ran) == ["a1", "a3", "a0", "a2"]
    first, _, _, last = ran.rows
    assert first == {
        "id": first["id"],
        "key": "a",
        "status": "mixed",
        "reward": 1,
        "advantage": pytest.approx(0.5**0.5),
        "file": "x.jsonl",
        "line": 2,
        "prompt": "Question a?",
        "completion": "a1",
    }
    assert (last["reward"], last["advantage"], last["line"]) == (None, None, 3)


def test_which_groups(grpo, small):
    asked = ("show", small, "--format", "json")
    assert said(grpo(*asked, "--status", "all-fail")) == ["c0", "c1"]
    assert said(grpo(*asked, "--where", "n = 2 and mean = 1")) == ["b0", "b1", "e0", "e1"]
    assert said(grpo(*asked, "--status", "mixed", "--sort", "n", "--limit", "1")) == ["d1", "d0"]
    assert said(grpo(*asked, "--sort", "mean", "--desc", "--limit", "1")) == ["b0", "b1"]
    assert len(said(grpo(*asked))) == 12
    assert said(grpo(*asked, "--status", "tied")) == []
    (identity,) = {row["id"] for row in grpo(*asked, "--key", "c").rows}
    assert said(grpo(*asked, "--key", identity)) == said(grpo(*asked, "--key", identity[:5])) == ["c0", "c1"]
    grpo(*asked, "--key", "nobody").refused("there is no group 'nobody'")
    grpo(*asked, "--sort", "meen").refused("no column meen", "did you mean mean")


def test_best_and_worst_of_each_group(grpo, small):
    asked = ("show", small, "--key", "a", "--format", "json")
    assert said(grpo(*asked, "--best", "1")) == ["a1"]
    assert said(grpo(*asked, "--worst", "1")) == ["a0"]
    assert said(grpo(*asked, "--best", "1", "--worst", "1")) == ["a1", "a0"]
    assert said(grpo(*asked, "--best", "2", "--worst", "2")) == ["a1", "a3", "a0"]


def test_random_groups_are_the_same_for_one_seed(grpo, log):
    path = log(*rollouts(**{f"g{at}": [at] for at in range(40)}))
    draws = [said(grpo("show", path, "--random", "5", "--seed", seed, "--format", "json")) for seed in (1, 1, 2)]
    assert draws[0] == draws[1] != draws[2]
    assert len(set(draws[0])) == 5
    assert len(said(grpo("show", path, "--random", "100", "--format", "json"))) == 40


def test_the_groups_of_a_prompt_over_the_steps(grpo, log):
    rows = [{"prompt_id": "p", "step": step, "completion": f"s{step}", "reward": 1} for step in (1, 2, 3)]
    path = log(*rows, {"prompt_id": "q", "step": 1, "completion": "other", "reward": 1})
    assert said(grpo("show", path, "--key", "p", "--format", "json")) == ["s1", "s2", "s3"]
    (prompt, _) = grpo("groups", path, "--by", "prompt", "--format", "json").rows
    assert said(grpo("show", path, "--key", prompt["id"], "--format", "json")) == ["s1", "s2", "s3"]


def test_the_prompt_once_and_each_rollout_below_its_figures(grpo, small):
    out = grpo("show", small, "--key", "a", "--format", "table").out
    assert out.splitlines()[1:10] == [
        "◐ mixed  4 rollouts, 3 scored, mean 0.6667, std 0.4714, 2 of 3 pass",
        "",
        "── prompt",
        "Question a?",
        "",
        "── reward 1  advantage 0.7071  x.jsonl:2",
        "a1",
        "",
        "── reward 1  advantage 0.7071  x.jsonl:4",
    ]
    assert out.count("Question a?") == 1


def test_three_groups_on_a_terminal_and_how_many_more(terminal, small):
    ran = terminal("show", small, columns=80, env={"NO_COLOR": "1"})
    assert ran.out.count("── prompt") == 3
    assert "... and 2 more groups; --limit 0 shows all" in ran.out
    assert terminal("show", small, "--limit", "0", columns=80).out.count("── prompt") == 5


def test_reward_parts_and_length(grpo, log):
    row = {"prompt_id": "p", "fmt": 0.5, "acc": 1, "num_tokens": 7, "completion": "x"}
    ran = grpo("show", log(row), "-r", "acc", "-r", "fmt=2", "--format", "json")
    (shown,) = ran.rows
    assert [shown[name] for name in ("reward", "reward acc", "reward fmt", "length")] == [2, 1, 0.5, 7]
    drawn = grpo("show", "x.jsonl", "-r", "acc", "-r", "fmt=2", "--format", "table").out
    assert "── reward 2  acc 1  fmt 0.5  advantage 0  length 7  x.jsonl:1" in drawn


def test_chat_messages_are_turns(grpo, log):
    prompt = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "Hi?"}]},
    ]
    call = {"function": {"name": "add", "arguments": '{"a": 1}'}}
    answer = [
        {"role": "assistant", "content": "", "reasoning_content": "Hm.", "tool_calls": [call]},
        {"role": "tool", "content": "2"},
        {"role": "assistant", "content": "Two."},
    ]
    for written in (answer, json.dumps(answer)):
        log({"prompt_id": "p", "prompt": prompt, "completion": written, "reward": 1})
        lines = grpo("show", "x.jsonl", "--format", "table").out.splitlines()
        assert lines[4:8] == ["system:", "  Be brief.", "user:", "  Hi?"]
        assert lines[10:] == [
            "assistant (reasoning):",
            "  Hm.",
            "assistant (tool call):",
            '  add({"a": 1})',
            "tool:",
            "  2",
            "assistant:",
            "  Two.",
        ]


def test_a_conversation_is_parted_into_prompt_and_answer(grpo, log):
    messages = [{"role": "user", "content": "Hi?"}, {"role": "assistant", "content": "Ho."}]
    lines = grpo(
        "show", log({"prompt_id": "p", "messages": messages, "reward": 1}), "--format", "table"
    ).out.splitlines()
    assert lines[3:6] == ["── prompt", "user:", "  Hi?"]
    assert lines[-2:] == ["assistant:", "  Ho."]


def test_records_with_lists_of_rollouts(grpo, log):
    path = log({"prompt_id": "p", "prompt": "Q", "scores": [0, 1], "responses": ["wrong", "right"]})
    ran = grpo("show", path, "-r", "scores[]", "--completion", "responses[]", "--format", "json")
    assert [(row["prompt"], row["completion"], row["line"]) for row in ran.rows] == [
        ("Q", "right", 1),
        ("Q", "wrong", 1),
    ]


def test_fields_that_are_named(grpo, log):
    row = {"prompt_id": "p", "reward": 1, "task": {"text": "Q"}, "out": {"final": "A"}}
    ran = grpo("show", log(row), "--format", "table")
    assert "no completion was found: --completion FIELD names it" in ran.err
    (shown,) = grpo("show", "x.jsonl", "--prompt", "task.text", "--completion", "out.final", "--format", "json").rows
    assert (shown["prompt"], shown["completion"]) == ("Q", "A")


def test_text_in_full_or_its_first_characters(grpo, log):
    path = log({"prompt_id": "p", "prompt": "Q", "completion": "x" * 5000 + "\nend", "reward": 1})
    assert grpo("show", path, "--format", "table").out.splitlines()[-2:] == ["x" * 5000, "end"]
    assert grpo("show", path, "--chars", "10", "--format", "table").out.splitlines()[-2:] == [
        "x" * 10,
        "… 4,994 more characters",
    ]
    assert said(grpo("show", path, "--chars", "10", "--format", "json")) == ["x" * 10]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("[/INST] [red]q[/red] :smile:", "[/INST] [red]q[/red] :smile:"),
        ("a\x1b[2Jb\x07\x00", r"a\x1b[2Jb\x07\x00"),
        ("row\rFAKE", r"row\rFAKE"),
        ("bidi\u202e", r"bidi\u202e"),
        ("half \ud83d", r"half \ud83d"),
        ("\tif x:\r\n\t\ty", "    if x:\n        y"),
        ("", "(empty)"),
    ],
)
def test_nothing_in_a_text_is_obeyed(grpo, terminal, log, text, shown):
    path = log({"prompt_id": "p", "prompt": "Q", "completion": text, "reward": 1})
    assert grpo("show", path, "--format", "table").out.endswith(f"\n{shown}\n")
    drawn = terminal("show", path, "-q", columns=80, env={"NO_COLOR": "1"}).out
    assert drawn.endswith(f"\n{shown}\n")
    assert "\x1b" not in drawn


def test_long_lines_are_wrapped_to_the_terminal_and_keep_their_margin(terminal, log):
    text = "def f():\n    return " + "word " * 40
    ran = terminal(
        "show", log({"prompt_id": "p", "completion": text, "reward": 1}), "-q", columns=60, env={"NO_COLOR": "1"}
    )
    lines = ran.out.splitlines()
    assert max(map(len, lines)) <= 60
    assert all(line.startswith("    ") for line in lines[lines.index("def f():") + 1 :])


def test_parquet(grpo, parquet):
    path = parquet(
        {"prompt_id": ["a", "b", "a"], "prompt": ["Q"] * 3, "completion": list("xyz"), "reward": [0.0, 1.0, 1.0]}
    )
    ran = grpo("show", path, "--key", "a", "--format", "json")
    assert [(row["completion"], row["line"]) for row in ran.rows] == [("z", 3), ("x", 1)]


def test_the_lines_that_are_shown_are_the_only_ones_read_again(grpo, log, monkeypatch):
    from grpo_cli.logs.jsonl import pick

    read = []
    monkeypatch.setattr(pick, "record", lambda line: read.append(line) or json.loads(line))
    path = log("", *rollouts(a=[0, 1], b=[1, 1], c=[0, 0]))
    assert said(grpo("show", path, "--key", "b", "--format", "json")) == ["b0", "b1"]
    assert [json.loads(line)["completion"] for line in read] == ["b0", "b1"]
