"""A command is listed as its own help begins, and a list of them loads nothing that it does not need."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from grpo_cli import commands
from grpo_cli.command_group import load

NAMES = {name: summary for listed in commands.PANELS.values() for name, summary in listed.items()}
HEAVY = ("polars", "pyarrow", "pydantic", "rich.progress", "grpo_cli.commands.", "grpo_cli.logs.", "tempfile")


@pytest.mark.parametrize("name", NAMES)
def test_a_command_is_listed_as_its_help_begins(name):
    command = load(name)
    assert command.name == name
    assert command.help.split("\n\n")[0] == NAMES[name]


def test_every_command_is_listed():
    folder = Path(commands.__file__).parent
    with_examples = {path.stem for path in folder.glob("*.py") if "\nEXAMPLES = " in path.read_text()}
    assert with_examples == set(NAMES)


@pytest.mark.parametrize(
    ("arguments", "left_out"),
    [(["--help"], HEAVY), (["compute", "--help"], ("polars", "pyarrow", "rich.progress"))],
)
def test_help_loads_nothing_heavy(arguments, left_out):
    code = (
        f"import sys; from grpo_cli.app import run; run({arguments}); print('\\n'.join(sys.modules), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "Usage: grpo-adv" in done.stdout
    assert [name for name in done.stderr.split() if name.startswith(left_out)] == []


def test_compute_on_jsonl_needs_no_pyarrow(tmp_path):
    log = tmp_path / "log.jsonl"
    log.write_text('{"prompt": "a", "reward": 1}\n{"prompt": "a", "reward": 0}\n')
    code = f"import sys; from grpo_cli.app import run; run(['compute', {str(log)!r}, '-q']); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (tmp_path / "log.advantages.jsonl").exists()
    loaded = done.stdout.split()
    assert "polars" in loaded
    assert [name for name in loaded if name.startswith(("pyarrow", "rich.progress", "rich.markdown"))] == []


def test_a_misspelt_command_is_told_its_like():
    done = subprocess.run([sys.executable, "-m", "grpo_cli", "compue"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("grpo-adv: no such command 'compue'. Did you mean 'compute'")
