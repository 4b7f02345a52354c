"""Keys that are objects or lists (chat messages): their canonical JSON, worked out once for each way they are written.

Polars cuts the text that follows the key's name out of each line, and Python reads the distinct ones. The cut need not
be exact: a list or object is whole where it can be read at all, and ends where reading it ends.
"""

from __future__ import annotations

import json
from typing import Any

import polars as pl

from grpo_cli.logs.format import spell
from grpo_cli.logs.jsonl import guards
from grpo_cli.logs.jsonl.lines import stripped

_DECODER = json.JSONDecoder()
_SPACE = " \t"


def canonical(lines: pl.Series, name: str) -> pl.Series:
    """What the key called `name`, which each line has once, spells where it is an object or a list; else null."""
    texts = _texts(lines, name)
    distinct = texts.unique()
    spelt = pl.DataFrame({"text": distinct, "key": pl.Series(map(_spelt, distinct), dtype=pl.String)})
    return texts.to_frame("text").join(spelt, on="text", how="left", maintain_order="left")["key"]


def _texts(lines: pl.Series, name: str) -> pl.Series:
    """What follows the name in each line, up to the name that follows the key in the first line."""
    line = pl.lit(lines)
    begin = line.str.find(f'"{name}"', literal=True) + len(name) + 2
    end = pl.lit(None, dtype=pl.UInt32)
    if following := _following(lines[0], name):
        end = line.str.find(f'"{following}"', literal=True)
    end = pl.when(end > begin).then(end).otherwise(line.str.len_bytes())
    return pl.select(line.cast(pl.Binary).bin.slice(begin, end - begin).cast(pl.String)).to_series()


def _following(line: str, name: str) -> str | None:
    """The name that comes after `name` in its object."""
    found: list[str] = []

    def look(pairs: list[tuple[str, Any]]) -> None:
        names = [key for key, _ in pairs]
        if name in names[:-1]:
            found.append(names[names.index(name) + 1])

    try:
        json.loads(stripped(line.encode()), object_pairs_hook=look)
    except (ValueError, RecursionError):
        return None
    return found[0] if found and guards.all_plain(found) else None


def _spelt(text: str) -> str | None:
    value = text.lstrip(_SPACE).removeprefix(":").lstrip(_SPACE)
    if not value.startswith(("[", "{")):
        return None
    try:
        return spell(_DECODER.raw_decode(value)[0])
    except (ValueError, RecursionError):
        return None
