from __future__ import annotations

import io
import random

import polars as pl
import pyarrow as pa
import pytest

from grpo_cli.errors import GrpoAdvError, InputError
from grpo_cli.logs.fields import Field
from grpo_cli.logs.files.source import LogFile
from grpo_cli.logs.format import Kind, Want
from grpo_cli.logs.parquet import Parquet, compact
from grpo_cli.logs.parquet.footer import footer_of

PARQUET = Parquet()
TABLE = pa.table(
    {
        "k": [f"p{row // 4}" for row in range(40)],
        "d": pa.array([f"q{row // 4}" for row in range(40)]).dictionary_encode(),
        "r": [row % 2 * 1.0 for row in range(40)],
        "m": [[{"role": "user", "content": f"x{row // 4}"}] for row in range(40)],
        "s": [[1.0, 2.0]] * 40,
    }
)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "the file is empty"),
        (b'{"a": 1}\n', "not a Parquet file"),
        (b"PAR1", "the file is cut short"),
        (b"PAR1" + b"\0" * 100, "the file is cut short"),
        (b"PARE" + b"\0" * 8 + b"PARE", "the file is encrypted"),
        (b"PAR1" + b"\xff" * 50 + b"\xff\xff\xff\x7fPAR1", "not a Parquet file that can be read"),
        (b"PAR1" + b"\x00" * 50 + b"\x05\x00\x00\x00PAR1", "not a Parquet file that can be read"),
    ],
)
def test_what_is_no_parquet_file_is_said_in_words(log, content, message):
    with pytest.raises(InputError, match=f"^log.parquet: {message}"):
        PARQUET.names(log(content))


def test_a_file_that_is_not_there(tmp_path):
    missing = tmp_path / "no.parquet"
    with pytest.raises(InputError, match=r"no.parquet: there is no such file"):
        PARQUET.names(LogFile(missing, "no.parquet", "parquet", None, missing))
    with pytest.raises(InputError, match="a folder"):
        PARQUET.names(LogFile(tmp_path, "folder", "parquet", None, tmp_path))


def test_a_file_cut_anywhere_is_an_error(log):
    whole = log(TABLE).path.read_bytes()
    for size in range(0, len(whole), 97):
        with pytest.raises(InputError):
            PARQUET.sample(log(whole[:size], "cut.parquet"), 3)


def everything(file):
    """All that can be done with a file; an error may be one for people only."""
    wants = {
        field: Want(Field.parse(field), kind)
        for field, kind in (
            ("k", Kind.KEY),
            ("d", Kind.KEY),
            ("m", Kind.KEY),
            ("r", Kind.NUMBER),
            ("s[sum]", Kind.NUMBER),
            ("m[].content", Kind.JSON),
        )
    }
    new = pl.DataFrame({"new": [0.5] * 40})
    for work in (
        lambda: PARQUET.names(file),
        lambda: PARQUET.sample(file, 5),
        lambda: PARQUET.read(file, wants, "error"),
        lambda: PARQUET.values(file, [0, 17, 39], [Field.parse("m"), Field.parse("d")]),
        lambda: PARQUET.append(file, io.BytesIO(), new, {"a": "b"}, replace=False),
        lambda: PARQUET.append(file, io.BytesIO(), new.rename({"new": "r"}), {}, replace=True),
        lambda: PARQUET.keep(file, io.BytesIO(), pl.Series([True] * 40)),
    ):
        try:
            work()
        except GrpoAdvError:
            yield False
        else:
            yield True


@pytest.mark.parametrize("seed", range(60))
def test_damaged_bytes_are_never_more_than_an_error(log, seed):
    chance = random.Random(seed)
    options = chance.choice([{}, {"compression": "none", "row_group_size": 16}, {"data_page_version": "2.0"}])
    content = bytearray(log(TABLE, **options).path.read_bytes())
    footer = int.from_bytes(content[-8:-4], "little")
    for _ in range(chance.randint(1, 4)):
        in_footer = len(content) - 8 - chance.randrange(footer)
        at = chance.choice([in_footer, chance.randrange(len(content)), chance.randrange(len(content))])
        content[at] = chance.choice([chance.randrange(256), content[at] ^ (1 << chance.randrange(8)), 0, 255])
    assert len(list(everything(log(bytes(content), "damaged.parquet")))) == 7


def test_a_damaged_size_statistic_does_not_end_the_program(log):
    """pyarrow's own view of a chunk would: a C++ exception gets out of it."""
    content = log(TABLE).path.read_bytes()
    footer, _ = compact.read_struct(footer_of(content), lists={4: {1: {}}})
    (group,) = footer[4].structs
    for chunk in group[1].structs:
        meta, _ = compact.read_struct(chunk[3].raw)
        statistic, _ = compact.read_struct(meta[16].raw)
        one = compact.list_of(compact.I64, [b"\x02"])
        meta[16] = compact.Value(compact.STRUCT, compact.write_struct({**statistic, 2: one, 3: one}))
        chunk[3] = compact.Value(compact.STRUCT, compact.write_struct(meta))
    changed = compact.write_struct(footer)
    body = content[: len(content) - 8 - len(footer_of(content))]
    damaged = body + changed + len(changed).to_bytes(4, "little") + b"PAR1"
    assert not all(everything(log(damaged, "damaged.parquet")))
