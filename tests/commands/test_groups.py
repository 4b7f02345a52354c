from __future__ import annotations

import json

import pytest

COLUMNS = ["id", "key", "n", "scored", "mean", "std", "sample_std", "min", "max", "pass_rate", "status"]


def keys(ran):
    return {row["key"]: row["n"] for row in ran.rows}


def test_a_row_a_group_with_its_statistics(grpo, log):
    ran = grpo("groups", log(a=[0, 1, 0, 0], b=[None, 2], c=[None]), "--format", "json")
    a, b, c = ran.rows
    assert list(a) == [*COLUMNS[:9], "passed", "judged", *COLUMNS[9:], "rewards"]
    assert [a[name] for name in COLUMNS[1:]] == ["a", 4, 4, 0.25, pytest.approx(3**0.5 / 4), 0.5, 0, 1, None, "mixed"]
    assert [b[name] for name in COLUMNS[1:]] == ["b", 2, 1, 2, 0, None, 2, 2, None, "singleton"]
    assert [c[name] for name in COLUMNS[1:]] == ["c", 1, 0, None, None, None, None, None, None, "unscored"]


def test_each_status(grpo, log):
    path = log(mixed=[0, 1], passed=[1, 1], failed=[0, 0], lone=[1], none=[None, None])
    statuses = {row["key"]: (row["status"], row["pass_rate"]) for row in grpo("groups", path, "--format", "json").rows}
    assert statuses == {
        "mixed": ("mixed", 0.5),
        "passed": ("all-pass", 1.0),
        "failed": ("all-fail", 0.0),
        "lone": ("singleton", 1.0),
        "none": ("unscored", None),
    }
    (row,) = grpo("groups", log(a=[0.5, 0.5]), "--format", "json").rows
    assert (row["status"], row["pass_rate"]) == ("tied", None)
    (row,) = grpo("groups", log(a=[0.5, 0.5]), "--format", "json", "--pass-threshold", "0.5").rows
    assert (row["status"], row["pass_rate"]) == ("all-pass", 1.0)


def test_the_step_is_shown_where_there_is_one(grpo, log):
    rows = [{"prompt_id": "p", "step": step, "reward": step} for step in (10, 9, 10)]
    ran = grpo("groups", log(*rows), "--format", "json", "--sort", "step")
    assert [(row["step"], row["n"]) for row in ran.rows] == [(9, 1), (10, 2)]


def test_ids_are_the_same_in_every_run_file_and_command(grpo, log):
    ids = [row["id"] for row in grpo("groups", log(a=[1, 0], b=[1, 0]), "--format", "json").rows]
    again = [row["id"] for row in grpo("groups", log(b=[3], a=[2], name="y.jsonl"), "--format", "json").rows]
    assert again == ids[::-1]
    assert len(set(ids)) == 2
    ran = grpo("compute", log(a=[1, 0], b=[1, 0]), "-o", "-", "--with-group-stats")
    assert [record["group_id"] for record in ran.records] == [ids[0]] * 2 + [ids[1]] * 2


@pytest.mark.parametrize(
    ("spellings", "groups"),
    [
        (["7", "7.0", '"7"', "7e0"], 1),
        (["7", '"007"', '"07"'], 3),
        (["9007199254740993", "9007199254740992", "9007199254740993.0"], 2),
        (["14933243513335727983", "14933243513335727984", '"14933243513335727983"'], 2),
        (["1e22", "10000000000000000000000", '"10000000000000000000000"', "1E+22"], 1),
        (["100000000000000000000001", "100000000000000000000000"], 2),
        (["0", "-0", "0.0", "-0.0", '"0"'], 1),
        (["0.1", "0.10", "1e-1", '"0.1"'], 1),
        (["true", '"true"', "1"], 2),
        (['"a\\u0000"', '"a"', '"a\\u0000b"'], 3),
        (['"p\\ud83d"', '"p\\ud83e"', '"p\\u0000"', '"p\\ufffd"', '"p"'], 5),
        (['"\\ud83d\\ude00"', '"\U0001f600"'], 1),
        (['"\\u00e9"', '"\u00e9"', '"e\u0301"'], 2),
        (['[{"role": "user", "content": "x"}]', '[{"content":"x","role":"user"}]'], 1),
        (["[1, 2]", "[2, 1]", "[1,2]"], 2),
        (['"[1,2]"', "[1, 2]"], 1),
        (['""', '" "', '"\\t"'], 3),
    ],
)
def test_keys_are_what_they_spell(grpo, log, spellings, groups):
    lines = [f'{{"prompt_id": {spelling}, "reward": {at}}}' for at, spelling in enumerate(spellings * 2)]
    ran = grpo("groups", log(*lines), "--format", "json")
    assert ran.code == 0, ran.err
    assert len(ran.rows) == groups
    assert sum(row["n"] for row in ran.rows) == len(lines)
    compute = grpo("compute", log(*lines), "-o", "-", "-q")
    assert len(compute.raw.splitlines()) == len(lines)


@pytest.mark.parametrize("spelling", ["null", "NaN", "{}", None])
def test_a_rollout_without_a_key_is_an_error(grpo, log, spelling):
    lines = ['{"prompt_id": "a", "reward": 1}', '{"prompt_id": "a", "reward": 0}']
    if spelling == "{}":
        lines.append("{}")
    else:
        lines.append('{"reward": 1}' if spelling is None else f'{{"prompt_id": {spelling}, "reward": 1}}')
    grpo("groups", log(*lines)).refused("x.jsonl:3: no prompt_id")


def test_several_keys(grpo, log):
    rows = [{"task": "t,1", "seed": seed, "reward": 1} for seed in (1, 1, 2)]
    path = log(*rows)
    for options in (("-g", "task,seed"), ("-g", "task", "-g", "seed")):
        assert keys(grpo("groups", path, "--format", "json", *options)) == {"task=t,1 seed=1": 2, "task=t,1 seed=2": 1}


def test_names_of_fields(grpo, log):
    rows = [{"a": {"b": "nested"}, "a.b": "exact", "x=1": 5, "o dd": 1, "r": {"x": 2}}] * 2
    path = log(*rows)
    assert keys(grpo("groups", path, "-g", "a.b", "-r", "x=1", "--format", "json")) == {"exact": 2}
    (row,) = grpo("groups", path, "-g", "o dd", "-r", "r.x", "--format", "json").rows
    assert (row["key"], row["mean"]) == ("1", 2)
    (row,) = grpo("groups", path, "-g", "a.b", "-r", "x=1=3", "--format", "json").rows
    assert row["mean"] == 15
    grpo("groups", path, "-g", "a.bb", "-r", "r.x").refused()
    grpo("groups", path, "-g", "a.b", "-r", "reward").refused("no record has a field 'reward'")


def test_every_type_of_parquet_key_and_reward(grpo, parquet):
    import pyarrow as pa

    rewards = [1, 0, 1, 1]
    for kind, values in {
        "large": pa.array([2**64 - 1, 2**64 - 1, 2**64 - 2, 2**64 - 2], pa.uint64()),
        "float": pa.array([-0.0, 0.0, 1e22, 1e22]),
        "dictionary": pa.array(["b", "b", "a", "a"]).dictionary_encode(),
        "ordered": pa.DictionaryArray.from_arrays(pa.array([1, 1, 0, 0]), pa.array(["a", "b"]), ordered=True),
        "struct": pa.array([{"x": 1}, {"x": 1}, {"x": 2}, {"x": 2}]),
        "list": pa.array([[1, 2], [1, 2], [2], [2]]),
        "large_string": pa.array(["007", "007", "7", "7"], pa.large_string()),
        "view": pa.array(["007", "007", "7", "7"], pa.string_view()),
        "bool": pa.array([True, True, False, False]),
        "date": pa.array([1, 1, 2, 2], pa.date32()),
        "decimal": pa.array(["1.50", "1.50", "1.5", "1.25"]).cast(pa.decimal128(9, 2)),
    }.items():
        ran = grpo("groups", parquet({"prompt_id": values, "reward": rewards}), "--format", "json")
        assert ran.code == 0, (kind, ran.err)
        assert sorted(row["n"] for row in ran.rows) == ([1, 3] if kind == "decimal" else [2, 2]), kind
    for kind, values in {
        "int8": pa.array([127, -128, 127, -128], pa.int8()),
        "uint8": pa.array([0, 255, 255, 0], pa.uint8()),
        "half": pa.array([1, 0.5, 0.25, 0], pa.float16()),
        "single": pa.array([0.5, 0.25, 2, 1], pa.float32()),
        "bool": pa.array([True, False, True, True]),
        "decimal": pa.array(["1.50", "0.25", "2.00", "1.00"]).cast(pa.decimal128(10, 2)),
        "wide": pa.array(["1.50", "0.25", "2.00", "1.00"]).cast(pa.decimal256(50, 20)),
        "dictionary": pa.array([1.0, 0.0, 1.0, 1.0]).dictionary_encode(),
        "text": pa.array(["1", "0.5", "-2", "1e1"]),
    }.items():
        ran = grpo("groups", parquet({"prompt_id": ["a"] * 4, "reward": values}), "--format", "json")
        numbers = [float(value) for value in values.to_pylist()]
        assert ran.rows[0]["mean"] == pytest.approx(sum(numbers) / 4, rel=0, abs=1e-15), kind
        assert (ran.rows[0]["min"], ran.rows[0]["max"]) == (min(numbers), max(numbers)), kind


def test_sorting_and_limits(grpo, log):
    path = log(a=[0, 1], b=[0, 4], c=[0, 2])
    ran = grpo("groups", path, "--format", "csv", "--sort", "std", "--desc", "--limit", "2")
    assert [line.split(",")[1] for line in ran.out.splitlines()] == ["key", "b", "c"]
    assert "1 more group" in ran.err
    grpo("groups", path, "--sort", "nope", "-q").refused("no column nope")
    grpo("groups", path, "--limit", "-1").refused("limit")


def test_nothing_is_written_where_the_table_cannot_be_shown(grpo, log, untouched):
    path = log(a=[0, 1])
    unchanged = untouched()
    grpo("compute", path, "--in-place", "--sort", "nope", "-q").refused("no column nope")
    grpo("compute", path, "--in-place", "--format", "nope").refused("nope")
    unchanged()


def test_every_format_has_every_group_whole(grpo, log):
    long = [f"gsm8k-train-{at:032d}-variant" for at in range(30)]
    path = log(**{key: [0, 1] for key in long})
    for form in ("auto", "table", "json", "jsonl", "csv", "tsv", "md"):
        out = grpo("groups", path, "--format", form).out
        assert all(out.count(key) == 1 for key in long), form
        assert "…" not in out
    assert [json.loads(line)["key"] for line in grpo("groups", path, "--format", "jsonl").out.splitlines()] == long


def test_what_a_log_holds_cannot_fake_a_screen(grpo, log):
    nasty = [
        "[/INST] q1",
        "[red]q2[/red]",
        "ds:x:17",
        "esc\x1b[2J",
        "bidi\u202e",
        "nul\0",
        "tab\there",
        "new\nline",
        "\x9b2J",
    ]
    path = log(*({"prompt_id": key, "reward": reward} for key in nasty for reward in (0, 1)))
    for form in ("table", "md", "auto", "tsv"):
        ran = grpo("groups", path, "--format", form)
        assert ran.code == 0
        assert not set(ran.out) & set("\x1b\0\u202e\x9b"), form
        assert len(ran.out.splitlines()) == len(nasty) + (2 if form in {"table", "md"} else 1)
        assert "[/INST] q1" in ran.out
        assert "[red]q2[/red]" in ran.out
        assert "ds:x:17" in ran.out
    assert [row["key"] for row in grpo("groups", path, "--format", "json").rows] == nasty
