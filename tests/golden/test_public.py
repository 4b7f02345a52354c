"""The numbers of the frameworks through the public interface, one frame a setup, and through the command line."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

import grpo_cli

SETUPS = json.loads((Path(__file__).parent / "setups.json").read_text())
OFFERED = [number for number, setup in SETUPS.items() if setup["spec"]]
# float64 leaves 1.4e-17 between the mean of six times 0.1 and 0.1, and dividing by a std of 1.4e-17 gives 1 there.
FAULTS = {("115", "const_0p1_plus_live"), ("115", "sizes_2_6_const_mix")}


def differing(ours, frame):
    """The rows that differ from the framework's, where theirs is no rounding fault."""
    theirs = frame["advantage"]
    bound = 1e-5 * pl.select(pl.max_horizontal(pl.lit(1.0), theirs.abs())).to_series()
    table = frame.with_columns(ours=ours, bad=((ours - theirs).abs() > bound) | (ours.is_null() != theirs.is_null()))
    return table.filter(pl.col("bad").fill_null(value=True) & ours.is_not_null() | (ours.is_null() != theirs.is_null()))


def without_faults(number, names, frame):
    faults = [name for name in names if (number, name) in FAULTS]
    return frame.filter(~pl.col("step").str.split("/").list.first().is_in(faults))


@pytest.mark.parametrize("number", OFFERED)
def test_through_python(golden_logs, number):
    setup = SETUPS[number]
    for names, parts, log in golden_logs(number):
        frame = without_faults(number, names, log)
        reward = setup["weights"] or parts
        ours = grpo_cli.advantages(frame, reward=reward, group_by="prompt_id", estimator=setup["spec"])
        assert differing(ours, frame).is_empty(), setup["spec"]


@pytest.mark.parametrize("number", OFFERED)
def test_one_case_through_the_command_line(golden_logs, grpo, here, number):
    setup = SETUPS[number]
    for _, parts, frame in golden_logs(number, one_case=True):
        frame.drop("advantage").write_ndjson(here / "x.jsonl")
        weights = setup["weights"] or dict.fromkeys(parts, 1)
        rewards = [word for name, weight in weights.items() for word in ("-r", f"{name}={weight}")]
        ran = grpo("compute", "x.jsonl", "-o", "-", "-g", "prompt_id", *rewards, "-e", setup["spec"])
        assert ran.code == 0, ran.err
        assert differing(pl.Series(ran.advantages, dtype=pl.Float64), frame).is_empty(), setup["spec"]
