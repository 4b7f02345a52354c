"""Figures of real logs, against the same worked out in plain Python. (Extra: they are not in the repository.)"""

from __future__ import annotations

import json
import statistics
from collections import defaultdict
from math import comb
from pathlib import Path

import pytest

REAL = Path(__file__).resolve().parents[3] / "shared" / "realfiles"
pytestmark = pytest.mark.skipif(not REAL.exists(), reason="needs ../shared")

LOGS = {
    "verifiers_simplebench_5x8.jsonl": (("id",), "reward"),
    "verifiers_wordle_multireward.jsonl": (("id",), "reward"),
    "primerl_iiy6.jsonl": (("step", "problem_id"), "reward"),
    "primerl_netlogs_step40.jsonl": (("step", "problem_id"), "reward"),
    "nemogym_missing_reward.jsonl": (("_ng_task_index",), "reward"),
    "nemogym_scicode.jsonl": (("_ng_task_index",), "reward"),
    "replays/openinstruct_rollouts_000000.jsonl": (("step", "prompt_idx"), "reward"),
    "replays/tinker_train_rollout_summaries.jsonl": (("iteration", "group_idx"), "total_reward"),
    "replays/areal_task7.jsonl": (("tail_version", "task_id"), "reward"),
}


@pytest.fixture(params=LOGS)
def read(request):
    """A log and its rewards by group, in the order of the file."""
    keys, reward = LOGS[request.param]
    groups = defaultdict(list)
    for line in (REAL / request.param).read_text().splitlines():
        record = json.loads(line)
        groups[tuple(record[key] for key in keys)].append(record.get(reward))
    return REAL / request.param, list(groups.values())


def test_stats(grpo, read):
    path, groups = read
    (row,) = grpo("stats", path, "--format", "json", "-q").rows
    scored = [[reward for reward in rewards if reward is not None] for rewards in groups]
    every = [reward for rewards in scored for reward in rewards]
    several = [rewards for rewards in scored if len(rewards) > 1]
    expected = {
        "rollouts": sum(map(len, groups)),
        "scored": len(every),
        "missing": sum(map(len, groups)) - len(every),
        "groups": len(groups),
        "size_min": min(map(len, groups)),
        "size_max": max(map(len, groups)),
        "zero_variance": sum(max(rewards) - min(rewards) <= 1e-8 for rewards in several),
        "singleton": sum(len(rewards) == 1 for rewards in scored),
        "reward_mean": statistics.fmean(every),
        "reward_median": statistics.median(every),
        "rollout_std": statistics.pstdev(every),
        "within_group_std": statistics.fmean(map(statistics.pstdev, several)),
        "between_group_std": statistics.pstdev([statistics.fmean(rewards) for rewards in scored if rewards]),
    }
    assert {name: row[name] for name in expected} == pytest.approx(expected, rel=1e-12, abs=1e-15)


def test_groups_and_trend(grpo, read):
    path, groups = read
    rows = grpo("groups", path, "--format", "json", "-q").rows
    for row, rewards in zip(rows, groups, strict=True):
        scored = [reward for reward in rewards if reward is not None]
        assert (row["n"], row["scored"]) == (len(rewards), len(scored))
        assert row["mean"] == (pytest.approx(statistics.fmean(scored), rel=1e-12) if scored else None)
        assert sum(row["rewards"]) == len(scored)
    ran = grpo("trend", path, "--format", "json", "-q")
    if ran.code == 0:
        assert sum(row["groups"] for row in ran.rows) == len(groups)
        assert sum(row["rollouts"] for row in ran.rows) == sum(map(len, groups))


def test_passk(grpo, read):
    path, groups = read
    rows = grpo("passk", path, "--thresholds", "1", "--k", "1,2,4", "--format", "json", "-q").rows
    for row in rows:
        k = row["k"]
        judged = [[reward >= 1 for reward in rewards if reward is not None] for rewards in groups]
        rates = [1 - comb(len(own) - sum(own), k) / comb(len(own), k) for own in judged if len(own) >= k]
        assert (row["groups"], row["too_small"]) == (len(rates), len(groups) - len(rates))
        assert row["pass_at_k"] == (pytest.approx(statistics.fmean(rates), rel=1e-12, abs=1e-15) if rates else None)


def test_filter_keeps_whole_groups_byte_for_byte(grpo, read):
    path, groups = read
    ran = grpo("filter", path, "--keep", "mixed", "-o", "-", "-q", "--allow-empty")
    assert ran.code == 0, ran.err
    lines = path.read_bytes().splitlines(keepends=True)
    kept = ran.raw.splitlines(keepends=True)
    assert set(kept) <= set(lines)
    mixed = [rewards for rewards in groups if len({reward for reward in rewards if reward is not None}) > 1]
    assert len(kept) == sum(map(len, mixed))
