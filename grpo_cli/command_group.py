"""The commands as Typer takes them: each is loaded when it is run, or when its own help or completion is asked for."""

from __future__ import annotations

from importlib import import_module
from inspect import cleandoc
from typing import TYPE_CHECKING, Any, Final

from typer.core import TyperCommand, TyperGroup
from typer.main import get_command_from_info
from typer.models import CommandInfo

from grpo_cli.commands import PANELS

if TYPE_CHECKING:
    from collections.abc import Callable

MARKUP: Final = "rich"


class CommandGroup(TyperGroup):
    """`grpo-adv`: lists its commands by `PANELS`, and loads the one that is meant."""

    def __init__(self, **settings: Any) -> None:
        """List the commands: names and first sentences, in panels."""
        super().__init__(**settings)
        for panel, commands in PANELS.items():
            for name, summary in commands.items():
                self.add_command(TyperCommand(name, help=escaped(summary), rich_help_panel=panel, callback=None))

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """The command that the arguments begin with, loaded, and the arguments that are left."""
        name, listed, rest = super().resolve_command(ctx, args)
        return name, listed and load(listed.name or ""), rest


def load(name: str) -> Any:
    """The command of this name: the function in the module of this name, with its options and its help."""
    module = import_module(f"grpo_cli.commands.{name}")
    command: Callable[..., None] = getattr(module, name)
    told = CommandInfo(name, callback=command, help=_help(command, module.EXAMPLES))
    return get_command_from_info(told, pretty_exceptions_short=True, rich_markup_mode=MARKUP)


def _help(command: Callable[..., None], examples: str) -> str:
    """The docstring as flowing paragraphs, then the examples, a line each."""
    paragraphs = [" ".join(paragraph.split()) for paragraph in cleandoc(command.__doc__ or "").split("\n\n")]
    lines = ["Examples:", *(f"  {line}" for line in examples.strip().splitlines())]
    return escaped("\n\n".join([*paragraphs, "\n".join(lines)]))


def escaped(text: str) -> str:
    """Text of which no bracket is taken for markup."""
    return text.replace("[", "\\[")
