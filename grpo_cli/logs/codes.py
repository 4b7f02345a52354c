"""Keys as codes: four bytes a row and each text once, since a key comes again in every rollout of its group.

A text longer than `LONG` bytes, such as a prompt, is not kept at all: its digest stands for it, the same in every
run, and whoever shows it reads it again from the file.
"""

from __future__ import annotations

import hashlib
from typing import Final

import polars as pl

LONG: Final = 64
"""Bytes of a text up to which it is kept."""
DIGEST: Final = "\0#"
"""What a digest begins with, and no text does: a NUL in a key is spelled with four digits after it."""

_NAME: Final = "grpo-adv keys"
_BYTES: Final = 16


def code_type() -> pl.Categorical:
    """The type of a column of codes: one numbering for all columns, forgotten with the last of them."""
    return pl.Categorical(pl.Categories(_NAME, "", pl.UInt32))


def coded(keys: pl.Series) -> pl.Series:
    """Texts as codes. Null stays null; lists of texts become lists of codes."""
    if keys.dtype == pl.List(pl.String):
        element = pl.element().map_batches(coded, return_dtype=code_type())
        return keys.to_frame("key").select(pl.col("key").list.eval(element)).to_series().alias(keys.name)
    if not isinstance(keys.dtype, pl.String):
        return keys.cast(code_type())
    longest = keys.str.len_bytes().max()
    return (_digested(keys) if isinstance(longest, int) and longest > LONG else keys).cast(code_type())


def digest(text: str) -> str:
    """What stands for a text: itself, or its digest where it is long."""
    raw = text.encode()
    return text if len(raw) <= LONG else DIGEST + hashlib.blake2b(raw, digest_size=_BYTES).hexdigest()


def _digested(keys: pl.Series) -> pl.Series:
    # rows of one group mostly follow one another: comparing neighbours is cheaper than hashing each row
    runs = keys.rle_id()
    heads = keys.filter((runs != runs.shift()).fill_null(value=True))
    distinct = heads.unique()
    table = pl.DataFrame({"key": distinct, "digest": [None if text is None else digest(text) for text in distinct]})
    digests = heads.to_frame("key").join(table, on="key", how="left", maintain_order="left", nulls_equal=True)["digest"]
    return digests.cast(pl.String).gather(runs).alias(keys.name)
