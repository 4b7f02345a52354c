"""What makes a column of Arrow arrays: one conversion for each kind of value that can be wanted.

`grpo_cli.logs.parquet.walk` finds the arrays; a value that cannot be what is wanted raises `ValueFault` with its place
in the array.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from grpo_cli.logs.format import Kind, Want
from grpo_cli.logs.parquet.keys import Codes, JsonText, Keys
from grpo_cli.logs.parquet.numbers import Numbers

if TYPE_CHECKING:
    import polars as pl

    from grpo_cli.logs.parquet.plain import ArrowArray


class Conversion(Protocol):
    """What makes a column of arrays, one array after the other."""

    dtype: pl.DataType

    def of(self, array: ArrowArray, absent: int = 0) -> pl.Series:
        """`array` as a column. `absent` of its nulls stand for fields that are not there."""

    def reduced(self, array: ArrowArray, how: str) -> pl.Series:
        """`array`, lists of numbers, as a column of one number a list; what is no list stands for itself."""


def conversion(want: Want) -> Conversion:
    """The conversion to what is wanted."""
    match want.kind:
        case Kind.NUMBER:
            return Numbers(want.field)
        case Kind.KEY:
            return Keys()
        case Kind.CODE:
            return Codes()
        case Kind.JSON:
            return JsonText()
