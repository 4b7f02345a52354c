"""Side by side with Polars, DuckDB and pandas on the same work: times, ratios, peak memory.

    python benchmarks/run.py --quick                 # a hundredth of the rows: does it work?
    python benchmarks/run.py                         # everything: some 12 GB of disk, and an hour
    python benchmarks/run.py parquet-6m jsonl-2600k  # these works
    python benchmarks/run.py --clean                 # remove the data

Every run is a process of its own, the contenders take turns, and what is compared are medians. Needs the `bench` extra.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
from pathlib import Path

from data import QUICK, SETS
from machine import described
from measure import FailedRunError, Run, Runs, run
from report import as_dict, table
from works import FIELDS, IMPORTS, OURS, WORKS, Work

HERE = Path(__file__).parent
DATA = HERE / ".data"


def main() -> int:
    """Measure what is asked for; the exit code is 1 where outputs differ."""
    asked = _arguments()
    folder: Path = asked.folder
    if asked.clean:
        shutil.rmtree(folder, ignore_errors=True)
        return 0
    scale = QUICK if asked.quick else asked.scale
    works = [WORKS[name] for name in asked.works or WORKS]
    results: dict[str, dict[str, Runs]] = {}
    faults: list[str] = []
    for at, work in enumerate(works):
        source = _made(work, folder, scale)
        results[work.name] = _measured(work, source, folder, asked.repeat, set(asked.without))
        if work.compared:
            faults += _disagreements(source, folder, results[work.name])
        shutil.rmtree(folder / "out", ignore_errors=True)
        if asked.drop and source and all(work.data != later.data for later in works[at + 1 :]):
            shutil.rmtree(source.parent)
    machine = described(folder)
    print(table(results, machine, scale))
    print("\n".join(faults) or "all outputs agree")
    if asked.json:
        asked.json.write_text(json.dumps({"machine": machine, "scale": scale, **as_dict(results, scale)}, indent=1))
    return 1 if faults else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("works", nargs="*", metavar="WORK", help=f"which of: {', '.join(WORKS)}")
    parser.add_argument("--quick", action="store_true", help="a hundredth of the rows")
    parser.add_argument("--scale", type=float, default=1.0, help="this share of the rows")
    parser.add_argument("--repeat", type=int, default=5, help="runs of each contender")
    parser.add_argument("--without", nargs="*", default=[], metavar="WHO", help="leave out contenders, such as pandas")
    parser.add_argument("--folder", type=Path, default=DATA, help="where data and outputs are")
    parser.add_argument("--json", type=Path, help="also write all figures to this file")
    parser.add_argument("--drop", action="store_true", help="remove each data set once it has been used")
    parser.add_argument("--clean", action="store_true", help="remove the data and do nothing else")
    asked = parser.parse_args()
    if unknown := [name for name in asked.works if name not in WORKS]:
        parser.error(f"there is no work {unknown[0]}; there is {', '.join(WORKS)}")
    return asked


def _made(work: Work, folder: Path, scale: float) -> Path | None:
    """The data of a work, made where it is not there yet."""
    if work.data is None:
        return None
    data = SETS[work.data]
    path = folder / f"{scale:g}" / data.name / data.path
    subprocess.run([sys.executable, str(HERE / "data.py"), data.name, str(path), str(scale)], check=True)
    return path


def _measured(work: Work, source: Path | None, folder: Path, repeat: int, without: set[str]) -> dict[str, Runs]:
    """Every contender so many times, in turn."""
    whos = [OURS, *(who for who in work.contenders if who not in without)]
    runs: dict[str, list[Run]] = {who: [] for who in whos}
    faults: dict[str, str] = {}
    for _ in range(repeat * work.repeat):
        for who in whos:
            if who in faults:
                continue
            target = _output(folder, who, source)
            try:
                runs[who].append(run(_command(work, who, source, target)))
            except FailedRunError as error:
                faults[who] = str(error)
            subprocess.run(["sync"], check=True)  # what one leaves to be written is not for the next to wait for
    return {who: Runs(runs[who], faults.get(who, "")) for who in whos}


def _output(folder: Path, who: str, source: Path | None) -> Path:
    """Where a contender writes: nothing is there yet."""
    out = folder / "out" / who.replace(" ", "-")
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    return out if source is None or source.is_dir() else out / f"out{source.suffix}"


def _command(work: Work, who: str, source: Path | None, target: Path) -> list[str]:
    if who in IMPORTS:
        return [sys.executable, "-c", IMPORTS[who]]
    if who != OURS:
        return [sys.executable, str(HERE / "contenders.py"), who, str(source), str(target)]
    to = f"{target}/" if target.is_dir() else str(target)
    words = [word.format(source=source, target=to) for word in work.command]
    program = Path(sys.executable).with_name(OURS)
    return [str(program), *words, *(FIELDS if source else ())]


def _disagreements(source: Path | None, folder: Path, measured: dict[str, Runs]) -> list[str]:
    whos = [who for who, runs in measured.items() if not runs.fault and who != "copy"]
    if OURS not in whos:
        return [f"{source}: {OURS} failed: {measured[OURS].fault}"]
    assert source is not None
    outputs = [str(folder / "out" / who / ("" if source.is_dir() else f"out{source.suffix}")) for who in whos]
    command = [sys.executable, str(HERE / "agreement.py"), str(source), *outputs]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    return (done.stdout + done.stderr).strip().splitlines() if done.returncode else []


if __name__ == "__main__":
    sys.exit(main())
