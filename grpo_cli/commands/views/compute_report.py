"""The report that ends `compute`: run line, what looks wrong, the groups that say most, the zero-variance account."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from grpo_cli.commands.views.log import groups_table, looks_wrong, run_line, telling
from grpo_cli.core import notes
from grpo_cli.core.groups import account
from grpo_cli.core.rewards import total
from grpo_cli.render.report import account as draw_account

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from grpo_cli.core.estimators import Estimator
    from grpo_cli.logs.rollouts import RolloutLog
    from grpo_cli.logs.writing.output import Target
    from grpo_cli.options import LogOptions, TableOptions
    from grpo_cli.render.screen import Screen


def report(
    screen: Screen,
    log: RolloutLog,
    groups: pl.DataFrame,
    advantage: pl.Series,
    estimator: Estimator,
    targets: Sequence[Target],
    options: LogOptions,
    table: TableOptions,
    note: str | None,
) -> None:
    """Say what was computed, from what, and where it went. Where the rows are on standard output, all on the other."""
    screen.say(run_line(log, groups, estimator))
    for sentence in (*([note] if note else []), *looks_wrong(log, groups, options, estimator)):
        screen.note(sentence)
    for sentence in notes.about_results(_turned_null(log, advantage, estimator)):
        screen.note(sentence)
    to: Literal["out", "err"] = "err" if any(target.path is None for target in targets) else "out"
    plain = table.format == "auto"
    if screen.quiet and plain:
        return
    whole = table.sort is not None or table.limit is not None or not plain
    shown = groups if whole else telling(groups)
    screen.show(groups_table(log, shown), **table.how | ({"format": "table"} if plain else {}), to=to)
    if plain:
        if shown.height < groups.height:
            screen.say(
                f"the {shown.height} most telling of {notes.count(groups.height, 'group')}; grpo-adv groups shows all"
            )
        draw_account(screen, account(groups), to=to)
    if to == "out":
        screen.say(f"wrote {_where(targets)}")


def _turned_null(log: RolloutLog, advantage: pl.Series, estimator: Estimator) -> int:
    """How many rewards have no advantage though no rule of the estimator takes it: the result was not finite."""
    kernel = any(step.kernel for step in estimator.chain)
    if kernel or estimator.missing == "propagate" or estimator.singleton == "null" or not advantage.null_count():
        return 0
    return int((advantage.is_null() & total(log.frame, log.reading.weights).is_not_null()).sum())


def _where(targets: Sequence[Target]) -> str:
    paths = list(dict.fromkeys(str(target.path) for target in targets))
    return paths[0] if len(paths) == 1 else f"{len(paths)} files, {paths[0]} to {paths[-1]}"
