"""The small logs that come with the project: each is what its folder's name says, and is read without an option."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

SAMPLES = Path(__file__).resolve().parents[1] / "sample_data"
# The sizes of the groups in each: {size: how many}.
SIZES = {
    "areal": {4: 3, 3: 1},
    "art": {4: 4},
    "atropos": {4: 4},
    "ms-swift": {4: 8},
    "nemo-gym": {4: 4},
    "nemo-rl": {4: 4},
    "open-instruct": {4: 4},
    "prime-rl": {4: 4},
    "roll": {4: 4},
    "skyrl": {4: 4},
    "tinker": {4: 8},
    "trl": {4: 8},
    "verifiers": {4: 4},
    "verifiers-v1": {4: 6, 3: 2},
    "verl": {4: 12},
    "verl-v1": {4: 4},
}
MADE_BY = {
    "trl": "trl/grpo",
    "ms-swift": "ms-swift/grpo",
    "prime-rl": "prime-rl/dr-grpo",
    "open-instruct": "open-instruct/grpo",
    "nemo-rl": "nemo-rl/grpo-loo",
}
"""Those that carry advantages, and the formula of their trainer."""


def test_there_is_no_other_sample():
    assert {path.name for path in SAMPLES.iterdir() if path.is_dir()} == set(SIZES)


@pytest.mark.parametrize("name", SIZES)
def test_a_sample_is_read_without_an_option(grpo, name):
    ran = grpo("groups", SAMPLES / name, "--format", "json")
    assert ran.code == 0, ran.err
    assert f"({name}" in ran.err
    assert Counter(row["n"] for row in ran.rows) == SIZES[name]


@pytest.mark.parametrize("name", SIZES)
def test_a_sample_can_be_written_back(grpo, tmp_path, name):
    assert grpo("compute", SAMPLES / name, "-o", f"{tmp_path}/out/", "-q").code == 0
    before = grpo("groups", SAMPLES / name, "--format", "json")
    assert grpo("groups", tmp_path / "out", "--format", "json").rows == before.rows


@pytest.mark.parametrize("name", MADE_BY)
def test_the_logged_advantages_are_those_of_the_framework(grpo, name):
    assert grpo("verify", SAMPLES / name, "-e", MADE_BY[name], "-q").code == 0
