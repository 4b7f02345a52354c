"""A log of every setup, given to the search without a hint: the formula that made it is named, and no wrong one."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from grpo_cli.core.estimators import resolve
from grpo_cli.core.verification import formulas
from grpo_cli.core.verification.search import find
from grpo_cli.core.verification.verify import verify

SETUPS = json.loads((Path(__file__).parent / "setups.json").read_text())
FAULTS = {"115"}  # its log holds rounding faults of the framework that are no float32 ones


def distinct():
    """A setup for each formula and each set of weights: the one that comes first has the most inputs."""
    seen = {}
    for number, setup in SETUPS.items():
        if setup["spec"] and number not in FAULTS:
            true = resolve(setup["spec"])
            seen.setdefault((formulas.bare(true), str(setup["weights"])), number)
    return list(seen.values())


ALL = distinct()
QUICK = ["004", "015", "041", "051", "059", "080", "094", "107", "111", "163", "179", "195", "213", "220", "231", "235"]


def canonical(frame, parts):
    columns = {
        "batch": frame["step"].rank("dense").cast(pl.UInt32) - 1,
        "length": frame["length"],
        "logged": frame["advantage"],
    }
    key = frame.select(pl.concat_str("step", "prompt_id", separator="|")).to_series()
    return pl.DataFrame(
        {"group": key.rank("dense").cast(pl.UInt32) - 1}
        | columns
        | {f"reward_{at}": frame[part] for at, part in enumerate(parts)}
    )


def check(golden_logs, number):
    setup = SETUPS[number]
    true = resolve(setup["spec"])
    for names, parts, frame in golden_logs(number):
        log = canonical(frame, parts)
        if log["logged"].null_count() == log.height:
            continue
        answer = find(log)
        named = [fit.formula for fit in answer.fits]
        assert any(formulas.bare(formula.estimator) == formulas.bare(true) for formula in named), (setup["spec"], names)
        if setup["weights"]:
            weights = list(setup["weights"].values())
            (columns,) = {formula.columns for formula in named}
            largest = max(weights)
            told = dict(columns)
            varying = [at for at in range(len(parts)) if at not in answer.untold]
            if len(told) == len(varying) == len(parts):
                assert [told[at] for at in varying] == pytest.approx([weight / largest for weight in weights])
        for formula in named:
            found = verify(formula.frame(log), formula.estimator, weights=formula.weights)
            assert found.explained
            assert found.share >= 0.5


@pytest.mark.parametrize("number", QUICK)
def test_the_formula_is_named(golden_logs, number):
    check(golden_logs, number)


@pytest.mark.slow
@pytest.mark.parametrize("number", [number for number in ALL if number not in QUICK])
def test_every_formula_is_named(golden_logs, number):
    check(golden_logs, number)
