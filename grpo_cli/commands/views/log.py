"""What commands show of a log: the run line, the table of groups, what looks wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from grpo_cli.core import notes
from grpo_cli.core.groups import TOLERANCE, is_phantom, summary
from grpo_cli.frame import OUTCOME, Status
from grpo_cli.logs.layouts.reading import ASKED
from grpo_cli.render.tables import Kind, Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grpo_cli.core.estimators import Estimator
    from grpo_cli.logs.layouts.reading import Reading
    from grpo_cli.logs.layouts.roles import Role
    from grpo_cli.logs.rollouts import RolloutLog
    from grpo_cli.options import LogOptions

TELLING = 20
"""How many groups the report of `compute` shows."""

_GROUP_COLUMNS = {
    "id": Kind.ID,
    "key": Kind.KEY,
    "step": Kind.COUNT,
    "n": Kind.COUNT,
    "scored": Kind.COUNT,
    "mean": Kind.NUMBER,
    "std": Kind.NUMBER,
    "sample_std": Kind.NUMBER,
    "min": Kind.NUMBER,
    "max": Kind.NUMBER,
    "pass_rate": Kind.SHARE,
    "status": Kind.STATUS,
}
_NARROW = ("sample_std", "scored", "max", "min", "pass_rate", "step")


def summarised(log: RolloutLog, options: LogOptions) -> pl.DataFrame:
    """A row per group of the log, as the options say what a pass and zero variance are."""
    return summarised_frame(log.frame, log.reading.weights, options)


def summarised_frame(frame: pl.DataFrame, weights: Sequence[float], options: LogOptions) -> pl.DataFrame:
    """The same for a frame with the weights of its rewards."""
    tolerance = TOLERANCE if options.tolerance is None else options.tolerance
    return summary(frame, weights=weights, tolerance=tolerance, pass_threshold=options.pass_threshold)


def run_line(log: RolloutLog, groups: pl.DataFrame, estimator: Estimator | None = None) -> str:
    """What was read, how it was grouped, and the formula, on one line."""
    reading, parts = log.reading, log.parts
    files = parts[0].file.name if len(parts) == 1 else f"{len(parts)} files"
    step = "step" if reading.step_from_path else str(reading.step)
    keys = [_with_why(step, reading, "step")] if reading.step else []
    keys += [_with_why(", ".join(log.groups.fields), reading, "key")] if log.groups.fields else []
    rollouts = notes.count(int(groups["n"].sum()), "rollout")
    smallest, largest = groups.select(pl.min("n"), pl.max("n").alias("most")).row(0)
    size = f"{smallest}" if smallest == largest else f"{smallest} to {largest}"
    split = f" in blocks of {log.group_size}" if log.group_size else ""
    rewards = " + ".join(f"{weight:g}*{field}" if weight != 1 else str(field) for field, weight in reading.rewards)
    said = [
        f"{files} ({_layout(reading)})",
        f"{rollouts} in {notes.count(groups.height, 'group')} of {size} by {', '.join(keys) or 'nothing'}{split}",
        f"reward = {_with_why(rewards, reading, 'reward')}",
    ]
    if estimator is not None:
        said.append(f"{estimator.spec}: {estimator.formula}")
    return "; ".join(said)


def _layout(reading: Reading) -> str:
    """The layout, what its fields were chosen by, and the split."""
    said = [reading.layout.name]
    if not reading.layout.has and reading.layout.why in reading.why.values():
        said.append("known names")
    if reading.split:
        said.append("train and eval" if reading.split == "all" else f"{reading.split} only")
    return ", ".join(said)


def _with_why(text: str, reading: Reading, role: Role) -> str:
    """A choice with its reason, where that is more than that it was asked for or is the layout's."""
    why = reading.why.get(role, "")
    return text if why in {"", ASKED, reading.layout.why} else f"{text} ({why})"


def looks_wrong(
    log: RolloutLog, groups: pl.DataFrame, options: LogOptions, estimator: Estimator | None = None
) -> list[str]:
    """The sentences of `core.notes` about this log."""

    def name(group: int) -> str:
        _, _, key, step = log.groups.called(pl.Series([group])).row(0)
        return key if step is None else f"{key} at step {step}"

    columns = [str(field) for field, _ in log.reading.rewards]
    said = notes.about_sizes(groups, name, group_size=options.group_size)
    said += notes.about_rewards(
        log.frame,
        groups,
        name,
        columns=columns,
        missing=estimator.missing if estimator else "null",
        aggregate="normalize-then-sum" if estimator and estimator.per_part else "sum-then-normalize",
    )
    scaled = [step for step in estimator.steps if step.divide == "group-std" and step.eps] if estimator else []
    if scaled:
        said += notes.about_eps(groups, name, eps=scaled[0].eps, ddof=scaled[0].ddof)
    if OUTCOME in log.frame.columns:
        said += notes.about_phantoms(groups.filter(is_phantom()), name)
    return said + notes.about_filtering(groups)


def groups_table(log: RolloutLog, groups: pl.DataFrame) -> Table:
    """A row per group of `groups`: what it is called, and its statistics."""
    named = log.groups.called(groups["group"])
    frame = named.hstack(groups.drop("group"))
    columns = {name: kind for name, kind in _GROUP_COLUMNS.items() if name != "step" or log.reading.step}
    if frame.schema["step"] == pl.String:
        columns = {name: Kind.KEY if name == "step" else kind for name, kind in columns.items()}
    return Table("groups", frame.select(list(columns)), columns, narrow=_NARROW)


def telling(groups: pl.DataFrame, limit: int = TELLING) -> pl.DataFrame:
    """The groups that say most, in the order of the log: half without signal, half with the widest spread."""
    if groups.height <= limit:
        return groups
    order: Sequence[str] = (Status.ALL_FAIL, Status.ALL_PASS, Status.TIED, Status.UNSCORED, Status.SINGLETON)
    without = groups.filter(pl.col("status") != Status.MIXED)
    without = without.sort(
        pl.col("status").replace_strict(order, range(len(order)), return_dtype=pl.UInt8),
        "n",
        descending=[False, True],
        maintain_order=True,
    )
    mixed = groups.filter(pl.col("status") == Status.MIXED).sort("std", descending=True, maintain_order=True)
    half = max(limit // 2, limit - mixed.height)
    chosen = without.head(half)
    return pl.concat([chosen, mixed.head(limit - chosen.height)]).sort("group")
