"""Whole groups kept or dropped: which, how they are written, and what is said."""

from __future__ import annotations

import gzip
from pathlib import Path

import pyarrow.parquet as pq
import pytest

BUGCASES = Path(__file__).resolve().parents[3] / "shared" / "bugcases"
LINES = (
    b'{"prompt_id": "a", "reward": 1,  "x": [1, 2.50]}\n'
    b'{"reward": 0, "prompt_id": "b"}\r\n'
    b"\n"
    b'{"prompt_id": "a", "reward": 0e0}\n'
    b'{"prompt_id": "b", "reward": 0, "text": "\\ud83d"}'
)


def of_ten(passed: int) -> list[int]:
    return [1] * passed + [0] * (10 - passed)


def test_lines_stay_byte_for_byte_beside_the_input(grpo, here):
    (here / "x.jsonl").write_bytes(LINES)
    ran = grpo("filter", "x.jsonl", "--keep", "mixed")
    assert ran.code == 0, ran.err
    lines = LINES.split(b"\n")
    assert (here / "x.filtered.jsonl").read_bytes() == b"\n".join([lines[0], lines[2], lines[3], b""])
    assert (here / "x.jsonl").read_bytes() == LINES
    assert "kept 1 of 2 groups, 2 of 4 rollouts" in ran.err
    assert "wrote x.filtered.jsonl" in ran.err
    assert [line.split() for line in ran.out.splitlines()[2:]] == [
        ["kept", "1", "50", "%", "2", "50", "%"],
        ["not", "mixed", "1", "50", "%", "2", "50", "%"],
    ]


def test_what_goes_and_why_for_a_program(grpo, log):
    path = log(a=[1, 0], b=[0, 0], c=[1, 1], d=[0, 0])
    rows = grpo("filter", path, "--drop", "all-pass,all-fail", "-o", "y.jsonl", "--format", "json").rows
    assert [(row["kept"], row["reason"], row["groups"], row["rollouts"]) for row in rows] == [
        (True, None, 1, 2),
        (False, "all-fail", 2, 4),
        (False, "all-pass", 1, 2),
    ]
    assert [row["group_share"] for row in rows] == [0.25, 0.5, 0.25]


def test_a_band_of_pass_rates_has_both_its_ends(grpo, log):
    rates = (0, 1, 2, 3, 8, 9, 10)
    path = log(**{f"pr{passed:02}": of_ten(passed) for passed in rates})
    ran = grpo("filter", path, "--pass-rate", "0.2:0.8", "-o", "-")
    assert sorted({record["prompt_id"] for record in ran.records}) == ["pr02", "pr03", "pr08"]
    assert len(ran.records) == 30
    assert "kept 3 of 7 groups, 30 of 70 rollouts" in ran.err
    assert "pass rate not in 0.2:0.8" in ran.err  # the report leaves standard output to the rows


def test_rules_add_up(grpo, log):
    path = log(a=[0, 1], b=[0, 0.4], c=[0, 0.3, 1], d=[0, 0])
    asked = ("filter", path, "--emit", "ids", "--quiet")
    assert grpo(*asked, "--min-spread", "0.4").out.split() == ["a", "b", "c"]
    assert grpo(*asked, "--min-spread", "0.4", "--where", "n = 2").out.split() == ["a", "b"]
    assert grpo(*asked, "--min-spread", "0.4", "--where", "n = 2 and mean < 0.3").out.split() == ["b"]
    assert grpo(*asked, "--drop", "zero-variance", "--where", "key != 'c'").out.split() == ["a", "b"]
    grpo(*asked, "--where", "meen > 1").refused("there is no column meen", "did you mean mean")
    grpo(*asked, "--keep", "dead").refused("'dead' is no status")
    grpo(*asked, "--pass-rate", "0.8:0.2").refused("0.8:0.2")
    grpo(*asked, "--pass-rate", ":0.5").refused("pass rates are not known", "--pass-threshold")
    grpo("filter", path, "-o", "y.jsonl").refused("nothing to choose by", "--keep mixed")


def test_nothing_that_stays_is_exit_code_1_and_no_file(grpo, log, untouched):
    path = log(a=[1, 1], b=[0, 0])
    check = untouched()
    for more in ((), ("-o", "-"), ("--emit", "ids"), ("-o", "out/")):
        ran = grpo("filter", path, "--keep", "mixed", *more)
        assert ran.code == 1
        assert "grpo-adv: none of 2 groups stays: nothing was written" in ran.err.replace("prompts", "groups")
        assert "--allow-empty" in ran.err
        assert not ran.raw or more not in {("-o", "-"), ("--emit", "ids")}
    check()


def test_an_empty_output_where_it_is_allowed(grpo, log, parquet, here):
    path = log(a=[1, 1])
    assert grpo("filter", path, "--keep", "mixed", "--allow-empty").code == 0
    assert (here / "x.filtered.jsonl").read_bytes() == b""
    path = parquet({"prompt_id": ["a", "a"], "reward": [1.0, 1.0]})
    assert grpo("filter", path, "--keep", "mixed", "--allow-empty").code == 0
    table = pq.read_table(here / "x.filtered.parquet")
    assert (table.num_rows, table.column_names) == (0, ["prompt_id", "reward"])


def test_parquet_rows_value_for_value(grpo, parquet, here):
    import pyarrow as pa

    table = pa.table(
        {
            "prompt_id": pa.array(["a", "b", "a", "b"]).dictionary_encode(),
            "reward": pa.array([1, 0, 0, 0], pa.int8()),
            "extra": [[{"x": 1}], [], None, [{"x": None}]],
        }
    ).replace_schema_metadata({"mine": "kept"})
    path = parquet(table)
    assert grpo("filter", path, "--keep", "mixed").code == 0
    kept = pq.read_table(here / "x.filtered.parquet")
    assert kept.equals(table.filter(pa.array([True, False, True, False])))
    assert kept.schema.metadata[b"mine"] == b"kept"


def test_a_folder_is_mirrored_and_a_file_of_which_nothing_stays_is_not_written(grpo, log, here):
    log(a=[1, 0], name="run/1.jsonl")
    log(b=[1, 1], name="run/2.jsonl")
    packed = here / "run" / "3.jsonl.gz"
    packed.write_bytes(gzip.compress((here / "run/1.jsonl").read_bytes().replace(b'"a"', b'"c"')))
    ran = grpo("filter", "run", "--keep", "mixed", "-o", "out/", "--step", "none")
    assert ran.code == 0, ran.err
    assert sorted(path.name for path in (here / "out").iterdir()) == ["1.jsonl", "3.jsonl.gz"]
    assert gzip.decompress((here / "out/3.jsonl.gz").read_bytes()).count(b'"c"') == 2
    grpo("filter", "run", "--keep", "mixed").refused("nothing says where the output goes", "-o DIR/")


def test_what_was_filtered_is_no_log_of_the_folder(grpo, log):
    log(a=[1, 0], b=[1, 1], name="run/1.jsonl")
    assert grpo("filter", "run/1.jsonl", "--keep", "mixed").code == 0
    ran = grpo("groups", "run", "--format", "json")
    assert len(ran.rows) == 2
    assert "left out 1.filtered.jsonl written by an earlier run (*.filtered.*)" in ran.err


def test_the_input_is_never_the_output(grpo, log, untouched):
    path = log(a=[1, 0])
    log({"prompt_id": "a"}, name="train.jsonl")
    check = untouched()
    grpo("filter", path, "--keep", "mixed", "-o", path, "--force").refused("is the input x.jsonl")
    asked = ("filter", path, "--keep", "mixed", "--dataset", "train.jsonl", "--force")
    grpo(*asked, "-o", "train.jsonl").refused("is the input train.jsonl")
    grpo(*asked, "-o", "x.jsonl").refused("is the input x.jsonl")
    check()


def test_bad_lines_stay_where_they_are(grpo, log, here):
    path = log("bad", a=[1, 0], b=[1, 1])
    assert grpo("filter", path, "--keep", "mixed", "--on-bad-line", "skip").code == 0
    assert (here / "x.filtered.jsonl").read_bytes() == b"\n".join([*path.read_bytes().split(b"\n")[:3], b""])


def test_a_prompt_stays_or_goes_with_all_its_groups(grpo, log):
    rows = [
        {"prompt_id": prompt, "step": step, "reward": reward}
        for prompt, step, rewards in (("p", 1, (0, 0)), ("p", 2, (0, 1)), ("q", 1, (0, 0)), ("q", 2, (0, 0)))
        for reward in rewards
    ]
    path = log(*rows)
    assert len(grpo("filter", path, "--keep", "mixed", "-o", "-").records) == 2
    assert len(grpo("filter", path, "--keep", "mixed", "--by", "prompt", "-o", "-").records) == 4
    ids = ("filter", path, "--pass-rate", "0.2:0.3", "--emit", "ids")
    assert grpo(*ids).out == "p\n"  # 1 of 4 over the run
    assert grpo(*ids, "--by", "group").code == 1


def test_steps_that_are_not_read_are_not_kept(grpo, log):
    rows = [{"prompt_id": "p", "step": step, "reward": reward} for step in (1, 2, 3) for reward in (0, 1)]
    kept = grpo("filter", log(*rows), "--keep", "mixed", "--steps", "2:", "-o", "-").records
    assert [record["step"] for record in kept] == [2, 2, 3, 3]


def test_a_record_with_a_whole_group_stays_or_goes(grpo, log):
    records = [
        {"prompt_id": "p", "scores": [0, 1]},
        {"prompt_id": "q", "scores": [1, 1]},
        {"prompt_id": "r", "scores": []},
    ]
    ran = grpo("filter", log(*records), "-r", "scores[]", "--keep", "mixed", "-o", "-")
    assert ran.records == [records[0]]


def test_a_record_with_a_part_of_what_stays_cannot_be_cut(grpo, log, untouched):
    path = log({"uid": ["p", "p", "q", "q"], "scores": [0, 1, 1, 1]})
    check = untouched()
    asked = ("filter", path, "-g", "uid[]", "-r", "scores[]", "--keep", "mixed")
    ran = grpo(*asked)
    assert ran.code == 2
    assert "x.jsonl:1: this record holds rollouts of several groups" in ran.err
    assert grpo(*asked, "--emit", "ids").out == "p\n"
    check()


def test_the_rows_of_a_training_set(grpo, log, parquet, here):
    path = log(a=[0, 1], b=[1, 1], c=[0, 1])
    train = parquet({"prompt_id": ["z", "c", "b", "c"], "x": [1, 2, 3, 4]}, name="train.parquet")
    ran = grpo("filter", path, "--keep", "mixed", "--dataset", train, "-o", "next.parquet")
    assert ran.code == 0, ran.err
    assert pq.read_table(here / "next.parquet").to_pydict() == {"prompt_id": ["c", "c"], "x": [2, 4]}
    for said in (
        "1 of 4 rows of train.parquet left out: the log does not have their prompts",
        "1 chosen prompt of the log is not in train.parquet",
        "kept 2 of 4 rows of train.parquet",
        "wrote next.parquet",
    ):
        assert said in ran.err


def test_keys_of_a_training_set_match_by_what_they_spell(grpo, log, here):
    path = log(*({"prompt_id": 7, "reward": reward} for reward in (0, 1)))
    log({"id": "007"}, {"id": 7.0}, {"id": "7"}, {"id": None}, {}, name="train.jsonl")
    asked = ("filter", path, "--keep", "mixed", "--dataset", "train.jsonl")
    ran = grpo(*asked)
    assert ran.code == 2
    assert "train.jsonl: no field 'prompt_id', which is the prompt's key in the log" in ran.err
    assert "--dataset-key" in ran.err
    assert grpo(*asked, "--dataset-key", "id").code == 0
    assert (here / "train.filtered.jsonl").read_bytes() == b'{"id": 7.0}\n{"id": "7"}\n'


def test_a_training_set_without_any_prompt_of_the_log_is_said_plainly(grpo, log, untouched):
    path = log(a=[0, 1])
    log({"prompt_id": "x"}, {"prompt_id": "y"}, name="train.jsonl")
    check = untouched()
    ran = grpo("filter", path, "--keep", "mixed", "--dataset", "train.jsonl")
    assert ran.code == 2
    assert "train.jsonl: none of its 2 rows has a prompt of the log: it has 'x', and the log 'a'" in ran.err
    check()


def test_a_training_set_of_which_nothing_stays(grpo, log, untouched):
    path = log(a=[0, 1], b=[1, 1])
    log({"prompt_id": "b"}, name="train.jsonl")
    check = untouched()
    ran = grpo("filter", path, "--keep", "mixed", "--dataset", "train.jsonl")
    assert ran.code == 1
    assert "no row of train.jsonl stays: nothing was written" in ran.err
    check()


def test_ids_are_a_line_each_and_nothing_else_is_on_standard_output(grpo, log):
    path = log(*({"prompt_id": key, "reward": reward} for key in ("two\nlines", "b") for reward in (0, 1)))
    ran = grpo("filter", path, "--keep", "mixed", "--emit", "ids")
    assert ran.out == "two\\nlines\nb\n"
    grpo("filter", path, "--keep", "mixed", "--emit", "ids", "-o", "ids.txt").refused("> FILE")
    grpo("filter", path, "--keep", "mixed", "--dataset-key", "x").refused("--dataset")


@pytest.mark.skipif(not BUGCASES.exists(), reason="needs ../shared")
def test_the_band_of_the_report(grpo):
    (case,) = BUGCASES.glob("043-*")
    ran = grpo("filter", case / "in.jsonl", "--pass-rate", "0.2:0.8", "-o", "-")
    assert {record["prompt_id"] for record in ran.records} == {"pr02", "pr03", "pr08"}
    assert len(ran.records) == 30
