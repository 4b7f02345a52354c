"""How many rollouts a group has, where a log only numbers its rows: read from where one prompt's tokens end."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Numbered = tuple[int, tuple[Any, ...]]
"""A row's number and its prompt's tokens."""


def prompt_runs(sample: Sequence[Mapping[str, Any]], number: str) -> int | None:
    """How many rows in a row have one prompt, where that is the same for all prompts of `sample`, else None.

    The prompt is the tokens before the first that counts in the loss (`token_ids`, `token_loss_mask`, each in a list
    of length 1). `number` names the field that numbers the rows: a multiple of the size at the head of each run. It
    starts anew in each file, and the last run of a file may be cut by the end of the sample.
    """
    rows: list[Numbered] = []
    for record in sample:
        prompt, at = _prompt(record), record.get(number)
        if prompt is None or type(at) is not int:
            return None
        rows.append((at, prompt))
    stretches = _stretches(rows)
    sizes = {size for rows in stretches if (size := _size(rows)) is not None}
    if len(sizes) != 1:
        return None
    size = sizes.pop()
    return size if size > 1 and all(_fits(rows, size) for rows in stretches) else None


def _stretches(rows: Sequence[Numbered]) -> list[list[Numbered]]:
    """`rows` cut where the numbers do not go on."""
    cut: list[list[Numbered]] = []
    for row in rows:
        if cut and row[0] == cut[-1][-1][0] + 1:
            cut[-1].append(row)
        else:
            cut.append([row])
    return cut


def _size(rows: Sequence[Numbered]) -> int | None:
    """The length of the first run, where another follows."""
    runs = [len(list(run)) for _, run in groupby(prompt for _, prompt in rows)]
    return runs[0] if len(runs) > 1 else None


def _fits(rows: Sequence[Numbered], size: int) -> bool:
    runs = [len(list(run)) for _, run in groupby(prompt for _, prompt in rows)]
    return rows[0][0] % size == 0 and all(run == size for run in runs[:-1]) and runs[-1] <= size


def _prompt(record: Mapping[str, Any]) -> tuple[Any, ...] | None:
    try:
        tokens, mask = record["token_ids"][0], record["token_loss_mask"][0]
        return tuple(tokens[: mask.index(1)])
    except (KeyError, IndexError, TypeError, ValueError, AttributeError):
        return None
