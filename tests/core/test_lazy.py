from __future__ import annotations

import math
import random

import polars as pl
import pytest

import grpo_cli
from grpo_cli.core.estimators import ESTIMATORS
from grpo_cli.core.frameworks import FRAMEWORKS
from grpo_cli.errors import UsageError


def log(seed=4):
    rng = random.Random(seed)
    rows = [
        {"prompt_id": f"p{prompt}", "step": step, "acc": reward, "fmt": round(rng.random(), 2), "base": 0.25}
        for step in (1, 2)
        for prompt, size in enumerate((4, 6, 1, 5, 2))
        for reward in ([0.1] * size if prompt == 3 else [float(rng.random() < 0.5) for _ in range(size)])
    ]
    rng.shuffle(rows)
    return pl.DataFrame(rows)


EVERY = [one for one in ESTIMATORS.values() if one.name not in ("passk", "pkpo")]
EVERY += [one for row in FRAMEWORKS.values() for one in row.estimators.values() if "k" not in dict(one.given)]
ROUNDED = ["grpo:eps=1e-4,eps-mode=add-var", "grpo:eps=0.5,eps-mode=clamp-var", "grpo:eps=0.4,eps-mode=clamp-std"]
ROUNDED += ["grpo:baseline=median", "grpo:baseline=base", "grpo:whiten=rows", "rloo:singleton=reward", "maxrl:eps=0.1"]
ROUNDED += ["batch-norm:baseline=batch-loo", "grpo:missing=zero-reward", "grpo:singleton=null"]


def expressible(spec):
    try:
        return grpo_cli.advantage_expr("acc", estimator=spec, step="step")
    except UsageError as error:
        assert any(said in str(error) for said in ("not a plain expression", "needs k", "needs a column of baselines"))
        return None


def close(ours, theirs):
    return all(
        (a is None and b is None)
        or (a is not None and b is not None and math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-12))
        for a, b in zip(ours, theirs, strict=True)
    )


def test_many_estimators_are_plain_expressions():
    named = [one.spec for one in EVERY if expressible(one.spec) is not None]
    assert {"grpo", "dr-grpo", "rloo", "lite-ppo", "reinforce++-baseline", "maxrl", "trl/grpo", "ms-swift/grpo"} <= {
        *named
    }
    assert len(named) > 70


@pytest.mark.parametrize("missing", [False, True])
def test_an_expression_gives_the_numbers_of_advantages(missing):
    frame = log()
    if missing:
        frame = frame.with_columns(
            acc=pl.when(pl.int_range(pl.len()) % 7 == 3)
            .then(None)
            .when(pl.int_range(pl.len()) == 5)
            .then(math.nan)
            .otherwise("acc")
        )
    for spec in [one.spec for one in EVERY] + ROUNDED:
        made = expressible(spec)
        if made is None:
            continue
        ours = frame.lazy().with_columns(made).collect()["advantage"]
        theirs = grpo_cli.advantages(frame, "acc", "prompt_id", estimator=spec)
        assert close(ours, theirs), spec


def test_several_rewards():
    frame = log()
    for spec in ("trl", "gdpo", "trl/gdpo", "grpo:aggregate=normalize-then-sum"):
        reward = {"acc": 1, "fmt": 0.5}
        ours = frame.lazy().select(grpo_cli.advantage_expr(reward, estimator=spec, step="step")).collect()["advantage"]
        assert close(ours, grpo_cli.advantages(frame, reward, "prompt_id", estimator=spec)), spec


def test_without_a_step_all_rows_are_one_batch():
    frame = log()
    for spec in ("grpo", "lite-ppo", "reinforce++"):
        ours = frame.lazy().select(grpo_cli.advantage_expr("acc", estimator=spec)).collect()["advantage"]
        assert close(ours, grpo_cli.advantages(frame, "acc", "prompt_id", step=None, estimator=spec)), spec


def test_it_is_made_of_windows_alone():
    plan = log().lazy().with_columns(grpo_cli.advantage_expr("acc", like="trl", step="step")).explain()
    assert ".over(" in plan
    assert "python" not in plan.lower()


@pytest.mark.parametrize("spec", ["nemo-rl", "passk:k=2", "verl/reinforce++", "easyr1", "passk-max"])
def test_what_is_no_plain_expression_is_refused(spec):
    with pytest.raises(UsageError, match="not a plain expression"):
        grpo_cli.advantage_expr(estimator=spec)


def test_names_are_checked():
    with pytest.raises(UsageError):
        grpo_cli.advantage_expr(estimator="nope")
