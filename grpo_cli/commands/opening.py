"""What every command that reads a log begins with: open it, and name rows in errors by their file and line."""

from __future__ import annotations

import math
from contextlib import contextmanager
from typing import TYPE_CHECKING

from grpo_cli.errors import UsageError
from grpo_cli.logs.files.source import bytes_of
from grpo_cli.logs.layouts.reading import Asked
from grpo_cli.logs.opening import Selection, open_log

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from grpo_cli.logs.files.source import Found
    from grpo_cli.logs.rollouts import RolloutLog
    from grpo_cli.options import LogOptions
    from grpo_cli.render.screen import Screen


@contextmanager
def opened(
    found: Found,
    options: LogOptions,
    screen: Screen,
    *,
    roles: Collection[str] = (),
    baseline: str | None = None,
    logged: str | None = None,
    reward: Sequence[str] = (),
    live: bool = False,
) -> Iterator[RolloutLog]:
    """The log in the files that were found, with its notes on the screen.

    `roles` are the optional columns that are needed; `baseline` and `logged` name the fields of an external baseline
    and of the advantages that the log carries; `reward` takes the place of the option where none was given. Of a `live`
    log an unfinished last line or file is left out.
    """
    if options.pass_threshold is not None and math.isnan(options.pass_threshold):
        raise UsageError("--pass-threshold is a number, and nan is none")
    asked = Asked(
        group_by=options.group_by or (),
        reward=options.reward or reward,
        step=options.step,
        layout=options.layout,
        split=options.split,
        length=options.length,
        rollout_id=options.rollout_id,
        outcome=options.outcome,
        baseline=baseline,
        logged=logged,
    )
    selection = Selection(
        on_bad_line=options.on_bad_line,
        group_size=options.group_size,
        unscored_if=options.unscored_if,
        steps=options.steps,
        pass_threshold=options.pass_threshold,
        live=live,
    )
    with screen.progress.stage("reading", bytes_of(found.files)):
        log = open_log(found.watched(screen.progress.advance), asked, selection, roles=roles)
    with log.locating():
        for note in log.notes:
            screen.note(note)
        yield log
