"""Files that other people's systems wrote, against figures of an independent script: extra checks."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

FILES = Path(__file__).resolve().parents[1] / ".." / "shared" / "realfiles"
pytestmark = pytest.mark.skipif(not FILES.is_dir(), reason="the files are not here")

TRL = ("-g", "prompt", "--step", "step", "-r", "digit_reward", "-r", "math_only_reward=0.5", "-r", "const_reward=2")
ONE = ("-g", "prompt", "--step", "step", "-r", "digit_reward")
PRIME = ("-g", "problem_id", "-r", "reward", "--step", "step")
OPEN = ("-g", "prompt_idx", "-r", "reward", "--step")
GYM = ("-g", "_ng_task_index", "-r", "reward")
READ_AS = {
    "verl_gsm8k_step1.jsonl": ("-g", "input", "-r", "score", "--step", "step"),
    "primerl_netlogs_step40.jsonl [key only]": PRIME,
    "primerl_netlogs_step40.jsonl [key + blocks of 8]": (*PRIME, "--group-size", "8"),
    "primerl_iiy6.jsonl [key only]": PRIME,
    "primerl_iiy6.jsonl [key + blocks of 8]": (*PRIME, "--group-size", "8"),
    "verifiers_wordle_multireward.jsonl": ("-g", "id", "-r", "reward"),
    "verifiers_simplebench_5x8.jsonl": ("-g", "id", "-r", "reward"),
    "verifiers_rewardbench_garbage_head.jsonl": ("-g", "id", "-r", "reward", "--on-bad-line", "skip"),
    "nemogym_scicode.jsonl": GYM,
    "nemogym_missing_reward.jsonl": GYM,
    "nemogym_ruler2_mixed_list_str.jsonl": ("-g", "responses_create_params", "-r", "reward"),
    "nemogym_textworld_mixedlines.jsonl": ("-g", "responses_create_params", "-r", "reward", "--on-bad-line", "skip"),
    "fixture_rolloutscope_primerl_step1.jsonl": ("-g", "example_id", "-r", "reward"),
    "lighteval_details_math500_20docs.parquet": ("-g", "doc.id", "-r", 'metric."pass@k:k=1&n=1"'),
    "trl_run/group_completions_*.parquet": TRL,
    "trl_run/none_completions_00001.parquet": ONE,
    "trl_run/spg_completions_*.parquet [step+prompt]": ONE,
    "trl_run/spg_completions_*.parquet [prompt only: duplicates merged]": (*ONE[:2], *ONE[4:], "--step", "none"),
    "replays/verl_v0_rollout_5.jsonl (string score)": ("-g", "input", "-r", "score"),
    "replays/openinstruct_rollouts_000000.jsonl": (*OPEN, "step"),
    "replays/openinstruct_rollouts_000000.jsonl [prompt_idx only]": (*OPEN, "none"),
    "replays/tinker_train_rollout_summaries.jsonl": ("-g", "group_idx", "-r", "total_reward", "--step", "iteration"),
    "replays/areal_task7.jsonl": ("-g", "task_id", "-r", "reward", "--step", "tail_version"),
}  # fmt: skip


def near(value):
    return value if value is None else pytest.approx(value, rel=0, abs=1e-8)


@pytest.fixture(scope="module")
def expected():
    return json.loads((FILES / "expected.json").read_text())


@pytest.mark.parametrize("name", READ_AS)
def test_groups_have_the_expected_figures(grpo, expected, name):
    want = expected[name]
    path = FILES / name.split(" ")[0]
    ran = grpo("groups", path, "--format", "json", *READ_AS[name])
    assert ran.code == 0, ran.err
    rows = ran.rows
    assert len(rows) == want["groups"]
    assert Counter(str(row["n"]) for row in rows) == want["sizes"]
    assert sum(row["n"] for row in rows) == want["rows"]
    assert sum(row["scored"] for row in rows) == want["rows_scored"]
    assert sum(row["status"] in {"all-pass", "all-fail", "tied"} for row in rows) == want["zero_var_groups"]
    assert sum(row["status"] == "singleton" for row in rows) == want["single_groups"]
    assert sum(row["scored"] < row["n"] for row in rows) == want["groups_with_missing_reward"]
    total = sum(row["mean"] * row["scored"] for row in rows if row["scored"])
    assert total / want["rows_scored"] == near(want["reward_mean"])
    assert min(row["min"] for row in rows if row["scored"]) == near(want["reward_min"])
    assert max(row["max"] for row in rows if row["scored"]) == near(want["reward_max"])
    for row, group in zip(rows, want["per_group"], strict=False):
        assert (row["n"], row["scored"]) == (group["n"], group["n_scored"])
        assert [row["mean"], row["sample_std"], row["std"]] == [near(group[key]) for key in ("mean", "std1", "std0")]


@pytest.mark.parametrize(
    ("name", "estimator", "within"),
    [
        ("primerl_netlogs_step40.jsonl [key + blocks of 8]", ("--scale", "none"), 2e-7),
        ("trl_run/group_completions_*.parquet", ("--ddof", "1", "--eps", "1e-4"), 2e-7),
        ("trl_run/none_completions_00001.parquet", ("--scale", "none"), 0),
        ("trl_run/spg_completions_*.parquet [step+prompt]", ("--ddof", "1", "--eps", "1e-4"), 2e-7),
    ],
)
def test_the_trainers_own_advantages_come_back(grpo, tmp_path, name, estimator, within):
    path = str(FILES / name.split(" ")[0])
    ran = grpo("compute", path, "-o", f"{tmp_path}/out/", "--column", "ours", "-q", *READ_AS[name], *estimator)
    assert ran.code == 0, ran.err
    seen = 0
    for made in sorted((tmp_path / "out").rglob("*")):
        if made.suffix == ".parquet":
            import pyarrow.parquet as pq

            rows = pq.read_table(made, columns=["advantage", "ours"]).to_pylist()
        else:
            rows = [json.loads(line) for line in made.read_text().splitlines()]
        for row in rows:
            assert row["ours"] == pytest.approx(row["advantage"], rel=0, abs=within)
        seen += len(rows)
    assert seen


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("verifiers_lfs_pointer.jsonl", "Git LFS pointer"),
        ("verifiers_rewardbench_garbage_head.jsonl", "jsonl:1: "),
        ("nemogym_textworld_mixedlines.jsonl", "jsonl:"),
        ("nemogym_tales_clean.jsonl", "a log of chat turns"),
    ],
)
def test_what_is_no_rollout_log_is_said(grpo, name, said):
    grpo("compute", FILES / name, "-o", "-").refused(said)
