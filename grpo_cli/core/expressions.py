"""Conditions that a person types: SQL expressions over the columns of a table, as `mean > 0.2 and n = 8`."""

from __future__ import annotations

import polars as pl
from polars.exceptions import PanicException, PolarsError

from grpo_cli.errors import UsageError, did_you_mean

HINT = "write a condition as in SQL: mean > 0.2 and n = 8, or status = 'mixed'"


def holds(text: str, frame: pl.DataFrame) -> pl.Series:
    """For each row whether the condition holds; null where it is about a null.

    Raises:
        UsageError: it is not an SQL expression, names a column that is not there, or is no condition.
    """
    names = columns_of(text, frame.columns)
    for name in names:
        if name not in frame.columns:
            raise _no_such_column(text, name, frame.columns)
    try:
        result = frame.with_columns(pl.sql_expr(text).alias(" holds"))[" holds"]
    except (PolarsError, PanicException) as error:
        raise UsageError(f"{text}: {_first_line(error)}", hint=HINT) from error
    if result.dtype == pl.Null:
        return result.cast(pl.Boolean)
    if result.dtype != pl.Boolean:
        raise UsageError(f"{text}: this is no condition, since it is neither true nor false", hint=HINT)
    return result


def columns_of(text: str, known: list[str]) -> list[str]:
    """The columns that an expression names, each once, by first appearance.

    Raises:
        UsageError: it is not an SQL expression.
    """
    try:
        return list(dict.fromkeys(pl.sql_expr(text).meta.root_names()))
    except (PolarsError, PanicException) as error:
        hint = f"{HINT}; there is: {', '.join(known)}"
        raise UsageError(f"{text}: not a condition: {_first_line(error)}", hint=hint) from error


def _no_such_column(text: str, name: str, known: list[str]) -> UsageError:
    if f'"{name}"' in text:
        hint = f"text is written in single quotes: '{name}'; columns: {', '.join(known)}"
        return UsageError(f'{text}: there is no column "{name}"', hint=hint)
    return UsageError(f"{text}: there is no column {name}", hint=did_you_mean(name, known))


def _first_line(error: BaseException) -> str:
    return str(error).strip().split("\n", 1)[0]
