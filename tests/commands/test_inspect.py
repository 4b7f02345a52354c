from __future__ import annotations

import shlex


def rows(ran, what):
    return [row for row in ran.rows if row["what"] == what]


def fact(ran, what):
    (row,) = rows(ran, what)
    return row["name"]


def fields(ran):
    return {row["name"]: row for row in rows(ran, "field")}


def inspect(grpo, *arguments):
    ran = grpo("inspect", *arguments, "--format", "json")
    assert ran.code == 0, ran.err
    return ran


def test_layout_fields_groups_and_the_options_that_say_it_all(grpo, log):
    path = log(
        {"problem_id": 1, "step": 3, "reward": 1.0, "acc": True, "tags": ["x"]},
        {"problem_id": 1, "step": 3, "reward": None, "acc": False, "tags": "x"},
        {"problem_id": 2, "step": 3, "reward": 0.5, "late": {"a": 1}},
    )
    ran = inspect(grpo, path)
    assert fact(ran, "layout") == "plain"
    assert fact(ran, "format") == "jsonl"
    assert fact(ran, "records") == "3"
    assert fact(ran, "groups") == "2"
    assert fact(ran, "group sizes") == "1 of 2, 1 of 1"
    assert fact(ran, "missing rewards") == "1"
    assert fact(ran, "flags") == "-g problem_id -r reward --step step"
    assert fact(ran, "not taken") == "acc"
    found = fields(ran)
    assert list(found) == ["problem_id", "step", "reward", "acc", "tags", "late"]
    assert {name: row["role"] for name, row in found.items() if row["role"]} == {
        "problem_id": "key", "step": "step", "reward": "reward",
    }  # fmt: skip
    assert [found["reward"][name] for name in ("type", "missing", "distinct")] == ["number", 1, 2]
    assert [found["tags"][name] for name in ("type", "missing", "distinct")] == ["list/text", 1, 2]
    assert [found["acc"][name] for name in ("type", "missing", "distinct")] == ["true/false", 1, 2]
    assert [found["late"][name] for name in ("type", "missing", "distinct")] == ["object", 2, 1]


def test_bad_lines_are_named_and_do_not_stop_it(grpo, log):
    row = {"prompt_id": "a", "reward": 1.0}
    path = log(row, "not json", row, "[1]", {"detail": 1}, {**row, "reward": 0.0})
    ran = inspect(grpo, path)
    (bad,) = rows(ran, "bad lines")
    assert (bad["name"], bad["detail"]) == ("2", "x.jsonl: 2, 4")
    assert fact(ran, "repeated records") == "1"
    (rollouts,) = rows(ran, "rollouts")
    assert (rollouts["name"], rollouts["detail"]) == ("3", "1 of 4 are left out")
    assert fact(ran, "flags").endswith("--on-bad-line skip")


def test_the_options_that_it_shows_give_the_same_groups(grpo, log):
    line = {
        "step": ["1", "1"],
        "prompt": ["a", "a"],
        "completion": ["x", "y"],
        "odd name": [1.0, 0.0],
        "advantages": [0, 0],
    }
    path = log(line)
    flags = fact(inspect(grpo, path), "flags")
    assert flags == "--layout ms-swift -g 'prompt[]' -r 'odd name[]' --step 'step[]'"
    one = grpo("groups", path, "--format", "json")
    again = grpo("groups", path, *shlex.split(flags), "--format", "json")
    assert (again.code, again.rows) == (0, one.rows)


def test_where_a_role_cannot_be_chosen_the_fields_are_shown_all_the_same(grpo, log):
    row = {"step": 1, "prompt": "a", "completion": "b", "acc": 1.0, "fmt": 0.5, "advantage": 0.0}
    ran = grpo("inspect", log(row, row), "--format", "json")
    assert ran.code == 2
    assert "2 fields may be rewards (acc, fmt)" in ran.err
    assert fact(ran, "layout") == "trl"
    assert list(fields(ran)) == list(row)


def test_what_is_no_log_is_named_and_nothing_is_shown(grpo, log):
    grpo("inspect", log({"loss": 0.5, "kl": 0.1})).refused("a log of metrics")
    grpo("inspect", log({"role": "user", "content": "x"})).refused("a log of chat turns")
    grpo("inspect", log("version https://git-lfs.github.com/spec/v1")).refused("a Git LFS pointer")


def test_in_a_pipe_it_is_one_table_and_on_a_terminal_two(grpo, terminal, log):
    path = log(a=[1, 0])
    piped = grpo("inspect", path).out.splitlines()
    assert piped[0].split("\t") == ["what", "name", "type", "missing", "distinct", "role", "detail"]
    assert any(line.startswith("flags\t-g prompt_id") for line in piped)
    shown = terminal("inspect", path).out
    assert "what" in shown
    assert "field" in shown
    assert grpo("inspect", path, "--format", "jsonl").records[0]["what"] == "files"


def test_a_folder_of_parquet_files(grpo, parquet, here):
    for step in (1, 2):
        (here / "d").mkdir(exist_ok=True)
        columns = {"prompt_id": ["a", "a"], "reward": [1.0, 0.0], "step": [step] * 2, "info": [{"x": 1}, None]}
        parquet(columns, name=f"d/{step}.parquet")
    ran = inspect(grpo, "d")
    (files,) = rows(ran, "files")
    assert (files["name"], files["detail"]) == ("2 files", "d/1.parquet to d/2.parquet")
    assert fact(ran, "format") == "parquet"
    assert fields(ran)["info"]["type"] == "object"
    assert fields(ran)["step"]["distinct"] == 2
