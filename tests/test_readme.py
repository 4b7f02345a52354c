"""The README shows what the program prints, and leads nowhere that is not there."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"^```console\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
LEFT_OUT = "..."


def sessions() -> list[list[tuple[str, list[str]]]]:
    """For each block its commands, each with the lines it should print; `\\` at the end of a command continues it."""
    found = []
    for block in BLOCKS:
        commands: list[tuple[str, list[str]]] = []
        continued = False
        for line in block.splitlines():
            if line.startswith("$ "):
                commands.append((line.removeprefix("$ "), []))
            elif continued:
                commands[-1] = (f"{commands[-1][0]}\n{line}", [])
            else:
                commands[-1][1].append(line)
            continued = line.endswith("\\") and not commands[-1][1]
        found.append(commands)
    return found


def as_shown(shown: list[str], printed: list[str]) -> bool:
    """Whether `printed` is `shown`, where a line `...` stands for any lines."""
    if LEFT_OUT not in shown:
        return shown == printed
    at = shown.index(LEFT_OUT)
    head, tail = shown[:at], shown[at + 1 :]
    return printed[:at] == head and any(as_shown(tail, printed[start:]) for start in range(at, len(printed) + 1))


class Reader:
    """Someone who types the blocks one after another, in a copy of the sample data."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.programs = folder / "data", folder / "bin"
        shutil.copytree(ROOT / "sample_data", self.folder, ignore=shutil.ignore_patterns("*.advantages.*"))
        self.programs.mkdir()
        program = self.programs / "grpo-adv"
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m grpo_cli "$@"\n')
        program.chmod(0o755)

    def types(self, command: str) -> str:
        """What is then on the screen."""
        gone = {"NO_COLOR", "FORCE_COLOR", "COLUMNS"}
        environment = {name: value for name, value in os.environ.items() if name not in gone}
        return subprocess.run(
            ["bash", "-c", command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=self.folder,
            env=environment | {"PATH": f"{self.programs}:{environment['PATH']}", "COLUMNS": "120"},
            timeout=60,
            check=False,
        ).stdout


@pytest.fixture(scope="module")
def reader(tmp_path_factory):
    return Reader(tmp_path_factory.mktemp("readme"))


@pytest.mark.parametrize("number", range(len(BLOCKS)))
def test_a_block_shows_what_the_program_prints(reader, number):
    for command, shown in sessions()[number]:
        printed = reader.types(command)
        assert as_shown(shown, printed.splitlines()), f"$ {command}\n{printed}"


def test_there_are_blocks_and_they_are_sessions():
    assert len(BLOCKS) >= 5
    assert all(block.startswith("$ ") for block in BLOCKS)


def test_a_left_out_part_stands_for_any_lines():
    assert as_shown(["a", "...", "c"], ["a", "b", "b", "c"])
    assert as_shown(["..."], [])
    assert not as_shown(["a", "..."], ["b", "c"])
    assert not as_shown(["a"], ["a", "b"])


def test_every_link_leads_somewhere():
    links = re.findall(r"\]\(([^)]+)\)", README)
    for link in links:
        if not re.match(r"[a-z]+:", link):
            path, _, anchor = link.partition("#")
            assert not path or (ROOT / path).exists(), link
            headings = re.findall(r"^#+ (.*)$", (ROOT / path).read_text() if path else README, re.MULTILINE)
            anchors = {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}
            assert not anchor or anchor in anchors, link


def test_the_two_commands_of_a_fresh_machine_are_one_line_each():
    commands = [line for line in README.splitlines() if line.startswith("python3 -m venv ")]
    assert len(commands) == 2
    assert "grpo-adv compute sample_data/" in commands[0]
    assert "[dev]" in commands[1]
    assert " -m pytest" in commands[1]
    assert "--force" in commands[0], "a second run finds its own output"
    assert (ROOT / "sample_data" / "rollouts.jsonl").exists()


def rewritten(reader: Reader) -> str:
    """The README with its blocks as the program prints them now; a block with a left-out part stays."""
    text = README
    for block, commands in zip(BLOCKS, sessions(), strict=True):
        now = "".join(f"$ {command}\n{reader.types(command)}" for command, _ in commands)
        if LEFT_OUT not in block.splitlines():
            text = text.replace(f"```console\n{block}```", f"```console\n{now}```")
    return text


if __name__ == "__main__":
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        sys.stdout.write(rewritten(Reader(Path(folder))))
