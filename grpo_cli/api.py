"""The Python interface: advantages and group statistics of frames, lists and arrays, and any log as a frame."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from grpo_cli import frame as cf
from grpo_cli.api_frames import as_frame, canonical, nested, rewards_of
from grpo_cli.core import lazy, steps
from grpo_cli.core.estimators import resolve
from grpo_cli.core.groups import TOLERANCE, summary
from grpo_cli.errors import UsageError

if TYPE_CHECKING:
    from os import PathLike

Reward = str | Sequence[str] | Mapping[str, float]
"""A column, several that are summed, or several with their weights."""


def advantages(
    data: Any,
    reward: Reward | None = None,
    group_by: str | Sequence[str] | None = None,
    *,
    estimator: str | None = None,
    like: str | None = None,
    step: str | None = "step",
    length: str | None = None,
    rollout_id: str | None = None,
    tolerance: float | None = None,
    **axes: Any,
) -> pl.Series:
    """The advantage of each rollout.

    Args:
        data: a frame (Polars, lazy or not, pandas, pyarrow, DuckDB: anything with the Arrow stream interface), a dict
            of columns, or a list of dicts; or rewards alone: a list or 1-d array is one group, a list of lists or a
            (prompts, G) array is a group a row, and all of it one batch.
        reward: the reward column, several columns that are summed, or `{column: weight}`; None is the first known
            name that the frame has (`reward`, `score` ...). In the reward's own units; null and NaN are missing.
        group_by: the columns that name the prompt; None is the first known name (`group`, `prompt_id`, `prompt` ...).
        estimator: `[FRAMEWORK/]NAME[:AXIS=VALUE,...]` as in `rloo`, `trl/grpo`, `grpo:ddof=1`; None is `grpo`,
            (r - mean) / std over each group with the population std (DeepSeekMath, arXiv 2402.03300), or the default
            of `like`. `grpo_cli.ESTIMATORS` has the others with their papers.
        like: the framework whose conventions to follow; `grpo_cli.FRAMEWORKS` has their functions.
        step: the column of the training step: always part of the group, and what a batch is. A frame without a
            column of this name has one batch only where it is the default; None: one batch.
        length: the column of completion lengths in tokens, for estimators that weigh by them; None is `length`.
        rollout_id: a column; rows of one group that share its value are one rollout, counted once.
        tolerance: relative spread up to which the rewards of a group count as one value; None is the estimator's own.
        **axes: `baseline`, `scale`, `ddof`, `eps`, `missing`, `singleton`, `aggregate`, `whiten`, `k`, `clip` ...

    Returns:
        A Float64 series named `advantage`, a value a row in the order of the rows; for a list of lists or a 2-d array
        a series of as many lists (an Array where all are of one length). Null where there is none: the reward is
        missing, or the estimator's rules say so. Never NaN or infinite.

    Raises:
        GrpoAdvError: `UsageError` for an unknown name, column or axis, `RowError` for a row that breaks a rule.
    """
    chosen = resolve(estimator, like=like, axes=axes)
    rows = nested(data)
    if rows is not None:
        _refuse_columns(reward=reward, group_by=group_by, length=length, rollout_id=rollout_id)
        computed = steps.advantages(rows.frame, chosen, tolerance=tolerance)
        return rows.shaped(computed)
    frame, weights = canonical(
        as_frame(data),
        reward=reward,
        group_by=group_by,
        step=step,
        length=length or (cf.LENGTH if cf.LENGTH in chosen.needs else None),
        rollout_id=rollout_id,
        baseline=chosen.baseline_field or None,
    )
    return steps.advantages(frame.canonical, chosen, weights=weights, tolerance=tolerance)


def advantage_expr(
    reward: Reward = "reward",
    group_by: str | Sequence[str] = "prompt_id",
    *,
    estimator: str | None = None,
    like: str | None = None,
    step: str | None = None,
    **axes: Any,
) -> pl.Expr:
    """The advantage as a plain Polars expression, for `with_columns` or `select` inside a lazy query.

    It is made of windows (`over`) alone, so that the query engine can plan and stream it. The arguments are those of
    `advantages`; with `step` its column is part of the group, and a batch; without, all rows are one batch.

    Raises:
        UsageError: the estimator is not a plain expression (leave-one-out std, pass@k, token weights, the rule
            `error`): `advantages` computes it.
    """
    chosen = resolve(estimator, like=like, axes=axes)
    keys = [group_by] if isinstance(group_by, str) else list(group_by)
    batch = [step] if step is not None else []
    columns = [(pl.col(name), weight) for name, weight in rewards_of(reward).items()]
    return lazy.expression(chosen, columns, list(dict.fromkeys([*batch, *keys])), batch)


def group_stats(
    data: Any,
    reward: Reward | None = None,
    group_by: str | Sequence[str] | None = None,
    *,
    step: str | None = "step",
    rollout_id: str | None = None,
    tolerance: float = TOLERANCE,
    pass_threshold: float | None = None,
) -> pl.DataFrame:
    """A row per group, in the order in which groups appear.

    Args as in `advantages`; `pass_threshold` is the reward from which a rollout passes (None: 1 where all rewards are
    0 or 1, or all -1 or 1).

    Returns:
        The step's and the key's columns (for rewards alone a column `group`), then `n`, `scored`, `mean`, `std` (ddof
        0), `sample_std` (ddof 1), `min`, `max`, `pass_rate` and `status`: mixed, all-pass, all-fail, tied,
        singleton or unscored. Of the zero-variance ones (all-pass, all-fail, tied) no gradient comes.

    Raises:
        GrpoAdvError: as `advantages`.
    """
    wanted = ["n", "scored", "mean", "std", "sample_std", "min", "max", "pass_rate", "status"]
    rows = nested(data)
    if rows is not None:
        _refuse_columns(reward=reward, group_by=group_by, rollout_id=rollout_id)
        table = summary(rows.frame, tolerance=tolerance, pass_threshold=pass_threshold)
        return table.select(cf.GROUP, *wanted)
    frame, weights = canonical(as_frame(data), reward=reward, group_by=group_by, step=step, rollout_id=rollout_id)
    table = summary(frame.canonical, weights=weights, tolerance=tolerance, pass_threshold=pass_threshold)
    return frame.keys_of_groups().hstack(table.select(wanted))


def read(
    *paths: str | PathLike[str],
    reward: str | Sequence[str] | None = None,
    group_by: str | Sequence[str] | None = None,
    step: str | None = None,
    layout: str | None = None,
    group_size: int | None = None,
    steps: str | None = None,
    split: str | None = None,
    on_bad_line: str = "error",
) -> pl.DataFrame:
    """The rollouts of any log that the command line reads, as one frame.

    Args:
        paths: files, globs or folders, JSONL (also compressed) or Parquet.
        reward: a field, or several, as `--reward` takes them (`acc`, `fmt=0.5`, `info.reward`); None: as recognised.
        group_by: the field of the prompt's key, or several.
        step: the field of the step; `none` leaves it out.
        layout: how the log is laid out; None: as recognised.
        group_size: split keys with more rollouts into blocks of so many.
        steps: only these, as in `10:20` or `-5:`.
        split: `train`, `eval` or `all`.
        on_bad_line: `error` or `skip`.

    Returns:
        A row per rollout: `group` (the group's short id), `key`, `step` (where there is one), `reward` (the weighted
        sum), the reward fields by their names where they are several, `length` in tokens and `logged_advantage` where
        the log has them. `advantages(read(path))` needs no more arguments.

    Raises:
        GrpoAdvError: `InputError` with file and line, or `UsageError`.
    """
    from grpo_cli.api_frames import of_log

    if not paths:
        raise UsageError("read needs a path")
    return of_log(
        [str(path) for path in paths],
        reward=[reward] if isinstance(reward, str) else list(reward or ()),
        group_by=[group_by] if isinstance(group_by, str) else list(group_by or ()),
        step=step,
        layout=layout,
        split=split,
        group_size=group_size,
        steps=steps,
        on_bad_line=on_bad_line,
    )


def _refuse_columns(**given: object) -> None:
    named = [name for name, value in given.items() if value is not None]
    if named:
        raise UsageError(
            f"rewards alone have no columns: {', '.join(named)}", hint="give a frame, or a dict of columns"
        )


__all__ = ["advantage_expr", "advantages", "group_stats", "read"]
