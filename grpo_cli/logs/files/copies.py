"""The same rollouts in several files, and one key in several files: what makes a log count things twice."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final

import polars as pl

from grpo_cli.frame import reward_parts
from grpo_cli.logs.grouping import STEP
from grpo_cli.logs.layouts.reading import BY_FILE
from grpo_cli.logs.rollouts import format_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grpo_cli.logs.layouts.reading import Reading
    from grpo_cli.logs.rollouts import Part

PAIRS: Final = 32
"""How many pairs of files with the same keys and rewards are compared."""
COMPARED: Final = 64
"""Up to how many records the completions are compared too, to tell a copy from a coincidence."""


def about_files(reading: Reading, parts: Sequence[Part], rollouts: pl.DataFrame, keys: Sequence[str]) -> list[str]:
    """Notes on files that hold the same rollouts, and on keys that come in several files without a step.

    `keys` are the columns of the key; `rollouts` has a row for each rollout of the files.
    """
    if len(parts) < 2:
        return []
    part = pl.Series("part", range(len(parts)), dtype=pl.UInt32)
    sizes = pl.Series([one.rollouts for one in parts], dtype=pl.UInt32)
    numbered = rollouts.select(*keys, *reward_parts(rollouts)).with_columns(
        pl.select(part.repeat_by(sizes)).to_series().explode().drop_nulls().alias("part")
    )
    steps = rollouts[STEP] if STEP in rollouts.columns else None
    notes = _copies(reading, parts, numbered, steps)
    if not notes and reading.step is None and keys and BY_FILE not in reading.places:
        files = numbered.group_by(keys).agg(pl.col("part").n_unique().alias("files"))
        several = files.filter(pl.col("files") > 1).height
        if several:
            notes.append(
                f"{several} of {files.height} keys come in several files, and nothing says a step:"
                " each is one group over all files (-g file as well keeps them apart)"
            )
    return notes


def _copies(reading: Reading, parts: Sequence[Part], numbered: pl.DataFrame, steps: pl.Series | None) -> list[str]:
    hashed = numbered.select("part", hash=numbered.drop("part").hash_rows())
    sums = hashed.group_by("part").agg(pl.len(), pl.col("hash").sort().hash().sum()).sort("part")
    alike = sums.group_by("len", "hash", maintain_order=True).agg("part").filter(pl.col("part").list.len() > 1)
    pairs = [
        (parts[first], parts[other])
        for files in alike["part"].to_list()
        for first, other in pairwise(files)
        if parts[first].rollouts > 0
    ]
    found = [pair for pair in pairs[:PAIRS] if _same_texts(reading, *pair)]
    if not found:
        return []
    one, other = found[0]
    more = f", and so in {len(found) - 1} more pairs" if len(found) > 1 else ""
    again = steps is not None and not _same_steps(steps, numbered["part"], parts.index(one), parts.index(other))
    why = ": a trainer that goes over its rollouts again logs them again" if again else ": is one a copy?"
    said = (
        f"{one.file.name} and {other.file.name} hold the same {one.rollouts} rollouts"
        f"{' with another step' if again else ''}{more}{why}"
        f"{'.' if again else ''} Each is counted where it stands; name the files to leave copies out"
    )
    return [said]


def _same_steps(steps: pl.Series, part: pl.Series, one: int, other: int) -> bool:
    return set(steps.filter(part == one)) == set(steps.filter(part == other))


def _same_texts(reading: Reading, one: Part, other: Part) -> bool:
    if reading.completion is None or one.records != other.records:
        return one.records == other.records
    if one.records > COMPARED:
        return True  # so many keys and rewards in common are no coincidence
    texts = [
        sorted(map(repr, format_of(part.file).values(part.file, range(part.records), [reading.completion])))
        for part in (one, other)
    ]
    return texts[0] == texts[1]
