"""Random texts that compress as prose does.

They are words of a fixed vocabulary, with line breaks, quotes and a few letters beyond ASCII, as completions have them.
"""

from __future__ import annotations

import numpy as np

POOL = 8 << 20
"""Bytes of the text that Parquet texts are cut from."""


def words(rng: np.random.Generator, count: int = 4096) -> list[str]:
    """A vocabulary: short words are common, as in prose."""
    letters = "etaoinshrdlucmfwypvbgkqjxz"
    weights = np.arange(len(letters), 0, -1, dtype=float)
    lengths = rng.integers(1, 10, count)
    signs = rng.choice(list(letters), lengths.sum(), p=weights / weights.sum())
    cuts = np.cumsum(lengths)[:-1]
    return ["".join(word) for word in np.split(signs, cuts)]


def texts(rng: np.random.Generator, count: int, size: int, *, plain: bool = False) -> list[str]:
    """`count` texts of about `size` characters; `plain` ones are exactly that many ASCII letters and spaces."""
    vocabulary = words(rng)
    if not plain:
        vocabulary += ["\n\n", '"x"', "\\frac{1}{2}", "é", "→"] * 20
    # words are drawn once and texts cut out of them at random: drawing each anew takes minutes
    drawn = " ".join(np.array(vocabulary, dtype=object)[rng.integers(0, len(vocabulary), POOL // 5)])
    starts = rng.integers(0, len(drawn) - size, count)
    return [drawn[start : start + size] for start in starts.tolist()]


def text_bytes(rng: np.random.Generator, size: int) -> np.ndarray:
    """The view of a long ASCII text from which any row is a text of `size` bytes."""
    vocabulary = words(rng)
    drawn = " ".join(np.array(vocabulary, dtype=object)[rng.integers(0, len(vocabulary), POOL // 5)])
    return np.lib.stride_tricks.sliding_window_view(np.frombuffer(drawn.encode(), np.uint8), size)
