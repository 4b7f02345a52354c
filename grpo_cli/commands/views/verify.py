"""What `verify` does with a formula: compare a log with it, and show the groups that differ."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from grpo_cli.commands.opening import opened
from grpo_cli.commands.views.log import run_line, summarised
from grpo_cli.core.notes import count
from grpo_cli.core.verification import formulas
from grpo_cli.core.verification.unknowns import block_sizes
from grpo_cli.core.verification.verify import Fault, verify
from grpo_cli.errors import CheckFailed, InputError
from grpo_cli.frame import LOGGED
from grpo_cli.logs.fields import Element, Field
from grpo_cli.logs.rollouts import format_of
from grpo_cli.render.digits import number
from grpo_cli.render.tables import Kind, Table

if TYPE_CHECKING:
    from grpo_cli.core.chain import Estimator
    from grpo_cli.core.verification.formulas import Formula
    from grpo_cli.core.verification.verify import Verification
    from grpo_cli.logs.files.source import Found
    from grpo_cli.logs.rollouts import RolloutLog
    from grpo_cli.options import LogOptions, TableOptions
    from grpo_cli.render.screen import Screen


_LOCATED = 20
"""How many groups are told with file and line."""


def compare(
    found: Found,
    formula: Estimator,
    log: LogOptions,
    table: TableOptions,
    screen: Screen,
    *,
    logged: str | None,
    tol: float,
) -> None:
    """Compare a log with one formula, and show the groups that differ.

    Raises:
        CheckFailed: a row differs for which no cut-off group accounts.
    """
    roles = {*formula.needs, LOGGED}
    with opened(found, log, screen, roles=roles, baseline=formula.baseline_field or None, logged=logged) as rollouts:
        refuse_unlogged(rollouts)
        weights = rollouts.reading.weights
        result = verify(rollouts.frame, formula, weights=weights, tolerance=log.tolerance, tol=tol)
        screen.say(run_line(rollouts, summarised(rollouts, log), formula))
        if not result.groups.is_empty() or table.format != "auto":
            screen.show(differing(rollouts, result), **table.how)
        say_compared(screen, result, formula.spec)
        if not result.holds:
            raise CheckFailed(_worst(rollouts, result, formula.spec), hint=_what_would(rollouts, formula, log, tol))


def refuse_unlogged(rollouts: RolloutLog) -> None:
    """Refuse a log in which no advantage is logged.

    Raises:
        InputError: there is none to compare with.
    """
    where = rollouts.parts[0].file.name
    field = rollouts.reading.logged
    if LOGGED not in rollouts.frame.columns or field is None:
        raise InputError(
            "this log carries no advantages",
            file=where,
            hint=f"name their field with --logged; the fields are: {', '.join(rollouts.names)}",
        )
    if rollouts.frame[LOGGED].null_count() == rollouts.frame.height:
        raise InputError("no rollout has an advantage", file=where, column=str(field))
    _refuse_uneven(rollouts, field)


def _refuse_uneven(rollouts: RolloutLog, field: Field) -> None:
    """Refuse advantages that are lists of a value a token, and not the same for all tokens of a row."""
    if not isinstance(field.parts[-1], Element):
        return
    lists = Field(field.parts[:-1])
    file = rollouts.parts[0].file
    for line, record in enumerate(format_of(file).sample(file, 200, [field.top]), 1):
        values = lists.of(record)
        for tokens in values if lists.has_each and isinstance(values, list) else [values]:
            numbers = {token for token in tokens if token} if isinstance(tokens, list) else set()
            if len(numbers) > 1:
                raise InputError(
                    "the advantage differs from token to token, and a formula over groups gives one a rollout",
                    file=file.name,
                    line=line,
                    column=str(lists),
                )


def differing(rollouts: RolloutLog, result: Verification, formula: Formula | None = None) -> Table:
    """A row per group that differs, worst first; `at` is the file and line of the worst row of the first of them."""
    groups = result.groups
    named = _named(rollouts, groups, formula)
    kinds = {"id": Kind.ID, "key": Kind.KEY, "step": Kind.COUNT, "class": Kind.ID, "rows": Kind.COUNT}
    kinds |= {"differ": Kind.COUNT, "largest": Kind.NUMBER, "logged": Kind.NUMBER, "computed": Kind.NUMBER}
    kinds |= {"at": Kind.KEY}
    if rollouts.reading.step is None:
        kinds.pop("step")
    elif named["step"].dtype == pl.String:
        kinds["step"] = Kind.KEY
    # To find a line is to read up to it: done for the worst ones, the ids name the others.
    places: list[str | None] = [":".join(map(str, rollouts.locate(row))) for row in groups["row"].head(_LOCATED)]
    places += [None] * (groups.height - len(places))
    frame = named.hstack(groups.rename({"fault": "class"}).drop("group", "row"))
    frame = frame.with_columns(pl.Series("at", places, dtype=pl.String))
    return Table("groups", frame.select(list(kinds)), kinds, narrow=("rows", "step", "at"))


def _named(rollouts: RolloutLog, groups: pl.DataFrame, formula: Formula | None) -> pl.DataFrame:
    """The names of the log's groups; where they were split into blocks, those of the groups that the blocks are of."""
    number = groups["group"]
    if formula is not None and formula.group_size is not None:
        number = rollouts.frame["group"].gather(groups["row"])
    return rollouts.groups.called(number).drop("group")


def say_compared(screen: Screen, result: Verification, name: str) -> None:
    """Say how many rows agree, and what may explain those that do not."""
    largest = "" if result.largest is None else f"; largest difference {number(result.largest)}"
    screen.say(f"{name}: {result.agree} of {count(result.rows, 'row')} agree{largest}")
    rows = {fault: int(result.groups.filter(pl.col("fault") == fault)["differ"].sum()) for fault in Fault}
    if rows[Fault.FLOAT32]:
        screen.note(
            f"{count(rows[Fault.FLOAT32], 'row')} differ by no more than float32 rounding of the rewards can make of"
            " this formula: the number in the log is a rounding fault"
        )
    if rows[Fault.CUT]:
        screen.note(
            f"{count(rows[Fault.CUT], 'row')} cannot be checked: the last group is cut off, its partners are not here"
        )
    if result.unlogged:
        screen.note(f"{count(result.unlogged, 'row')} in groups without any logged advantage are left out")


def _worst(rollouts: RolloutLog, result: Verification, name: str) -> str:
    differ = int(result.groups.filter(pl.col("fault") != Fault.CUT)["differ"].sum())
    verb = "differs" if differ == 1 else "differ"
    return f"{differ} of {count(result.rows, 'row')} {verb} from {name}; {worst_row(rollouts, result, None)}"


def worst_row(rollouts: RolloutLog, result: Verification, formula: Formula | None) -> str:
    """The row that is furthest off, with its group, its place and both numbers."""
    worst = result.groups.row(0, named=True)
    named = _named(rollouts, result.groups.head(1), formula).row(0, named=True)
    file, line = rollouts.locate(worst["row"])
    logged, computed = ("none" if worst[side] is None else f"{worst[side]:.7g}" for side in ("logged", "computed"))
    return f"worst group {named['id']} ({file}:{line}): logged {logged}, computed {computed}"


def _what_would(rollouts: RolloutLog, formula: Estimator, log: LogOptions, tol: float) -> str:
    """What would make the log agree, as far as that is known."""
    for size in block_sizes(rollouts.frame):
        frame = formulas.in_blocks(rollouts.frame, size)
        weights = rollouts.reading.weights
        if verify(frame, formula, weights=weights, tolerance=log.tolerance, tol=tol).explained:
            return f"--group-size {size} makes all agree: {drawn_twice(rollouts, size)}"
    return "without an estimator, verify looks for the formula that fits"


def drawn_twice(rollouts: RolloutLog, size: int) -> str:
    """How many groups are larger than `size`, in words."""
    larger = larger_than(rollouts, size)
    return (
        f"{count(larger, 'group')} of more than {size} {'is' if larger == 1 else 'are'} one prompt drawn several times"
    )


def larger_than(rollouts: RolloutLog, size: int) -> int:
    """How many groups have more than `size` rollouts."""
    return rollouts.frame.group_by("group").len().filter(pl.col("len") > size).height
