"""What an estimator is: a chain of steps, each (x - centre) / scale, as data. Loads no Polars.

grpo is one step; whitening over the batch is a second one; GDPO applies its steps to each reward on its own and
whitens the weighted sum. The formula line, `explain`, the metadata and the numbers all come from these fields.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

TOLERANCE = 5e-7
"""Relative spread up to which a group counts as zero-variance: four roundings of a float32."""

BASELINES = ("none", "mean", "loo", "length-mean", "batch-mean", "batch-loo", "quantile:Q", "FIELD")
SCALES = ("none", "group-std", "loo-std", "batch-std", "batch-std-centered", "mean")
FINER_SCALES = ("group-std-centered", "std-and-mean", "batch-nonzero", "beta-pdf")
EPS_MODES = ("add", "add-var", "clamp-var", "clamp-std")
MISSING = ("null", "zero-advantage", "zero-reward", "propagate", "error")
FINER_MISSING = ("zero-part", "lowest")
SINGLETON = ("zero", "reward", "null", "error")
FINER_SINGLETON = ("exclude", "over-eps")
AGGREGATES = ("sum-then-normalize", "normalize-then-sum")
WHITEN = ("none", "rows", "tokens")

_CENTRES = {
    "mean": "mean",
    "loo": "mean of the others",
    "length-mean": "length-weighted mean",
    "batch-mean": "batch mean",
    "batch-loo": "batch mean of the others",
    "second-best": "second best",
}
_STDS = {
    "group-std": "std",
    "loo-std": "std of the others",
    "group-std-centered": "std of the centred",
    "batch-std": "batch std",
    "batch-std-centered": "batch std of the centred",
}


_SCALES = {
    "mean": ("(mean + {eps})", "mean"),
    "std-and-mean": ("((std + {eps}) * (mean + {eps}))", "(std * mean)"),
    "batch-nonzero": ("(share of rewards in the batch that are not 0)",) * 2,
    "beta-pdf": ("Beta density of the group mean, fitted to the group means of the batch",) * 2,
}


def spelled(number: float) -> str:
    """The shortest text of a number that reads back as the same number."""
    short = f"{number:g}"
    return short if float(short) == number else repr(number)


@dataclass(frozen=True, slots=True)
class Step:
    """One (x - centre) / scale.

    `subtract`: none, mean, loo (mean of the others), length-mean (rows weighted by their length) and quantile:Q
    over the group; second-best (the best row less the second best, 0 for the others); batch-mean and batch-loo over
    the batch; field (a column of external baselines); ema:D (what the rows before came to, with decay D).
    `divide`: none, group-std, loo-std (std of the others), mean (of the group), std-and-mean (their product),
    batch-std (of x), group-std-centered and batch-std-centered (of x less its centre), batch-nonzero (the share of
    rows in the batch that are not 0), beta-pdf (BNPO). A std of zero leaves x - centre undivided.
    `eps_mode`: add (std + eps), add-var sqrt(var + eps), clamp-var sqrt(max(var, eps)), clamp-std max(std, eps).
    `weighting`: batch statistics count rows, or tokens: then a row counts `length` times, in ddof too.
    `lone_batch`: what a batch of one row gives where its std is divided by: keep (undivided) or null.
    `zero_up_to`: a std up to this gives exactly 0 (the agentic guard of ROLL); negative for no such rule.
    `kernel` names a formula that is not (x - centre) / scale, with its whole-number parameter `k`.
    """

    subtract: str = "mean"
    divide: str = "none"
    ddof: int = 0
    eps: float = 0.0
    eps_mode: str = "add"
    weighting: str = "rows"
    lone_batch: str = "keep"
    zero_up_to: float = -1.0
    kernel: str = ""
    k: int | None = None

    @property
    def scaled(self) -> bool:
        """Whether a standard deviation is divided by, so that ddof and eps mean something."""
        return self.divide.endswith(("-std", "-std-centered"))

    @property
    def softened(self) -> bool:
        """Whether eps means something."""
        return self.scaled or self.divide in ("mean", "std-and-mean") or self.kernel == "passk"

    @property
    def takes_k(self) -> bool:
        """Whether it is a formula about k rollouts."""
        return self.kernel in KERNELS

    @property
    def over_group(self) -> bool:
        """Whether anything is taken over the group."""
        groupwise = self.subtract in ("mean", "loo", "length-mean", "second-best")
        return groupwise or self.subtract.startswith("quantile:") or self.divide in GROUP_SCALES or bool(self.kernel)

    @property
    def over_batch(self) -> bool:
        """Whether anything is taken over the batch."""
        return self.subtract.startswith("batch-") or self.divide.startswith("batch-") or self.divide == "beta-pdf"

    def text(self, x: str = "r", source: str = "") -> str:
        """The step as a formula over `x`; `source` names the column of external baselines."""
        if self.kernel:
            scale = f"(sqrt(rho (1 - rho)) + {spelled(self.eps)})" if self.eps else "sqrt(rho (1 - rho))"
            return KERNELS[self.kernel].format(
                k="k" if self.k is None else self.k, less="k-1" if self.k is None else self.k - 1, scale=scale
            )
        centre = _CENTRES.get(self.subtract, self.subtract)
        if self.subtract.startswith("quantile:"):
            centre = f"quantile {self.subtract.removeprefix('quantile:')}"
        if self.subtract.startswith("ema:"):
            centre = f"moving average (decay {self.subtract.removeprefix('ema:')})"
        if self.subtract == "field":
            centre = source or "baseline"
        top = x if self.subtract == "none" else f"{x} - {centre}"
        under = self._scale_text()
        if under:
            top = f"{top if self.subtract == 'none' else f'({top})'} / {under}"
        tail = [f"ddof {self.ddof}"] if self.scaled or self.divide == "std-and-mean" else []
        tail += ["the best row only, else 0"] if self.subtract == "second-best" else []
        tail += ["weighted by tokens"] if self.weighting == "tokens" else []
        return f"{top} ({', '.join(tail)})" if tail else top

    def _scale_text(self) -> str:
        if self.divide == "none":
            return ""
        if self.divide in _SCALES:
            with_eps, without = _SCALES[self.divide]
            return with_eps.format(eps=spelled(self.eps)) if self.eps else without
        std, eps = _STDS[self.divide], spelled(self.eps)
        if not self.eps:
            return std
        if self.eps_mode == "add":
            return f"({std} + {eps})"
        if self.eps_mode == "clamp-std":
            return f"max({std}, {eps})"
        var = std.replace("std", "var", 1)
        return f"sqrt({var} + {eps})" if self.eps_mode == "add-var" else f"sqrt(max({var}, {eps}))"


GROUP_SCALES = frozenset({"group-std", "group-std-centered", "loo-std", "mean", "std-and-mean", "beta-pdf"})

KERNELS = {
    "passk": "pass@{k} advantage: rho = 1 - C(n-c, {k}) / C(n, {k}); hits (1 - rho) / {scale}, "
    "misses (1 - rho - C(n-c-1, {less}) / C(n-1, {less})) / {scale}",
    "pkpo": "leave-one-out max@{k}: mean over sets of {k} with r of (max - max without r)",
    "pkpo-loo": "u - mean of the others, u = C(n-c, {less}) / C(n-1, {less}) for hits, else 0",
}
"""The formulas that are not (x - centre) / scale; all are taken over the group."""


@dataclass(frozen=True, slots=True)
class Estimator:
    """A named estimator: its steps, and the conventions that a framework or the options give it.

    `steps` run one after the other, over each reward column on its own where `per_part` (the weighted results are
    then summed), else over the weighted sum; `whiten` is the last step. `singleton` is the rule for a group of one
    where something is taken over the group: zero, reward (as it is), null, exclude (0, and out of later statistics),
    over-eps (reward / eps) or error. `missing`: null and zero-advantage leave the row out of the statistics,
    zero-reward counts it as 0, zero-part leaves a missing part out and counts the row, lowest gives the row the least
    advantage of its group, propagate spreads null over all that the row touches, error refuses.
    `tolerance` is the relative spread of a zero-variance group, 0 for exactly equal. Rewards are shaped first: 1 above
    `threshold` and else 0; clipped to `clip`; lowered by `length_penalty` times the group's mean times length / longest
    length. The result is clipped to `clip_after`. `fault` says where the framework's own number is a rounding fault.
    """

    name: str
    title: str
    steps: tuple[Step, ...]
    whiten: Step | None = None
    per_part: bool = False
    missing: str = "null"
    singleton: str = "zero"
    tolerance: float = TOLERANCE
    threshold: float | None = None
    clip: tuple[float, float] | None = None
    length_penalty: float = 0.0
    clip_after: tuple[float, float] | None = None
    source: str = ""
    fault: str = ""
    framework: str = ""
    baseline_field: str = ""
    given: tuple[tuple[str, str], ...] = field(default=())

    @property
    def chain(self) -> tuple[Step, ...]:
        """All steps, whitening included."""
        return (*self.steps, self.whiten) if self.whiten else self.steps

    @property
    def spec(self) -> str:
        """The text that resolves to this estimator again: `[FRAMEWORK/]NAME[:AXIS=VALUE,...]`."""
        base = f"{self.framework}/{self.name}" if self.framework else self.name
        return f"{base}:{','.join(f'{axis}={value}' for axis, value in self.given)}" if self.given else base

    @property
    def needs(self) -> frozenset[str]:
        """The optional columns of the canonical frame that it cannot do without: `length`, `baseline`."""
        needed = {"length"} if self.length_penalty else set()
        for step in self.chain:
            if step.weighting == "tokens" or step.subtract == "length-mean":
                needed.add("length")
            if step.subtract == "field":
                needed.add("baseline")
        return frozenset(needed)

    @property
    def over_group(self) -> bool:
        """Whether any step takes a statistic over the group: then the singleton rule has a meaning."""
        return any(step.over_group for step in self.chain)

    @property
    def formula(self) -> str:
        """The formula on one line."""
        active = [s for s in self.steps if s.kernel or s.divide != "none" or s.subtract != "none"]
        texts = []
        for number, step in enumerate(active):
            texts.append(step.text("x" if number else "r", self.baseline_field))
        if self.per_part:
            texts = [f"sum over rewards of weight * ({', then '.join(texts) or 'r'})"]
        if self.whiten:
            texts.append(self.whiten.text("x" if texts else "r"))
        return ", then ".join([*self._shaping(), *(texts or ["r"])]) + self._clipped()

    def _shaping(self) -> list[str]:
        texts = []
        if self.threshold is not None:
            texts.append(f"r = 1 where r > {spelled(self.threshold)}, else 0")
        if self.clip:
            texts.append(f"r clipped to [{spelled(self.clip[0])}, {spelled(self.clip[1])}]")
        if self.length_penalty:
            texts.append(f"r = r - {spelled(self.length_penalty)} mean length / longest length")
        return texts

    def _clipped(self) -> str:
        if not self.clip_after:
            return ""
        return f", then clipped to [{spelled(self.clip_after[0])}, {spelled(self.clip_after[1])}]"

    def as_dict(self) -> dict[str, Any]:
        """Plain values for a file's metadata."""
        steps = [{key: value for key, value in asdict(step).items() if value != ""} for step in self.chain]
        return {
            "spec": self.spec,
            "formula": self.formula,
            "aggregate": AGGREGATES[int(self.per_part)],
            "missing": self.missing,
            "singleton": self.singleton,
            "tolerance": self.tolerance,
            "steps": steps,
        } | {key: getattr(self, key) for key in _WHERE_SET if getattr(self, key)}


_WHERE_SET = ("baseline_field", "threshold", "clip", "length_penalty", "clip_after")
