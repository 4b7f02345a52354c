"""Every layout, and what else a run of its framework may have written."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from grpo_cli.logs.files.source import find
from grpo_cli.logs.layouts.reading import Asked
from grpo_cli.logs.layouts.table import LAYOUTS
from grpo_cli.logs.opening import Selection, open_log

LOGGED = [name for name in LAYOUTS if not name.startswith("groups-")] + [
    "groups-rewards", "groups-scores", "groups-rollouts",
]  # fmt: skip
ONE_A_ROW = {"lm-eval", "lighteval"}
"""Layouts that log each document once: every group is a singleton."""
NO_MISSING = {"atropos"}
"""Layouts whose writer drops what has no score."""


def opened(path, selection=None, **asked):
    return open_log(find([str(path)]), Asked(**asked), selection or Selection())


def figures(log):
    """For each group its rewards in the order of the log; the groups in order of their first reward."""
    frame = log.frame
    weights = log.reading.weights
    total = sum(frame[f"reward_{at}"] * weight for at, weight in enumerate(weights))
    groups: dict[int, list] = {}
    for group, reward in zip(frame["group"], total, strict=True):
        groups.setdefault(group, []).append(reward)
    return sorted(map(sorted_, groups.values()), key=str)


def sorted_(values):
    return sorted(values, key=lambda value: (value is None, value))


def expected(layout, rows):
    if layout in ONE_A_ROW:
        return sorted([[row.reward] for row in rows], key=str)
    groups: dict[tuple, list] = {}
    for row in rows:
        groups.setdefault((row.step, row.prompt), []).append(row.reward)
    return sorted(map(sorted_, groups.values()), key=str)


def check(layout, path, rows):
    log = opened(path)
    assert log.reading.layout.name == layout
    assert figures(log) == expected(layout, rows)
    return log


@pytest.mark.parametrize("layout", LOGGED)
def test_a_layout_is_recognised_and_read(layout, written, base):
    log = check(layout, written(layout), base)
    assert not [note for note in log.notes if "left out" in note]


@pytest.mark.parametrize("layout", LOGGED)
def test_a_short_group(layout, written, base):
    rows = [row for row in base if (row.prompt, row.sample) != (2, 3)]
    check(layout, written(layout, rows), rows)


@pytest.mark.parametrize("layout", [name for name in LOGGED if name not in NO_MISSING])
def test_a_rollout_without_a_reward(layout, written, base):
    rows = [replace(row, reward=None) if (row.prompt, row.sample) == (1, 2) else row for row in base]
    log = check(layout, written(layout, rows), rows)
    assert sum(counts.total() for counts in log.missing.values()) == 1


@pytest.mark.parametrize("layout", LOGGED)
def test_a_column_more(layout, written, base):
    rows = [replace(row, extra={"judge_note": f"fine {row.sample}"}) for row in base]
    check(layout, written(layout, rows), rows)


@pytest.mark.parametrize("layout", LOGGED)
def test_two_steps_do_not_mix(layout, written, base):
    if layout in {"verifiers", "nemo-gym", *ONE_A_ROW}:
        pytest.skip("it logs no step")
    rows = [*base, *(replace(row, step=11, reward=0.125 * row.sample) for row in base)]
    log = check(layout, written(layout, rows), rows)
    assert log.groups.named["step"].unique().sort().to_list() == ([None] if layout == "atropos" else [3, 11])


@pytest.mark.parametrize("layout", LOGGED)
def test_written_back_it_is_the_same_log_with_a_field_more(layout, written, base, grpo, tmp_path):
    path = written(layout)
    assert grpo("compute", path, "-o", tmp_path / "out/", "-q").code == 0, layout
    files = [file.relative_to(tmp_path / "out") for file in sorted((tmp_path / "out").rglob("*")) if file.is_file()]
    before, after = opened(path), opened(tmp_path / "out")
    assert after.reading.layout.name == layout
    assert figures(after) == expected(layout, base)
    assert before.reading.key_names == after.reading.key_names
    assert [str(field) for field, _ in before.reading.rewards] == [str(field) for field, _ in after.reading.rewards]
    for file in files:
        source = path if path.is_file() else path / file
        without = stripped if source.suffix == ".jsonl" else stripped_parquet
        assert without(tmp_path / "out" / file) == (source.read_text() if source.suffix == ".jsonl" else table(source))


OURS = ("advantage", "advantage_grpo")


def stripped(path):
    """A JSONL file without our field, which stands last in each line."""
    lines = []
    for line in path.read_text().splitlines():
        at = max(line.rfind(f', "{name}": ') for name in OURS)
        json.loads("{" + line[at + 2 :])
        lines.append(line[:at] + "}\n")
    return "".join(lines)


def table(path):
    import pyarrow.parquet as pq

    return pq.read_table(path)


def stripped_parquet(path):
    read = table(path)
    return read.drop_columns([read.column_names[-1]])


def test_every_layout_has_a_writer_here():
    families = {name.partition("-")[0] for name in LAYOUTS if name.startswith("groups-")}
    assert families == {"groups"}
    assert {name for name in LAYOUTS if not name.startswith("groups-")} <= set(LOGGED)


def test_no_layout_is_taken_for_another(written):
    for layout in LOGGED:
        assert opened(written(layout, name=layout)).reading.layout.name == layout
