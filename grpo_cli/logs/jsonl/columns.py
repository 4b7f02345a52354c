"""The wanted values of a file gathered into columns: numbers, keys, JSON text; plain, or a list a record.

A column takes one value a record, in file order, from whichever reader has it, and raises `InputError` with line
and column for a value that cannot be what is wanted.
"""

from __future__ import annotations

import difflib
import json
import math
from collections import Counter
from typing import TYPE_CHECKING, Any, Final

import polars as pl

from grpo_cli.errors import InputError
from grpo_cli.logs.codes import coded
from grpo_cli.logs.fields import MISSING, Field, Reduce
from grpo_cli.logs.format import Kind, Want, spell, text_number

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

TEXT_SHOWN: Final = 24
"""Longest string that an error shows: a longer one may be a completion."""


class Column:
    """A KEY, CODE or JSON column: text, null where the value is null or absent."""

    dtype: pl.DataType = pl.String()

    def __init__(self, want: Want, file_name: str) -> None:
        """Start empty."""
        self.field = want.field
        self._file = file_name
        self._spell: Callable[[object], str | None] = json.dumps if want.kind is Kind.JSON else spell
        self._codes = want.kind is Kind.CODE
        self._rows: list[Any] = []
        self._done: list[pl.Series] = []

    def add(self, record: dict[str, Any], line: int) -> None:
        """Take the value of the record on `line`."""
        value = self._value(record, line)
        if not self.field.has_each:
            self._rows.append(self._one(value, line))
        elif isinstance(value, list):
            self._rows.append([self._one(element, line) for element in value])
        else:
            self._none(value)
            self._rows.append(None)

    def extend(self, values: pl.Series) -> None:
        """Take the values of many records, already as they should be."""
        self.flush()
        self._done.append(self._packed(values))

    def taken(self) -> pl.Series:
        """What was added one by one since the last flush, taken out again."""
        rows, self._rows = self._rows, []
        return pl.Series(rows, dtype=self._dtype)

    def flush(self) -> None:
        """Pack what was added one by one."""
        if self._rows:
            self._done.append(self._packed(self.taken()))

    def series(self) -> pl.Series:
        """The whole column."""
        self.flush()
        return pl.concat(self._done) if self._done else self._packed(pl.Series([], dtype=self._dtype))

    def _packed(self, values: pl.Series) -> pl.Series:
        """Values as they are held."""
        return coded(values) if self._codes else values

    @property
    def _dtype(self) -> pl.DataType:
        return pl.List(self.dtype) if self.field.has_each else self.dtype

    def _value(self, record: dict[str, Any], line: int) -> Any:
        try:
            return self.field.of(record)
        except OverflowError:  # integers beyond float64 made into one number
            raise self._fault("the value is infinite", line) from None

    def _one(self, value: object, line: int) -> Any:  # noqa: ARG002 - numbers need the line
        return None if value is None or value is MISSING else self._spell(value)

    def _none(self, value: object) -> None:
        """Take a record that has no list."""

    def _fault(self, message: str, line: int, hint: str | None = None) -> InputError:
        return InputError(message, file=self._file, line=line, column=str(self.field), hint=hint)


class NumberColumn(Column):
    """A NUMBER column. Strings are numbers only where every value of the file is one."""

    dtype = pl.Float64()

    def __init__(self, want: Want, file_name: str) -> None:
        """Start empty."""
        super().__init__(want, file_name)
        self.missing: Counter[str] = Counter()
        self._has_numbers = False
        self._text: tuple[str, int] | None = None

    @property
    def is_text(self) -> bool:
        """Whether the values were all numeric strings."""
        return self._text is not None

    def extend_numbers(self, values: pl.Series) -> None:
        """Take the values of many records: finite numbers and nulls, the nulls being counted already."""
        if values.null_count() < values.len():
            self._saw_number()
        self.extend(values)

    def _one(self, value: object, line: int) -> float | None:
        match value:
            case float() | int():
                number = self._float(value, line)
                if number is not None:
                    self._saw_number()
                return number
            case str():
                return self._from_text(value, line)
            case dict() | list():
                message, hint = _not_a_number(value, self.field)
                raise self._fault(message, line, hint)
            case _:
                self._none(value)
                return None

    def _none(self, value: object) -> None:
        self.missing["null" if value is None else "absent"] += 1

    def _float(self, value: float, line: int) -> float | None:
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if math.isfinite(number):
            return number
        if math.isnan(number):
            self.missing["nan"] += 1
            return None
        raise self._fault(f"the value is infinite ({_shown(value)})", line, _INFINITE_HINT)

    def _from_text(self, text: str, line: int) -> float | None:
        number = text_number(text)
        if number is None:
            raise self._not_text(text, line)
        if self._text is None:
            self._text = (text, line)
        if self._has_numbers:
            raise self._not_text(*self._text)
        return self._float(number, line)

    def _saw_number(self) -> None:
        self._has_numbers = True
        if self._text is not None:
            raise self._not_text(*self._text)

    def _not_text(self, text: str, line: int) -> InputError:
        shown = f'string "{text}"' if len(text) <= TEXT_SHOWN and text.isprintable() else "a long string"
        return self._fault(
            f"{shown} where a number is needed",
            line,
            "a column of numeric strings is read as numbers only where every value is one",
        )


_INFINITE_HINT: Final = "write null where there is no value"


def _not_a_number(value: object, field: Field) -> tuple[str, str]:
    if isinstance(field.parts[-1], Reduce):
        return "a list that does not hold numbers", "its elements must be numbers or null"
    if isinstance(value, list):
        return (
            "a list where a number is needed",
            f"name an element, or make one number of it: {field}[-1], {field}[sum]",
        )
    names = (
        [name for name in value if isinstance(name, str) and len(name) <= TEXT_SHOWN] if isinstance(value, dict) else []
    )
    inner = str(Field((*field.parts, *Field.named(names[0]).parts))) if names else f"{field}.total"
    return "an object where a number is needed", f"name a field of it: {inner}"


def _shown(value: float) -> str:
    return "an integer beyond float64" if isinstance(value, int) else json.dumps(value)


class Misspelling:
    """Looks for a plain field that is absent from records which carry a close misspelling of it instead."""

    CLOSE: Final = 0.8

    def __init__(self, field: Field, wanted: Collection[str]) -> None:
        """Watch `field`; names in `wanted` are no misspellings."""
        self.field = field
        self._wanted = wanted
        self._close: dict[str, bool] = {}
        self._beside: set[str] = set()
        self._suspects: dict[str, int] = {}

    def look(self, record: dict[str, Any], line: int) -> None:
        """Take the names of the record on `line`."""
        if self.field.top in record:
            if not record.keys() <= self._beside:
                self._beside.update(record)
            return
        for name in record:
            if self._is_close(name):
                self._suspects.setdefault(name, line)

    def suspects(self) -> list[str]:
        """The close names that have been seen only where the right one was absent."""
        return [name for name in self._suspects if name not in self._beside]

    def error(self, file_name: str) -> InputError | None:
        """The error for the first record with a misspelling."""
        found = self.suspects()
        if not found:
            return None
        name = min(found, key=self._suspects.__getitem__)
        return InputError(
            f"no {self.field}; this line has '{name}'",
            file=file_name,
            line=self._suspects[name],
            column=str(self.field),
            hint=f"if the option is misspelt: {name}; if the line is: correct it, or write null for no value",
        )

    def _is_close(self, name: str) -> bool:
        if name not in self._close:
            ratio = difflib.SequenceMatcher(None, self.field.top, name).ratio()
            self._close[name] = name not in self._wanted and ratio >= self.CLOSE
        return self._close[name]
