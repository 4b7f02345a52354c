import csv
import io
import json
import math

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grpo_cli.logs.format import spell
from grpo_cli.render.machine import FORMATS, written
from grpo_cli.render.tables import Kind, Table

KINDS = {"key": Kind.KEY, "n": Kind.COUNT, "mean": Kind.NUMBER, "pass": Kind.TEXT, "rewards": Kind.SPARK}
SCHEMA = {"key": pl.String, "n": pl.Int64, "mean": pl.Float64, "pass": pl.Boolean, "rewards": pl.List(pl.Float64)}
NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
CHARACTERS = st.one_of(st.characters(), st.characters(categories=["Cs", "Cc", "Cf"]), st.sampled_from('\\"|,\t\n\r\0'))
ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "key": st.one_of(st.none(), st.text(CHARACTERS, max_size=12)),
            "n": st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1)),
            "mean": st.one_of(st.none(), NUMBERS),
            "pass": st.one_of(st.none(), st.booleans()),
            "rewards": st.one_of(st.none(), st.lists(st.one_of(st.none(), NUMBERS), max_size=4)),
        }
    ),
    max_size=5,
)


def table_of(rows):
    spelled = [{**row, "key": spell(row["key"])} for row in rows]
    return Table("rows", pl.DataFrame(spelled, schema=SCHEMA), KINDS)


def text_of(table, form, **options):
    return "".join(written(table, form, **options))


def field(value):
    if value is None:
        return ""
    return json.dumps(value, separators=(",", ":")) if isinstance(value, (bool, list)) else value


@given(ROWS)
def test_json_reads_back_as_the_frame(rows):
    table = table_of(rows)
    text = text_of(table, "json")
    assert json.loads(text) == rows
    lines = text_of(table, "jsonl").splitlines()
    assert [json.loads(line) for line in lines] == rows
    assert all(c.isprintable() or c in "\n\u3000" or c.isspace() for c in text if c != "\n")


@given(ROWS)
def test_csv_reads_back_as_the_frame(rows):
    text = text_of(table_of(rows), "csv")
    header, *read = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    assert header == list(KINDS)
    assert len(read) == len(rows)
    for found, row in zip(read, rows, strict=True):
        key, n, mean, passed, rewards = found
        has_surrogates = any("\ud800" <= c <= "\udfff" for c in row["key"] or "")
        assert has_surrogates or key == field(row["key"])
        assert (int(n) if n else None) == row["n"]
        assert (float(mean) if mean else None) == row["mean"]
        assert passed == field(row["pass"])
        assert (json.loads(rewards) if rewards else None) == row["rewards"]
    text.encode()


@given(ROWS)
def test_tsv_and_markdown_have_a_line_a_row_and_no_hidden_byte(rows):
    table = table_of(rows)
    for form, header_lines in (("tsv", 1), ("md", 2)):
        text = text_of(table, form)
        assert text.count("\n") == header_lines + len(rows)
        assert all(ord(c) >= 32 or c in "\t\n" for c in text)
    for line in text_of(table, "tsv").removesuffix("\n").split("\n"):
        assert line.count("\t") == len(KINDS) - 1


def test_the_formats_of_one_small_table():
    rows = [
        {"key": "ds:x:17, a|b", "n": 8, "mean": 1 / 3, "pass": True, "rewards": [0.0, 1.0]},
        {"key": 'say "hi"\n\ttwice', "n": None, "mean": 1e-9, "pass": None, "rewards": None},
    ]
    table = table_of(rows)
    assert text_of(table, "json") == (
        "[\n"
        '{"key":"ds:x:17, a|b","n":8,"mean":0.3333333333333333,"pass":true,"rewards":[0.0,1.0]},\n'
        '{"key":"say \\"hi\\"\\n\\ttwice","n":null,"mean":1e-9,"pass":null,"rewards":null}\n'
        "]\n"
    )
    assert text_of(table, "csv") == (
        'key,n,mean,pass,rewards\n"ds:x:17, a|b",8,0.3333333333333333,true,"[0.0,1.0]"\n"say ""hi""\n\ttwice",,1e-9,,\n'
    )
    assert text_of(table, "tsv") == (
        "key\tn\tmean\tpass\trewards\n"
        "ds:x:17, a|b\t8\t0.3333333333333333\ttrue\t[0.0,1.0]\n"
        'say "hi"\\n\\ttwice\t\t1e-9\t\t\n'
    )
    assert text_of(table, "md") == (
        "| key | n | mean | pass | rewards |\n"
        "| --- | ---: | ---: | --- | --- |\n"
        "| `ds:x:17, a\\|b` | 8 | 0.3333333333333333 | true | `[0.0,1.0]` |\n"
        '| `say "hi"\\n\\ttwice` |  | 1e-9 |  |  |\n'
    )


def test_an_empty_table_is_an_empty_array_or_a_header():
    table = table_of([])
    assert text_of(table, "json") == "[]\n"
    assert text_of(table, "jsonl") == ""
    assert text_of(table, "csv") == "key,n,mean,pass,rewards\n"
    assert text_of(table, "tsv") == "key\tn\tmean\tpass\trewards\n"


def test_a_lone_null_is_still_a_row_of_csv():
    table = Table("rows", pl.DataFrame({"mean": [0.5, None]}), {"mean": Kind.NUMBER})
    assert list(csv.reader(io.StringIO(text_of(table, "csv")))) == [["mean"], ["0.5"], [""]]


@pytest.mark.parametrize("form", FORMATS)
def test_a_number_that_is_not_finite_is_null(form):
    frame = pl.DataFrame({"mean": [math.nan, math.inf], "rewards": [[math.nan, 1.0], [-math.inf]]})
    text = text_of(Table("rows", frame, {"mean": Kind.NUMBER, "rewards": Kind.SPARK}), form)
    assert "nan" not in text.lower()
    assert "inf" not in text.lower()
    assert "[null,1.0]" in text


def test_lone_surrogates_are_escapes_in_json():
    table = table_of([{"key": "k\ud83d \0 \\u0000d83d", "n": None, "mean": None, "pass": None, "rewards": None}])
    assert r'"k\ud83d \u0000 \\u0000d83d"' in text_of(table, "json")


def test_csv_keeps_control_characters_but_not_on_a_terminal():
    table = table_of([{"key": "esc\x1b[2J\x9b", "n": None, "mean": None, "pass": None, "rewards": None}])
    assert "esc\x1b[2J\x9b" in text_of(table, "csv")
    assert r"esc\x1b[2J\x9b" in text_of(table, "csv", terminal=True)


def test_a_frame_of_many_rows_comes_in_chunks_that_join_up():
    frame = pl.DataFrame({"n": range(120_000)})
    table = Table("rows", frame, {"n": Kind.COUNT})
    assert len(list(written(table, "tsv"))) > 1
    assert json.loads(text_of(table, "json")) == [{"n": n} for n in range(120_000)]
    assert text_of(table, "csv").split() == ["n", *map(str, range(120_000))]


def test_markdown_makes_code_of_log_text_and_escapes_ours():
    frame = pl.DataFrame({"key": ["`tick` [a](b)", " pad", ""], "formula": ["a*b_c < _d_", "x|y", None]})
    table = Table("rows", frame, {"key": Kind.KEY, "formula": Kind.TEXT})
    assert text_of(table, "md").splitlines()[2:] == [
        r"| `` `tick` [a](b) `` | a\*b_c \< \_d\_ |",
        r"| ` pad` | x\|y |".replace("` pad`", "`  pad `"),
        "|  |  |",
    ]


def test_enums_and_decimals_are_words_and_numbers():
    frame = pl.DataFrame(
        {"status": pl.Series(["mixed"], dtype=pl.Enum(["mixed"])), "d": pl.Series(["1.50"]).cast(pl.Decimal(10, 2))}
    )
    table = Table("rows", frame, {"status": Kind.STATUS, "d": Kind.NUMBER})
    assert json.loads(text_of(table, "json")) == [{"status": "mixed", "d": 1.5}]
