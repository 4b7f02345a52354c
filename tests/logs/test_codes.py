"""Codes must stand for keys one to one, also across files, and long keys must be shown with their own text."""

from __future__ import annotations

import hashlib

import polars as pl
import pytest

from grpo_cli.logs.codes import DIGEST, LONG, coded, digest


def test_a_text_is_kept_up_to_sixty_four_bytes():
    assert LONG == 64
    assert digest("é" * 32) == "é" * 32
    expected = hashlib.blake2b(("é" * 32 + "x").encode(), digest_size=16).hexdigest()
    assert digest("é" * 32 + "x") == f"{DIGEST}{expected}"


def test_codes_read_back_as_the_texts_or_their_digests():
    texts = ["a", None, "x" * 65, "a", "x" * 65, "y" * 65, "x" * 65]
    found = coded(pl.Series("k", texts))
    assert found.name == "k"
    assert found.to_list() == [None if text is None else digest(text) for text in texts]


def test_equal_texts_have_equal_codes_in_all_columns():
    one, other = coded(pl.Series(["b", "a"])), coded(pl.Series(["a", "c", "b"]))
    assert pl.concat([one, other]).to_physical().to_list() == [0, 1, 1, 2, 0]


@pytest.mark.parametrize("texts", [[], [None], [""]])
def test_edges(texts):
    assert coded(pl.Series(texts, dtype=pl.String)).to_list() == texts
    assert coded(pl.Series([texts, None], dtype=pl.List(pl.String))).to_list() == [texts, None]


def test_codes_stay_codes():
    once = coded(pl.Series(["a", "z" * 70]))
    assert coded(once).to_list() == once.to_list()
