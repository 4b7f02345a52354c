"""Prompts: the groups of a log without their step, for what is asked over the whole run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from grpo_cli.logs.grouping import BLOCK, ID, KEY, STEP, short_ids

if TYPE_CHECKING:
    from collections.abc import Sequence

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
            return cls(every, pl.DataFrame({PROMPT: [0], ID: _ids(pl.DataFrame({BLOCK: [0]}), []), KEY: ["all"]}))
        keys = groups.frame.select(parts)
        distinct = groups.frame.unique(parts, keep="first", maintain_order=True).with_row_index(PROMPT)
        number = keys.join(distinct, on=parts, how="left", maintain_order="left", nulls_equal=True)[PROMPT]
        ids = _ids(distinct, parts)
        distinct = groups.with_texts(distinct)
        text = pl.col(parts[0])
        if len(parts) > 1:
            fields = zip(groups.fields, parts, strict=True)
            text = pl.concat_str([pl.lit(f"{name}=") + pl.col(part) for name, part in fields], separator=" ")
        named = distinct.select(PROMPT, ids.alias(ID), text.alias(KEY), *parts)
        return cls(number, named)


def _ids(keys: pl.DataFrame, parts: Sequence[str]) -> pl.Series:
    step, block = pl.lit(None, dtype=pl.String).alias(STEP), pl.lit(None, dtype=pl.UInt32).alias(BLOCK)
    return short_ids(keys.with_columns(step, block).select(STEP, *parts, BLOCK))
