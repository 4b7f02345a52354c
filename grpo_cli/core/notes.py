"""What looks wrong in a log, or would surprise: plain sentences, each with the option that would help.

`groups` is everywhere a summary by group, and `name` says what a group number is called.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from grpo_cli import frame as cf
from grpo_cli.core import rewards
from grpo_cli.core.groups import is_nearly_constant
from grpo_cli.frame import Status

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Name = Callable[[int], str]

NAMED = 3
"""How many groups a sentence names before it counts the rest."""

_NEARLY_ALL, _MANY = 0.9, 100
_ENOUGH_TO_BE_FILTERED = 20

MISSING_REWARDS = {
    "null": "stay out of every statistic, with a null advantage (--missing has other ways)",
    "zero-advantage": "stay out of every statistic, with advantage 0",
    "zero-reward": "count as reward 0 in the advantages",
    "propagate": "leave no advantage to their whole group",
    "error": "are not allowed by --missing error",
    "zero-part": "take part as 0 in what is done over the batch",
    "lowest": "stay out of every statistic, with the lowest advantage of their group",
}
"""What becomes of missing rewards, by `--missing`."""


def about_sizes(groups: pl.DataFrame, name: Name, *, group_size: int | None = None) -> list[str]:
    """What the sizes of the groups say about the key; `group_size` is `--group-size` where it was given."""
    if not len(groups):
        return []
    sizes = groups["n"]
    if len(groups) > 1 and (sizes == 1).all():
        sentence = (
            f"all {len(groups)} groups have one rollout each, so there is nothing to compare within them: "
            "name the prompt's key with --group-by"
        )
        return [sentence]
    said = [_one_key(groups, name)] if _is_one_key(sizes) else []
    if group_size is not None:
        short = groups.filter(pl.col("n") < group_size)
        return said + ([_short(short, name, group_size)] if len(short) else [])
    commonest = commonest_size(groups)
    # Where sizes vary anyway, or are 1, that one is a multiple of another says nothing.
    telling = commonest > 1 and int((sizes == commonest).sum()) * 2 >= len(groups)
    multiple = (pl.col("n") > commonest) & (pl.col("n") % commonest == 0) & pl.lit(telling)
    repeated = groups.filter(multiple)
    if len(repeated):
        said.append(
            f"{_have(repeated, 'group')} a multiple of the commonest size {commonest}, as where one prompt is "
            f"drawn more than once: --group-size {commonest} splits them ({_with_sizes(repeated, name)})"
        )
    odd = groups.filter(~multiple & (pl.col("n") != commonest))
    if len(odd) and not len(repeated):
        said.append(_odd_sizes(groups, odd, name, commonest))
    elif len(odd):
        said.append(f"{_have(odd, 'group')} some other odd size ({_with_sizes(odd, name)})")
    return said


def commonest_size(groups: pl.DataFrame) -> int:
    """The size that most groups have; of two as common, the larger, since rollouts get lost and not found."""
    return int(groups["n"].value_counts().sort("count", "n", descending=True)["n"][0])


def about_rewards(
    frame: pl.DataFrame,
    groups: pl.DataFrame,
    name: Name,
    *,
    columns: Sequence[str],
    missing: str = "null",
    aggregate: str = "sum-then-normalize",
) -> list[str]:
    """What the rewards say about their columns.

    Args:
        frame: the canonical frame that `groups` summarises.
        groups: the summary by group.
        name: what a group is called.
        columns: what `reward_0..k` are called in the log.
        missing: `--missing`.
        aggregate: `--aggregate`.
    """
    rollouts, scored = int(groups["n"].sum()), int(groups["scored"].sum())
    if not scored:
        none = "the only rollout has no reward" if rollouts == 1 else f"none of {rollouts} rollouts has a reward"
        return [f"{none}: name its column with --reward"] * bool(rollouts)
    said = _missing(frame, groups, name, columns, missing, aggregate)
    lowest, highest = _least(groups["min"]), _greatest(groups["max"])
    if scored > 1 and lowest == highest:
        which = "both" if scored == 2 else f"all {scored}"
        said.append(f"{which} rewards are {_spelled(lowest)}: is the reward column broken? --reward names another")
    nearly = groups.filter(is_nearly_constant())
    if len(nearly):
        said.append(
            f"{_are(nearly, 'group')} zero-variance within the tolerance but not exactly constant "
            f"({_names(nearly, name)}): --tolerance 0 takes only exactly equal rewards for constant"
        )
    tied = groups.filter((pl.col("status") == Status.TIED) & pl.col("judged").is_null())
    if len(tied):
        said.append(
            f"no pass threshold is known, so {count(len(tied), 'constant group')} cannot be called passed or failed: "
            "give --pass-threshold X or --outcome FIELD"
        )
    return said


def about_eps(groups: pl.DataFrame, name: Name, *, eps: float, ddof: int) -> list[str]:
    """The groups whose std (by `ddof`) is below ten times the eps that is added to it."""
    std = pl.col("sample_std" if ddof else "std")
    small = groups.filter((pl.col("status") == Status.MIXED) & (std < 10 * eps)).sort(std)
    if not len(small):
        return []
    sentence = (
        f"{_have(small, 'group')} a std below 10 times eps ({eps:g}), so eps and not the spread decides the "
        f"advantages ({_names(small, name)}): --eps 0 leaves it out"
    )
    return [sentence]


def about_filtering(groups: pl.DataFrame) -> list[str]:
    """Whether the log looks as if constant groups had been dropped before it was written."""
    mixed = (groups["status"] == Status.MIXED).all()
    # Without pass and fail nearly every group differs a little, and that it is mixed says nothing.
    if not mixed or len(groups) < _ENOUGH_TO_BE_FILTERED or groups["judged"].is_null().any():
        return []
    sentence = (
        f"every one of the {len(groups)} groups is mixed: the trainer may have dropped the others before "
        "logging, and the shares then say nothing about the prompts"
    )
    return [sentence]


def about_phantoms(phantoms: pl.DataFrame, name: Name) -> list[str]:
    """The groups that fail throughout and yet have a spread of rewards, given as rows of a summary."""
    if not len(phantoms):
        return []
    sentence = (
        f"in {count(len(phantoms), 'group')} every rollout fails and yet the rewards differ "
        f"({_names(phantoms, name)}): the advantages there are for something else than passing"
    )
    return [sentence]


def about_results(turned_null: int) -> list[str]:
    """How many advantages were not finite, and are null instead."""
    if not turned_null:
        return []
    is_null = "is null: it was" if turned_null == 1 else "are null: they were"
    return [f"{count(turned_null, 'advantage')} {is_null} beyond the range of a 64-bit float"]


def count(number: int, what: str) -> str:
    """`1 group`, `2 groups`."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _is_one_key(sizes: pl.Series) -> bool:
    largest = _greatest(sizes)
    return largest >= _MANY and largest >= _NEARLY_ALL * float(sizes.sum())


def _one_key(groups: pl.DataFrame, name: Name) -> str:
    largest = groups.sort("n", descending=True).head(1)
    return (
        f"one group ({_names(largest, name)}) holds {largest['n'][0]} of {groups['n'].sum()} rollouts: "
        "name the prompt's key with --group-by"
    )


def _short(short: pl.DataFrame, name: Name, group_size: int) -> str:
    return f"{_have(short, 'group')} fewer rollouts than the {group_size} of --group-size ({_with_sizes(short, name)})"


def _odd_sizes(groups: pl.DataFrame, odd: pl.DataFrame, name: Name, commonest: int) -> str:
    least, greatest = _least(groups["n"]), _greatest(groups["n"])
    return (
        f"group sizes run from {least:g} to {greatest:g}: {commonest} is the commonest, and {len(odd)} of "
        f"{len(groups)} groups {'differs' if len(odd) == 1 else 'differ'} ({_with_sizes(odd, name)})"
    )


def _missing(
    frame: pl.DataFrame, groups: pl.DataFrame, name: Name, columns: Sequence[str], missing: str, aggregate: str
) -> list[str]:
    said = []
    rollouts = rewards.one_row_per_rollout(frame)
    taken_out = pl.Series([False]).new_from_index(0, len(rollouts))
    if cf.SCORED in rollouts.columns:
        taken_out = rollouts[cf.SCORED].not_()
        if taken_out.any():
            said.append(f"{_are_number(int(taken_out.sum()), 'rollout')} taken out by --unscored-if")
    lost = int((groups["n"] - groups["scored"]).sum()) - int(taken_out.sum())
    if lost:
        verb = "has no reward" if lost == 1 else "have no reward"
        becomes = MISSING_REWARDS.get(missing, f"follow the rule {missing}")
        said.append(f"{lost} of {count(len(rollouts), 'rollout')} {verb} and {_agree(becomes, lost)}")
    parts = cf.reward_parts(rollouts)
    if len(parts) == 1:
        return said
    kept = rollouts.filter(~taken_out)
    some = kept.filter(pl.any_horizontal(pl.col(parts).is_not_null()))
    for part, column in zip(parts, columns, strict=True):
        absent = kept[part].null_count()
        if absent == lost:
            continue
        said.append(f"{column} is missing in {absent} of {count(len(kept), 'rollout')}")
        if aggregate == "sum-then-normalize":
            by_group = some.group_by(cf.GROUP).agg(pl.col(part).null_count().alias("absent"), pl.len().alias("n"))
            partly = by_group.filter(pl.col("absent").is_between(1, pl.col("n") - 1)).sort(
                ["absent", cf.GROUP], descending=[True, False]
            )
            if len(partly):
                said.append(
                    f"in {count(len(partly), 'group')} {column} is missing for some rollouts only, and there "
                    f"counts as 0 ({_names(partly, name)}): --aggregate normalize-then-sum leaves it out"
                )
    return said


def _agree(clause: str, number: int) -> str:
    """The clause for one rollout: its first verb in the singular."""
    if number != 1:
        return clause
    verb, rest = clause.split(" ", 1)
    return f"{'is' if verb == 'are' else verb + 's'} {rest}".replace("their", "its")


def _least(values: pl.Series) -> float:
    least = values.min()
    assert isinstance(least, int | float)
    return least


def _greatest(values: pl.Series) -> float:
    greatest = values.max()
    assert isinstance(greatest, int | float)
    return greatest


def _spelled(value: float) -> str:
    return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)


def _have(rows: pl.DataFrame, what: str) -> str:
    return f"{count(len(rows), what)} {'has' if len(rows) == 1 else 'have'}"


def _are(rows: pl.DataFrame, what: str) -> str:
    return _are_number(len(rows), what)


def _are_number(number: int, what: str) -> str:
    return f"{count(number, what)} {'is' if number == 1 else 'are'}"


def _names(rows: pl.DataFrame, name: Name) -> str:
    return _listed([name(group) for group in rows[cf.GROUP].head(NAMED)], len(rows))


def _with_sizes(rows: pl.DataFrame, name: Name) -> str:
    """The groups by name and size, the largest first."""
    rows = rows.sort(["n", cf.GROUP], descending=[True, False])
    first = rows.select(cf.GROUP, "n").head(NAMED).rows()
    return _listed([f"{name(group)}: {size}" for group, size in first], len(rows))


def _listed(names: list[str], of: int) -> str:
    return ", ".join(names) + (f" and {of - len(names)} more" if of > len(names) else "")
