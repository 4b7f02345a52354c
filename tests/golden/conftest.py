"""The golden numbers as the logs that their frameworks would have left: one frame for each setup."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

_HERE = Path(__file__).parent


def load(name):
    return json.loads((_HERE / f"{name}.json").read_text())


def _keys(rows, how):
    size = len(rows["key"])
    match how:
        case "int_coerced":
            return [int(key) for key in rows["key"]]
        case "blocks":
            return [row // 4 for row in range(size)]
        case "all_rows_one_group":
            return [0] * size
    return rows["key"]


@pytest.fixture(scope="session")
def golden_logs():
    """For a setup: the names of its inputs, and a log of all of them; several where they do not fit into one."""
    inputs, setups, cases = load("inputs"), load("setups"), load("cases")

    def of(number, *, one_case=False):
        setup = setups[number]
        several = bool(setup["weights"] or setup.get("parts"))
        parted = {}
        for name, logged in cases.get(number, {}).items():
            rows = inputs[name]
            size = len(rows["key"])
            rewards = (rows.get("rewards") if several else None) or {"reward": rows["reward"]}
            steps = rows.get("step", [0] * size)
            frame = pl.DataFrame(
                {
                    "prompt_id": [f"{name}/{key}" for key in _keys(rows, setup["params"].get("group_key"))],
                    "step": [f"{name}/{step}" for step in steps],
                    "length": [float(length) for length in rows.get("length", [1] * size)],
                    **{part: pl.Series(values, dtype=pl.Float64, strict=False) for part, values in rewards.items()},
                    "advantage": pl.Series(logged, dtype=pl.Float64),
                }
            )
            together = name if setup["spec"].startswith("prime-rl/rae") else str(list(rewards))
            parted.setdefault(together, {})[name] = frame
        for frames in parted.values():
            kept = dict(list(frames.items())[:1] if one_case else frames.items())
            yield list(kept), list(rewards_in(kept)), pl.concat(kept.values())

    return of


def rewards_in(frames):
    """The reward columns that the frames share."""
    return next(iter(frames.values())).drop("prompt_id", "step", "length", "advantage").columns
