"""Small drawings made of characters: a row of bars, a share as a bar, a histogram; in ASCII where it must be."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_LEVELS = "▁▂▃▄▅▆▇█"
_LEVELS_ASCII = "_.-=+*%#"
_EIGHTHS = " ▏▎▍▌▋▊▉"


def spark(
    values: Sequence[float | None],
    *,
    lo: float | None = None,
    hi: float | None = None,
    width: int | None = None,
    unicode: bool = True,
) -> str:
    """The values as bars of eight heights between `lo` and `hi` (their least and greatest); a gap where there is none.

    With `width`, more values than that are averaged into that many bars. Equal values are bars of middle height.
    """
    levels = _LEVELS if unicode else _LEVELS_ASCII
    known = [v for v in values if v is not None and math.isfinite(v)]
    if not known:
        return " " * len(values if width is None else values[:width])
    lo = min(known) if lo is None else lo
    hi = max(known) if hi is None else hi
    bars = values if width is None or len(values) <= width else _averaged(values, width)
    return "".join(_level(v, lo, hi, levels) for v in bars)


def bar(share: float, width: int, *, unicode: bool = True) -> str:
    """A share as a bar of `width` columns: never empty where there is something, never full where something lacks."""
    if not math.isfinite(share) or width <= 0:
        return " " * max(width, 0)
    share = min(max(share, 0.0), 1.0)
    parts = 8 if unicode else 1
    filled = round(share * width * parts)
    if 0 < share < 1:
        filled = min(max(filled, 1), width * parts - 1) if width * parts > 1 else filled
    whole, eighth = divmod(filled, parts)
    if not unicode:
        return ("#" * whole).ljust(width)
    return ("█" * whole + (_EIGHTHS[eighth] if eighth else "")).ljust(width)


def histogram(values: Sequence[float | None], *, bins: int = 20, unicode: bool = True) -> str:
    """How many values lie where between the least and the greatest: a bar a bin, a gap for an empty one."""
    known = [v for v in values if v is not None and math.isfinite(v)]
    if not known or bins < 1:
        return ""
    lo, hi = min(known), max(known)
    counts = [0] * bins
    for v in known:
        # Halves keep the difference finite for the largest floats.
        place = (v / 2 - lo / 2) / (hi / 2 - lo / 2) if hi / 2 > lo / 2 else 0.5
        counts[min(int(place * bins), bins - 1)] += 1
    return spark([c or None for c in counts], lo=0, hi=max(counts), unicode=unicode)


def _level(value: float | None, lo: float, hi: float, levels: str) -> str:
    if value is None or not math.isfinite(value):
        return " "
    if not hi / 2 > lo / 2:
        return levels[3]
    place = (value / 2 - lo / 2) / (hi / 2 - lo / 2)
    return levels[min(max(int(place * len(levels)), 0), len(levels) - 1)]


def _averaged(values: Sequence[float | None], width: int) -> list[float | None]:
    means: list[float | None] = []
    for i in range(width):
        part = values[i * len(values) // width : (i + 1) * len(values) // width]
        known = [v / len(part) for v in part if v is not None and math.isfinite(v)]
        means.append(sum(known) * len(part) / len(known) if known else None)
    return means
