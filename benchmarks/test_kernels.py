"""The kernels alone, by pytest-benchmark: `python -m pytest benchmarks`. The ordinary test run leaves them out."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest
from rewards import GROUP, SEED, rewards
from texts import texts

from grpo_cli.core.estimators import resolve
from grpo_cli.core.groups import summary
from grpo_cli.core.steps import advantages
from grpo_cli.logs.codes import coded
from grpo_cli.logs.fields import Field
from grpo_cli.logs.files.source import LogFile, find
from grpo_cli.logs.format import Kind, Want
from grpo_cli.logs.grouping import group_rollouts, short_ids
from grpo_cli.logs.jsonl import Jsonl
from grpo_cli.logs.parquet import Parquet

if TYPE_CHECKING:
    from pathlib import Path

ROWS = 400_000
LINES = 20_000


@pytest.fixture(scope="module")
def keys() -> pl.Series:
    numbers = np.arange(ROWS) // GROUP
    return pl.Series("key_0", [f"gsm8k-train-{number:07d}" for number in numbers.tolist()])


@pytest.fixture(scope="module")
def frame(keys: pl.Series) -> pl.DataFrame:
    numbered, _, _ = group_rollouts(keys.to_frame(), ["prompt"], None)
    return numbered.with_columns(reward_0=pl.Series(rewards(np.random.default_rng(SEED), ROWS)))


@pytest.fixture(scope="module")
def lines() -> list[dict[str, object]]:
    rng = np.random.default_rng(SEED)
    drawn = zip(rewards(rng, LINES).tolist(), texts(rng, LINES, 500), strict=True)
    return [
        {"prompt": f"p{at // GROUP}", "reward": reward, "completion": text} for at, (reward, text) in enumerate(drawn)
    ]


@pytest.fixture(scope="module")
def jsonl(lines: list[dict[str, object]], tmp_path_factory: pytest.TempPathFactory) -> LogFile:
    path = tmp_path_factory.mktemp("jsonl") / "log.jsonl"
    path.write_text("".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines))
    return _file(path)


@pytest.fixture(scope="module")
def parquet(lines: list[dict[str, object]], tmp_path_factory: pytest.TempPathFactory) -> LogFile:
    path = tmp_path_factory.mktemp("parquet") / "log.parquet"
    pl.DataFrame(lines).write_parquet(path)
    return _file(path)


def _file(path: Path) -> LogFile:
    return find([str(path)]).files[0]


WANTS = {"key_0": Want(Field.named("prompt"), Kind.CODE), "reward_0": Want(Field.named("reward"), Kind.NUMBER)}


@pytest.mark.parametrize("spec", ["grpo", "dr-grpo", "rloo", "lite-ppo"])
def test_advantages(benchmark, frame, spec):
    found = benchmark(advantages, frame, resolve(spec))
    assert found.len() == ROWS


def test_advantages_of_rows_in_no_order(benchmark, frame):
    shuffled = frame.sample(fraction=1, shuffle=True, seed=SEED)
    found = benchmark(advantages, shuffled, resolve("grpo"))
    assert found.len() == ROWS


def test_summary(benchmark, frame):
    assert benchmark(summary, frame).height == ROWS // GROUP


def test_grouping(benchmark, keys):
    numbered, _, _ = benchmark(group_rollouts, keys.to_frame(), ["prompt"], None)
    assert numbered["group"].max() == ROWS // GROUP - 1


def test_coding_long_keys(benchmark):
    drawn = texts(np.random.default_rng(SEED), LINES // GROUP, 2000)
    found = benchmark(coded, pl.Series([text for text in drawn for _ in range(GROUP)]))
    assert found.n_unique() == len(set(drawn))


def test_ids(benchmark, keys):
    parts = keys.unique(maintain_order=True).to_frame().with_columns(step=pl.lit("1"), block=pl.lit(None, pl.UInt32))
    assert benchmark(short_ids, parts.select("step", "key_0", "block")).n_unique() == ROWS // GROUP


def test_reading_jsonl(benchmark, jsonl):
    assert benchmark(Jsonl().read, jsonl, WANTS, "error").frame.height == LINES


def test_reading_parquet(benchmark, parquet):
    assert benchmark(Parquet().read, parquet, WANTS, "error").frame.height == LINES


@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
def test_appending(benchmark, kind, request):
    file = request.getfixturevalue(kind)
    column = pl.DataFrame({"advantage": np.random.default_rng(SEED).standard_normal(LINES)})

    def append() -> int:
        target = io.BytesIO()
        (Jsonl() if kind == "jsonl" else Parquet()).append(file, target, column, {}, replace=False)
        return target.tell()

    assert benchmark(append) > file.path.stat().st_size
