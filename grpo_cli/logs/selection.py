"""Which rollouts count: `--unscored-if` as an SQL expression over a record's fields, `--steps` as a range."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import polars as pl

from grpo_cli.errors import UsageError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Collection


class Condition:
    """An SQL expression over fields of a record, by Polars' `sql_expr`: `status != 'ok' OR error IS NOT NULL`."""

    def __init__(self, text: str, option: str) -> None:
        """Parse `text`; `option` names it in errors.

        Raises:
            UsageError: it is not an expression, or names no field.
        """
        self.text, self.option = text, option
        try:
            self.expr = pl.sql_expr(text)
            self.fields = sorted(set(self.expr.meta.root_names()))
        except (pl.exceptions.PolarsError, pl.exceptions.SQLInterfaceError) as error:
            raise UsageError(f"{option} {text!r}: {_first_line(error)}", hint=_SQL_HINT) from error
        if not self.fields:  # it holds for all rollouts or for none
            raise UsageError(f"{option} {text!r} names no field", hint=_SQL_HINT)

    def check_names(self, names: Collection[str], tops: dict[str, str]) -> None:
        """Refuse a field that no record has; `tops` gives the top-level name of each."""
        for name in self.fields:
            if tops[name] not in names:
                raise UsageError(
                    f"{self.option} {self.text!r}: no record has a field {name!r}",
                    hint=f"text stands in single quotes ('{name}'); {did_you_mean(name, names)}",
                )

    def holds(self, frame: pl.DataFrame) -> pl.Series:
        """Whether it holds, for each row; null (an unknown value) does not.

        Raises:
            UsageError: it does not fit the values, or is not a yes or no.
        """
        try:
            result = frame.select(self.expr.alias("holds"))["holds"]
        except pl.exceptions.PolarsError as error:
            types = ", ".join(f"{name} is {_type_name(frame.schema[name])}" for name in self.fields)
            raise UsageError(
                f"{self.option} {self.text!r}: {_first_line(error)}", hint=f"{types}; {_SQL_HINT}"
            ) from error
        if result.dtype != pl.Boolean:
            raise UsageError(f"{self.option} {self.text!r} is not a condition", hint=_SQL_HINT)
        if result.len() == 1 != frame.height:
            result = result.new_from_index(0, frame.height)
        if result.len() != frame.height:
            raise UsageError(f"{self.option} {self.text!r} is not a yes or no for each record", hint=_SQL_HINT)
        return result.fill_null(value=False)


_SQL_HINT = """write an SQL condition, such as: status != 'ok' or "info.truncated" = true"""


def from_json(values: pl.Series) -> pl.Series:
    """JSON texts as a column of the type they share: booleans, numbers, or text (of whatever is mixed or nested)."""
    distinct = [text for text in values.unique().to_list() if text is not None]
    decoded: dict[str, Any] = {text: json.loads(text) for text in distinct}
    kinds = {type(value) for value in decoded.values() if value is not None}
    dtype: pl.DataType
    if kinds and kinds <= {bool}:
        dtype = pl.Boolean()
    elif kinds and kinds <= {int, float, bool}:
        dtype = pl.Float64()
        decoded = {text: None if value is None else float(value) for text, value in decoded.items()}
    else:
        dtype = pl.String()
        decoded = {text: value if isinstance(value, str) else text for text, value in decoded.items()}
    table = pl.DataFrame(
        {"text": list(decoded), "value": pl.Series(list(decoded.values()), dtype=dtype, strict=False)},
        schema_overrides={"text": pl.String},
    )
    return values.to_frame("text").join(table, on="text", how="left", maintain_order="left")["value"].alias(values.name)


def steps_of(rollouts: pl.DataFrame, in_groups: pl.Series | None, text: str) -> pl.Series:
    """Which rollouts are of the steps `text`, of those `in_groups` (None: all).

    Raises:
        UsageError: there are no steps, or none of these.
    """
    if "step" not in rollouts.columns:
        raise UsageError("--steps needs a step, and this log has none", hint="name it with --step FIELD")
    steps = rollouts["step"].cast(pl.String)
    if in_groups is None:
        return steps_in_range(steps, text)
    inside = steps_in_range(steps.filter(in_groups), text)
    place = (in_groups.cum_sum().cast(pl.Int64) - 1).clip(lower_bound=0)
    return in_groups & inside.gather(place)


def steps_in_range(steps: pl.Series, text: str) -> pl.Series:
    """Whether each step is in `A:B` (both ends included), `A:`, `:B`, `A`, or `-N:` (the last N steps).

    Raises:
        UsageError: the range is none, or the steps are no numbers.
    """
    match = re.fullmatch(r"(?P<low>-?\d+)?(?P<range>:(?P<high>-?\d+)?)?", text.strip())
    if match is None or not (match["low"] or match["high"]):
        raise UsageError(
            f"--steps {text!r} is no range",
            hint="write --steps 10:20, --steps 100:, --steps 7 or --steps -20:",
        )
    numbers = steps.cast(pl.Int64, strict=False)
    if numbers.null_count():
        odd = steps.filter(numbers.is_null())[0]
        raise UsageError(f"--steps needs numbered steps, and one is {odd!r}")
    distinct = numbers.unique().sort()
    low = _bound(match["low"], distinct)
    high = _bound(match["high"], distinct) if match["range"] else low
    inside = pl.Series([True]).new_from_index(0, numbers.len())
    if low is not None:
        inside &= numbers >= low
    if high is not None:
        inside &= numbers <= high
    if not inside.any():
        raise UsageError(
            f"--steps {text}: there is no such step", hint=f"the steps are {distinct[0]} to {distinct[-1]}"
        )
    return inside


def _bound(text: str | None, distinct: pl.Series) -> int | None:
    if text is None:
        return None
    if text.startswith("-"):
        return int(distinct[max(-distinct.len(), int(text))])
    return int(text)


def _first_line(error: Exception) -> str:
    return str(error).split("\n", 1)[0].strip()


def _type_name(dtype: pl.DataType) -> str:
    return {pl.Boolean: "true/false", pl.Float64: "a number", pl.String: "text"}.get(type(dtype), str(dtype))
