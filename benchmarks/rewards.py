"""What all data sets share: the seed, groups of eight, and their rewards."""

from __future__ import annotations

import numpy as np

SEED = 20_260
GROUP = 8
"""Rollouts of a group."""


def rewards(rng: np.random.Generator, rows: int) -> np.ndarray:
    """Eighths between 0 and 1, exact in every float; a quarter of the groups has one reward only."""
    drawn = rng.integers(0, 9, rows) / 8
    groups = np.arange(rows) // GROUP
    constant = rng.random(rows // GROUP + 1) < 0.25
    return np.where(constant[groups], drawn[groups * GROUP], drawn)
