"""Arrow arrays as keys and as JSON text. The work is done on whole arrays, and in Python only on distinct values."""

from __future__ import annotations

import json
import re
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from grpo_cli.logs.codes import code_type, coded
from grpo_cli.logs.fields import MISSING, Field, Name, Reduce
from grpo_cli.logs.format import spell
from grpo_cli.logs.parquet.arrays import ValueFault, encoded, gathered, series, strings, used
from grpo_cli.logs.parquet.plain import SPELLED_EXTENSIONS, ArrowArray, is_text, plain


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
            return gathered(self.of(used(array)), array)
        if is_text(kind):
            _check_text(array)
            texts = series(array)
            if _may_have_nul(array):
                texts = texts.str.replace_all("\0", "\x000000", literal=True)
            return self._made(texts)
        if pa.types.is_boolean(kind) or pa.types.is_integer(kind):
            return self._made(series(pc.cast(array, pa.string())))
        if pa.types.is_float16(kind):
            array = pc.cast(array, pa.float32())
        shared = encoded(array)
        if shared is None:
            return self._made(strings(spelled(array)))
        return gathered(self._made(strings(spelled(shared.dictionary))), shared)

    def reduced(self, array: ArrowArray, how: str) -> pl.Series:
        """One key a list, of the number that it makes."""
        return self._made(strings([spell(value) for value in _reduced(array, how)]))

    def _made(self, keys: pl.Series) -> pl.Series:
        return keys


class Codes(Keys):
    """CODE: codes that stand for the keys, taken once for each distinct one."""

    def __init__(self) -> None:
        """Hold on to the numbering while a file is read."""
        self.dtype = code_type()

    def _made(self, keys: pl.Series) -> pl.Series:
        return coded(keys)


class JsonText:
    """JSON: the value as JSON text, in the order of the file, null fields of structs kept."""

    dtype: pl.DataType = pl.String()

    def of(self, array: ArrowArray, absent: int = 0) -> pl.Series:  # noqa: ARG002 - null either way
        """The JSON text of each value of `array`."""
        return strings([_dumped(value) for value in plain(array)])

    def reduced(self, array: ArrowArray, how: str) -> pl.Series:
        """The JSON text of the number that each list makes."""
        return strings([_dumped(value) for value in _reduced(array, how)])


def spelled(array: ArrowArray) -> list[str | None]:
    """What each value of `array` spells."""
    return [spell(value) for value in plain(array, keep_null_fields=False)]


def _dumped(value: object) -> str | None:
    return None if value is None else json.dumps(value)


def _reduced(array: ArrowArray, how: str) -> list[Any]:
    field = Field((Name(""), Reduce(how)))
    made = (field.of({"": value}) for value in plain(array))
    return [None if value is MISSING else value for value in made]


def _may_have_nul(array: ArrowArray) -> bool:
    """Whether there is a NUL in the bytes of the text: hardly ever, and this is much faster than looking at values."""
    return any(buffer is not None and re.search(b"\0", memoryview(buffer)) for buffer in array.buffers()[2:])


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
