"""Arrow arrays as numbers: Float64, null where there is none, counted by reason."""

from __future__ import annotations

from collections import Counter
from typing import Final

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from grpo_cli.logs.fields import Field, Name
from grpo_cli.logs.format import text_number
from grpo_cli.logs.parquet.arrays import ValueFault, gathered, series, used
from grpo_cli.logs.parquet.plain import ArrowArray, is_binary, is_list, is_text, plain, storage, with_offsets

TEXT_SHOWN: Final = 24
"""Longest string that an error shows: a longer one may be a completion."""


class Numbers:
    """NUMBER: Float64, rounded once from whatever the column's type is."""

    dtype: pl.DataType = pl.Float64()

    def __init__(self, field: Field) -> None:
        """Start with nothing counted."""
        self.field = field
        self.missing: Counter[str] = Counter()
        self.is_text = False
        """Whether a value was a numeric string (then all were: a Parquet column has one type)."""

    def of(self, array: ArrowArray, absent: int = 0) -> pl.Series:
        """The numbers of `array`: null for null and NaN, which are counted apart.

        Raises:
            ValueFault: an infinite value, a string that is no number, or a type that holds no numbers.
        """
        return self._finite(self._floats(array), array, absent)

    def reduced(self, array: ArrowArray, how: str) -> pl.Series:
        """One number a list, nulls left out, or the length of a text; a list with a NaN gives NaN, which is missing."""
        array = storage(array)
        if how == "len" and pa.types.is_dictionary(array.type):
            array = array.dictionary_decode()
        if how == "len" and is_text(array.type):
            return self.of(pc.utf8_length(pc.cast(array, pa.large_string())))
        if not is_list(array.type):
            return self.of(array)
        array = with_offsets(array)
        if how == "len":
            return self.of(pc.list_value_length(array))
        if not _holds_numbers(array.type.value_type):
            return self._refused(array, "a list that does not hold numbers", "its elements must be numbers or null")
        lists = series(pc.cast(array, pa.large_list(pa.float64()), safe=False))
        one = pl.col("lists").list
        made = {"sum": one.sum(), "mean": one.mean(), "min": one.min(), "max": one.max()}[how]
        has_nan = pl.col("lists").list.eval(pl.element().is_nan()).list.any().fill_null(value=False)
        empty = pl.col("lists").list.drop_nulls().list.len() == 0
        numbers = pl.DataFrame({"lists": lists}).select(
            pl.when(empty).then(None).when(has_nan).then(float("nan")).otherwise(made).alias("lists")
        )["lists"]
        return self._finite(numbers, array, 0)

    def _finite(self, numbers: pl.Series, array: ArrowArray, absent: int) -> pl.Series:
        """`numbers` without NaN, and what is missing counted; `array` is what they came from."""
        nulls = numbers.null_count()
        self._count("absent", absent)
        self._count("null", nulls - absent)
        if not numbers.is_finite().all():
            infinite = numbers.is_infinite().arg_true()
            if infinite.len():
                at = infinite[0]
                (value,) = plain(array.slice(at, 1))
                shown = "" if isinstance(value, list) else f" ({_shown(value)})"
                raise ValueFault(at, f"the value is infinite{shown}", "write null where there is no value")
            numbers = numbers.fill_nan(None)
            self._count("nan", numbers.null_count() - nulls)
        return numbers

    def _count(self, reason: str, values: int) -> None:
        if values:
            self.missing[reason] += values

    def _floats(self, array: ArrowArray) -> pl.Series:
        kind = array.type
        if isinstance(kind, pa.BaseExtensionType):
            return self._floats(array.storage)
        if pa.types.is_dictionary(kind):
            return gathered(self._floats(used(array)), array)
        if pa.types.is_decimal(kind):
            # by way of text: pyarrow's own cast is up to a few roundings off
            return series(pc.cast(pc.cast(array, pa.string()), pa.float64()))
        if _holds_numbers(kind):
            return series(array if kind == pa.float64() else pc.cast(array, pa.float64(), safe=False))
        if is_text(kind) or is_binary(kind):
            return self._from_text(array)
        if is_list(kind):
            return self._refused(
                array,
                "a list where a number is needed",
                f"name an element, or make one number of it: {self.field}[-1], {self.field}[sum]",
            )
        if pa.types.is_struct(kind) or pa.types.is_map(kind):
            inner = kind.field(0).name if pa.types.is_struct(kind) and kind.num_fields else "total"
            name = Field((*self.field.parts, Name(inner)))
            return self._refused(array, "an object where a number is needed", f"name a field of it: {name}")
        return self._refused(array, f"a {kind} where a number is needed", "name a field that holds numbers")

    def _refused(self, array: ArrowArray, message: str, hint: str) -> pl.Series:
        """Nulls are just missing, of whatever type; the first value that is there is a fault."""
        if array.null_count < len(array):
            raise ValueFault(pc.index(array.is_valid(), pa.scalar(value=True)).as_py(), message, hint)
        return pl.Series([None] * len(array), dtype=pl.Float64)

    def _from_text(self, array: ArrowArray) -> pl.Series:
        encoded = array.dictionary_encode()
        texts = plain(encoded.dictionary)
        numbers = [text_number(text) for text in texts]
        if None in numbers:
            bad = pa.array([number is None for number in numbers])
            at = pc.index(bad.take(encoded.indices), pa.scalar(value=True)).as_py()
            text = texts[encoded.indices[at].as_py()]
            raise ValueFault(
                at,
                f"{_shown_text(text)} where a number is needed",
                "a column of numeric strings is read as numbers only where every value is one",
            )
        self.is_text = self.is_text or bool(texts)
        return gathered(pl.Series(numbers, dtype=pl.Float64), encoded)


def _holds_numbers(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_integer(kind)
        or pa.types.is_floating(kind)
        or pa.types.is_decimal(kind)
        or pa.types.is_boolean(kind)
        or pa.types.is_null(kind)
    )


def _shown(value: object) -> str:
    return _shown_text(value) if isinstance(value, str) else repr(value)


def _shown_text(text: str) -> str:
    return f'string "{text}"' if len(text) <= TEXT_SHOWN and text.isprintable() else "a long string"
