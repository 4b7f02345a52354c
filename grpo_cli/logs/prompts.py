"""Prompts: the groups of a log without their step, for what is asked over the whole run."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import polars as pl

from grpo_cli.logs.grouping import BLOCK, ID, KEY, STEP, short_ids

if TYPE_CHECKING:
    from grpo_cli.logs.grouping import Groups

PROMPT = "prompt"


@dataclass(frozen=True)
class Prompts:
    """The distinct keys of a log's groups, numbered by first appearance."""

    groups: Groups
    of_group: pl.Series
    """For each group number the number of its prompt (`prompt`, UInt32)."""
    firsts: pl.DataFrame
    """For each prompt the row of `groups.frame` of its first group."""

    @classmethod
    def of(cls, groups: Groups) -> Prompts:
        """The prompts of these groups."""
        parts = groups.key_columns
        if not parts:  # the step alone is the key
            every = pl.repeat(0, groups.frame.height, dtype=pl.UInt32, eager=True).alias(PROMPT)
            return cls(groups, every, groups.frame.head(1))
        firsts = groups.frame.unique(parts, keep="first", maintain_order=True)
        numbers = firsts.select(parts).with_row_index(PROMPT)
        of_group = groups.frame.select(parts).join(
            numbers, on=parts, how="left", maintain_order="left", nulls_equal=True
        )
        return cls(groups, of_group[PROMPT], firsts)

    @cached_property
    def ids(self) -> pl.Series:
        """The id of each prompt: that of its group in a log without steps."""
        step, block = pl.lit(None, dtype=pl.String).alias(STEP), pl.lit(None, dtype=pl.UInt32).alias(BLOCK)
        keys = self.firsts.with_columns(step, block)
        return short_ids(keys.select(STEP, *self.groups.key_columns, BLOCK)).alias(ID)

    @cached_property
    def named(self) -> pl.DataFrame:
        """A row per prompt: `prompt`, `id`, `key` (text for people), and `key_0..n`, the text of each field of it."""
        parts = self.groups.key_columns
        whole = self.groups.with_texts(self.firsts)
        text = pl.lit("all") if not parts else pl.col(parts[0])
        if len(parts) > 1:
            fields = zip(self.groups.fields, parts, strict=True)
            text = pl.concat_str([pl.lit(f"{name}=") + pl.col(part) for name, part in fields], separator=" ")
        number = pl.int_range(whole.height, dtype=pl.UInt32, eager=True).alias(PROMPT)
        return whole.select(number, self.ids, text.alias(KEY), *parts)

    def matching(self, name: str) -> pl.Series:
        """The numbers of the groups of the prompts whose id begins with `name`."""
        if not name:
            return self.of_group.clear()
        return self.ids.str.starts_with(name).gather(self.of_group).arg_true()
