"""Arrow arrays as Polars columns of what is wanted: numbers, keys, JSON text.

The work is done on whole arrays, and in Python only on distinct values. `grpo_cli.logs.parquet.walk` finds the
arrays; a value that cannot be what is wanted raises `ValueFault` with its place in the array.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any, Final, Protocol

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from grpo_cli.logs.fields import MISSING, Field, Name, Reduce
from grpo_cli.logs.format import Kind, Want, spell, text_number
from grpo_cli.logs.parquet.plain import (
    SPELLED_EXTENSIONS,
    ArrowArray,
    is_binary,
    is_list,
    is_text,
    plain,
    storage,
    with_offsets,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

TEXT_SHOWN: Final = 24
"""Longest string that an error shows: a longer one may be a completion."""


class ValueFault(Exception):  # noqa: N818 - never leaves this package
    """A value that cannot be what is wanted: its place in the array, and in the file once it is known."""

    def __init__(self, at: int, message: str, hint: str) -> None:
        """Keep what is wrong and what to do about it."""
        super().__init__(message)
        self.at, self.message, self.hint = at, message, hint


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
        case Kind.JSON:
            return JsonText()


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
        """One number a list, nulls left out; a list with a NaN gives NaN, which is missing."""
        array = storage(array)
        if not is_list(array.type):
            return self.of(array)
        array = with_offsets(array)
        if how == "len":
            return self.of(pc.list_value_length(array))
        if not _holds_numbers(array.type.value_type):
            return self._refused(array, "a list that does not hold numbers", "its elements must be numbers or null")
        lists = _series(pc.cast(array, pa.large_list(pa.float64()), safe=False))
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
            return gathered(self._floats(_used(array)), array)
        if pa.types.is_decimal(kind):
            # by way of text: pyarrow's own cast is up to a few roundings off
            return _series(pc.cast(pc.cast(array, pa.string()), pa.float64()))
        if _holds_numbers(kind):
            return _series(pc.cast(array, pa.float64(), safe=False))
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


class Keys:
    """KEY: what each value spells (`logs.format.spell` of `plain(...)` without null fields of structs).

    A struct of Parquet has every field that any row has; a JSONL object has its own. Leaving out the null ones makes
    one chat message one key in both, and in files whose structs differ. (A JSONL object with an explicit null is
    another key.)
    """

    dtype: pl.DataType = pl.String()

    def of(self, array: ArrowArray, absent: int = 0) -> pl.Series:  # noqa: ARG002 - null either way
        """The keys of `array`.

        Raises:
            ValueFault: text that is not UTF-8.
        """
        kind = array.type
        if isinstance(kind, pa.BaseExtensionType) and kind.extension_name not in SPELLED_EXTENSIONS:
            return self.of(array.storage)
        if pa.types.is_dictionary(kind):
            return gathered(self.of(_used(array)), array)
        if is_text(kind):
            _check_text(array)
            keys = _series(array)
            has_nul = keys.str.contains("\0", literal=True).any()
            return keys.str.replace_all("\0", "\x000000", literal=True) if has_nul else keys
        if pa.types.is_boolean(kind) or pa.types.is_integer(kind):
            return _series(pc.cast(array, pa.string()))
        if pa.types.is_float16(kind):
            array = pc.cast(array, pa.float32())
        encoded = _encoded(array)
        if encoded is None:
            return _strings(spelled(array))
        return gathered(_strings(spelled(encoded.dictionary)), encoded)

    def reduced(self, array: ArrowArray, how: str) -> pl.Series:
        """One key a list, of the number that it makes."""
        return _strings([spell(value) for value in _reduced(array, how)])


class JsonText:
    """JSON: the value as JSON text, in the order of the file, null fields of structs kept."""

    dtype: pl.DataType = pl.String()

    def of(self, array: ArrowArray, absent: int = 0) -> pl.Series:  # noqa: ARG002 - null either way
        """The JSON text of each value of `array`."""
        return _strings([_dumped(value) for value in plain(array)])

    def reduced(self, array: ArrowArray, how: str) -> pl.Series:
        """The JSON text of the number that each list makes."""
        return _strings([_dumped(value) for value in _reduced(array, how)])


def spelled(array: ArrowArray) -> list[str | None]:
    """What each value of `array` spells."""
    return [spell(value) for value in plain(array, keep_null_fields=False)]


def gathered(values: pl.Series, encoded: ArrowArray) -> pl.Series:
    """`values`, one for each entry of the dictionary that `_used(encoded)` gives, put where its indices say."""
    return values.gather(_series(pc.cast(encoded.indices, pa.int64())).cast(pl.UInt32))


def _dumped(value: object) -> str | None:
    return None if value is None else json.dumps(value)


def _reduced(array: ArrowArray, how: str) -> list[Any]:
    field = Field((Name(""), Reduce(how)))
    made = (field.of({"": value}) for value in plain(array))
    return [None if value is MISSING else value for value in made]


def _strings(values: Sequence[str | None]) -> pl.Series:
    return pl.Series(values, dtype=pl.String)


def _series(array: ArrowArray) -> pl.Series:
    made = pl.from_arrow(array)
    assert isinstance(made, pl.Series)
    return made.cast(pl.String) if made.dtype == pl.Null and is_text(array.type) else made


def _used(array: ArrowArray) -> ArrowArray:
    """The dictionary of `array`, with null for the entries that no row uses: they are nobody's fault."""
    entries = array.dictionary
    used = pc.is_in(pa.array(range(len(entries)), array.indices.type), value_set=pc.unique(array.indices))
    return pc.if_else(used, entries, pa.scalar(None, entries.type))


def _encoded(array: ArrowArray) -> ArrowArray | None:
    """`array` as a dictionary, where pyarrow or Polars can make one that keeps unlike values apart."""
    if pa.types.is_nested(array.type):
        return _encoded_nested(array)
    try:
        if isinstance(array.type, pa.BaseExtensionType):
            stored = array.storage.dictionary_encode()
            entries = pa.ExtensionArray.from_storage(array.type, stored.dictionary)
            return pa.DictionaryArray.from_arrays(stored.indices, entries)
        return array.dictionary_encode()
    except pa.ArrowNotImplementedError:
        return None


def _encoded_nested(array: ArrowArray) -> ArrowArray | None:
    if not _is_comparable(array.type):
        return None
    rows = pl.DataFrame({"value": pl.from_arrow(array)}).with_row_index("row")
    first = rows.select(pl.col("row").min().over("value"))["row"]
    distinct = first.unique().sort()
    indices = distinct.search_sorted(first)
    return pa.DictionaryArray.from_arrays(indices.to_arrow(), array.take(distinct.to_arrow()))


def _is_comparable(kind: pa.DataType) -> bool:
    """Whether Polars tells all values of this nested type apart (it takes -0.0 for 0.0)."""
    if is_list(kind):
        return _is_comparable(kind.value_type)
    if pa.types.is_struct(kind):
        return kind.num_fields > 0 and all(_is_comparable(kind.field(at).type) for at in range(kind.num_fields))
    return is_text(kind) or bool(pa.types.is_integer(kind) or pa.types.is_boolean(kind))


def _holds_numbers(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_integer(kind)
        or pa.types.is_floating(kind)
        or pa.types.is_decimal(kind)
        or pa.types.is_boolean(kind)
        or pa.types.is_null(kind)
    )


def _check_text(array: ArrowArray) -> None:
    """Polars takes Arrow text on trust, so what is not UTF-8 must be found before."""
    try:
        array.validate(full=True)
    except pa.ArrowInvalid:
        values = pc.cast(array, pa.large_binary(), safe=False).to_pylist()
        bad = [at for at, value in enumerate(values) if value is not None and not _is_utf8(value)]
        if not bad:
            raise
        raise ValueFault(bad[0], "text that is not UTF-8", "the file is damaged, or was written wrongly") from None


def _is_utf8(value: bytes) -> bool:
    try:
        value.decode()
    except UnicodeDecodeError:
        return False
    return True


def _shown(value: object) -> str:
    return _shown_text(value) if isinstance(value, str) else repr(value)


def _shown_text(text: str) -> str:
    return f'string "{text}"' if len(text) <= TEXT_SHOWN and text.isprintable() else "a long string"
