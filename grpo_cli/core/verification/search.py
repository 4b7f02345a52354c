"""Which formula made logged advantages: known ones tried, weights and eps solved for, groups split."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING

import polars as pl

from grpo_cli import frame as cf
from grpo_cli.core.estimators import resolve
from grpo_cli.core.steps import advantages
from grpo_cli.core.verification import formulas, solve, unknowns
from grpo_cli.core.verification.formulas import Columns, Formula
from grpo_cli.core.verification.verify import TOLERANCE, Verification, compared, verify
from grpo_cli.errors import GrpoAdvError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from grpo_cli.core.chain import Estimator

_FEW, _MANY = 300, 4000
"""Rows that a first and a second look take, in whole steps."""
_NEAR = 0.5
"""The share of groups that must agree for a formula to be told as the nearest."""


Names = tuple["Estimator", ...]
"""Estimators that compute the same under several names."""
Candidates = tuple[Columns, list[Names]]


@dataclass(frozen=True)
class Fit:
    """A formula, and how it compares with the log."""

    formula: Formula
    verification: Verification


@dataclass(frozen=True)
class Answer:
    """What is behind the logged advantages of a log."""

    fits: list[Fit]
    """The formulas that this log cannot tell apart, the likeliest first; none where none fits."""
    nearest: Fit | None = None
    """Where none fits, the one with the most groups."""
    untold: list[int] = field(default_factory=list)
    """Reward columns that never vary inside a group, so that this log cannot tell their weight."""


def find(
    frame: pl.DataFrame,
    *,
    told: Columns | None = None,
    first: str | None = None,
    tol: float = TOLERANCE,
    tolerance: float | None = None,
) -> Answer:
    """The formulas that give the column `logged`: looked for in a sample of whole steps, then confirmed on all rows.

    Args:
        frame: a canonical frame with `logged`; its reward columns are what the rewards may be.
        told: the reward columns that are known to be the reward, with weights; None: they are looked for too.
        first: the framework that is named first, where several fit.
        tol: two numbers agree where |logged - computed| <= tol * max(1, |computed|).
        tolerance: relative spread of a zero-variance group; None is each estimator's own.
    """
    search = _Search(frame, told, first, tol, tolerance)
    fits: list[Fit] = []
    for size in (None, *unknowns.block_sizes(frame)):
        fits = fits or search.fits(size)
    fits = fits or search.fits(None, usual=False) or search.explained
    return Answer(fits, None if fits else search.nearest(), search.untold())


class _Search:
    """One search over one log."""

    def __init__(
        self, frame: pl.DataFrame, told: Columns | None, first: str | None, tol: float, tolerance: float | None
    ) -> None:
        self.frame, self.told, self.first, self.tol, self.tolerance = frame, told, first, tol, tolerance
        self.columns = range(len(cf.reward_parts(frame)))
        self.near: tuple[float, Formula] | None = None
        self.explained: list[Fit] = []
        """The first formulas whose every difference is float32 rounding: the answer where none agrees wholly."""

    def fits(self, group_size: int | None, *, usual: bool = True) -> list[Fit]:
        """The formulas that fit all rows, with the groups split into blocks: the usual ones, or the others."""
        frame = formulas.in_blocks(self.frame, group_size)
        many = _whole_steps(frame, _MANY)
        few = _whole_steps(frame, _FEW)
        samples = [many] if few.height == many.height else [few, many]
        tried: dict[tuple[Estimator, Columns], bool] = {}
        for columns, estimators in self._usual(many) if usual else self._unusual(many):
            found = []
            straight = formulas.proportional_share(many, columns) >= _NEAR
            traits = formulas.Traits.of(formulas.with_rewards(many, columns), formulas.weights_of(columns))
            for names in estimators:
                if not straight and formulas.proportional(names[0]):
                    continue
                key = (formulas.on_this_log(names[0], traits), columns)
                if key not in tried:
                    tried[key] = all(self._fits(sample, names[0], columns, group_size) for sample in samples)
                if tried[key]:
                    found.append(names)
            confirmed = self._confirmed(frame, found, columns, group_size)
            if any(fit.verification.holds for fit in confirmed):
                return confirmed
            self.explained = self.explained or confirmed
        return []

    def nearest(self) -> Fit | None:
        """The formula that fits the most groups, where that is most of them."""
        if self.near is None:
            return None
        formula = self.near[1]
        try:
            return Fit(formula, self._verify(formula.frame(self.frame), formula.estimator, formula.weights))
        except GrpoAdvError:  # it was near on a sample, and refuses a group elsewhere
            return None

    def untold(self) -> list[int]:
        """Reward columns without any variance inside a group."""
        spread = self.frame.group_by(cf.GROUP).agg(
            (pl.col(part).max() > pl.col(part).min()).fill_null(value=False) for part in cf.reward_parts(self.frame)
        )
        return [at for at in self.columns if not spread[cf.reward_part(at)].any()]

    def _usual(self, sample: pl.DataFrame) -> Iterator[Candidates]:
        """Reward columns with their weights, and the known formulas to try on them, the likeliest first."""
        known = formulas.known(sample, self.first)
        odd = [names for names in known if not formulas.proportional(names[0])]
        if self.told is not None:
            yield self.told, known
        solved = list(self._directions(sample))
        for at in self.columns:
            columns: Columns = ((at, 1.0),)
            if columns != self.told:
                yield columns, known if columns in solved else odd
        undivided = [names for names in known if not any(step.scaled for step in names[0].chain)]
        for columns in solved:
            yield columns, known
            for scaled in unknowns.rescaled(columns, sample):
                yield scaled, undivided

    def _unusual(self, sample: pl.DataFrame) -> Iterator[Candidates]:
        """Rewards normalized one by one, conventions beside the known ones, and an eps of one's own."""
        known = formulas.known(sample, self.first)
        yield from self._summed(sample, known)
        if len(self.columns) > 1:
            yield tuple((at, 1.0) for at in self.columns), known
        single: list[Columns] = [((at, 1.0),) for at in self.columns]
        told = [self.told] if self.told is not None else []
        likely = list(dict.fromkeys([*told, *self._directions(sample), *single[:2]]))
        short = [names for names in known if len(names[0].chain) == 1]
        for columns in likely[:2]:
            yield from self._varied(sample, columns, short)
        for columns in likely:
            yield from self._with_eps(sample, columns, known)

    def _directions(self, sample: pl.DataFrame) -> Iterator[Columns]:
        """The sums of reward columns that are proportional to the advantages of every group, or of every batch."""
        columns = [sample[part] for part in cf.reward_parts(sample)]
        for part in (cf.GROUP, cf.BATCH):
            found = list(islice(solve.weights(sample[cf.LOGGED], columns, sample[part]), 3))
            for weights in found:
                yield from _spellings(weights)
            if found:
                return

    def _summed(self, sample: pl.DataFrame, known: Sequence[Names]) -> Iterator[tuple[Columns, list[Names]]]:
        """Formulas that normalize each reward on its own: the weights of the normalized ones, batch by batch."""
        summing = [names for names in known if names[0].per_part]
        found: dict[Columns, None] = {}
        for estimator in (names[0] for names in summing):
            alone = replace(estimator, per_part=False, whiten=None)
            whiten = estimator.whiten
            part = sample[cf.GROUP if whiten is None or whiten.over_group else cf.BATCH]
            try:
                parts = [
                    advantages(formulas.with_rewards(sample, ((at, 1.0),)), alone, tolerance=self.tolerance)
                    for at in self.columns
                ]
            except GrpoAdvError:
                continue
            for weights in islice(solve.weights(sample[cf.LOGGED], parts, part), 2):
                found |= dict.fromkeys(_spellings(weights))
        for columns in found:
            yield columns, summing

    def _with_eps(self, sample: pl.DataFrame, columns: Columns, known: Sequence[Names]) -> Iterator[Candidates]:
        """Scaled formulas with an eps that no framework has; or with weights that make it one that some has."""
        for spec in unknowns.SCALED:
            eps = unknowns.eps_of(sample, resolve(f"{spec},eps=0"), columns)
            if eps is None:
                continue
            short = unknowns.short_eps(eps)
            if short is not None:
                yield columns, [(resolve(f"{spec},eps={short!r}"),)]
            for usual in (1e-4, 1e-5, 1e-6) if len(columns) > 1 else ():
                scale = solve.simple(usual / eps, 0.02)
                rescaled = tuple((at, solve.simple(weight * scale)) for at, weight in columns)
                if all(weight and weight == round(weight, 2) for _, weight in rescaled):
                    yield rescaled, [names for names in known if any(step.eps == usual for step in names[0].steps)]

    def _varied(self, sample: pl.DataFrame, columns: Columns, known: Sequence[Names]) -> Iterator[Candidates]:
        """The known formulas with one more convention: a clip, a length penalty, the median, the other ddof."""
        for axes in unknowns.variations(sample, columns):
            varied = []
            for names in known:
                try:
                    varied.append(tuple(resolve(f"{_base(name)}:{_merged(name, axes)}") for name in names))
                except GrpoAdvError:
                    continue
            yield columns, varied

    def _fits(self, sample: pl.DataFrame, estimator: Estimator, columns: Columns, group_size: int | None) -> bool:
        frame = formulas.with_rewards(sample, columns)
        weights = formulas.weights_of(columns)
        try:
            computed = advantages(frame, estimator, weights=weights, tolerance=self.tolerance)
        except (GrpoAdvError, pl.exceptions.PolarsError):
            return False
        rows = compared(frame, computed, self.tol)
        if not rows["differs"].any():
            return True
        odd = rows.filter("differs")["group"].n_unique()
        whole = rows.filter(~pl.col("unlogged"))["group"].n_unique()
        if (whole - odd) / whole < _NEAR and whole > 1:
            return False
        verification = self._verify(frame, estimator, weights)
        if _holds(verification):
            return True
        self._remember((whole - odd) / whole, Formula(estimator, columns, group_size))
        return False

    def _remember(self, share: float, formula: Formula) -> None:
        if share >= _NEAR and (self.near is None or share > self.near[0]):
            self.near = share, formula

    def _verify(self, frame: pl.DataFrame, estimator: Estimator, weights: Sequence[float]) -> Verification:
        return verify(frame, estimator, weights=weights, tolerance=self.tolerance, tol=self.tol)

    def _confirmed(
        self, frame: pl.DataFrame, found: Iterable[Names], columns: Columns, group_size: int | None
    ) -> list[Fit]:
        """Those that hold on all rows, and give no value just where none is logged."""
        chosen = formulas.with_rewards(frame, columns)
        fits = []
        for names in found:
            try:
                verification = self._verify(chosen, names[0], formulas.weights_of(columns))
            except GrpoAdvError:  # it held on a sample, and refuses a group elsewhere
                continue
            if _holds(verification):
                fits += [Fit(Formula(estimator, columns, group_size), verification) for estimator in names]
            elif verification.compared:
                odd = verification.groups.height
                self._remember(1 - odd / verification.compared, Formula(names[0], columns, group_size))
        fits = [fit for fit in fits if fit.verification.holds] or fits
        least = min((fit.verification.silent for fit in fits), default=0)
        best = max((fit.verification.agree for fit in fits if fit.verification.silent == least), default=0)
        return [fit for fit in fits if fit.verification.silent == least and fit.verification.agree == best]


def _holds(verification: Verification) -> bool:
    """Whether every difference is explained, and there is not more to explain than there is agreement."""
    return verification.explained and (verification.share or 0.0) >= _NEAR


def _spellings(weights: solve.Weights) -> Iterator[Columns]:
    """The weights as someone may have written them: the largest 1, or their sum 1; short, or with all digits."""
    ordered = dict(sorted(weights.items()))
    total = sum(ordered.values())
    found: dict[Columns, None] = {}
    for tolerance in (1e-4, 1e-6):
        for whole in (1.0, total) if total > 0 else (1.0,):
            columns = tuple((at, solve.simple(weight / whole, tolerance)) for at, weight in ordered.items())
            largest = max(abs(weight) for _, weight in columns)
            found[tuple((at, weight / largest) for at, weight in columns)] = None
            found[columns] = None
    plain = [columns for columns in found if all(weight == round(weight, 2) for _, weight in columns)]
    largest_one = [columns for columns in plain if max(abs(weight) for _, weight in columns) == 1]
    yield from largest_one[:1] or dict.fromkeys([*plain, *found])


def _whole_steps(frame: pl.DataFrame, rows: int) -> pl.DataFrame:
    """The first batches that have so many rows together, at least one."""
    sizes = frame.group_by(cf.BATCH).len().sort(cf.BATCH)
    before = sizes["len"].cum_sum().shift(1, fill_value=0)
    kept = sizes[cf.BATCH].filter(before < rows)
    return frame if kept.len() == sizes.height else frame.filter(pl.col(cf.BATCH).is_in(kept.implode()))


def _base(estimator: Estimator) -> str:
    return f"{estimator.framework}/{estimator.name}" if estimator.framework else estimator.name


def _merged(estimator: Estimator, axes: dict[str, str]) -> str:
    return ",".join(f"{axis}={value}" for axis, value in (dict(estimator.given) | axes).items())
