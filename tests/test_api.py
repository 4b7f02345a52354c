"""The Python interface: what it takes, what it gives, what it says where it cannot."""

from __future__ import annotations

import json
import math
import subprocess
import sys

import polars as pl
import pytest

import grpo_cli
from grpo_cli.errors import GrpoAdvError, UsageError

ROWS = {"prompt_id": ["a", "b", "a", "b"], "reward": [1, 0.5, 0, 0.25]}
TRL = [0.70700679, 0.70670700, -0.70700679, -0.70670700]


def test_importing_it_loads_no_polars():
    code = "import sys, grpo_cli as g; g.ESTIMATORS, g.FRAMEWORKS, g.__version__; print('polars' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_what_it_offers():
    assert set(grpo_cli.__all__) <= set(dir(grpo_cli))
    assert all(getattr(grpo_cli, name) for name in grpo_cli.__all__)
    with pytest.raises(AttributeError, match="nothing_such"):
        grpo_cli.nothing_such  # noqa: B018 - the attribute is what is tested


@pytest.mark.parametrize(
    "data",
    [
        ROWS,
        pl.DataFrame(ROWS, strict=False),
        pl.DataFrame(ROWS, strict=False).lazy(),
        [dict(zip(ROWS, row, strict=True)) for row in zip(*ROWS.values(), strict=True)],
    ],
    ids=["columns", "frame", "lazy", "records"],
)
def test_frames(data):
    ours = grpo_cli.advantages(data, reward="reward", group_by="prompt_id", like="trl")
    assert (ours.name, ours.dtype) == ("advantage", pl.Float64)
    assert ours.to_list() == pytest.approx(TRL)


@pytest.mark.parametrize("library", ["pandas", "pyarrow", "duckdb", "batches"])
def test_frames_of_other_libraries(library):
    pa = pytest.importorskip("pyarrow")
    table = pa.table({"prompt_id": ROWS["prompt_id"], "reward": [float(r) for r in ROWS["reward"]]})
    if library == "pandas":
        data = pytest.importorskip("pandas").DataFrame(table.to_pydict())
    elif library == "duckdb":
        data = pytest.importorskip("duckdb").arrow(table)
    else:
        data = table if library == "pyarrow" else pa.RecordBatchReader.from_batches(table.schema, table.to_batches())
    assert grpo_cli.advantages(data, like="trl").to_list() == pytest.approx(TRL)


def test_rewards_alone_are_one_group():
    assert grpo_cli.advantages([1, 0, 1, 0]).to_list() == [1.0, -1.0, 1.0, -1.0]
    assert grpo_cli.advantages((0, 1, 0, 0)).to_list()[1] == pytest.approx(math.sqrt(3))
    assert grpo_cli.advantages(pl.Series([1.0, None, 0.0])).to_list() == [1.0, None, -1.0]
    assert grpo_cli.advantages([1.0, math.nan, 0.0]).to_list() == [1.0, None, -1.0]


def test_rows_of_rewards_are_groups_in_one_batch():
    ours = grpo_cli.advantages([[1, 0], [0, 3]], estimator="dr-grpo")
    assert ours.dtype == pl.Array(pl.Float64, 2)
    assert ours.to_list() == [[0.5, -0.5], [-1.5, 1.5]]
    ragged = grpo_cli.advantages([[1, 0], [0, 3, 3], []], estimator="dr-grpo")
    assert ragged.to_list() == [[0.5, -0.5], [-2.0, 1.0, 1.0], []]
    # One batch: std of 1, 0, 0, 3 is sqrt(1.5).
    scaled = grpo_cli.advantages([[1, 0], [0, 3]], estimator="lite-ppo").to_list()
    assert scaled[1][1] == pytest.approx(1.5 / math.sqrt(1.5))


def test_arrays():
    np = pytest.importorskip("numpy")
    rewards = np.array([[1, 0, 1], [0, 1, 1]], dtype=np.float32)
    ours = grpo_cli.advantages(rewards, estimator="rloo")
    assert ours.to_numpy().shape == (2, 3)
    assert ours.to_list()[0] == [0.5, -1.0, 0.5]
    assert grpo_cli.advantages(rewards[0]).len() == 3
    assert grpo_cli.advantages([np.float32(1), np.float32(0)]).to_list() == [1.0, -1.0]


def test_a_step_is_part_of_the_group_and_is_the_batch():
    rows = {"prompt_id": ["a"] * 4, "step": [1, 1, 2, 2], "reward": [1, 0, 3, 0]}
    assert grpo_cli.advantages(rows, estimator="dr-grpo").to_list() == [0.5, -0.5, 1.5, -1.5]
    assert grpo_cli.advantages(rows, estimator="dr-grpo", step=None).to_list() == [0, -1, 2, -1]
    renamed = {"prompt_id": ["a"] * 4, "epoch": [1, 1, 2, 2], "reward": [1, 0, 3, 0]}
    assert grpo_cli.advantages(renamed, estimator="dr-grpo", step="epoch").to_list() == [0.5, -0.5, 1.5, -1.5]
    with pytest.raises(UsageError, match="no column other"):
        grpo_cli.advantages(rows, step="other")


def test_several_rewards_with_weights():
    rows = {"prompt_id": ["a", "a"], "acc": [1, 0], "fmt": [0, 1]}
    assert grpo_cli.advantages(rows, {"acc": 1, "fmt": 0.5}, estimator="dr-grpo").to_list() == [0.25, -0.25]
    assert grpo_cli.advantages(rows, ["acc", "fmt"], estimator="dr-grpo").to_list() == [0, 0]


def test_axes_lengths_baselines_and_rollout_ids():
    rows = {"prompt_id": ["a"] * 4, "reward": [1.0, 0.0, 0.0, 0.0], "tokens": [3, 1, 1, 1], "greedy": [0.5] * 4}
    assert grpo_cli.advantages(rows, ddof=1, eps=0).to_list()[0] == pytest.approx(1.5)
    assert grpo_cli.advantages(rows, estimator="opo", length="tokens").to_list() == [0.5] + [-0.5] * 3
    assert grpo_cli.advantages(rows, estimator="remax", baseline="greedy").to_list() == [0.5] + [-0.5] * 3
    doubled = {"prompt_id": ["a"] * 3, "reward": [1.0, 1.0, 0.0], "turn": ["x", "x", "y"]}
    assert grpo_cli.advantages(doubled, rollout_id="turn").to_list() == [1.0, 1.0, -1.0]


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: grpo_cli.advantages(3), "no frame: int"),
        (lambda: grpo_cli.advantages({"x": [1]}), "reward="),
        (lambda: grpo_cli.advantages({"reward": [1]}), "group_by="),
        (lambda: grpo_cli.advantages(ROWS, reward="rewart"), "no column rewart"),
        (lambda: grpo_cli.advantages(ROWS, reward="prompt_id"), "should hold numbers"),
        (lambda: grpo_cli.advantages({"prompt_id": ["a", None], "reward": [1, 2]}), "has a null"),
        (lambda: grpo_cli.advantages({"prompt_id": ["a", "a"], "reward": [1, "x"]}), "should hold numbers"),
        (lambda: grpo_cli.advantages([1.0, math.inf]), "infinite"),
        (lambda: grpo_cli.advantages([[1, "x"]]), "list of numbers"),
        (lambda: grpo_cli.advantages([[]]), "no rewards"),
        (lambda: grpo_cli.advantages([1, 0], reward="acc"), "no columns: reward"),
        (lambda: grpo_cli.advantages(ROWS, estimator="gpro"), "unknown estimator"),
        (lambda: grpo_cli.advantages(ROWS, like="trll"), "unknown framework"),
        (lambda: grpo_cli.advantages(ROWS, ddof=2), "ddof"),
        (lambda: grpo_cli.advantages(ROWS, estimator="opo"), "length"),
        (lambda: grpo_cli.advantages([0.5], singleton="error"), "group of one"),
        (grpo_cli.read, "needs a path"),
    ],
)
def test_what_cannot_be_is_said(call, said):
    with pytest.raises(GrpoAdvError, match=said):
        call()


def test_group_stats():
    table = grpo_cli.group_stats({"prompt_id": ["b", "a", "b", "a"], "step": [1, 1, 1, 1], "reward": [1, 1, 0, 1]})
    assert table.columns[:2] == ["step", "prompt_id"]
    assert table.select("prompt_id", "n", "mean", "std", "pass_rate", "status").rows() == [
        ("b", 2, 0.5, 0.5, 0.5, "mixed"),
        ("a", 2, 1.0, 0.0, 1.0, "all-pass"),
    ]
    assert grpo_cli.group_stats([[1, 0], [0.5]])["status"].to_list() == ["mixed", "singleton"]


def test_a_log_as_a_frame(tmp_path):
    rows = [
        {"uid": key, "step": step, "acc": reward, "fmt": 0.5, "advantage": 0.25, "length": 7}
        for step in (1, 2)
        for key, reward in (("p", 1), ("q", 0), ("p", 0))
    ]
    path = tmp_path / "x.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    frame = grpo_cli.read(path, reward=["acc", "fmt=0.5"])
    assert frame.columns == ["group", "key", "step", "reward", "acc", "fmt", "length", "logged_advantage"]
    assert frame["reward"].to_list() == [1.25, 0.25, 0.25] * 2
    assert grpo_cli.advantages(frame, estimator="dr-grpo").to_list() == [0.5, 0.0, -0.5] * 2
    assert grpo_cli.read(path, reward="acc", steps="2")["step"].unique().to_list() == [2]


def test_a_log_that_is_none(tmp_path):
    with pytest.raises(GrpoAdvError, match="no such file"):
        grpo_cli.read(tmp_path / "nothing.jsonl")
