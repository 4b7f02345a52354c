"""The measurements as a table for people, and as plain values for a file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from data import SETS
from measure import MEGA, Runs
from works import BYTES_A_ROW, OURS, TENFOLD, WORKS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


def table(results: Mapping[str, Mapping[str, Runs]], machine: Mapping[str, str], scale: float) -> str:
    """A line a contender, a line a bar, and what they were measured on."""
    heads = "".join(f"{head:>9}" for head in ("median s", "least", "most", "ours/it", "CPU s", "ours/it", "peak MB"))
    lines = [f"{'work':<22}{'who':<18} {heads}"]
    for name, measured in results.items():
        lines += [_line(name, who, runs, measured[OURS]) for who, runs in measured.items()]
    lines += ["", f"{'bar':<64}{'is':>9}{'at most':>9}"]
    lines += [
        f"{text:<64}{_short(value):>9}{_short(most):>9}  {'' if value <= most else 'MISSED'}".rstrip()
        for text, value, most in bars(results, scale)
    ]
    return "\n".join([*lines, "", *(f"{name}: {text}" for name, text in machine.items())])


def _line(work: str, who: str, runs: Runs, ours: Runs) -> str:
    if runs.fault:
        return f"{work:<22}{who:<18}cannot: {runs.fault[:80]}"
    seconds = sorted(run.seconds for run in runs.runs)
    compared = who != OURS and not ours.fault
    ratio, busy = (f"{ours.seconds / runs.seconds:.3f}", f"{ours.busy / runs.busy:.3f}") if compared else ("", "")
    figures = f"{runs.seconds:>10.3f}{seconds[0]:>9.3f}{seconds[-1]:>9.3f}{ratio:>9}"
    figures += f"{runs.busy:>9.3f}{busy:>9}{runs.peak / MEGA:>9.0f}"
    return f"{work:<22}{who:<18}{figures}"


def _short(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def bars(results: Mapping[str, Mapping[str, Runs]], scale: float) -> Iterator[tuple[str, float, float]]:
    """Each bar that these results can be held to: what it is, what was measured, what it may be."""
    for name, measured in results.items():
        work, ours = WORKS[name], measured[OURS]
        if ours.fault:
            continue
        for bar in work.bars:
            there = [measured[who].seconds for who in bar.against if who in measured and not measured[who].fault]
            if there:
                yield f"{name}: time over {', '.join(bar.against)}", ours.seconds / min(there), bar.most
        if work.peak:
            yield f"{name}: peak memory, MB", ours.peak / MEGA, work.peak
        if work.tenfold in results and not results[work.tenfold][OURS].fault:
            large = results[work.tenfold][OURS]
            rows = SETS[WORKS[work.tenfold].data or ""].size(scale) - SETS[work.data or ""].size(scale)
            yield f"{work.tenfold}: time over {name}", large.seconds / ours.seconds, TENFOLD
            yield f"{work.tenfold}: memory over {name}, bytes a row", (large.peak - ours.peak) / rows, BYTES_A_ROW


def as_dict(results: Mapping[str, Mapping[str, Runs]], scale: float) -> dict[str, Any]:
    """All figures."""
    return {
        "works": {
            name: {
                who: {
                    "seconds": [run.seconds for run in runs.runs],
                    "cpu_seconds": [run.busy for run in runs.runs],
                    "peak_bytes": [run.peak for run in runs.runs],
                    "fault": runs.fault,
                }
                for who, runs in measured.items()
            }
            for name, measured in results.items()
        },
        "bars": [{"bar": text, "is": value, "at_most": most} for text, value, most in bars(results, scale)],
    }
