from __future__ import annotations

import base64
import json

import polars as pl
import pyarrow as pa
import pytest

from grpo_cli.logs.parquet.metadata import told

COLUMNS = pl.DataFrame(
    {"f": [0.5], "i": [1], "b": [True], "s": ["x"], "lf": [[0.5]], "ls": [["x"]]},
    schema={
        "f": pl.Float64,
        "i": pl.Int64,
        "b": pl.Boolean,
        "s": pl.String,
        "lf": pl.List(pl.Float64),
        "ls": pl.List(pl.String),
    },
)


def test_huggingface_features_gain_the_columns():
    features = {"label": {"names": ["bad", "good"], "_type": "ClassLabel"}}
    before = {"info": {"features": features, "other": 1}, "fingerprint": "f"}
    after = json.loads(told({b"huggingface": json.dumps(before).encode()}, COLUMNS, {})[b"huggingface"])
    value = {name: {"dtype": name, "_type": "Value"} for name in ("float64", "int64", "bool", "string")}
    assert after == {
        "info": {
            "features": {
                **features,
                "f": value["float64"],
                "i": value["int64"],
                "b": value["bool"],
                "s": value["string"],
                "lf": {"feature": value["float64"], "_type": "Sequence"},
                "ls": {"feature": value["string"], "_type": "Sequence"},
            },
            "other": 1,
        },
        "fingerprint": "f",
    }
    assert next(iter(after["info"]["features"])) == "label"


def test_a_file_that_knows_list_features_gets_list_features():
    features = {"x": {"feature": {"dtype": "int64", "_type": "Value"}, "_type": "List"}}
    before = json.dumps({"info": {"features": features}}).encode()
    after = json.loads(told({b"huggingface": before}, COLUMNS, {})[b"huggingface"])
    assert after["info"]["features"]["lf"]["_type"] == "List"


def test_pandas_columns_come_before_the_index():
    entry = {"name": "a", "field_name": "a", "pandas_type": "int64", "numpy_type": "int64", "metadata": None}
    index = {**entry, "name": None, "field_name": "__index_level_0__"}
    before = {"index_columns": ["__index_level_0__"], "columns": [entry, index], "pandas_version": "3"}
    after = json.loads(told({b"pandas": json.dumps(before).encode()}, COLUMNS.select("f", "s", "lf"), {})[b"pandas"])
    assert after["columns"][0] == entry
    assert after["columns"][-1] == index
    assert [(new["name"], new["pandas_type"], new["numpy_type"]) for new in after["columns"][1:-1]] == [
        ("f", "float64", "float64"),
        ("s", "unicode", "object"),
        ("lf", "list[float64]", "object"),
    ]


def test_pandas_is_told_of_nulls():
    before = json.dumps({"columns": []}).encode()
    columns = pl.DataFrame({"i": [1, None], "b": [None, True], "f": [None, 0.5]})
    entries = json.loads(told({b"pandas": before}, columns, {})[b"pandas"])["columns"]
    assert [entry["numpy_type"] for entry in entries] == ["Int64", "boolean", "float64"]


def test_a_replaced_column_keeps_its_place_in_the_lists():
    columns = COLUMNS.select("f")
    pandas = {"columns": [{"name": "f", "field_name": "f", "pandas_type": "int64"}, {"name": "z", "field_name": "z"}]}
    features = {"f": {"dtype": "int64", "_type": "Value"}, "z": {"dtype": "int64", "_type": "Value"}}
    schema = pa.schema([("f", pa.int64()), ("z", pa.int64())])
    after = told(
        {
            b"pandas": json.dumps(pandas).encode(),
            b"huggingface": json.dumps({"info": {"features": features}}).encode(),
            b"ARROW:schema": base64.b64encode(schema.serialize().to_pybytes()),
        },
        columns,
        {},
    )
    assert [entry["pandas_type"] for entry in json.loads(after[b"pandas"])["columns"][:1]] == ["float64"]
    assert [*json.loads(after[b"huggingface"])["info"]["features"]] == ["f", "z"]
    assert arrow_schema_of(after) == pa.schema([("f", pa.float64()), ("z", pa.int64())])


def arrow_schema_of(metadata):
    return pa.ipc.read_schema(pa.py_buffer(base64.b64decode(metadata[b"ARROW:schema"])))


def test_the_arrow_schema_gains_the_fields_and_keeps_its_own():
    schema = pa.schema(
        [pa.field("k", pa.dictionary(pa.int8(), pa.string()), metadata={"unit": "class"})], metadata={"run": "1"}
    )
    value = base64.b64encode(schema.serialize().to_pybytes())
    after = arrow_schema_of(told({b"ARROW:schema": value}, COLUMNS.select("f", "ls"), {}))
    assert after.field("k").equals(schema.field("k"), check_metadata=True)
    assert after.metadata == schema.metadata
    assert after.field("f").type == pa.float64()
    assert after.field("ls").type == pa.list_(pa.field("element", pa.string()))


@pytest.mark.parametrize("value", [b"", b"nonsense", b"[]", b"{}", b'{"info": 1, "columns": 2}', b"null", b"\xff"])
@pytest.mark.parametrize("key", [b"huggingface", b"pandas", b"ARROW:schema"])
def test_an_entry_of_another_kind_is_left_alone(key, value):
    assert told({key: value}, COLUMNS, {}) == {key: value}


def test_how_a_column_was_made_is_kept_and_not_forgotten():
    once = told({b"run": b"7"}, COLUMNS, {"estimator": "grpo"})
    assert once == {b"run": b"7", b"grpo-adv": b'{"estimator": "grpo"}'}
    twice = told(once, COLUMNS, {"estimator": "rloo"})
    assert twice == {
        b"run": b"7",
        b"grpo-adv": b'{"estimator": "rloo"}',
        b"grpo-adv-1": b'{"estimator": "grpo"}',
    }
    assert told(twice, COLUMNS, {"estimator": "rloo"}) == twice
    assert told({}, COLUMNS, {}) == {}
