"""The package declares what it imports, and is what it says."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from importlib.metadata import entry_points, version
from pathlib import Path

import grpo_cli

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def names(requirements: list[str]) -> set[str]:
    return {re.match(r"[\w-]+", requirement)[0].replace("-", "_") for requirement in requirements}


def third_party(folder: Path, own: set[str]) -> dict[str, set[str]]:
    """Top-level modules that are imported and neither ours nor Python's; what `importorskip` asks for is optional."""
    found: dict[str, set[str]] = {}
    for path in folder.rglob("*.py"):
        text = path.read_text()
        optional = set(re.findall(r"importorskip\(\"(\w+)", text))
        for node in ast.walk(ast.parse(text)):
            modules: list[str] = []
            if isinstance(node, ast.Import):
                modules = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module:
                modules = [node.module]
            for top in {module.partition(".")[0] for module in modules}:
                if top not in sys.stdlib_module_names | own | optional:
                    found.setdefault(top, set()).add(path.name)
    return found


def test_run_time_dependencies_are_what_the_package_imports():
    assert set(third_party(ROOT / "grpo_cli", {"grpo_cli"})) == names(PROJECT["dependencies"])


def test_tests_need_no_more_than_the_dev_extra():
    extra = names(PROJECT["optional-dependencies"]["dev"]) | names(PROJECT["dependencies"])
    local = {path.stem for path in (ROOT / "tests").rglob("*.py")}
    undeclared = {module: files for module, files in third_party(ROOT / "tests", {"grpo_cli", *local}).items()
                  if module not in extra}  # fmt: skip
    assert not undeclared, undeclared


def test_one_version_everywhere(grpo):
    assert version("grpo-adv") == grpo_cli.__version__
    assert grpo("--version").out.startswith(f"grpo-adv {grpo_cli.__version__} (polars ")
    assert f"## {grpo_cli.__version__}" in (ROOT / "CHANGELOG.md").read_text().replace("[", "").replace("]", "")


def test_the_command_and_the_licence_and_the_types():
    (command,) = entry_points(group="console_scripts", name="grpo-adv")
    assert command.load() is __import__("grpo_cli.app", fromlist=["main"]).main
    assert (ROOT / "LICENSE").read_text().startswith("MIT License")
    assert (ROOT / "grpo_cli" / "py.typed").exists()
