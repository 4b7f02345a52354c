"""How many rollouts a group has, where a log only numbers its rows: read from where one prompt's tokens end."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def prompt_runs(sample: Sequence[Mapping[str, Any]], number: str) -> int | None:
    """How many rows in a row have one prompt, where that is the same for all prompts of `sample`, else None.

    The prompt is the tokens before the first that counts in the loss (`token_ids`, `token_loss_mask`, each in a list
    of length 1). `number` names the field that numbers the rows: a multiple of the size at the head of each run. The
    last run may be cut by the end of the sample.
    """
    prompts = [_prompt(record) for record in sample]
    numbers = [record.get(number) for record in sample]
    if None in prompts or not all(type(at) is int for at in numbers):
        return None
    sizes = [len(list(run)) for _, run in groupby(prompts)]
    size = sizes[0]
    whole = all(found == size for found in sizes[:-1]) and sizes[-1] <= size
    if len(sizes) < 2 or size < 2 or not whole:
        return None
    first = [start for start in numbers[::size] if isinstance(start, int)]
    in_order = numbers == list(range(first[0], first[0] + len(numbers)))
    return size if in_order and first[0] % size == 0 else None


def _prompt(record: Mapping[str, Any]) -> tuple[Any, ...] | None:
    try:
        tokens, mask = record["token_ids"][0], record["token_loss_mask"][0]
        return tuple(tokens[: mask.index(1)])
    except (KeyError, IndexError, TypeError, ValueError, AttributeError):
        return None
