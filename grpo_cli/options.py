"""The options of all commands: four frozen dataclasses, each option defined once, and `with_options` that spreads them.

A command takes these dataclasses as parameters; `with_options` turns their fields into the command's options, and
gives the command the dataclasses back. Names, help and defaults are then the same wherever an option stands.
"""

from __future__ import annotations

import functools
import inspect
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_type_hints

import typer

from grpo_cli.core.chain import BASELINES, SCALES

if TYPE_CHECKING:
    from collections.abc import Callable

_KEYS, _SCORING = "Which fields", "What counts"
_ESTIMATOR, _OUTPUT, _TABLE = "Estimator", "Output", "Table"

Files = Annotated[
    list[str],
    typer.Argument(metavar="FILES", help="JSONL or Parquet logs: paths, globs, folders, - for standard input."),
]


AUTO = "auto"
"""`--like auto`: the framework that the layout of the log is of."""


def estimators_completion(incomplete: str) -> list[tuple[str, str]]:
    """The estimators whose SPEC begins so; those of a framework once its name is there."""
    from grpo_cli.core.estimators import ESTIMATORS
    from grpo_cli.core.frameworks import FRAMEWORKS

    if "/" in incomplete:
        rows = FRAMEWORKS.get(incomplete.partition("/")[0])
        found = {estimator.spec: estimator.title for estimator in rows.estimators.values()} if rows else {}
    else:
        found = {row.name: row.title for row in ESTIMATORS.values()}
        found |= {f"{row.name}/": f"as in {row.title}" for row in FRAMEWORKS.values()}
    return [(name, title) for name, title in found.items() if name.startswith(incomplete)]


def _frameworks(incomplete: str) -> list[tuple[str, str]]:
    from grpo_cli.core.frameworks import FRAMEWORKS

    found = {row.name: row.title for row in FRAMEWORKS.values()} | {AUTO: "that of the log's layout"}
    return [(name, title) for name, title in found.items() if name.startswith(incomplete)]


def _layouts(incomplete: str) -> list[tuple[str, str]]:
    from grpo_cli.logs.layouts.table import LAYOUTS

    return [(layout.name, layout.summary) for layout in LAYOUTS.values() if layout.name.startswith(incomplete)]


@dataclass(frozen=True)
class LogOptions:
    """Which log is read, and how."""

    group_by: Annotated[
        list[str] | None,
        typer.Option(
            "--group-by",
            "-g",
            metavar="FIELD",
            help="The prompt's key; repeat, or use commas, for several.",
            rich_help_panel=_KEYS,
        ),
    ] = None
    reward: Annotated[
        list[str] | None,
        typer.Option(
            "--reward", "-r", metavar="FIELD[=WEIGHT]", help="The reward; repeat to sum several.", rich_help_panel=_KEYS
        ),
    ] = None
    step: Annotated[
        str | None,
        typer.Option(
            "--step",
            metavar="FIELD|none",
            help="The training step: always part of the key where there is one.",
            rich_help_panel=_KEYS,
        ),
    ] = None
    group_size: Annotated[
        int | None,
        typer.Option(
            "--group-size",
            metavar="N",
            min=1,
            help="Split a key with more rollouts into blocks of N, in file order.",
            rich_help_panel=_KEYS,
        ),
    ] = None
    rollout_id: Annotated[
        str | None,
        typer.Option(
            "--rollout-id",
            metavar="FIELD",
            help="Rows of one group that share it are one rollout, counted once.",
            rich_help_panel=_KEYS,
        ),
    ] = None
    length: Annotated[
        str | None,
        typer.Option(
            "--length",
            metavar="FIELD",
            help="Completion length in tokens, where an estimator needs it.",
            rich_help_panel=_KEYS,
        ),
    ] = None
    outcome: Annotated[
        str | None,
        typer.Option(
            "--outcome",
            metavar="FIELD",
            help="Pass or fail from a field of its own, for shaped rewards.",
            rich_help_panel=_KEYS,
        ),
    ] = None
    unscored_if: Annotated[
        str | None,
        typer.Option(
            "--unscored-if",
            metavar="SQL",
            help="Leave rollouts out of the statistics: \"status != 'ok'\".",
            rich_help_panel=_SCORING,
        ),
    ] = None
    steps: Annotated[
        str | None,
        typer.Option(
            "--steps",
            metavar="A:B",
            help="Only these steps, both ends included; -20: is the last 20.",
            rich_help_panel=_SCORING,
        ),
    ] = None
    on_bad_line: Annotated[
        Literal["error", "skip"],
        typer.Option(
            "--on-bad-line",
            help="Lines that are no records: stop, or leave them as they are.",
            rich_help_panel=_SCORING,
        ),
    ] = "error"
    pass_threshold: Annotated[
        float | None,
        typer.Option(
            "--pass-threshold",
            metavar="X",
            help="The reward from which a rollout passes (1 for 0/1 and -1/1 rewards).",
            rich_help_panel=_SCORING,
        ),
    ] = None
    tolerance: Annotated[
        float | None,
        typer.Option(
            "--tolerance",
            metavar="X",
            min=0,
            help="Relative spread up to which a group is zero-variance (default 5e-7); 0 is exactly constant.",
            rich_help_panel=_SCORING,
        ),
    ] = None
    layout: Annotated[
        str | None,
        typer.Option(
            "--layout",
            metavar="NAME",
            help="How the log is laid out; otherwise recognised: trl, verl, ms-swift ...",
            autocompletion=_layouts,
            rich_help_panel=_KEYS,
        ),
    ] = None
    split: Annotated[
        Literal["train", "eval", "all"] | None,
        typer.Option(
            "--split",
            help="Which files, where the layout tells training from evaluation. (default: train)",
            rich_help_panel=_SCORING,
        ),
    ] = None
    quiet: Annotated[
        bool,
        typer.Option(
            "--quiet", "-q", metavar=" ", help="No notes on standard error; errors still.", rich_help_panel=_SCORING
        ),
    ] = False


@dataclass(frozen=True)
class EstimatorOptions:
    """Which formula."""

    estimator: Annotated[
        str | None,
        typer.Option(
            "--estimator",
            "-e",
            metavar="SPEC",
            help="Such as rloo, or grpo:ddof=1; grpo-adv estimators lists them.",
            autocompletion=estimators_completion,
            rich_help_panel=_ESTIMATOR,
        ),
    ] = None
    like: Annotated[
        str | None,
        typer.Option(
            "--like",
            metavar="FRAMEWORK",
            help="Whose conventions: trl, verl ...; auto goes by the log's layout. Alone, its default estimator.",
            autocompletion=_frameworks,
            rich_help_panel=_ESTIMATOR,
        ),
    ] = None
    baseline: Annotated[
        str | None,
        typer.Option(
            "--baseline",
            metavar="WHAT",
            help=f"What is subtracted: {', '.join(BASELINES[:-1])}; or a field of the log.",
            rich_help_panel=_ESTIMATOR,
        ),
    ] = None
    scale: Annotated[
        str | None,
        typer.Option(
            "--scale", metavar="WHAT", help=f"What is divided by: {', '.join(SCALES)}.", rich_help_panel=_ESTIMATOR
        ),
    ] = None
    ddof: Annotated[
        int | None,
        typer.Option(
            "--ddof",
            metavar="0|1",
            min=0,
            max=1,
            help="0: population std, as numpy; 1: sample std, as torch.",
            rich_help_panel=_ESTIMATOR,
        ),
    ] = None
    eps: Annotated[
        float | None, typer.Option("--eps", metavar="X", min=0, help="Added to the std.", rich_help_panel=_ESTIMATOR)
    ] = None
    missing: Annotated[
        Literal["null", "zero-advantage", "zero-reward", "propagate", "error"] | None,
        typer.Option(
            "--missing",
            help="What a rollout without a reward gets. null and zero-advantage keep it out of the statistics.",
            rich_help_panel=_ESTIMATOR,
        ),
    ] = None
    singleton: Annotated[
        Literal["zero", "reward", "null", "error"] | None,
        typer.Option("--singleton", help="What the only scored rollout of a group gets.", rich_help_panel=_ESTIMATOR),
    ] = None

    aggregate: Annotated[
        Literal["sum-then-normalize", "normalize-then-sum"] | None,
        typer.Option(
            "--aggregate",
            help="Several rewards: their sum normalized, or each on its own and then summed (GDPO).",
            rich_help_panel=_ESTIMATOR,
        ),
    ] = None
    whiten: Annotated[
        Literal["none", "rows", "tokens"] | None,
        typer.Option(
            "--whiten",
            help="A last step: less the batch mean, over the batch std; a rollout counts once, or once a token.",
            rich_help_panel=_ESTIMATOR,
        ),
    ] = None

    @property
    def given(self) -> bool:
        """Whether a formula was asked for at all."""
        return bool(self.estimator or self.like or self.axes)

    @property
    def axes(self) -> dict[str, Any]:
        """The axes that were given."""
        names = [field.name for field in fields(self) if field.name not in ("estimator", "like")]
        return {name: getattr(self, name) for name in names if getattr(self, name) is not None}


@dataclass(frozen=True)
class OutputOptions:
    """Where the result goes."""

    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            metavar="PATH|DIR/|-",
            help="Where to write; - is standard output. Otherwise X.advantages.EXT beside X.EXT.",
            rich_help_panel=_OUTPUT,
        ),
    ] = None
    in_place: Annotated[
        bool,
        typer.Option(
            "--in-place",
            "-i",
            metavar=" ",
            help="Add the field to the input files themselves.",
            rich_help_panel=_OUTPUT,
        ),
    ] = False
    force: Annotated[
        bool,
        typer.Option(
            "--force",
            "-f",
            metavar=" ",
            help="Write over an existing output file, or an existing --column.",
            rich_help_panel=_OUTPUT,
        ),
    ] = False
    column: Annotated[
        str | None,
        typer.Option(
            "--column",
            metavar="NAME",
            help="What to call the field.",
            show_default="advantage",
            rich_help_panel=_OUTPUT,
        ),
    ] = None
    with_group_stats: Annotated[
        bool,
        typer.Option(
            "--with-group-stats",
            metavar=" ",
            help="Also write group_id, group_n, group_mean, group_std and group_status.",
            rich_help_panel=_OUTPUT,
        ),
    ] = False


@dataclass(frozen=True)
class TableOptions:
    """How a table is shown."""

    format: Annotated[
        Literal["auto", "table", "json", "jsonl", "csv", "tsv", "md"],
        typer.Option("--format", help="auto is a table on a terminal and TSV in a pipe.", rich_help_panel=_TABLE),
    ] = "auto"
    sort: Annotated[
        str | None, typer.Option("--sort", metavar="COLUMN", help="Sort by a column.", rich_help_panel=_TABLE)
    ] = None
    desc: Annotated[
        bool, typer.Option("--desc", metavar=" ", help="Sort the other way round.", rich_help_panel=_TABLE)
    ] = False
    limit: Annotated[
        int | None,
        typer.Option(
            "--limit",
            metavar="N",
            min=0,
            help="Show N rows; 0 is all. (default: 20 in a table, all in a pipe)",
            rich_help_panel=_TABLE,
        ),
    ] = None

    @property
    def how(self) -> dict[str, Any]:
        """What `Screen.show` takes."""
        return {"format": self.format, "sort": self.sort, "descending": self.desc, "limit": self.limit}


def with_options(command: Callable[..., None]) -> Callable[..., None]:
    """`command` with each dataclass among its parameters spread into options, and `screen` taken from the context."""
    hints = get_type_hints(command, include_extras=True)
    spread: dict[str, Any] = {name: hint for name, hint in hints.items() if is_dataclass(hint) and name != "screen"}
    parameters = [inspect.Parameter("context", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context)]
    for name, parameter in inspect.signature(command).parameters.items():
        if name in spread:
            inner = get_type_hints(spread[name], include_extras=True)
            parameters += [
                inspect.Parameter(
                    field.name, inspect.Parameter.KEYWORD_ONLY, default=field.default, annotation=inner[field.name]
                )
                for field in fields(spread[name])
            ]
        elif name != "screen":
            kind = inspect.Parameter.KEYWORD_ONLY if len(parameters) > 1 else parameter.kind
            parameters.append(parameter.replace(annotation=hints[name], kind=kind))

    @functools.wraps(command)
    def run(context: typer.Context, **given: Any) -> None:
        packed: dict[str, Any] = {
            name: options(**{field.name: given.pop(field.name) for field in fields(options)})
            for name, options in spread.items()
        }
        quiet = any(getattr(options, "quiet", False) for options in packed.values())
        screen = {"screen": replace(context.obj, quiet=quiet)} if "screen" in hints else {}
        try:
            command(**given, **packed, **screen)
        except BrokenPipeError as error:
            # Typer would make exit code 1 of it, which says that a check failed.
            raise typer.Exit(0) from error

    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters} | {"return": None}
    del run.__wrapped__
    return run
