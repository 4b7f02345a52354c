"""What is measured, and the bar for each: how our time may compare with another's, and how much memory may be held."""

from __future__ import annotations

from dataclasses import dataclass

OURS = "grpo-adv"
IMPORTS = {
    "import typer": "import typer",
    "import all": "import polars, pyarrow.parquet, typer, rich.table",
    "import no pyarrow": "import polars, typer, rich.table",
}
"""Contenders that do nothing but import."""


@dataclass(frozen=True)
class Bar:
    """Our median over the fastest median of `against` is at most `most`."""

    against: tuple[str, ...]
    most: float


@dataclass(frozen=True)
class Work:
    """One piece of work on one data set, by us and by others."""

    name: str
    data: str | None
    contenders: tuple[str, ...]
    """Functions of `contenders`, or names of `IMPORTS`."""
    bars: tuple[Bar, ...] = ()
    peak: int | None = None
    """Megabytes of memory that we may hold."""
    command: tuple[str, ...] = ("compute", "{source}", "-o", "{target}")
    """What we are asked to do."""
    repeat: int = 1
    """How many times as often as other works it is run: short ones are noisy."""
    tenfold: str | None = None
    """The work of ten times the rows."""

    @property
    def compared(self) -> bool:
        """Whether the outputs of all must be equal."""
        return self.command[0] == "compute" and not set(self.contenders) & set(IMPORTS)


_ALL = ("copy", "polars", "duckdb", "duckdb_ordered", "pandas")
_GROUPS = ("groups", "{source}", "--limit", "0", "--format", "csv")
_PARQUET = (Bar(("polars", "duckdb", "duckdb_ordered"), 0.25), Bar(("copy",), 2.5))
_JSONL = (Bar(("duckdb_ordered",), 0.5), Bar(("duckdb",), 1.0))

TENFOLD = 11.0
"""How many times as long ten times the rows may take."""
BYTES_A_ROW = 40
"""By how much the memory may grow for each row more."""


def _eased(bars: tuple[Bar, ...]) -> tuple[Bar, ...]:
    """The bars where the key is wide."""
    return tuple(Bar(bar.against, bar.most * 1.5) for bar in bars)


_EVERY = (
    Work("parquet-6m", "parquet-6m", _ALL, _PARQUET, peak=600),
    Work("parquet-1m", "parquet-1m", _ALL, _PARQUET),
    Work("parquet-600k", "parquet-600k", _ALL[:1], tenfold="parquet-6m"),
    Work("jsonl-2600k", "jsonl-2600k", _ALL, _JSONL, peak=600),
    Work("jsonl-260k", "jsonl-260k", _ALL[:1], tenfold="jsonl-2600k"),
    Work(
        "groups-6m",
        "parquet-6m",
        ("polars_groups", "duckdb_groups", "pandas_groups"),
        (Bar(("duckdb_groups",), 1.5),),
        command=_GROUPS,
    ),
    Work("prompts-parquet-1m", "prompts-parquet-1m", _ALL, _eased(_PARQUET)),
    Work("prompts-parquet-100k", "prompts-parquet-100k", _ALL[:1], tenfold="prompts-parquet-1m"),
    Work("messages-parquet-1m", "messages-parquet-1m", _ALL, _eased(_PARQUET)),
    Work("prompts-jsonl-40k", "prompts-jsonl-40k", _ALL, _eased(_JSONL)),
    Work("tokens-jsonl-30k", "tokens-jsonl-30k", _ALL, _JSONL),
    Work("steps-jsonl-1000", "steps-jsonl-1000", _ALL),
    Work("steps-parquet-1000", "steps-parquet-1000", _ALL),
    Work("chunks-parquet-100k", "chunks-parquet-100k", _ALL, _PARQUET[:1]),
    Work("help", None, ("import typer",), (Bar(("import typer",), 3.0),), command=("--help",), repeat=4),
    Work("compute-64-jsonl", "jsonl-64", tuple(IMPORTS)[1:], (Bar(("import all",), 1.4),), repeat=4),
    Work("compute-64-parquet", "parquet-64", ("import all",), (Bar(("import all",), 1.4),), repeat=4),
)
WORKS = {work.name: work for work in _EVERY}
FIELDS = ("-g", "prompt", "-r", "reward", "--step", "none")
"""Which fields of every data set play which role."""
