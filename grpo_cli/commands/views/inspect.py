"""What `inspect` shows: a table of facts about a log, and one of its fields."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from grpo_cli.commands.opening import opened
from grpo_cli.commands.views.log import summarised
from grpo_cli.core import notes
from grpo_cli.core.groups import account
from grpo_cli.errors import GrpoAdvError
from grpo_cli.logs.contents import Contents, contents
from grpo_cli.logs.fields import Field
from grpo_cli.logs.files.strangers import what_it_is
from grpo_cli.logs.layouts.reading import reward_text
from grpo_cli.logs.looking import look
from grpo_cli.render.tables import Kind, Table

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterable, Sequence

    from grpo_cli.logs.files.source import Found, LogFile
    from grpo_cli.logs.layouts.layout import Layout
    from grpo_cli.logs.layouts.reading import Reading
    from grpo_cli.logs.rollouts import RolloutLog
    from grpo_cli.options import LogOptions, TableOptions
    from grpo_cli.render.screen import Screen

SHOWN = 20
"""How many bad lines are named."""

_COLUMNS = {
    "what": Kind.ID,
    "name": Kind.KEY,
    "type": Kind.TEXT,
    "missing": Kind.COUNT,
    "distinct": Kind.COUNT,
    "role": Kind.TEXT,
    "detail": Kind.TEXT,
}
_FACTS = {"what": Kind.ID, "name": Kind.TEXT, "detail": Kind.TEXT}
_FIELDS = {name: kind for name, kind in _COLUMNS.items() if name != "what"}


class Row(NamedTuple):
    """A fact (`layout`, `groups`, ...) or a `field`."""

    what: str
    name: str
    type: str | None = None
    missing: int | None = None
    distinct: int | None = None
    role: str | None = None
    detail: str | None = None


def inspected(found: Found, options: LogOptions, table: TableOptions, screen: Screen) -> None:
    """Show what there is to see in a log.

    Raises:
        InputError: it is no rollout log; or a role cannot be chosen, after what there is to choose from was shown.
        UsageError: an option does not fit, likewise.
    """
    try:
        with opened(found, replace(options, on_bad_line="skip"), screen) as log:
            rows = [*_facts(log, options), *_fields(log)]
    except GrpoAdvError:
        seen = look(found.files, options.layout)
        if what_it_is(seen.names, seen.sample) or not seen.sample:
            raise
        rows = [
            *_first_facts(found.files, seen.layout, seen.evidence),
            *_plain_fields(contents(found.files, seen.names)),
        ]
        _show(rows, table, screen)
        raise
    _show(rows, table, screen)


def _show(rows: Sequence[Row], table: TableOptions, screen: Screen) -> None:
    """Two tables for people, one for a program."""
    frame = pl.DataFrame(rows, schema=_SCHEMA, orient="row")
    if not screen.tabular(table.format):
        screen.show(Table("facts", frame, _COLUMNS), **table.how)
        return
    fact = pl.col("what") != "field"
    screen.show(Table("facts", frame.filter(fact).select(list(_FACTS)), _FACTS), format=table.format, limit=0)
    screen.print("")
    fields = frame.filter(~fact).select(pl.col("name").alias("field"), *list(_FIELDS)[1:])
    kinds = {"field" if name == "name" else name: kind for name, kind in _FIELDS.items()}
    screen.show(Table("fields", fields, kinds, narrow=("detail",)), **table.how | {"limit": table.limit or 0})


_SCHEMA = {
    name: pl.Int64() if kind is Kind.COUNT else pl.String()
    for name, kind in _COLUMNS.items()
}  # fmt: skip


def _first_facts(files: Sequence[LogFile], layout: Layout, evidence: str) -> list[Row]:
    names = files[0].name if len(files) == 1 else f"{len(files)} files"
    between = None if len(files) == 1 else f"{files[0].name} to {files[-1].name}"
    formats = dict.fromkeys(f"{file.format}{f', {file.compression}' if file.compression else ''}" for file in files)
    return [
        Row("files", names, detail=between),
        Row("format", " and ".join(formats)),
        Row("layout", layout.name, detail=f"{layout.summary}; {evidence}"),
    ]


def _facts(log: RolloutLog, options: LogOptions) -> list[Row]:
    reading = log.reading
    groups = summarised(log, options)
    rows = _first_facts([part.file for part in log.parts], reading.layout, reading.evidence)
    if reading.split:
        rows.append(Row("split", reading.split))
    rows += [
        Row("key", ", ".join(reading.key_names) or "none", detail=reading.why["key"]),
        Row("reward", " + ".join(reward_text(*one) for one in reading.rewards), detail=reading.why["reward"]),
        Row("step", str(reading.step or "none"), detail=reading.why["step"]),
    ]
    rows += [
        Row("not taken", name, detail=f"as {role}: {why}") for role, name, why in reading.not_taken
    ]  # fmt: skip
    records = sum(part.records for part in log.parts)
    rows += [
        Row("records", str(records)),
        Row("rollouts", str(log.frame.height), detail=_skipped(log)),
        Row("groups", str(groups.height), detail=_statuses(groups)),
        Row("group sizes", _sizes(groups)),
    ]
    rows += [_missing(name, counts) for name, counts in log.missing.items() if counts.total()]
    for part in log.parts:
        if part.bad:
            more = ", ..." if len(part.bad) > SHOWN else ""
            rows.append(
                Row("bad lines", str(len(part.bad)), detail=f"{part.file.name}: {_listed(part.bad[:SHOWN])}{more}")
            )
    size = f" --group-size {log.group_size}" if log.group_size else ""
    bad = " --on-bad-line skip" if log.bad_lines or _skipped(log) else ""
    rows.append(Row("flags", f"{reading.flags()}{size}{bad}"))
    return rows


def _skipped(log: RolloutLog) -> str | None:
    rollouts = sum(part.rollouts for part in log.parts)
    return f"{rollouts - log.frame.height} of {rollouts} are left out" if rollouts > log.frame.height else None


def _statuses(groups: pl.DataFrame) -> str:
    table = account(groups).filter(pl.col("groups") > 0)
    return ", ".join(f"{count} {status}" for status, count in table.select("status", "groups").iter_rows())


def _sizes(groups: pl.DataFrame) -> str:
    counts = groups["n"].value_counts().sort("count", "n", descending=True)
    shown = ", ".join(f"{count} of {size}" for size, count in counts.head(8).iter_rows())
    return shown + (f", and {counts.height - 8} more sizes" if counts.height > 8 else "")


def _missing(name: str, counts: Counter[str]) -> Row:
    said = ", ".join(f"{count} {why}" for why, count in counts.items())
    return Row("missing rewards", str(counts.total()), detail=f"{name}: {said}")


def _listed(lines: Iterable[int]) -> str:
    return ", ".join(map(str, lines))


def _fields(log: RolloutLog) -> list[Row]:
    found = contents([part.file for part in log.parts], log.names)
    roles = _roles(log.reading)
    rows = [
        row._replace(role=", ".join(role for role, _ in roles.get(row.name, ())) or None,
                     detail=", ".join(detail for _, detail in roles.get(row.name, ()) if detail) or row.detail)
        for row in _plain_fields(found)
    ]  # fmt: skip
    repeated = (
        [Row("repeated records", str(found.repeated), detail="wholly like an earlier one")] if found.repeated else []
    )
    if not found.whole:
        repeated.append(Row("fields", f"of {notes.count(found.records, 'record')}", detail="the first of each file"))
    return [*repeated, *rows]


def _plain_fields(found: Contents) -> list[Row]:
    return [Row("field", one.name, one.type, one.missing, one.distinct) for one in found.fields]


def _roles(reading: Reading) -> dict[str, list[tuple[str, str]]]:
    """For each top-level field, the roles that it plays, and what of it does where that is not all."""
    played: dict[str, list[tuple[str, str]]] = {}

    def plays(field: Field | None, role: str, text: str | None = None) -> None:
        if field is not None:
            spelled = text or str(field)
            detail = spelled if spelled != str(Field.named(field.top)) else ""
            played.setdefault(field.top, []).append((role, detail))

    for key in reading.key:
        plays(key.field, "key", str(key))
    for field, weight in reading.rewards:
        plays(field, "reward", reward_text(field, weight))
    if not reading.step_from_path:
        plays(reading.step, "step")
    plays(reading.completion, "completion")
    plays(reading.length, "length")
    plays(reading.logged, "logged advantage")
    plays(reading.outcome, "outcome")
    if reading.rollout is not None:
        plays(reading.rollout.field, "rollout", str(reading.rollout))
    return played
