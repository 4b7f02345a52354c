"""The account that `stats` gives of a log, and its tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from grpo_cli.commands.views.figures import Measured, kinds
from grpo_cli.core import whatif
from grpo_cli.core.groups import TOLERANCE, account
from grpo_cli.core.notes import count
from grpo_cli.core.parts import reward_columns, reward_correlations
from grpo_cli.core.stats import shortfall
from grpo_cli.errors import UsageError
from grpo_cli.render import digits
from grpo_cli.render.labelled import headed, labelled
from grpo_cli.render.report import account as draw_account
from grpo_cli.render.tables import Kind, Table

if TYPE_CHECKING:
    from collections.abc import Callable

    from grpo_cli.core.estimators import Estimator
    from grpo_cli.options import LogOptions
    from grpo_cli.render.screen import Screen

Figures = dict[str, float | None]

_REWARDS = {
    "column": Kind.KEY,
    "weight": Kind.NUMBER,
    "count": Kind.COUNT,
    "missing": Kind.COUNT,
    "mean": Kind.NUMBER,
    "std": Kind.NUMBER,
    "sample_std": Kind.NUMBER,
    "min": Kind.NUMBER,
    "max": Kind.NUMBER,
    "within_group_std": Kind.NUMBER,
    "mixed_share": Kind.SHARE,
    "variance_share": Kind.SHARE,
}
_REWARDS_NARROW = ("sample_std", "weight", "min", "max", "mixed_share", "std", "count")


def tables(found: Measured, options: LogOptions, expect_size: int | None) -> dict[str, Callable[[], Table]]:
    """The tables of the account, by name."""
    return {
        "figures": lambda: Table("figures", found.figures, kinds(found.figures)),
        "rewards": lambda: _rewards(found, options),
        "correlations": lambda: _correlations(found),
        "sizes": lambda: _sizes(found),
        "shortfall": lambda: _shortfall(found, expect_size),
    }


def report(screen: Screen, found: Measured, formula: Estimator, options: LogOptions, expect_size: int | None) -> None:
    """Print the account: facts, statuses, reward columns, other group sizes."""
    facts = _facts(found, formula)
    if expect_size is not None:
        facts.append(("expected", _expected(shortfall(found.groups, expect_size).row(0, named=True), expect_size)))
    labelled(screen, facts)
    draw_account(screen, account(found.groups))
    if len(found.log.reading.rewards) > 1:
        headed(screen, "Reward columns", _rewards(found, options))
        headed(screen, "Correlations of reward columns within groups", _correlations(found))
    sizes = _sizes(found)
    if sizes.frame["informative_share"].count():
        headed(screen, "Expected share of informative groups at other sizes (extrapolated: smaller groups)", sizes)


def _rewards(found: Measured, options: LogOptions) -> Table:
    reading = found.log.reading
    names = [str(field) for field, _ in reading.rewards]
    tolerance = TOLERANCE if options.tolerance is None else options.tolerance
    frame = reward_columns(found.log.frame, names, weights=reading.weights, tolerance=tolerance)
    return Table("reward columns", frame.select(list(_REWARDS)), _REWARDS, narrow=_REWARDS_NARROW)


def _correlations(found: Measured) -> Table:
    names = [str(field) for field, _ in found.log.reading.rewards]
    frame = reward_correlations(found.log.frame, names)
    columns = {name: Kind.KEY if name == "column" else Kind.NUMBER for name in frame.columns}
    return Table("reward columns", frame, columns)


def _sizes(found: Measured) -> Table:
    frame = whatif.informative_shares(found.groups).rename({"share": "informative_share"})
    frame = frame.with_columns(pl.col("informative_share").alias("bar"))
    columns = {
        "size": Kind.COUNT,
        "informative_share": Kind.SHARE,
        "bar": Kind.BAR,
        "groups": Kind.COUNT,
        "extrapolated": Kind.COUNT,
    }
    return Table("group sizes", frame, columns)


def shortfall_needs(table: str | None, expect_size: int | None) -> None:
    """Refuse the table of what was lost, where nothing says how many there should be."""
    if table == "shortfall" and expect_size is None:
        raise UsageError("--table shortfall needs a size", hint="give --expect-size N")


def _shortfall(found: Measured, expect_size: int | None) -> Table:
    assert expect_size is not None
    frame = shortfall(found.groups, expect_size)
    return Table("logs", frame, kinds(frame))


def _expected(row: Figures, size: int) -> list[str]:
    """How many rollouts there are of those that should be, and what that does to the pass rate."""
    short = count(int(row["short"] or 0), "group")
    said = [f"{_n(row['found'])} of {_n(row['expected'])} rollouts, {short} short of {size}"]
    if row["pass_rate"] is not None:
        rates = [digits.percent(row[name] or 0.0, 1) for name in ("rollout_pass_rate", "pass_rate", "missing_as_fail")]
        said.append(f"pass rate {rates[0]} of rollouts, {rates[1]} as mean of the groups,")
        said.append(f"{rates[2]} as mean of the groups with what is not there taken as failed")
    return said


def _facts(found: Measured, formula: Estimator) -> list[tuple[str, list[str]]]:
    row: Figures = found.figures.row(0, named=True)
    facts = [
        ("rollouts", _rollouts(found, row)),
        ("groups", _groups(found, row)),
        ("reward", _reward(row)),
        ("std", _std(row)),
        ("passes", _passes(row)),
        ("advantage", _advantage(row, formula)),
        ("length", _length(row)),
        ("constant", _constant(row)),
        ("phantom", _phantom(row)),
    ]
    return [(label, said) for label, said in facts if said]


def _rollouts(found: Measured, row: Figures) -> list[str]:
    said = f"{_n(row['rollouts'])}, {_n(row['scored'])} scored"
    if row["missing"]:
        said += f", {_n(row['missing'])} without a reward"
    reasons = {
        field: ", ".join(f"{number} {reason}" for reason, number in counter.items() if number)
        for field, counter in found.log.missing.items()
    }
    told = [f"{field}: {words}" for field, words in reasons.items() if words]
    if told:
        said += f" ({'; '.join(told)})"
    if row["taken_out"]:
        said += f", {_n(row['taken_out'])} taken out by --unscored-if"
    if row["rows"] != row["rollouts"]:
        said += f"; in {_n(row['rows'])} rows"
    if found.log.bad_lines:
        said += f"; besides, {count(found.log.bad_lines, 'bad line')}"
    return [said]


def _groups(found: Measured, row: Figures) -> list[str]:
    steps = found.log.groups.frame["step"].drop_nulls().n_unique()
    said = _n(row["groups"]) + (f" in {count(steps, 'step')}" if steps else "")
    if row["size_min"] == row["size_max"]:
        return [f"{said}, {count(int(row['size_min'] or 0), 'rollout')} each"]
    odd = int(row["odd_sizes"] or 0)
    sizes = f"of {_n(row['size_min'])} to {_n(row['size_max'])} rollouts: {_n(row['size_commonest'])} is the rule"
    return [f"{said}, {sizes}, {odd} {'differs' if odd == 1 else 'differ'}"]


def _reward(row: Figures) -> list[str]:
    if row["reward_mean"] is None:
        return []
    names = ("min", "p10", "p25", "median", "p75", "p90", "max")
    return [
        f"mean {_n(row['reward_mean'])}",
        "  ".join(f"{name} {_n(row[f'reward_{name}'])}" for name in names),
    ]


def _std(row: Figures) -> list[str]:
    if row["rollout_std"] is None:
        return []
    spreads = {
        "rollout_std": "over all rollouts, whatever their group",
        "within_group_std": "mean of the groups' std",
        "between_group_std": "std of the groups' means",
        "frac_reward_zero_std": "TRL's: rows in groups without a std",
    }
    names, values = max(map(len, spreads)), digits.aligned([row[name] for name in spreads])
    return [
        f"{name.ljust(names)}  {value or '-'}  {what}"
        for (name, what), value in zip(spreads.items(), values, strict=True)
    ]


def _passes(row: Figures) -> list[str]:
    if row["pass_rate"] is None:
        return []
    how = f"reward >= {_n(row['pass_threshold'])}" if row["pass_threshold"] is not None else "by their outcome"
    rates = [digits.percent(row[name] or 0.0, 1) for name in ("pass_rate", "rollout_pass_rate")]
    return [f"{rates[0]} as mean of the groups, {rates[1]} of all rollouts; {how}"]


def _advantage(row: Figures, formula: Estimator) -> list[str]:
    if row["mean_abs_advantage"] is None:
        return []
    share = digits.percent(row["nonzero_advantage_share"] or 0.0, 1)
    return [f"mean |A| {_n(row['mean_abs_advantage'])} by {formula.spec}; not zero in {share} of rows"]


def _length(row: Figures) -> list[str]:
    if row["length_mean"] is None:
        return []
    correlation = row["length_correlation"]
    within = (
        "no group to tell whether reward goes with length"
        if correlation is None
        else (f"correlation with the reward within groups {_n(correlation)}")
    )
    return [f"mean {_n(row['length_mean'])}; {within}"]


def _constant(row: Figures) -> list[str]:
    """Where no threshold says what passes: whether the constant groups are stuck low, high or in between."""
    if not row["tied"] or row["constant_between"] is None:
        return []
    low, high, between = (_n(row[f"constant_{where}"]) for where in ("at_lowest", "at_highest", "between"))
    ends = _n(row["reward_min"]), _n(row["reward_max"])
    return [f"{low} at the lowest reward ({ends[0]}), {high} at the highest ({ends[1]}), {between} in between"]


def _phantom(row: Figures) -> list[str]:
    if not row["phantom"]:
        return []
    return [f"in {count(int(row['phantom']), 'group')} every rollout fails by its outcome, and yet the rewards differ"]


def _n(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,}" if isinstance(value, int) else digits.number(value)
