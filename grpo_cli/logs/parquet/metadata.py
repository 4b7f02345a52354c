"""What the key-value metadata of a Parquet file says of its columns, told of the new ones.

Three writers keep a list of the columns there, each in its own words; a reader that finds a column missing in it
drops the column, or refuses the file:

    ARROW:schema   pyarrow, Polars, arrow-rs: the Arrow schema, an IPC message in base64
    pandas         pandas: {"columns": [{"name", "field_name", "pandas_type", "numpy_type", "metadata"}, ...], ...}
    huggingface    datasets: {"info": {"features": {NAME: {"dtype": "float64", "_type": "Value"}, ...}}}

How the columns were made is kept under `grpo-adv`, as JSON.
"""

from __future__ import annotations

import base64
import binascii
import functools
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import polars as pl
import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Mapping

ARROW: Final = b"ARROW:schema"
PANDAS: Final = b"pandas"
HUGGINGFACE: Final = b"huggingface"
OWN: Final = b"grpo-adv"


@dataclass(frozen=True)
class _Names:
    """What the writers call a type."""

    arrow: pa.DataType
    pandas: str
    numpy: str
    nullable: str
    """What pandas holds the values in where some are null."""
    huggingface: str


_TYPES: Final[dict[pl.DataType, _Names]] = {
    pl.Float64(): _Names(pa.float64(), "float64", "float64", "float64", "float64"),
    pl.Int64(): _Names(pa.int64(), "int64", "int64", "Int64", "int64"),
    pl.Boolean(): _Names(pa.bool_(), "bool", "bool", "boolean", "bool"),
    pl.String(): _Names(pa.string(), "unicode", "object", "object", "string"),
}


def _named(dtype: pl.DataType) -> tuple[_Names, bool]:
    """What the type of a new column is called, and whether the column is one of lists of it."""
    if isinstance(dtype, pl.List):
        return _TYPES[pl.Series(dtype=dtype.inner).dtype], True
    return _TYPES[dtype], False


def arrow_schema(columns: pl.DataFrame) -> pa.Schema:
    """The Arrow schema that the new columns are written with."""
    types = {name: _named(dtype) for name, dtype in columns.schema.items()}
    return pa.schema(
        [
            pa.field(name, pa.list_(pa.field("element", kind.arrow)) if is_list else kind.arrow)
            for name, (kind, is_list) in types.items()
        ]
    )


def told(metadata: Mapping[bytes, bytes], columns: pl.DataFrame, own: Mapping[str, str]) -> dict[bytes, bytes]:
    """`metadata` told of the columns, which come last (or take the place of one of the same name).

    An entry that is not what its writer would write is left as it is.
    """
    told = dict(metadata)
    tell_arrow = functools.partial(_tell_arrow, own=own)
    for key, tell in ((ARROW, tell_arrow), (PANDAS, _tell_pandas), (HUGGINGFACE, _tell_huggingface)):
        if key in told:
            try:
                told[key] = tell(told[key], columns)
            except (ValueError, TypeError, KeyError, AttributeError, binascii.Error, pa.ArrowException):
                continue
    if own:
        value = json.dumps(dict(own), ensure_ascii=False).encode()
        if OWN in told and told[OWN] != value:
            told[_free_key(told)] = told[OWN]  # how another column was made is not forgotten
        told[OWN] = value
    return told


def _free_key(metadata: Mapping[bytes, bytes]) -> bytes:
    number = 1
    while (key := OWN + b"-%d" % number) in metadata:
        number += 1
    return key


def _tell_arrow(value: bytes, columns: pl.DataFrame, own: Mapping[str, str]) -> bytes:
    """The Arrow schema holds all of the metadata a second time, and that is where pyarrow's readers look for it."""
    schema = pa.ipc.read_schema(pa.py_buffer(base64.b64decode(value)))
    for field in arrow_schema(columns):
        at = schema.get_field_index(field.name)
        schema = schema.append(field) if at < 0 else schema.set(at, field)
    schema = schema.with_metadata(told(schema.metadata or {}, columns, own))
    return base64.b64encode(schema.serialize().to_pybytes())


def _tell_pandas(value: bytes, columns: pl.DataFrame) -> bytes:
    told = json.loads(value)
    entries = told["columns"]
    index = [name for name in told.get("index_columns", []) if isinstance(name, str)]
    for column in columns:
        name, entry = column.name, _pandas_entry(column)
        at = next((at for at, old in enumerate(entries) if old.get("field_name", old["name"]) == name), None)
        if at is not None:
            entries[at] = entry
        else:
            # the entries of the index come last
            tail = 0
            while tail < len(entries) and entries[-1 - tail].get("field_name") in index:
                tail += 1
            entries.insert(len(entries) - tail, entry)
    return json.dumps(told).encode()


def _pandas_entry(column: pl.Series) -> dict[str, Any]:
    kind, is_list = _named(column.dtype)
    return {
        "name": column.name,
        "field_name": column.name,
        "pandas_type": f"list[{kind.pandas}]" if is_list else kind.pandas,
        "numpy_type": "object" if is_list else kind.nullable if column.null_count() else kind.numpy,
        "metadata": None,
    }


def _tell_huggingface(value: bytes, columns: pl.DataFrame) -> bytes:
    told = json.loads(value)
    features = told["info"]["features"]
    # datasets before 4.0 knows a list only as a Sequence; later versions read both
    list_type = "List" if b'"List"' in value else "Sequence"
    for name, dtype in columns.schema.items():
        kind, is_list = _named(dtype)
        feature: dict[str, Any] = {"dtype": kind.huggingface, "_type": "Value"}
        features[name] = {"feature": feature, "_type": list_type} if is_list else feature
    return json.dumps(told).encode()
