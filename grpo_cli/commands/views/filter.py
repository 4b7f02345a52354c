"""What `filter` does once the groups are judged: write what stays, and say what went and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from grpo_cli.core.notes import count
from grpo_cli.core.selection import PassRates, Selection, reasons, statuses_of
from grpo_cli.errors import CheckFailed, UsageError
from grpo_cli.logs.files.source import FILTERED, Found, bytes_of, find
from grpo_cli.logs.prompts import Prompts
from grpo_cli.logs.writing.dataset import matched
from grpo_cli.logs.writing.keeping import kept_records, write_kept
from grpo_cli.logs.writing.output import STDOUT, Target, plan
from grpo_cli.render.tables import Kind, Table

if TYPE_CHECKING:
    from grpo_cli.commands.filter import Choice, Destination
    from grpo_cli.commands.views.rows import Rows
    from grpo_cli.logs.rollouts import RolloutLog
    from grpo_cli.options import TableOptions
    from grpo_cli.render.screen import Screen, To

_REPORT = {
    "kept": Kind.TEXT,
    "reason": Kind.TEXT,
    "groups": Kind.COUNT,
    "group_share": Kind.SHARE,
    "rollouts": Kind.COUNT,
    "rollout_share": Kind.SHARE,
}


@dataclass(frozen=True)
class Outgoing:
    """What is written and where, settled before anything is read."""

    destination: Destination
    targets: list[Target]
    """A target a file; none where ids are emitted."""
    dataset: Found | None

    @property
    def ids(self) -> bool:
        """Whether ids go to standard output, and no rows anywhere."""
        return self.destination.emit == "ids"

    @property
    def by(self) -> str:
        """What is chosen, where the person does not say: prompts, where prompts are written."""
        return "group" if self.dataset is None and not self.ids else "prompt"

    @property
    def report_to(self) -> To:
        """Where the report goes: not where data goes."""
        return "err" if self.ids or any(target.path is None for target in self.targets) else "out"


def selection_of(choice: Choice) -> Selection:
    """The rules that were given.

    Raises:
        UsageError: there is none, or one is not what it should be.
    """
    selection = Selection(
        keep=() if choice.keep is None else statuses_of(choice.keep),
        drop=() if choice.drop is None else statuses_of(choice.drop),
        pass_rates=None if choice.pass_rate is None else PassRates.parse(choice.pass_rate),
        min_spread=choice.min_spread,
        where=choice.where,
    )
    if selection == Selection():
        raise UsageError("nothing to choose by", hint="give a rule, such as --keep mixed or --pass-rate 0.2:0.8")
    return selection


def outgoing(found: Found, destination: Destination) -> Outgoing:
    """Where everything goes.

    Raises:
        UsageError: the options do not fit together.
        OutputError: a target exists and there is no --force, or is an input.
    """
    if destination.emit == "ids":
        for option, given in (("--dataset", destination.dataset), ("--output", destination.output)):
            if given not in {None, STDOUT}:
                raise UsageError(
                    f"--emit ids prints on standard output, and takes no {option}", hint="redirect it: > FILE"
                )
        return Outgoing(destination, [], None)
    if destination.dataset is None:
        if destination.dataset_key is not None:
            raise UsageError("--dataset-key is about a --dataset")
        targets = plan(found.files, output=destination.output, force=destination.force, word=FILTERED)
        return Outgoing(destination, targets, None)
    dataset = find([destination.dataset])
    targets = plan(
        dataset.files, output=destination.output, force=destination.force, word=FILTERED, also_read=found.files
    )
    return Outgoing(destination, targets, dataset)


def report(screen: Screen, rows: Rows, selected: pl.DataFrame, going: Outgoing, table: TableOptions) -> None:
    """Say how much stays, and what goes and why."""
    to = going.report_to
    stays = selected.filter("kept")
    some = f"{len(stays)} of {count(len(selected), rows.name.removesuffix('s'))}"
    screen.say(f"kept {some}, {stays['n'].sum()} of {count(int(selected['n'].sum()), 'rollout')}")
    if not (screen.quiet and table.format == "auto"):
        how = table.how | ({"format": "table"} if table.format == "auto" else {})
        screen.show(_reasons(rows, selected, drawn=screen.tabular(str(how["format"]), to)), **how, to=to)


def write(screen: Screen, log: RolloutLog, rows: Rows, kept: pl.Series, going: Outgoing) -> None:
    """Write what stays.

    Raises:
        CheckFailed: nothing stays, and an empty output is not allowed.
    """
    empty = going.destination.allow_empty
    if not empty and not kept.any():
        raise _nothing(f"none of {count(kept.len(), rows.name.removesuffix('s'))} stays")
    prompts = Prompts.of(log.groups)
    chosen = _chosen_prompts(prompts, rows, kept)
    if going.ids:
        screen.print(*prompts.named.filter(chosen)["key"])
        return
    if going.dataset is None:
        records = kept_records(log, rows.rollouts(log, kept))
        with screen.progress.stage("writing", bytes_of(part.file for part in log.parts)):
            written = write_kept(records, going.targets, empty=empty)
    else:
        written = _write_dataset(screen, log, prompts.named, chosen, going)
    paths = list(dict.fromkeys(str(target.path) for target in written if target.path is not None))
    if paths:
        screen.say(f"wrote {paths[0] if len(paths) == 1 else f'{len(paths)} files, {paths[0]} to {paths[-1]}'}")


def _write_dataset(
    screen: Screen, log: RolloutLog, prompts: pl.DataFrame, chosen: pl.Series, going: Outgoing
) -> list[Target]:
    assert going.dataset is not None
    found = matched(going.dataset.files, log.groups.fields, prompts, chosen, going.destination.dataset_key)
    name = going.destination.dataset
    for note in going.dataset.notes:
        screen.note(note)
    if found.unknown:
        rows = count(found.rows, "row")
        screen.note(f"{found.unknown} of {rows} of {name} left out: the log does not have their prompts")
    if found.absent:
        verb = "is" if found.absent == 1 else "are"
        screen.note(f"{count(found.absent, 'chosen prompt')} of the log {verb} not in {name}")
    empty = going.destination.allow_empty
    if not empty and not found.stays:
        raise _nothing(f"no row of {name} stays")
    written = write_kept(found.kept, going.targets, empty=empty)
    screen.say(f"kept {found.stays} of {count(found.rows, 'row')} of {name}")
    return written


def _chosen_prompts(prompts: Prompts, rows: Rows, kept: pl.Series) -> pl.Series:
    """Which prompts have a group that stays."""
    of_group = kept.gather(rows.of_group)
    by_prompt = pl.DataFrame({"prompt": prompts.of_group, "chosen": of_group})
    return by_prompt.group_by("prompt").agg(pl.col("chosen").any()).sort("prompt")["chosen"]


def _reasons(rows: Rows, selected: pl.DataFrame, *, drawn: bool) -> Table:
    frame = reasons(selected).with_columns(
        pl.col("reason").is_null().alias("kept"),
        (pl.col("groups") / len(selected)).alias("group_share"),
        (pl.col("rollouts") / pl.col("rollouts").sum()).alias("rollout_share"),
    )
    columns = dict(_REPORT)
    if drawn:
        frame = frame.with_columns(pl.when("kept").then(pl.lit("kept")).otherwise("reason").alias("reason"))
        del columns["kept"]
    if rows.name != "groups":
        frame = frame.rename({"groups": "prompts", "group_share": "prompt_share"})
        columns = {name.replace("group", "prompt"): kind for name, kind in columns.items()}
    return Table("reasons", frame.select(list(columns)), columns)


def _nothing(what: str) -> CheckFailed:
    return CheckFailed(f"{what}: nothing was written", hint="--allow-empty writes an empty output")
