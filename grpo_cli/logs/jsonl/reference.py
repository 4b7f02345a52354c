"""The reference reader: Python's `json`, line by line. What it says of a file is what the file says."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

import polars as pl

from grpo_cli.errors import InputError
from grpo_cli.logs.format import Kind, OnBadLine, Records, Want
from grpo_cli.logs.jsonl import blocks as stream
from grpo_cli.logs.jsonl.columns import Column, Misspelling, NumberColumn
from grpo_cli.logs.jsonl.known import RecordTest, changed, remember, signature
from grpo_cli.logs.jsonl.lines import Bad, BadLines, Names, record, repeated

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from grpo_cli.logs.fields import Field
    from grpo_cli.logs.files.source import LogFile
    from grpo_cli.logs.jsonl.blocks import Block

NAMED = 5000
"""Of how many records at the head of a file all names are noted."""
HEAD = 64
"""Of how many at the head of each later block."""


class Reader:
    """One pass over a file. `take` its blocks in order, then ask for the `result`."""

    def __init__(self, file: LogFile, wants: Mapping[str, Want], on_bad_line: OnBadLine) -> None:
        """Start with nothing read."""
        self.file = file
        self.wants = wants
        self.columns: dict[str, Column] = {
            name: (NumberColumn if want.kind is Kind.NUMBER else Column)(want, file.name)
            for name, want in wants.items()
        }
        self.records = 0
        self.bad = BadLines(file.name)
        self._stop_at_bad = on_bad_line == "error"
        self._names: dict[str, None] = {}
        self._roles = Names(name for want in wants.values() for name in want.field.names)
        tops = {want.field.top for want in wants.values()}
        self.misspellings = [
            Misspelling(want.field, tops) for want in wants.values() if want.kind is Kind.NUMBER and want.field.is_plain
        ]

    @property
    def failed(self) -> bool:
        """Whether a bad line has been met that will be raised: what is left is only counted."""
        return self._stop_at_bad and bool(self.bad.numbers)

    def take(self, block: Block) -> None:
        """Read every line of `block`.

        Raises:
            InputError: a wanted value is at fault. (Bad lines are for `result`, so that it can count them.)
        """
        heads = self._heads()
        for number, line in enumerate(block, block.line):
            found = self.take_line(number, line)
            if found is not None and heads:
                heads -= 1
                self._note_names(found)
        for column in self.columns.values():
            column.flush()

    def take_line(self, number: int, line: bytes) -> dict[str, Any] | None:
        """Read one line; return its record where it holds one that counts."""
        found = record(line)
        if found is None:
            return None
        if isinstance(found, Bad):
            self.bad.add(number, found, line)
            return None
        if self.failed:
            return None
        if self._roles.may_repeat(line):
            self._refuse_repeated(number, line)
        self.records += 1
        for column in self.columns.values():
            column.add(found, number)
        for misspelling in self.misspellings:
            misspelling.look(found, number)
        return found

    def note_head(self, block: Block) -> None:
        """Note the names of the records at the head of a block that another reader takes."""
        heads = self._heads()
        for line in block:
            if not heads:
                return
            found = record(line)
            if isinstance(found, dict):
                heads -= 1
                self._note_names(found)

    def _heads(self) -> int:
        return max(HEAD, NAMED - self.records)

    def _note_names(self, found: dict[str, Any]) -> None:
        if not found.keys() <= self._names.keys():
            self._names.update(dict.fromkeys(found))

    def result(self) -> Records:
        """What was found.

        Raises:
            InputError: a line is bad, or a field is misspelt on some lines.
        """
        if self.failed:
            raise self.bad.error()
        for misspelling in self.misspellings:
            if error := misspelling.error(self.file.name):
                raise error
        numbers = {name: column for name, column in self.columns.items() if isinstance(column, NumberColumn)}
        return Records(
            frame=pl.DataFrame({name: column.series() for name, column in self.columns.items()}),
            names=list(self._names),
            bad=self.bad.numbers,
            missing={name: column.missing for name, column in numbers.items()},
            text_numbers=[name for name, column in numbers.items() if column.is_text],
        )

    def _refuse_repeated(self, number: int, line: bytes) -> None:
        for want in self.wants.values():
            name = repeated(line, want.field)
            if name is not None:
                raise InputError(
                    f'the name "{name}" appears twice in one object',
                    file=self.file.name,
                    line=number,
                    column=str(want.field),
                    hint="readers differ in which value they take: leave only one in the file",
                )


def read(file: LogFile, wants: Mapping[str, Want], on_bad_line: OnBadLine, size: int = stream.BLOCK) -> Records:
    """The wanted fields of every record of `file`."""
    before = signature(file)
    reader = Reader(file, wants, on_bad_line)
    for block in stream.blocks(file, size):
        reader.take(block)
    found = reader.result()
    remember(file, before, found.bad)
    return found


def records(file: LogFile) -> Iterator[tuple[int, dict[str, Any]]]:
    """Every record with the number of its line. Bad lines are passed over."""
    for number, line in stream.numbered(stream.blocks(file)):
        found = record(line)
        if isinstance(found, dict):
            yield number, found


def sample(file: LogFile, limit: int, only: Sequence[str] | None = None) -> list[dict[str, Any]]:
    """The first `limit` records, or these top-level fields of them."""
    found = [record for _, record in islice(records(file), limit)]
    return found if only is None else [{name: r[name] for name in only if name in r} for r in found]


def locate(file: LogFile, index: int) -> int:
    """The number of the line of record number `index`."""
    for number, _ in islice(_record_lines(file), index, None):
        return number
    raise changed(file)


def values(file: LogFile, wanted: Sequence[int], fields: Sequence[Field]) -> list[list[Any]]:
    """The values of `fields` for each of the `wanted` records, ascending."""
    found: list[list[Any]] = []
    left = iter(wanted)
    next_wanted = next(left, None)
    for index, (_, line) in enumerate(_record_lines(file)):
        while index == next_wanted:
            one = record(line)
            found.append([field.of(one) for field in fields])
            next_wanted = next(left, None)
        if next_wanted is None:
            break
    if next_wanted is not None:
        raise changed(file)
    return found


def _record_lines(file: LogFile) -> Iterator[tuple[int, bytes]]:
    """The lines that hold records, with their numbers."""
    holds_record = RecordTest(file)
    return ((number, line) for number, line in stream.numbered(stream.blocks(file)) if holds_record(number, line))
