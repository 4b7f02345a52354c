"""Prompts: the groups of a log without their step, for what is asked over the whole run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from grpo_cli.logs.grouping import ID, KEY, short_id

if TYPE_CHECKING:
    from grpo_cli.logs.grouping import Groups

PROMPT = "prompt"


@dataclass(frozen=True)
class Prompts:
    """The distinct keys of a log's groups, numbered by first appearance."""

    of_group: pl.Series
    """For each group number the number of its prompt (`prompt`, UInt32)."""
    named: pl.DataFrame
    """A row per prompt: `prompt`, `id`, `key` (text for people), and `key_0..n`, the text of each field of the key.

    The id is that of the same prompt's group in a log without steps.
    """

    @classmethod
    def of(cls, groups: Groups) -> Prompts:
        """The prompts of these groups."""
        parts = groups.key_columns
        if not parts:  # the step alone is the key
            every = pl.repeat(0, groups.frame.height, dtype=pl.UInt32, eager=True).alias(PROMPT)
            return cls(every, pl.DataFrame({PROMPT: [0], ID: [short_id((None, None))], KEY: ["all"]}))
        keys = groups.frame.select(parts)
        distinct = keys.unique(maintain_order=True).with_row_index(PROMPT)
        number = keys.join(distinct, on=parts, how="left", maintain_order="left", nulls_equal=True)[PROMPT]
        ids = [short_id((None, *key, None)) for key in distinct.select(parts).iter_rows()]
        text = pl.col(parts[0])
        if len(parts) > 1:
            fields = zip(groups.fields, parts, strict=True)
            text = pl.concat_str([pl.lit(f"{name}=") + pl.col(part) for name, part in fields], separator=" ")
        named = distinct.select(PROMPT, pl.Series(ID, ids, dtype=pl.String), text.alias(KEY), *parts)
        return cls(number, named)
