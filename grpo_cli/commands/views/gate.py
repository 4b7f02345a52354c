"""What `gate` asks for, shows, and fails with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from grpo_cli.core.gates import Gate
from grpo_cli.core.notes import count
from grpo_cli.errors import CheckFailed, UsageError
from grpo_cli.render import digits
from grpo_cli.render.tables import Kind, Table

if TYPE_CHECKING:
    from grpo_cli.commands.gate import Bounds


def gate_of(bounds: Bounds) -> Gate:
    """The checks that were asked for.

    Raises:
        UsageError: there is none.
    """
    gate = Gate(
        max_zero_variance=bounds.max_zero_variance,
        expect_size=bounds.expect_size,
        max_missing=bounds.max_missing,
        max_singletons=bounds.max_singletons,
        min_groups=bounds.min_groups,
        fail_on=tuple(bounds.fail_on or ()),
    )
    if gate == Gate():
        raise UsageError("nothing to check", hint="give a bound, such as --max-zero-variance 0.5")
    return gate


def shown(results: pl.DataFrame, *, drawn: bool) -> Table:
    """The checks as a table; what is drawn for people says in words which failed."""
    kinds = {"check": Kind.TEXT, "value": Kind.NUMBER, "bound": Kind.NUMBER, "ok": Kind.TEXT}
    if drawn:
        words = [pl.Series(name, [_n(value) for value in results[name]], pl.String) for name in ("value", "bound")]
        verdict = pl.when("ok").then(pl.lit("ok")).otherwise(pl.lit("FAILED")).alias("ok")
        results, kinds = results.with_columns(*words, verdict), dict.fromkeys(kinds, Kind.TEXT)
    return Table("checks", results, kinds)


def failure(results: pl.DataFrame) -> CheckFailed | None:
    """The error that names the checks that failed; None where all hold."""
    failed = results.filter(~results["ok"]).rows(named=True)
    if not failed:
        return None
    said = "; ".join(_said(row) for row in failed)
    return CheckFailed(
        f"{len(failed)} of {count(len(results), 'check')} failed: {said}",
        hint="grpo-adv stats shows all figures; one that is not known fails its check",
    )


def _said(row: dict[str, Any]) -> str:
    """A failed check with what was found and what was wanted."""
    found, bound, words = _n(row["value"]), _n(row["bound"]), row["check"]
    if bound is None:
        return words if found is None else f"{words} (it is {found})"
    return f"{words} {found or 'not known'}, bound {bound}"


def _n(value: float | None) -> str | None:
    return None if value is None else digits.number(value)
