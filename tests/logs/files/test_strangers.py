from __future__ import annotations

import json
import pickle
import zipfile

import pytest

from grpo_cli.errors import InputError
from grpo_cli.logs.files.source import find
from grpo_cli.logs.layouts.reading import Asked
from grpo_cli.logs.opening import open_log


def lines(*records):
    return "".join(json.dumps(record) + "\n" for record in records).encode()


TURN = {"id": 1, "role": "user", "content": "x"}
FILES = {
    "aggregated_results.jsonl": (lines({"eval/gsm8k/avg_score": 0.5, "eval/gsm8k/pass_at_1": 0.5}), "a log of metrics"),
    "logging.jsonl": (lines({"loss": 0.1, "grad_norm": 1.0, "reward": 0.3, "step": 1}), "a log of metrics"),
    "experiment_log.jsonl": (
        lines({"step": 1, "actor": {"pg_loss": 0.1}, "reward": {"overall": 0.5}}),
        "a log of metrics",
    ),
    "turns.jsonl": (lines(*[TURN] * 9), "a log of chat turns"),
    "turns_with_ids.jsonl": (
        lines(*[TURN, TURN, {**TURN, "reward": 1.0}, *[{**TURN, "id": 2}] * 2]),
        "only 1 of the first 5 records have a reward",
    ),
    "x.table.json": (lines({"columns": ["prompt", "reward"], "data": [["a", 1.0]]}), "a wandb table"),
    "agentic.jsonl": (lines({"global_step": 1, "trajectory_data": "{}"}), "a dump of agent trajectories"),
    "errors.jsonl": (lines({"detail": []}, {"detail": [1]}), "a log of validation errors"),
    "prompts.jsonl": (lines({"prompt": "a", "answer": "b"}), "no field holds a reward"),
    "config.jsonl": (lines({"model": "x", "seed": 1}), "no field names the prompt"),
    "generations.log": (b"[prompt] a\n[output] b\n[score] 1.0\n", "a text dump of generations"),
    "0003.yaml": (b"- trajectories:\n  - reward: 1.0\n", "YAML"),
    "episode.json": (json.dumps({"trajectories": []}, indent=2).encode(), "spread over several lines"),
    "samples.json": (json.dumps([{"id": 1}]).encode(), "one JSON array"),
    "pointer.jsonl": (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "a Git LFS pointer"),
    "page.jsonl": (b"<!DOCTYPE html><html>", "an HTML page"),
    "r.pkl": (pickle.dumps({"samples": []}), "a Python pickle"),
}


@pytest.mark.parametrize("name", FILES)
def test_what_is_no_rollout_log_is_named(tmp_path, name):
    data, said = FILES[name]
    (tmp_path / name).write_bytes(data)
    with pytest.raises(InputError, match=said) as error:
        open_log(find([str(tmp_path / name)]), Asked())
    assert name in error.value.message
    assert error.value.hint


@pytest.mark.parametrize(
    ("name", "said"), [("x.eval", "an Inspect log"), ("rollout_3.pt", "a torch file"), ("x", "a zip")]
)
def test_archives_are_told_apart_by_their_names(tmp_path, name, said):
    with zipfile.ZipFile(tmp_path / name, "w") as archive:
        archive.writestr("inside", "x")
    with pytest.raises(InputError, match=said):
        find([str(tmp_path / name)])


def test_a_rollout_log_with_role_and_metrics_beside_is_none_of_these(tmp_path):
    row = {"prompt_id": "a", "reward": 1.0, "role": "assistant", "content": "x", "loss": 0.5, "kl": 0.1}
    (tmp_path / "x.jsonl").write_bytes(lines(row, row))
    assert open_log(find([str(tmp_path / "x.jsonl")]), Asked()).frame.height == 2
