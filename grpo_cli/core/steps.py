"""From a canonical frame and an estimator to advantages, and to an account of how each came about."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import polars as pl

from grpo_cli import frame as cf
from grpo_cli.core import rewards
from grpo_cli.core.arithmetic import SHRINK, Rows, apply, is_vast, refuse_lone
from grpo_cli.core.moments import Partition
from grpo_cli.core.shaping import shaped
from grpo_cli.errors import RowError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grpo_cli.core.chain import Estimator, Step


@dataclass(frozen=True)
class StepTrace:
    """What one step did: `rows` has row, group, before, after, and subtracted and divided_by unless it is a kernel.

    `part` is the number of the reward column where the step ran on one alone, `text` the step's formula.
    """

    step: Step
    text: str
    part: int | None
    rows: list[dict[str, float | int | None]]


def advantages(
    frame: pl.DataFrame,
    estimator: Estimator,
    *,
    weights: Sequence[float] | None = None,
    tolerance: float | None = None,
) -> pl.Series:
    """The advantage of each row.

    Args:
        frame: a canonical frame.
        estimator: what to compute, from `grpo_cli.core.estimators.resolve`.
        weights: one weight for each reward column; None weighs each 1.
        tolerance: relative spread up to which rewards count as one value; None is the estimator's own.

    Returns:
        A Float64 series named `advantage`, aligned with the rows of `frame`. Null where there is none: the reward is
        missing, the estimator's rule for missing rewards or groups of one says so, or the result is beyond the range
        of a float64. Never NaN, infinite or -0.0.

    Raises:
        RowError: a missing reward, a group of one or a row without a length, where that is an error.
        UsageError: the estimator needs a column that the frame does not have.
    """
    return _Run(frame, estimator, weights, tolerance).advantages()


def trace(
    frame: pl.DataFrame,
    estimator: Estimator,
    *,
    groups: Sequence[int] | None = None,
    weights: Sequence[float] | None = None,
    tolerance: float | None = None,
) -> list[StepTrace]:
    """What each step did to each row, from the very pieces that `advantages` multiplies.

    The whole frame is computed, since statistics of the batch need it; only the rows of `groups` are told. `row` is
    the row in `frame`; a rollout of several rows is told by its first.
    """
    run = _Run(frame, estimator, weights, tolerance, told=groups or frame[cf.GROUP].unique().to_list())
    run.advantages()
    return run.traces


class _Run:
    """One computation over one frame."""

    def __init__(
        self,
        frame: pl.DataFrame,
        estimator: Estimator,
        weights: Sequence[float] | None,
        tolerance: float | None,
        told: Sequence[int] | None = None,
    ) -> None:
        for column in sorted(estimator.needs - set(frame.columns)):
            raise UsageError(f"{estimator.spec} needs a column: {column}", hint=_NEEDED[column])
        self.whole, self.estimator, self.weights = frame, estimator, weights
        self.frame = rewards.one_row_per_rollout(frame)
        self.traces: list[StepTrace] = []
        self.residue: pl.Series | None = None  # what the sum of the rewards lost in rounding
        self.shrunk = 0  # so many steps of the chain take their values multiplied by SHRINK
        self.told = None if told is None else self.frame[cf.GROUP].is_in(list(told)).arg_true()
        self.rows = Rows(
            groups=Partition(self.frame[cf.GROUP]),
            batches=Partition(self.frame[cf.BATCH]),
            length=self.frame[cf.LENGTH] if cf.LENGTH in estimator.needs else None,
            baseline=self.frame[cf.BASELINE] if cf.BASELINE in estimator.needs else None,
            tolerance=estimator.tolerance if tolerance is None else tolerance,
            singleton="null" if self._counts_rows else estimator.singleton,
        )
        self.scored = self.frame[cf.SCORED].fill_null(value=False) if cf.SCORED in frame.columns else None

    def advantages(self) -> pl.Series:
        try:
            values = self._values()
        except RowError as error:
            row = error.row
            if cf.ROLLOUT in self.whole.columns:
                row = int(rewards.rollout_numbers(self.whole).eq(row).arg_true()[0])
            raise RowError(error.message, row=row, hint=error.hint) from None
        return rewards.over_rows(values, self.whole).alias(cf.ADVANTAGE)

    def _values(self) -> pl.Series:
        estimator = self.estimator
        total = self._total()
        self._check(total)
        if estimator.per_part:
            values, lost = self._parts()
        else:
            start = shaped(self._filled(total), estimator, self.rows)
            self._shrink_if_vast([start])
            self.residue = None if self._shapes else rewards.residue(self.frame, total, self.weights)
            values, lost = self._steps(start, self._lost(total), None, estimator.steps)
        if estimator.whiten:
            values, lost = self._steps(values, lost, None, (estimator.whiten,), at=len(estimator.steps))
        if self.shrunk > len(estimator.chain):
            values = self._finite(values / SHRINK)
        if lost is not None:
            values = pl.select(pl.when(~lost).then(values)).to_series()
        if estimator.clip_after is not None:
            values = values.clip(*estimator.clip_after)
        if estimator.singleton == "exclude":
            count = self.rows.groups.aggregate({"r": total}, pl.col("r").count())["r"]
            alone = self.rows.groups.spread(count == 1) & total.is_not_null()
            values = self._where(alone, 0.0, values)
        if estimator.missing == "zero-advantage":
            values = self._where(self._unscored(total), 0.0, values)
        if estimator.missing == "lowest":
            least = self.rows.groups.aggregate({"a": values}, pl.col("a").min())["a"]
            values = self._where(self._unscored(total), self.rows.groups.spread(least), values)
        return rewards.without_negative_zero(values)

    def _total(self) -> pl.Series:
        total = rewards.total(self.frame, self.weights)
        parts = cf.reward_parts(self.frame)
        if self.estimator.missing == "propagate" and len(parts) > 1:
            whole = self.frame.select(pl.all_horizontal(pl.col(part).is_not_null() for part in parts)).to_series()
            total = self._where(~whole, None, total)
        return total

    def _unscored(self, values: pl.Series) -> pl.Series:
        """Rows without a value that were not taken out on purpose."""
        return values.is_null() if self.scored is None else values.is_null() & self.scored

    def _filled(self, values: pl.Series) -> pl.Series:
        if self.estimator.missing in ("zero-reward", "zero-part"):
            values = self._where(self._unscored(values), 0.0, values)
        return values

    def _lost(self, values: pl.Series) -> pl.Series | None:
        """Rows that the rule `propagate` has made null so far."""
        if self.estimator.missing != "propagate" or not values.null_count():
            return None
        return self._unscored(values)

    def _check(self, total: pl.Series) -> None:
        if self.estimator.missing == "error" and total.null_count():
            missing = self._unscored(total).arg_true()
            if len(missing):
                hint = "--missing null leaves such rows out; --unscored-if takes out rows by a rule"
                raise RowError("the reward is missing", row=int(missing[0]), hint=hint)
        counted = total.is_not_null()
        if self._counts_rows and self.estimator.over_group:
            there = pl.select(pl.lit(self._unscored(total)) | counted).to_series()
            size = self.rows.groups.aggregate({"there": there}, pl.col("there").sum())["there"]
            refuse_lone(self.rows.groups.spread(size == 1) & there)
        if self.rows.length is not None:
            length = self.rows.length
            bad = (counted & (length.is_null() | ~length.is_finite() | (length < 0))).fill_null(value=True)
            if bad.any():
                row = int(bad.arg_true()[0])
                said = "has no length" if length[row] is None else f"has the length {length[row]}"
                hint = "statistics weighted by tokens need the length of every scored row"
                raise RowError(f"the row {said}", row=row, hint=hint)
        if self.rows.baseline is not None:
            without = (counted & self.rows.baseline.is_null()).arg_true()
            if len(without):
                hint = "every scored row needs a baseline"
                raise RowError("the row has no baseline", row=int(without[0]), hint=hint)

    def _parts(self) -> tuple[pl.Series, pl.Series | None]:
        """The weighted sum of the reward columns, each taken through the steps on its own."""
        parts = cf.reward_parts(self.frame)
        weights = [1.0] * len(parts) if self.weights is None else self.weights
        self._shrink_if_vast([self.frame[part] for part in parts])
        summed: dict[str, pl.Series] = {}
        lost: pl.Series | None = None
        for index, (part, weight) in enumerate(zip(parts, weights, strict=True)):
            values = self.frame[part]
            if self.scored is not None:
                values = self._where(~self.scored, None, values)
            gone = self._lost(values)
            if self.estimator.missing != "zero-part":
                values = self._filled(values)
            values = shaped(values, self.estimator, self.rows)
            values, gone = self._steps(values, gone, index, self.estimator.steps)
            summed[part] = values * weight
            if gone is not None:
                lost = gone if lost is None else lost | gone
        some = pl.any_horizontal(pl.col(part).is_not_null() for part in summed)
        total = pl.DataFrame(summed).select(pl.when(some).then(pl.sum_horizontal(pl.all()))).to_series()
        return self._filled(total) if self.estimator.missing == "zero-part" else total, lost

    def _steps(
        self, x: pl.Series, lost: pl.Series | None, part: int | None, steps: Sequence[Step], at: int = 0
    ) -> tuple[pl.Series, pl.Series | None]:
        """Take the steps, the first of which is number `at` of the whole chain."""
        if not at and self.shrunk:
            x = x * SHRINK
        for number, step in enumerate(steps, start=at):
            given = SHRINK if number < self.shrunk else 1.0
            residue = self.residue if not number and part is None else None
            if residue is not None and given != 1:
                residue = residue * given
            rows = replace(self.rows, shrink=given, given=given, residue=residue)
            applied = apply(step, x, rows, pieces=self.told is not None)
            values = self._finite(applied.values)
            if self.estimator.missing == "propagate":
                lost = self._spread(lost, values.is_null() & x.is_not_null(), step)
            if self.told is not None:
                after = values / SHRINK if number + 1 < self.shrunk else values
                self._tell(step, part, self._finite(x / given), self._finite(after), applied.pieces)
            x = values
        return x, lost

    def _shrink_if_vast(self, starts: Sequence[pl.Series]) -> None:
        """Have vast rewards carried smaller up to the step that divides, lest what is between be beyond the range."""
        chain = self.estimator.chain
        undivided = next((n for n, step in enumerate(chain) if step.kernel or step.divide != "none"), len(chain))
        kernel = undivided < len(chain) and bool(chain[undivided].kernel)
        if len(chain) > 1 and undivided and not kernel and any(is_vast(start) for start in starts):
            self.shrunk = undivided + 1

    @property
    def _counts_rows(self) -> bool:
        """Whether a group of one is one row, scored or not: a framework that lets NaN spread counts rows."""
        return self.estimator.singleton == "error" and self.estimator.missing == "propagate"

    @property
    def _shapes(self) -> bool:
        shapes = self.estimator.threshold is not None or self.estimator.clip is not None
        return shapes or bool(self.estimator.length_penalty)

    def _finite(self, values: pl.Series) -> pl.Series:
        """The values, with null for what is beyond the range of a float64."""
        finite = values.is_finite()
        return values if finite.all() else self._where(finite, values, None)

    def _spread(self, lost: pl.Series | None, new: pl.Series, step: Step) -> pl.Series | None:
        """What is lost after a step: all that shares a statistic with what was lost before, and what the step lost."""
        if lost is not None:
            for over, rows in ((step.over_group, self.rows.groups), (step.over_batch, self.rows.batches)):
                if over:
                    lost = rows.spread(rows.aggregate({"lost": lost}, pl.col("lost").any())["lost"])
        if not new.any():
            return lost
        return new if lost is None else lost | new

    def _tell(
        self, step: Step, part: int | None, before: pl.Series, after: pl.Series, pieces: pl.DataFrame | None
    ) -> None:
        assert self.told is not None
        table = pl.DataFrame({"row": self._first_rows(), "group": self.frame[cf.GROUP], "before": before})
        if pieces is not None:
            table = table.hstack(pieces)
        table = table.with_columns(after=rewards.without_negative_zero(after))
        if pieces is not None and "divided_by" in pieces.columns:
            # A group of one that the singleton rule decides was neither centred nor divided.
            formula = (pl.col("before") - pl.col("subtracted")) / pl.col("divided_by")
            ruled = (pl.len().over("group") == 1) & ((formula - pl.col("after")).abs() > 1e-9 * (1 + formula.abs()))
            table = table.with_columns(pl.when(~ruled.fill_null(value=False)).then(pl.col(pieces.columns)))
        first = not self.traces or (part is not None and self.traces[-1].part != part)
        text = step.text("r" if first else "x", self.estimator.baseline_field)
        self.traces.append(StepTrace(step, text, part, table[self.told].to_dicts()))

    def _first_rows(self) -> pl.Series:
        numbers = rewards.rollout_numbers(self.whole)
        return numbers.is_first_distinct().arg_true()

    @staticmethod
    def _where(mask: pl.Series, then: pl.Series | float | None, otherwise: pl.Series | float | None) -> pl.Series:
        name = next((s.name for s in (then, otherwise) if isinstance(s, pl.Series)), "")
        return pl.select(pl.when(mask).then(then).otherwise(otherwise).alias(name)).to_series()


_NEEDED = {
    cf.LENGTH: "name the field with --length, or count rows instead: --whiten rows",
    cf.BASELINE: "name the field with --baseline FIELD",
}
