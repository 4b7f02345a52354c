"""More fields in each record, whole records kept or left out; every other byte stays where it was.

This is the reference: it reads each line as `lines.record` does. It streams: memory is bounded by a block.
"""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any, BinaryIO

import polars as pl

from grpo_cli.errors import InputError
from grpo_cli.logs.jsonl import blocks as stream
from grpo_cli.logs.jsonl.known import RecordTest, changed
from grpo_cli.logs.jsonl.lines import SPACE, Names, members

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grpo_cli.logs.files.source import LogFile
    from grpo_cli.logs.jsonl.blocks import Block


def append(file: LogFile, target: BinaryIO, columns: pl.DataFrame, *, replace: bool, size: int = stream.BLOCK) -> None:
    """Write `file` to `target` with a field for each of `columns` in each record.

    Raises:
        InputError: a record has such a field already and it is not to be replaced, or has it twice; or the
            file does not hold as many records as `columns` has rows.
    """
    splicer = Splicer(file, columns, replace=replace)
    target.writelines(map(splicer.splice, stream.blocks(file, size)))
    splicer.finish()


class Splicer:
    """Puts the values of `columns` into the records of a file, block by block."""

    def __init__(self, file: LogFile, columns: pl.DataFrame, *, replace: bool) -> None:
        """Start at the first record."""
        self.file = file
        self.columns = columns
        self.keys = [json.dumps(name, ensure_ascii=False).encode() + b": " for name in columns.columns]
        self.names = Names(columns.columns)
        self.holds_record = RecordTest(file)
        self.at = 0
        self.replace = replace

    def splice(self, block: Block) -> bytes:
        """`block` with the fields in it."""
        lines = block.lines()
        where = [at for at, holds in enumerate(self.holds_record.all_of(block.line, lines)) if holds]
        for at, values in zip(where, self.take(len(where)), strict=True):
            lines[at] = self._spliced(lines[at], values, block.line + at)
        return b"".join(lines)

    def take(self, count: int) -> list[tuple[bytes, ...]]:
        """The JSON of the values of the next `count` records."""
        part = self.columns.slice(self.at, count)
        self.at += count
        if part.height < count:
            raise changed(self.file)
        return list(zip(*([json_text(value) for value in column] for column in part), strict=True))

    def finish(self) -> None:
        """Check that every value found its record."""
        if self.at != self.columns.height:
            raise changed(self.file)

    def _spliced(self, line: bytes, values: Sequence[bytes], number: int) -> bytes:
        new = dict(zip(self.columns.columns, zip(self.keys, values, strict=True), strict=True))
        if self.names.may_have(line):
            line = self._replaced(line, new, number)
        fields = b", ".join(key + value for key, value in new.values())
        if not fields:
            return line
        brace = line.rindex(b"}")
        empty = line[:brace].rstrip(SPACE).endswith(b"{")
        return line[:brace] + (b"" if empty else b", ") + fields + line[brace:]

    def _replaced(self, line: bytes, new: dict[str, tuple[bytes, bytes]], number: int) -> bytes:
        """`line` with the values of the fields that it has; these are taken out of `new`."""
        found = [member for member in members(line) if member.name in new]
        if found and not self.replace:
            raise InputError(
                f'there is a field "{found[0].name}" already',
                file=self.file.name,
                line=number,
                column=found[0].name,
                hint="choose another name with --column, or replace it with --force",
            )
        for member in reversed(found):
            if member.name not in new:
                raise InputError(
                    f'the name "{member.name}" appears twice in one object',
                    file=self.file.name,
                    line=number,
                    column=member.name,
                    hint="leave only one in the file, or choose another name with --column",
                )
            line = line[: member.start] + new.pop(member.name)[1] + line[member.end :]
        return line


def keep(file: LogFile, target: BinaryIO, mask: pl.Series, size: int = stream.BLOCK) -> None:
    """Write `file` to `target` without the records where `mask` is false. Blank and bad lines stay."""
    at = 0
    holds_record = RecordTest(file)
    for block in stream.blocks(file, size):
        lines = block.lines()
        records = holds_record.all_of(block.line, lines)
        wanted = mask.slice(at, sum(records)).to_list()
        if len(wanted) < sum(records):
            raise changed(file)
        at += len(wanted)
        verdicts = iter(wanted)
        target.write(
            b"".join(line for line, is_record in zip(lines, records, strict=True) if not is_record or next(verdicts))
        )
    if at != mask.len():
        raise changed(file)


def json_text(value: Any) -> bytes:
    """A value as JSON: the shortest number that reads back the same, null where not finite, UTF-8 text."""
    match value:
        case pl.Series():
            return b"[" + b", ".join(json_text(element) for element in value) + b"]"
        case float():
            return repr(value).encode() if math.isfinite(value) else b"null"
        case _:
            return json.dumps(value, ensure_ascii=False).encode()
