"""What `verify` does without a formula: look for those that fit, and say what would tell them apart."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

import polars as pl

from grpo_cli.commands.formula import framework_of
from grpo_cli.commands.opening import opened
from grpo_cli.commands.views.verify import differing, drawn_twice, larger_than, refuse_unlogged, say_compared, worst_row
from grpo_cli.core.notes import count
from grpo_cli.core.verification import formulas
from grpo_cli.core.verification import search as core_search
from grpo_cli.core.verification.probes import separators
from grpo_cli.core.verification.verify import Fault
from grpo_cli.errors import CheckFailed
from grpo_cli.frame import LENGTH, LOGGED
from grpo_cli.logs.layouts.reading import reward_text
from grpo_cli.logs.layouts.reward_candidates import reward_candidates
from grpo_cli.render.digits import number
from grpo_cli.render.tables import Kind, Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grpo_cli.core.chain import Estimator
    from grpo_cli.core.verification.formulas import Formula
    from grpo_cli.core.verification.probes import Separator
    from grpo_cli.core.verification.search import Answer, Fit
    from grpo_cli.logs.files.source import Found
    from grpo_cli.logs.rollouts import RolloutLog
    from grpo_cli.options import LogOptions, TableOptions
    from grpo_cli.render.screen import Screen

_NAMES = 6
"""How many formulas a sentence names."""


def search(
    found: Found, log: LogOptions, table: TableOptions, screen: Screen, *, logged: str | None, tol: float
) -> None:
    """Look for the formula behind the logged advantages, and show those that fit.

    Raises:
        CheckFailed: none fits.
    """
    candidates = None if log.reward else reward_candidates(found, log.layout, [logged] if logged else [])
    rewards = candidates.known if candidates else []
    tries = [rewards] if log.reward or rewards else []
    if candidates and candidates.others:
        tries.append([*rewards, *candidates.others])
    for at, reward in enumerate(tries or [[]]):
        with opened(found, log, screen, roles={LENGTH, LOGGED}, logged=logged, reward=reward) as rollouts:
            refuse_unlogged(rollouts)
            known = len(log.reward or rewards)
            told = tuple((i, weight) for i, weight in enumerate(rollouts.reading.weights[:known])) if known else None
            first = framework_of(rollouts.reading.layout)
            answer = core_search.find(rollouts.frame, told=told, first=first, tol=tol, tolerance=log.tolerance)
            if answer.fits or at == len(tries) - 1 or not tries:
                _answer(rollouts, answer, table, screen)
                return


def _answer(rollouts: RolloutLog, answer: Answer, table: TableOptions, screen: Screen) -> None:
    if not answer.fits:
        _none_fits(rollouts, answer, table, screen)
    best = answer.fits[0]
    screen.say(_searched(rollouts))
    screen.show(_fitting(rollouts, answer.fits), **table.how)
    say_compared(screen, best.verification, _called(rollouts, best.formula))
    if best.formula.group_size is not None:
        screen.note(_blocks(rollouts, best.formula))
    if len(answer.fits) > 1:
        names = [fit.formula.estimator.spec for fit in answer.fits]
        screen.note(f"this log cannot tell these {len(names)} apart: {_and_more(names)}")
        for separator in separators([fit.formula.estimator for fit in answer.fits]):
            screen.note(_tells_apart(separator))
    if len(rollouts.reading.rewards) > 1 and answer.untold:
        untold = ", ".join(str(rollouts.reading.rewards[at][0]) for at in answer.untold)
        screen.note(f"no weight can be told for {untold}: nothing varies inside a group")


def _none_fits(rollouts: RolloutLog, answer: Answer, table: TableOptions, screen: Screen) -> NoReturn:
    nearest = answer.nearest
    screen.say(_searched(rollouts))
    _say_untried(rollouts, screen)
    if nearest is None:
        raise CheckFailed(
            "no known formula gives the logged advantages, nor most of them",
            hint="is the grouping right (-g, --step, --group-size), and the reward (-r)? grpo-adv inspect shows both",
        )
    screen.show(differing(rollouts, nearest.verification, nearest.formula), **table.how)
    odd = nearest.verification.groups.filter(pl.col("fault") == Fault.DIFFERS).height
    name = _called(rollouts, nearest.formula)
    raise CheckFailed(
        f"no known formula gives all logged advantages; {name} gives those of all groups but {odd};"
        f" {worst_row(rollouts, nearest.verification, nearest.formula)}"
    )


def _fitting(rollouts: RolloutLog, fits: Sequence[Fit]) -> Table:
    """A row per formula that fits; `same_as` names those that compute the very same."""
    same: dict[Estimator, list[Fit]] = {}
    for fit in fits:
        same.setdefault(formulas.bare(fit.formula.estimator), []).append(fit)
    rows = [
        {
            "formula": fit.formula.estimator.spec,
            "same_as": ", ".join(other.formula.estimator.spec for other in others),
            "rewards": _rewards(rollouts, fit.formula),
            "group_size": fit.formula.group_size,
            "agree": fit.verification.share,
            "largest": fit.verification.largest,
            "text": fit.formula.estimator.formula,
        }
        for fit, *others in same.values()
    ]
    kinds = {"formula": Kind.ID, "rewards": Kind.ID, "group_size": Kind.COUNT, "agree": Kind.SHARE}
    kinds |= {"largest": Kind.NUMBER, "text": Kind.TEXT, "same_as": Kind.TEXT}
    if all(fit.formula.group_size is None for fit in fits):
        kinds.pop("group_size")
    schema = {"group_size": pl.Int64, "agree": pl.Float64, "largest": pl.Float64}
    return Table("formulas", pl.DataFrame(rows, schema_overrides=schema), kinds, narrow=("largest",))


def _rewards(rollouts: RolloutLog, formula: Formula) -> str:
    return " ".join(f"-r {reward_text(rollouts.reading.rewards[at][0], weight)}" for at, weight in formula.columns)


def _called(rollouts: RolloutLog, formula: Formula) -> str:
    size = f" --group-size {formula.group_size}" if formula.group_size else ""
    return f"{formula.estimator.spec} {_rewards(rollouts, formula)}{size}"


def _searched(rollouts: RolloutLog) -> str:
    rows, groups = rollouts.frame.height, rollouts.frame["group"].n_unique()
    files = rollouts.parts[0].file.name if len(rollouts.parts) == 1 else f"{len(rollouts.parts)} files"
    keys = [*([str(rollouts.reading.step)] if rollouts.reading.step else []), *rollouts.reading.key_names]
    return f"{files}: {count(rows, 'rollout')} in {count(groups, 'group')} by {', '.join(keys) or 'nothing'}"


def _say_untried(rollouts: RolloutLog, screen: Screen) -> None:
    for column, specs in formulas.untried(rollouts.frame).items():
        if column == LENGTH:
            screen.note(f"not tried, for want of lengths (--length FIELD): {_and_more(specs)}")


def _blocks(rollouts: RolloutLog, formula: Formula) -> str:
    size = formula.group_size or 1
    larger = larger_than(rollouts, size)
    groups = rollouts.frame["group"].n_unique()
    return (
        f"it fits {groups - larger} of {count(groups, 'group')} as they are, and all with --group-size {size}: "
        f"{drawn_twice(rollouts, size)}"
    )


def _tells_apart(separator: Separator) -> str:
    sets = []
    for names, values in separator.results:
        shown = ", ".join("none" if value is None else number(value) for value in values[:4])
        sets.append(f"{_and_more(names)} give{'s' if len(names) == 1 else ''} {shown}")
    rewards = ", ".join("none" if reward is None else f"{reward:g}" for reward in separator.rewards[:4])
    rewards += " ..." if len(separator.rewards) > 4 else ""
    return f"{separator.what} would tell: for {rewards} {'; '.join(sets)}"


def _and_more(names: Sequence[str]) -> str:
    return ", ".join(names[:_NAMES]) + (f" and {len(names) - _NAMES} more" if len(names) > _NAMES else "")
