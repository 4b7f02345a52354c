"""The command line: its commands in panels, its exit codes, and the one place where an error becomes words."""

from __future__ import annotations

import errno
import os
import re
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

import grpo_cli
from grpo_cli.command_group import MARKUP, CommandGroup
from grpo_cli.errors import GrpoAdvError
from grpo_cli.render.screen import Screen

if TYPE_CHECKING:
    from collections.abc import Sequence

DONE, FAILED_CHECK, WRONG_USE, INTERRUPTED = 0, 1, 2, 130
"""The exit codes; a closed pipe is DONE."""

DEBUG = "GRPO_ADV_DEBUG"
"""The environment variable that shows the traceback of an unexpected error."""

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_GIVE_BACK = {"_RJEM_MALLOC_CONF": "dirty_decay_ms:50,muzzy_decay_ms:0", "ARROW_DEFAULT_MEMORY_POOL": "system"}
"""Polars and pyarrow keep the memory that they free, for seconds; in a short run it would only add up. Nothing kept at
all would cost time: the next block of a file takes the place of the one before."""

_REWARDS = re.compile(r"-[\d.][\d.eE+-]*(,[\d.eE+-]+)+")
_EXIT_CODES = "Exit codes: 0 done, 1 a check failed, 2 wrong use or unreadable input, 130 interrupted."

app = typer.Typer(
    name="grpo-adv",
    cls=CommandGroup,
    help="Group-relative advantages over the rollout logs that GRPO training leaves behind: computed, written back,"
    " explained.",
    epilog=_EXIT_CODES,
    no_args_is_help=True,
    rich_markup_mode=MARKUP,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120},
)


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        libraries = ", ".join(f"{name} {version(name)}" for name in ("polars", "pyarrow"))
        python = ".".join(map(str, sys.version_info[:3]))
        print(f"grpo-adv {grpo_cli.__version__} ({libraries}, python {python})")  # noqa: T201 - as every program
        raise typer.Exit


@app.callback()
def root(
    *,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, metavar=" ", help="Show the version.")
    ] = False,
) -> None:
    """Take the options that stand before a command."""


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the program and exit."""
    sys.exit(run(sys.argv[1:] if arguments is None else arguments))


def run(arguments: Sequence[str]) -> int:
    """Run the program; return its exit code."""
    signal.signal(signal.SIGTERM, _terminated)
    _open_closed_streams()
    os.environ.update(_GIVE_BACK | os.environ)
    if replacement := _loaded("writing.replacement"):
        replacement.placed.clear()
    _no_color_wins()
    screen = Screen.of_process()
    try:
        code = _run(arguments, screen)
        sys.stdout.flush()
    except BrokenPipeError:
        code = DONE
    except OSError as error:  # a full disk behind standard output, seen at last
        screen.error(f"standard output: cannot be written: {_first_line(error.strerror or error).lower()}")
        code = WRONG_USE
    _forget_dead_streams()
    return code


def _run(arguments: Sequence[str], screen: Screen) -> int:
    try:
        outcome = app(_typed_rewards(arguments), prog_name="grpo-adv", standalone_mode=False, obj=screen)
    except GrpoAdvError as error:
        screen.error(error.message, error.hint)
        return error.exit_code
    except typer.TyperException as error:
        return _wrong_use(error, screen)
    except (KeyboardInterrupt, typer.Abort):
        return _interrupted(screen)
    except BrokenPipeError:
        raise
    except SystemExit as left:
        if left.code == FAILED_CHECK:  # Rich and Typer leave so where a pipe is closed; our checks never do
            raise BrokenPipeError from left
        raise
    except BaseException as error:  # noqa: BLE001 - a Rust panic is no Exception
        return _unexpected(error, screen)
    finally:
        if source := _loaded("files.source"):
            source.remove_spooled()
    if outcome == INTERRUPTED:
        return _interrupted(screen)
    return outcome if isinstance(outcome, int) else DONE


def _unexpected(error: BaseException, screen: Screen) -> int:
    """Whatever else comes is a fault of ours, and still one line; but for a full disk behind standard output."""
    if os.environ.get(DEBUG) or (isinstance(error, OSError) and error.errno in _FULL):
        raise error
    screen.error(
        f"unexpected {type(error).__name__}: {_first_line(error)}",
        f"this is a fault in grpo-adv; {DEBUG}=1 shows where",
    )
    return WRONG_USE


def _interrupted(screen: Screen) -> int:
    replacement = _loaded("writing.replacement")
    written = len(replacement.placed) if replacement else 0
    was = "nothing was changed" if not written else f"{written} file{'s were' if written > 1 else ' was'} written"
    screen.error(f"interrupted: {was}")
    return INTERRUPTED


def _loaded(name: str) -> Any:
    """A module of `logs`, where it is in use: what was never loaded has left nothing behind."""
    return sys.modules.get(f"grpo_cli.logs.{name}")


def _typed_rewards(arguments: Sequence[str]) -> list[str]:
    """`-1,1` is a list of rewards and no option: a space before it tells the parser, and means nothing to float."""
    return [f" {argument}" if _REWARDS.fullmatch(argument) else argument for argument in arguments]


def _wrong_use(error: typer.TyperException, screen: Screen) -> int:
    message, hint = _usage(error)
    if message:  # without any argument the help has been shown, and says it all
        screen.error(message, hint)
    return WRONG_USE


def _usage(error: typer.TyperException) -> tuple[str, str | None]:
    """A parser's error as one line and a hint."""
    message = _first_line(error.format_message()).rstrip(".")
    context: Any = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "grpo-adv"
    return message[:1].lower() + message[1:], f"{command} --help shows what there is"


def _first_line(error: object) -> str:
    return str(error).strip().split("\n", 1)[0]


def _no_color_wins() -> None:
    """NO_COLOR means no escape at all, in the help too; Rich alone would still print bold, and obey FORCE_COLOR."""
    if os.environ.get("NO_COLOR"):
        from typer import rich_utils

        os.environ.pop("FORCE_COLOR", None)
        rich_utils.COLOR_SYSTEM = None


def _terminated(_signal: int, _frame: object) -> NoReturn:
    """Leave by the ordinary way, which takes temporary files along."""
    sys.exit(128 + signal.SIGTERM)


def _open_closed_streams() -> None:
    """`>&-` closes a stream: a file opened next would take its number, and be written to by whoever writes to that."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115 - open to the end


def _forget_dead_streams() -> None:
    """Keep the interpreter from flushing into a closed pipe or a full disk at its end: it would complain."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
