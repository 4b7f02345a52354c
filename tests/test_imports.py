"""Who may import whom, what is loaded when, and that public functions say what they do."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import grpo_cli

PACKAGE = Path(grpo_cli.__file__).parent
MODULES = {
    ".".join(["grpo_cli", *path.relative_to(PACKAGE).with_suffix("").parts]).removesuffix(".__init__"): path
    for path in sorted(PACKAGE.rglob("*.py"))
}
TREES = {name: ast.parse(path.read_text()) for name, path in MODULES.items()}

APP = {"grpo_cli.app", "grpo_cli.command_group"}
# The rooms, and what a module of each may import besides the standard library and its own room.
EVERYBODY = {"grpo_cli.errors", "grpo_cli.frame"}
MAY = {
    "core": {"polars", *EVERYBODY},
    "logs": {"polars", "pyarrow", "thrift", *EVERYBODY},
    "render": {"polars", "rich", *EVERYBODY},
    "commands": {"polars", "typer", "rich", "grpo_cli.core", "grpo_cli.logs", "grpo_cli.render", "grpo_cli.options",
                 *EVERYBODY},
}  # fmt: skip


def imported(name: str) -> set[str]:
    """Every module that a module imports, within functions too, and under TYPE_CHECKING."""
    found = set()
    for node in ast.walk(TREES[name]):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name} has a relative import"
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in {
            "__import__",
            "import_module",
        }:
            found.add("a name made at run time")
    return found


def within(module: str, allowed: str) -> bool:
    return module == allowed or module.startswith(f"{allowed}.")


@pytest.mark.parametrize("room", MAY)
def test_a_room_imports_only_what_it_may(room):
    own = f"grpo_cli.{room}"
    modules = [name for name in TREES if within(name, own)]
    assert len(modules) > 3
    for name in modules:
        for module in imported(name):
            top = module.partition(".")[0]
            if top not in sys.stdlib_module_names:
                assert within(module, own) or any(within(module, other) for other in MAY[room]), f"{name}: {module}"


def test_only_the_app_imports_commands():
    for name in TREES:
        if name not in APP and not within(name, "grpo_cli.commands"):
            assert not any(within(module, "grpo_cli.commands") for module in imported(name)), name


def test_what_all_may_import_imports_little():
    for name in EVERYBODY:
        assert not any(within(module, "grpo_cli") for module in imported(name)), name


def is_public(name: str) -> bool:
    return not name.startswith("_")


def test_every_public_function_and_class_says_what_it_is():
    silent = []
    for name, tree in TREES.items():
        assert ast.get_docstring(tree) or not tree.body, f"{name} has no docstring"
        for node in tree.body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and is_public(node.name):
                if not ast.get_docstring(node):
                    silent.append(f"{name}.{node.name}")
                silent += [
                    f"{name}.{node.name}.{inner.name}"
                    for inner in node.body
                    if isinstance(node, ast.ClassDef)
                    and isinstance(inner, ast.FunctionDef)
                    and is_public(inner.name)
                    and not ast.get_docstring(inner)
                ]
    assert not silent, silent


def test_only_render_prints():
    for name, tree in TREES.items():
        if within(name, "grpo_cli.render"):
            continue
        calls = [ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)]
        printed = [call for call in calls if call in {"print", "sys.stdout.write", "sys.stderr.write", "typer.echo"}]
        assert len(printed) == (1 if name == "grpo_cli.app" else 0), name  # --version


def loaded(code: str, tmp_path: Path) -> set[str]:
    """The heavy libraries that a process has loaded after it ran `code`."""
    end = "print(*({name.partition('.')[0] for name in sys.modules} | set(sys.modules)), file=sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-c", f"import sys, atexit\natexit.register(lambda: {end})\n{code}"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return set(done.stderr.splitlines()[-1].split()) & {"polars", "pyarrow", "numpy", "pandas", "rich.progress"}


def main(*arguments: str) -> str:
    return f"from grpo_cli.app import main; main({list(arguments)!r})"


@pytest.mark.parametrize("arguments", [("--help",), ("compute", "--help"), ("--version",)])
def test_help_and_version_load_no_heavy_library(tmp_path, arguments):
    assert loaded(main(*arguments), tmp_path) == set()


def test_completion_loads_no_heavy_library(tmp_path):
    ask = (
        "import os; os.environ |= {'_GRPO_ADV_COMPLETE': 'complete_bash', 'COMP_WORDS': 'grpo-adv compute -e r',"
        " 'COMP_CWORD': '3'}\n"
    )
    assert loaded(ask + main(), tmp_path) == set()


def test_a_jsonl_run_loads_no_pyarrow(tmp_path):
    (tmp_path / "x.jsonl").write_text('{"prompt_id": "a", "reward": 1}\n{"prompt_id": "a", "reward": 0}\n')
    assert loaded(main("compute", "x.jsonl"), tmp_path) == {"polars"}
