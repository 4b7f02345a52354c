from __future__ import annotations

import gzip
import io
import random
import subprocess
import sys
import time

import polars as pl
import pytest

from grpo_cli.errors import GrpoAdvError, InputError
from grpo_cli.logs.fields import Field
from grpo_cli.logs.format import Kind, Want
from grpo_cli.logs.jsonl import Jsonl

WANTS = {
    "k": Want(Field.parse("id"), Kind.KEY),
    "r": Want(Field.parse("reward"), Kind.NUMBER),
    "s": Want(Field.parse("scores[]"), Kind.NUMBER),
    "i": Want(Field.parse("info"), Kind.JSON),
}


def test_two_thousand_mutated_inputs_give_a_result_or_one_of_our_errors(log, mutated):
    rng = random.Random(1)
    began, done, failed = time.monotonic(), 0, 0
    jsonl = Jsonl()
    while done < 2000 and time.monotonic() - began < 10:
        done += 1
        data = mutated(rng)
        file = log(gzip.compress(data), "gzip") if rng.random() < 0.1 else log(data)
        try:
            jsonl.names(file)
            found = jsonl.read(file, WANTS, "skip")
            assert found.frame["r"].drop_nulls().is_finite().all()
            count = found.frame.height
            jsonl.values(file, range(count), [Field.parse("info.score")])
            columns = pl.DataFrame({"reward": [0.5] * count, "adv": [1.0] * count})
            jsonl.append(file, io.BytesIO(), columns, {}, replace=rng.random() < 0.5)
            whole = io.BytesIO()
            jsonl.keep(file, whole, pl.Series([True] * count))
            assert whole.getvalue() == data
        except GrpoAdvError as error:
            assert str(error).startswith("log.jsonl:")
            failed += 1
    assert 0 < failed < done > 100


def test_cut_and_damaged_gzip_is_an_error_in_every_method(log):
    packed = bytearray(gzip.compress(b'{"id": 1, "reward": 1}\n' * 999))
    packed[60] ^= 255
    for data in (bytes(packed), bytes(gzip.compress(b"{}\n" * 99)[:-5])):
        file = log(data, "gzip")
        for run in (
            lambda file=file: Jsonl().names(file),
            lambda file=file: Jsonl().read(file, WANTS, "skip"),
            lambda file=file: Jsonl().append(file, io.BytesIO(), pl.DataFrame({"a": [1.0]}), {}, replace=False),
            lambda file=file: Jsonl().keep(file, io.BytesIO(), pl.Series([True])),
        ):
            with pytest.raises(InputError):
                run()


def test_a_pass_over_a_file_that_was_rewritten_since_looks_again(log):
    file = log(b'{"id": 1, "reward": 1}\nbad\n')
    assert Jsonl().read(file, WANTS, "skip").bad == [2]
    assert Jsonl().locate(file, 0) == 1
    file = log(b'bad now\n{"id": 1, "reward": 1}\n')
    assert Jsonl().locate(file, 0) == 2
    out = io.BytesIO()
    Jsonl().append(file, out, pl.DataFrame({"a": [1]}), {}, replace=False)
    assert out.getvalue() == b'bad now\n{"id": 1, "reward": 1, "a": 1}\n'


def test_what_is_known_of_a_file_changes_nothing(log):
    file = log(b'{"id": 1, "reward": 1}\n\n[1]\n{"id": 2, "reward": 0}\n{"id": 3}')
    fields = [Field.parse("id")]

    def passes():
        kept, appended = io.BytesIO(), io.BytesIO()
        Jsonl().keep(file, kept, pl.Series([True, False, True]))
        Jsonl().append(file, appended, pl.DataFrame({"a": [1, 2, 3]}), {}, replace=False)
        lines = [Jsonl().locate(file, index) for index in range(3)]
        return kept.getvalue(), appended.getvalue(), lines, Jsonl().values(file, [0, 2], fields)

    before = passes()
    assert Jsonl().read(file, WANTS, "skip").bad == [3]
    assert passes() == before
    assert before[2:] == ([1, 4, 5], [[1], [3]])


def test_pyarrow_is_not_loaded_but_for_zstd():
    code = "import sys, grpo_cli.logs.jsonl; sys.exit('pyarrow' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
