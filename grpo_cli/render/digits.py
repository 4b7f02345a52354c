"""Numbers as a person reads them: four significant digits, and never a nonzero number that looks like zero.

Machine formats have all digits; these functions serve terminals and sentences only.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def number(value: float) -> str:
    """Four significant digits without trailing zeros: `0.004`, `1.81`, `36744`, `1e-9`; whole parts stay whole."""
    if not math.isfinite(value):
        return str(value)
    if value == 0:
        return "0"
    mantissa, exponent = _scientific(value)
    if not -4 <= exponent < 7:
        return f"{_stripped(mantissa)}e{exponent}"
    return _stripped(f"{value:.{_decimals(exponent)}f}")


def aligned(values: Sequence[float | None], *, zeros: bool = True) -> list[str]:
    """The numbers of a column, decimal points under one another; an empty string where there is none.

    With `zeros`, numbers beside each other have as many decimals as the one that needs most, but none has more than
    four significant digits. An exact zero is a bare `0`, so that it stands out from what only rounds to it.
    """
    shortest = ["" if value is None else number(value) for value in values]
    needed = max((len(_fraction(text)) - 1 for text in shortest if "e" not in text), default=0)
    shown = []
    for value, short in zip(values, shortest, strict=True):
        if not zeros or not value or "e" in short or not math.isfinite(value):
            shown.append(short)
        else:
            shown.append(f"{value:.{min(max(needed, 0), _decimals(_scientific(value)[1]))}f}")
    tail = max((len(_fraction(text)) for text in shown if "e" not in text), default=0)
    return [
        text if not text or "e" in text or not text[-1].isdigit() else text + " " * (tail - len(_fraction(text)))
        for text in shown
    ]


def percent(share: float, decimals: int = 0) -> str:
    """A share as a percentage; `100 %` and `0 %` are said of exactly 1 and 0 only (`>99 %`, `<1 %`)."""
    if not math.isfinite(share):
        return str(share)
    if share in (0, 1):
        return f"{share * 100:.0f} %"
    step = 10**-decimals
    rounded = math.floor(100 * share / step + 0.5) * step
    if share < 1 and rounded >= 100:
        return f">{100 - step:.{decimals}f} %"
    if share > 0 and rounded <= 0:
        return f"<{step:.{decimals}f} %"
    return f"{rounded:.{decimals}f} %"


def percents(shares: Sequence[float | None]) -> list[str]:
    """The percentages of a column: whole where all of them are, else with one decimal."""
    known = [100 * share for share in shares if share is not None and math.isfinite(share)]
    decimals = 0 if all(abs(p - round(p)) < 1e-9 for p in known) else 1
    return ["" if share is None else percent(share, decimals) for share in shares]


def _scientific(value: float) -> tuple[str, int]:
    mantissa, exponent = f"{value:.3e}".split("e")
    return mantissa, int(exponent)


def _decimals(exponent: int) -> int:
    return max(0, 3 - exponent)


def _fraction(text: str) -> str:
    return text[text.find(".") :] if "." in text else ""


def _stripped(text: str) -> str:
    return text.rstrip("0").rstrip(".") if "." in text else text
