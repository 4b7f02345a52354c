"""Key: a field whose text names a group, or a part of it.

prompt_id     the value itself
uid[:-2]      its text without the last two parts that `_` separates: verl's GROUP_ROLLOUT_OUTPUT
idx//8        a number divided: row 0 to 7 are one group, where a log only numbers its rows
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from grpo_cli.errors import UsageError
from grpo_cli.logs.fields import MISSING, Field
from grpo_cli.logs.format import spell

if TYPE_CHECKING:
    from collections.abc import Container

    import polars as pl

_CUT = re.compile(r"(?P<field>.+)\[:-(?P<parts>\d+)\]", re.DOTALL)
_DIVIDED = re.compile(r"(?P<field>.+)//(?P<by>\d+)", re.DOTALL)


@dataclass(frozen=True)
class Key:
    """A field, and what is done to its text. Made by `Key.parse`."""

    field: Field
    without: int = 0
    """How many parts are cut off the end."""
    by: int = 0
    """What a number is divided by, rounded down; 0: it is no number."""

    @classmethod
    def parse(cls, text: str, names: Container[str] = ()) -> Key:
        """Read `text`; where it is one of `names` (the top-level fields there are), it is that field.

        Raises:
            UsageError: the text is not in the grammar.
        """
        if text in names:
            return cls(Field.named(text))
        if match := _CUT.fullmatch(text):
            return cls(Field.parse(match["field"], names), without=int(match["parts"]))
        if match := _DIVIDED.fullmatch(text):
            if not int(match["by"]):
                raise UsageError(f"{text}: nothing can be divided by 0")
            return cls(Field.parse(match["field"], names), by=int(match["by"]))
        return cls(Field.parse(text, names))

    @property
    def changes(self) -> bool:
        """Whether the text is not just that of the field."""
        return bool(self.without or self.by)

    def of(self, value: object) -> str | None:
        """What `value`, found at the field, is called; None where there is none or it does not fit."""
        text = None if value is MISSING else spell(value)
        if text is None or not self.changes:
            return text
        if self.by:
            return str(int(text) // self.by) if re.fullmatch(r"-?\d+", text) else None
        parts = text.rsplit("_", self.without)
        return parts[0] if len(parts) > self.without and parts[0] else None

    def apply(self, column: str) -> pl.Expr:
        """The same for a whole column of texts."""
        import polars as pl

        if self.by:
            return (pl.col(column).cast(pl.Int64, strict=False) // self.by).cast(pl.String)
        if self.without:
            return pl.col(column).str.extract(rf"(?s)^(.+?)(?:_[^_]*){{{self.without}}}$", 1)
        return pl.col(column)

    def __str__(self) -> str:
        """The key as a person would type it; `parse` reads it back."""
        return f"{self.field}//{self.by}" if self.by else f"{self.field}{f'[:-{self.without}]' if self.without else ''}"
