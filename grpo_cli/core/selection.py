"""Which groups to keep: by status, pass rate, spread, or any condition over their statistics. Whole groups only."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

import polars as pl

from grpo_cli.core.expressions import holds
from grpo_cli.errors import UsageError, did_you_mean
from grpo_cli.frame import Status

_NUMBER = re.compile(r"(\d+\.?\d*|\.\d+)(/\d+)?")


@dataclass(frozen=True)
class PassRates:
    """A band of pass rates with both ends in it, held exactly: 2 of 10 is in 0.2:0.8."""

    low: Fraction
    high: Fraction

    @classmethod
    def parse(cls, text: str) -> PassRates:
        """Read `LOW:HIGH`; an end that is left out is 0 or 1. Ends may be decimals or fractions (`1/3`).

        Raises:
            UsageError: it is no such band.
        """
        low, colon, high = (part.strip() for part in text.partition(":"))
        ends = (low or "0", high or "1")
        if not all(_NUMBER.fullmatch(end) for end in ends):
            raise _no_band(text)
        try:
            band = cls(*map(Fraction, ends))
        except (ValueError, ZeroDivisionError) as error:
            raise _no_band(text) from error
        if not colon or not 0 <= band.low <= band.high <= 1:
            raise _no_band(text)
        return band

    def __contains__(self, rate: Fraction) -> bool:
        return self.low <= rate <= self.high


@dataclass(frozen=True)
class Selection:
    """What is kept: groups that every rule given here lets through."""

    keep: tuple[Status, ...] = ()
    """Only groups of these statuses; empty for any."""
    drop: tuple[Status, ...] = ()
    pass_rates: PassRates | None = None
    min_spread: float | None = None
    """Only groups with max - min of this or more."""
    where: str | None = None
    """Only groups for which this SQL condition over the summary's columns holds."""


def statuses_of(text: str) -> tuple[Status, ...]:
    """Read statuses separated by commas: `all-pass,all-fail`, or `zero-variance` for every kind without a spread.

    Raises:
        UsageError: one is no status.
    """
    found: list[Status] = []
    for name in (part.strip() for part in text.split(",")):
        known = [status.value for status in Status]
        if name == "zero-variance":
            found += [status for status in Status if status.zero_variance]
        elif name in known:
            found.append(Status(name))
        else:
            raise UsageError(f"{name!r} is no status", hint=did_you_mean(name, [*known, "zero-variance"]))
    return tuple(dict.fromkeys(found))


def select(groups: pl.DataFrame, selection: Selection) -> pl.DataFrame:
    """`groups` (a summary) with `kept`, and `reason`: the first rule that a group fails, null where it is kept.

    A rule about something that a group does not have (the pass rate or the spread of an unscored group) fails.

    Raises:
        UsageError: the condition is none, or pass rates are asked for and not known.
    """
    rules = _rules(groups, selection)
    reason = pl.coalesce(
        *(pl.when(~passes.fill_null(value=False)).then(pl.lit(words)) for words, passes in rules),
        pl.lit(None, dtype=pl.String),
    )
    return groups.with_columns(reason.alias("reason")).with_columns(pl.col("reason").is_null().alias("kept"))


def reasons(selected: pl.DataFrame) -> pl.DataFrame:
    """What went and why: a row per reason, with `groups` and `rollouts`, the commonest first; kept ones have null."""
    return (
        selected.group_by("reason")
        .agg(pl.len().cast(pl.Int64).alias("groups"), pl.col("n").sum().alias("rollouts"))
        .sort(pl.col("reason").is_not_null(), -pl.col("groups"), "reason")
    )


def _rules(groups: pl.DataFrame, selection: Selection) -> list[tuple[str, pl.Series]]:
    """Each rule that was given, in words for a group that fails it, and which groups pass it."""
    rules = []
    status = groups["status"]
    if selection.keep:
        rules.append((f"not {' or '.join(selection.keep)}", status.is_in([kind.value for kind in selection.keep])))
    rules += [(kind.value, status != kind.value) for kind in selection.drop]
    if (band := selection.pass_rates) is not None:
        rules.append((f"pass rate not in {float(band.low):g}:{float(band.high):g}", _in_band(groups, band)))
    if selection.min_spread is not None:
        rules.append((f"spread below {selection.min_spread:g}", groups["max"] - groups["min"] >= selection.min_spread))
    if selection.where is not None:
        rules.append((f"not: {selection.where}", holds(selection.where, groups)))
    return rules


def _in_band(groups: pl.DataFrame, band: PassRates) -> pl.Series:
    if len(groups) and groups["judged"].null_count() == len(groups):
        raise UsageError(
            "pass rates are not known",
            hint="give --pass-threshold X (a rollout passes with reward >= X) or --outcome FIELD",
        )
    pairs = groups.select("judged", "passed").unique().filter(pl.col("judged") > 0)
    inside = [Fraction(passed, judged) in band for judged, passed in pairs.iter_rows()]
    pairs = pairs.with_columns(pl.Series("inside", inside, dtype=pl.Boolean))
    return groups.join(pairs, on=["judged", "passed"], how="left", maintain_order="left")["inside"]


def _no_band(text: str) -> UsageError:
    return UsageError(f"{text!r} is no band of pass rates", hint="write LOW:HIGH from 0 to 1, as 0.2:0.8, :0.5 or 0.1:")
