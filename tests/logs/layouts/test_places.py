from __future__ import annotations

import json
from pathlib import Path, PurePath

import pytest

from grpo_cli.errors import InputError, UsageError
from grpo_cli.logs.files.source import LogFile, find
from grpo_cli.logs.layouts.places import hive, split_of, step_of
from grpo_cli.logs.layouts.reading import Asked
from grpo_cli.logs.layouts.table import LAYOUTS
from grpo_cli.logs.opening import Selection, open_log


def file(path):
    return LogFile(Path("/run") / path, path, "jsonl", None, PurePath(path))


@pytest.mark.parametrize(
    ("layout", "path", "step"),
    [
        ("trl", "completions/completions_00040.parquet", "40"),
        ("verl", "rollout/120.jsonl", "120"),
        ("verl", "rollout/120.advantages.jsonl", "120"),
        ("verl", "rollout/run-5.jsonl", None),
        ("nemo-rl", "exp_001/train_data_step17.jsonl", "17"),
        ("roll", "rollout_dump_data.step_3.jsonl", "3"),
        ("tinker", "iteration_000020/train_rollout_summaries.jsonl", "20"),
        ("areal", "dump/12/task.jsonl", "12"),
        ("skyrl", "dumped_evals/global_step_8_evals/gsm8k.jsonl", "8"),
        ("art", "trajectories/train/0003.parquet", "3"),
        ("verifiers", "run/step_9/train_rollouts.jsonl", "9"),
        ("verifiers-v1", "rollouts/step_1/train/all/traces.jsonl", "1"),
        ("plain", "step_4/shard.jsonl", None),
    ],
)
def test_a_step_comes_from_a_path_only_by_the_layout(layout, path, step):
    assert step_of(file(path), LAYOUTS[layout]) == step


@pytest.mark.parametrize(
    ("layout", "path", "split"),
    [
        ("verl", "rollout/1.jsonl", "train"),
        ("verl", "validation_data/1.jsonl", "eval"),
        ("verl", "val/1.jsonl", "eval"),
        ("verl", "interval_data/1.jsonl", "train"),
        ("nemo-rl", "val_data_step1.jsonl", "eval"),
        ("tinker", "iteration_000001/eval_math_rollout_summaries.jsonl", "eval"),
        ("verifiers-v1", "rollouts/step_1/eval/all/traces.jsonl", "eval"),
        ("art", "trajectories/val/0001.parquet", "eval"),
        ("art", "elsewhere/0001.parquet", None),
        ("trl", "eval/completions_00001.parquet", None),
    ],
)
def test_a_split_comes_from_a_path_by_the_layout(layout, path, split):
    assert split_of(file(path), LAYOUTS[layout]) == split


def test_hive_folders_are_columns_of_text():
    assert hive(file("ds/step=7/env=a%2Fb/part.jsonl")) == {"step": "7", "env": "a/b"}
    assert hive(file("ds/plain/x=1.jsonl")) == {}


def write(path, *records):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records))


def opened(path, steps=None, **asked):
    return open_log(find([str(path)]), Asked(**asked), Selection(steps=steps))


def test_hive_keys_stay_as_they_are_spelled(tmp_path):
    for name, rewards in (("007", (1.0, 0.0)), ("7", (0.5, 0.25))):
        write(tmp_path / "ds" / f"prompt_id={name}" / "step=3" / "part.jsonl", *({"reward": r} for r in rewards))
    log = opened(tmp_path / "ds")
    assert log.groups.named["key"].to_list() == ["007", "7"]
    assert log.groups.named["step"].to_list() == [3, 3]


def steps(tmp_path, count=12):
    for step in range(1, count + 1):
        row = {"input": f"q{step}", "output": "o", "score": 1.0, "step": step}
        write(tmp_path / "rollout" / f"{step}.jsonl", row, row)
    return tmp_path / "rollout"


def test_files_of_steps_come_in_natural_order(tmp_path):
    assert opened(steps(tmp_path)).groups.named["step"].to_list() == list(range(1, 13))


@pytest.mark.parametrize(("text", "read"), [("3:5", {3, 4, 5}), ("11:", {11, 12}), ("-2:", {11, 12}), ("7", {7})])
def test_steps_opens_only_the_files_that_it_needs(tmp_path, text, read):
    log = opened(steps(tmp_path), text)
    assert {int(Path(part.file.name).stem) for part in log.parts} == read
    assert set(log.groups.named["step"]) == read


def test_names_that_do_not_agree_with_the_steps_inside_are_not_believed(tmp_path):
    folder = steps(tmp_path)
    write(folder / "12.jsonl", {"input": "q", "output": "o", "score": 1.0, "step": 5})
    log = opened(folder, "5")
    assert len(log.parts) == 12
    assert log.frame.height == 3


def test_a_folder_s_other_files_are_left_out_and_named(tmp_path):
    folder = steps(tmp_path, 2)
    write(folder / "aggregated_results.jsonl", {"eval/avg_score": 0.5, "eval/pass_at_1": 0.5})
    (folder / "3.jsonl").touch()
    log = opened(folder)
    assert log.frame.height == 4
    assert any("aggregated_results.jsonl: left out, it is a log of metrics" in note for note in log.notes)
    assert any("3.jsonl is empty" in note for note in log.notes)


def test_a_file_that_was_named_is_never_left_out(tmp_path):
    folder = steps(tmp_path, 1)
    write(tmp_path / "metrics.jsonl", {"loss": 0.5, "kl": 0.1})
    with pytest.raises(InputError, match="no input here"):
        open_log(find([str(folder / "1.jsonl"), str(tmp_path / "metrics.jsonl")]), Asked())


def test_two_layouts_are_no_log(tmp_path):
    folder = steps(tmp_path, 2)
    write(folder / "x.jsonl", {"trajectories": [{"reward": 1.0}]})
    with pytest.raises(UsageError, match="laid out as art-jsonl, and other files as verl"):
        opened(folder)


def test_columns_come_and_go_and_types_differ_between_files(tmp_path):
    write(tmp_path / "d" / "1.jsonl", {"prompt_id": 1, "reward": "1.0"}, {"prompt_id": 1, "reward": "0.0"})
    write(tmp_path / "d" / "2.jsonl", {"prompt_id": "1", "reward": 0.5, "note": [1]}, {"prompt_id": 2, "reward": None})
    log = opened(tmp_path / "d")
    assert log.frame["group"].to_list() == [0, 0, 0, 1]
    assert log.frame["reward_0"].to_list() == [1.0, 0.0, 0.5, None]
    assert any("1.jsonl: reward holds numbers as text" in note for note in log.notes)
    assert any("1 of 2 keys come in several files" in note for note in log.notes)
    assert opened(tmp_path / "d", group_by=["prompt_id", "file"]).frame["group"].to_list() == [0, 0, 1, 2]


def test_a_split_that_is_not_there_or_not_known(tmp_path):
    folder = steps(tmp_path, 1)
    with pytest.raises(UsageError, match="--split eval: none of the files is of it"):
        opened(folder, split="eval")
    write(tmp_path / "p.jsonl", {"prompt_id": 1, "reward": 1.0})
    with pytest.raises(UsageError, match="plain does not tell train from eval"):
        opened(tmp_path / "p.jsonl", split="train")


def test_files_of_both_splits_that_were_named_are_read_apart(tmp_path):
    row = {"input": "q", "output": "o", "score": 1.0, "step": 1}
    for folder in ("rollout", "val"):
        write(tmp_path / folder / "1.jsonl", row, row)
    log = open_log(find([str(tmp_path / "rollout" / "1.jsonl"), str(tmp_path / "val" / "1.jsonl")]), Asked())
    assert (log.reading.split, log.frame["group"].to_list()) == ("all", [0, 0, 1, 1])
    assert log.groups.fields == ("input", "split")
