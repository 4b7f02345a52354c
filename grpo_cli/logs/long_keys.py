"""The texts of keys that were too long to keep, read again from the files for the groups that are shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from grpo_cli.errors import InputError
from grpo_cli.logs.fields import MISSING
from grpo_cli.logs.layouts.places import hive
from grpo_cli.logs.layouts.reading import BY_FILE
from grpo_cli.logs.rollouts import format_of
from grpo_cli.logs.shapes import record_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import polars as pl

    from grpo_cli.logs.layouts.reading import Reading
    from grpo_cli.logs.rollouts import Part


def reader(parts: Sequence[Part], reading: Reading, kept: pl.Series | None) -> Callable[[int, list[int]], list[str]]:
    """What gives the texts of field number N of the key in some rows (ascending) of the canonical frame.

    `kept` says which rollouts of the files are in the frame (None: all).
    """

    def texts(at: int, rows: list[int]) -> list[str]:
        rollouts = rows if kept is None else kept.arg_true().gather(rows).to_list()
        return [text for part, inside in _by_part(parts, rollouts) for text in _texts(part, reading, at, inside)]

    return texts


def _by_part(parts: Sequence[Part], rollouts: list[int]) -> Iterator[tuple[Part, list[int]]]:
    """The rollouts of each file, counted from its first."""
    first = done = 0
    for part in parts:
        until = done
        while until < len(rollouts) and rollouts[until] < first + part.rollouts:
            until += 1
        if until > done:
            yield part, [rollout - first for rollout in rollouts[done:until]]
        first, done = first + part.rollouts, until


def _texts(part: Part, reading: Reading, at: int, rollouts: list[int]) -> list[str]:
    if at >= len(reading.key):
        assert reading.places[at - len(reading.key)] == BY_FILE, "no other place is long"
        return [part.file.name] * len(rollouts)
    key = reading.key[at]
    records = [record_of(rollout, part.lengths) for rollout in rollouts]
    distinct = list(dict.fromkeys(records))
    found = format_of(part.file).values(part.file, distinct, [key.field])
    values = {record: values[0] for record, values in zip(distinct, found, strict=True)}
    constant = hive(part.file).get(key.field.top)
    texts: list[str] = []
    for rollout, record in zip(rollouts, records, strict=True):
        value = constant if values[record] is MISSING else values[record]
        if key.field.has_each and isinstance(value, list):
            value = value[_place(part, rollout, record)]
        if part.file.format == "parquet":
            value = _as_keys_have_it(value)
        text = key.of(value)
        if text is None:
            raise InputError("changed while it was read", file=part.file.name)
        texts.append(text)
    return texts


def _place(part: Part, rollout: int, record: int) -> int:
    """Which rollout of its record it is."""
    return rollout if part.lengths is None else rollout - int(part.lengths.head(record).sum())


def _as_keys_have_it(value: Any) -> Any:
    """Without the null fields of objects: every struct of a Parquet file has the fields of all."""
    match value:
        case dict():
            return {name: _as_keys_have_it(inner) for name, inner in value.items() if inner is not None}
        case list():
            return [_as_keys_have_it(inner) for inner in value]
        case _:
            return value
