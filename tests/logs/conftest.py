"""The same rollouts as each framework writes them down."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@dataclass(frozen=True)
class Rollout:
    """One rollout; what a writer does not log is left aside."""

    prompt: int
    sample: int
    reward: float | None
    step: int = 3
    extra: dict[str, Any] = field(default_factory=dict)

    @property
    def question(self) -> str:
        return ("What is 6 * 7?", "Name a prime.", "Spell cat.")[self.prompt]

    @property
    def answer(self) -> str:
        return f"answer {self.prompt}-{self.sample}"

    @property
    def chat(self) -> list[dict]:
        return [{"role": "user", "content": self.question}]

    @property
    def said(self) -> list[dict]:
        return [{"role": "assistant", "content": self.answer}]


REWARDS = ((1.0, 0.0, 0.0, 1.0), (0.0, 0.25, 0.5, 0.25), (1.0, 1.0, 1.0, 1.0))


def rollouts(step: int = 3) -> list[Rollout]:
    """Three prompts with four rollouts each; the third is all-pass."""
    return [
        Rollout(prompt, sample, reward, step)
        for prompt, rewards in enumerate(REWARDS)
        for sample, reward in enumerate(rewards)
    ]


def nan(reward: float | None) -> float:
    return float("nan") if reward is None else reward


def groups_of(rows: list[Rollout]) -> list[list[Rollout]]:
    keys = dict.fromkeys((row.step, row.prompt) for row in rows)
    return [[row for row in rows if (row.step, row.prompt) == key] for key in keys]


def lists(records: list[dict]) -> dict[str, list]:
    """Records as one table."""
    return {name: [record[name] for record in records] for name in records[0]}


def steps_of(rows: list[Rollout]) -> dict[int, list[Rollout]]:
    return {step: [row for row in rows if row.step == step] for step in dict.fromkeys(row.step for row in rows)}


Files = dict[str, list[dict]]
WRITERS: dict[str, Callable[[list[Rollout]], Files]] = {}


def writer(name: str):
    def keep(write: Callable[[list[Rollout]], Files]):
        WRITERS[name] = write
        return write

    return keep


@writer("plain")
def plain(rows):
    return {"log.jsonl": [{"prompt_id": f"p{r.prompt}", "step": r.step, "reward": r.reward, **r.extra} for r in rows]}


@writer("trl")
def trl(rows):
    return {
        f"completions/completions_{step:05d}.parquet": [
            {"step": step, "prompt": r.question, "completion": r.answer, "digit_reward": r.reward, "n_chars": 3,
             "advantage": 0.5, **r.extra}
            for r in part
        ]
        for step, part in steps_of(rows).items()
    }  # fmt: skip


@writer("verl")
def verl(rows):
    return {
        f"rollout_data/{step}.jsonl": [
            {
                "input": f"user\n{r.question}",
                "output": r.answer,
                "gts": "42",
                "score": r.reward,
                "step": step,
                **r.extra,
            }
            for r in part
        ]
        for step, part in steps_of(rows).items()
    }


@writer("verl-v1")
def verl_v1(rows):
    return {
        f"rollout_data/{step}.jsonl": [
            {"input": f"user\n{r.question}", "output": r.answer, "gts": "42", "score": r.reward, "step": step,
             "uid": f"f{step}-e{r.prompt}_x_{r.sample}_0", **r.extra}
            for r in part
        ]
        for step, part in steps_of(rows).items()
    }  # fmt: skip


@writer("ms-swift")
def ms_swift(rows):
    return {
        "completions.jsonl": [
            lists([
                {"step": str(step), "prompt": f"<|user|>{r.question}", "completion": r.answer,
                 "accuracy_orm": nan(r.reward), "advantages": 0.5, "solution": "42", **r.extra}
                for r in part
            ])
            for step, part in steps_of(rows).items()
        ]
    }  # fmt: skip


@writer("ms-swift-ray")
def ms_swift_ray(rows):
    return {
        "completions.jsonl": [
            {"gen_step": r.step, "prompt": r.question, "completion": r.answer, "reward": r.reward, **r.extra}
            for r in rows
        ]
    }


@writer("roll")
def roll(rows):
    return {
        f"rollout_dump_data.step_{step}.jsonl": [
            lists([
                {"global_step": step, "id": f"q{r.prompt}", "prompt": r.question, "ground_truth": "42", "tag": "demo",
                 "responses": r.answer, "scores": r.reward, **r.extra}
                for r in part
            ])
        ]
        for step, part in steps_of(rows).items()
    }  # fmt: skip


@writer("nemo-rl")
def nemo_rl(rows):
    def record(at: int, r: Rollout) -> dict:
        tokens = [1, 2, 10 + r.prompt, 30 + r.sample, 31]
        return {
            "content": [f"{r.question} {r.answer}"],
            "rewards": [r.reward],
            "input_lengths": [5],
            "token_ids": [tokens],
            "token_loss_mask": [[0, 0, 0, 1, 1]],
            "advantages": [[0.5] * 5],
            **{name: [value] for name, value in r.extra.items()},
            "idx": at,
        }

    return {
        f"train_data_step{step}.jsonl": [record(at, r) for at, r in enumerate(part)]
        for step, part in steps_of(rows).items()
    }


@writer("nemo-gym")
def nemo_gym(rows):
    return {
        "math_rollouts.jsonl": [
            {"responses_create_params": {"input": r.chat}, "response": {"output": r.said},
             **({} if r.reward is None else {"reward": r.reward}), "_ng_task_index": r.prompt,
             "_ng_rollout_index": r.sample, **r.extra}
            for r in sorted(rows, key=lambda r: r.sample)
        ]
    }  # fmt: skip


@writer("areal")
def areal(rows):
    return {
        f"{group[0].step}/{100 + group[0].prompt}.jsonl": [
            {"task_id": 100 + r.prompt, "sample_idx": r.sample, "seqlen": 9, "prompt_len": 5, "head_version": 1,
             "tail_version": r.step + r.sample % 2, "reward": r.reward, "prompt": r.question, "completion": r.answer,
             **r.extra}
            for r in group
        ]
        for group in groups_of(rows)
    }  # fmt: skip


@writer("prime-rl")
def prime_rl(rows):
    return {
        "samples.jsonl": [
            {"run_id": "run", "step": r.step, "problem_id": r.prompt, "sample_id": at, "prompt": json.dumps(r.chat),
             "completion": json.dumps(r.said), "env_name": "math", "reward": r.reward, "advantage": 0.5, **r.extra}
            for at, r in enumerate(rows)
        ]
    }  # fmt: skip


@writer("verifiers")
def verifiers(rows):
    return {
        "outputs/evals/math--model/ab12/results.jsonl": [
            {"example_id": r.prompt, "prompt": r.chat, "completion": r.said, "answer": "42", "reward": r.reward,
             "format_reward_func": 1.0, **r.extra}
            for r in rows
        ]
    }  # fmt: skip


@writer("verifiers-v1")
def verifiers_v1(rows):
    def rewards(r: Rollout) -> dict:
        return (
            {}
            if r.reward is None
            else {"right": {"score": 2 * r.reward, "weight": 0.5}, "style": {"score": 7.0, "weight": 0.0}}
        )

    return {
        f"rollouts/step_{step}/train/all/traces.jsonl": [
            {"id": f"e{at}", "env": {"id": "math"}, "task": {"type": "math", "key": f"t{r.prompt}"}, "ok": True,
             "group": {"id": f"g{step}-{r.prompt}"}, "traces": [{"rewards": rewards(r), "metrics": {}}], **r.extra}
            for at, r in enumerate(part)
        ]
        for step, part in steps_of(rows).items()
    }  # fmt: skip


@writer("open-instruct")
def open_instruct(rows):
    return {
        "run_rollouts_000000.jsonl": [
            {"step": r.step, "sample_idx": at, "prompt_idx": r.prompt, "prompt_tokens": [1], "response_tokens": [3] * 4,
             "reward": r.reward, "advantage": 0.5, "finish_reason": "stop", "dataset": "math", **r.extra}
            for at, r in enumerate(rows)
        ]
    }  # fmt: skip


@writer("tinker")
def tinker(rows):
    return {
        f"iteration_{step:06d}/train_rollout_summaries.jsonl": [
            {"schema_version": 1, "split": "train", "iteration": step, "group_idx": r.prompt, "traj_idx": r.sample,
             "tags": ["math"], "total_reward": r.reward, "final_reward": 0.0, "steps": [{"reward": 1.0}], **r.extra}
            for r in part
        ]
        for step, part in steps_of(rows).items()
    }  # fmt: skip


@writer("skyrl")
def skyrl(rows):
    return {
        f"dumped_evals/global_step_{step}_evals/math.jsonl": [
            {"input_prompt": r.question, "output_response": r.answer, "score": r.reward, "stop_reason": "stop",
             "env_class": "math", "data_source": "math", **r.extra}
            for r in part
        ]
        for step, part in steps_of(rows).items()
    }  # fmt: skip


@writer("art")
def art(rows):
    return {
        f"trajectories/train/{step:04d}.parquet": [
            {"group_index": r.prompt, "group_metadata": "{}", "reward": r.reward, "metrics": "{}", "metadata": "{}",
             "messages": r.chat + r.said, **r.extra}
            for r in part
        ]
        for step, part in steps_of(rows).items()
    }  # fmt: skip


@writer("art-jsonl")
def art_jsonl(rows):
    return {
        f"trajectories/train/{step:04d}.jsonl": [
            {"trajectories": [
                {"reward": r.reward, "metrics": {}, "metadata": {}, "messages_and_choices": r.chat + r.said, **r.extra}
                for r in group
            ]}
            for group in groups_of(part)
        ]
        for step, part in steps_of(rows).items()
    }  # fmt: skip


@writer("rllm")
def rllm(rows):
    return {
        "episodes.jsonl": [
            {"training_step": r.step, "epoch": 0, "episode_id": f"{r.prompt}:{r.sample}", "task": {"q": r.question},
             "task_hash": f"h{r.prompt}", "trajectories": [{"reward": r.reward, "steps": []}], **r.extra}
            for r in rows
        ]
    }  # fmt: skip


@writer("atropos")
def atropos(rows):
    return {
        "groups.jsonl": [
            {"tokens": [[1, 2]] * len(group), "masks": [[-1, 2]] * len(group), "scores": [r.reward for r in group],
             "messages": [r.answer for r in group], "ref_logprobs": None, **group[0].extra}
            for group in groups_of(rows)
        ]
    }  # fmt: skip


@writer("lm-eval")
def lm_eval(rows):
    return {
        "samples_math_2026.jsonl": [
            {"doc_id": 4 * r.prompt + r.sample, "doc": {"q": r.question}, "target": "42", "resps": [[r.answer]],
             "filtered_resps": [r.answer], "filter": "strict", "metrics": ["exact_match"], "doc_hash": "d",
             "exact_match": r.reward, **r.extra}
            for r in rows
        ]
    }  # fmt: skip


@writer("lighteval")
def lighteval(rows):
    return {
        "details_math_2026.parquet": [
            {"doc": {"id": str(4 * r.prompt + r.sample), "query": r.question}, "metric": {"pass@k:k=1&n=1": r.reward},
             "model_response": {"text": [r.answer]}, **r.extra}
            for r in rows
        ]
    }  # fmt: skip


@writer("groups-rewards")
def groups_rewards(rows):
    return {
        "log.jsonl": [
            {"step": group[0].step, "prompt": group[0].question, "completions": [r.answer for r in group],
             "rewards": [r.reward for r in group], **group[0].extra}
            for group in groups_of(rows)
        ]
    }  # fmt: skip


@writer("groups-scores")
def groups_scores(rows):
    return {
        "log.jsonl": [
            {"question": group[0].question, "step": group[0].step, "responses": [r.answer for r in group],
             "scores": [r.reward for r in group], **group[0].extra}
            for group in groups_of(rows)
        ]
    }  # fmt: skip


@writer("groups-rollouts")
def groups_rollouts(rows):
    return {
        "log.jsonl": [
            {"step": group[0].step, "problem_id": group[0].prompt, **group[0].extra,
             "rollouts": [{"text": r.answer, "score": r.reward} for r in group]}
            for group in groups_of(rows)
        ]
    }  # fmt: skip


def write(files: Files, folder: Path) -> Path:
    """Write files below `folder`; return the folder, or the one file there is."""
    paths = []
    for name, records in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if name.endswith(".parquet"):
            import pyarrow as pa
            import pyarrow.parquet as pq

            pq.write_table(pa.Table.from_pylist(records), path)
        else:
            path.write_text("".join(json.dumps(record) + "\n" for record in records))
        paths.append(path)
    return paths[0] if len(paths) == 1 else folder


@pytest.fixture
def written(tmp_path):
    """Write rollouts in a layout: `written("trl", rows)` gives the path to read."""

    def make(layout: str, rows: list[Rollout] | None = None, name: str = "in") -> Path:
        return write(WRITERS[layout](rollouts() if rows is None else rows), tmp_path / name)

    return make


@pytest.fixture
def base():
    """Three prompts with four rollouts each."""
    return rollouts()
