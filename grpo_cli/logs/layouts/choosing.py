"""Choosing which field of a log plays which role. What the person asked for wins; nothing is guessed in silence."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from grpo_cli.errors import InputError, UsageError
from grpo_cli.logs.fields import MISSING, Element, Field, Reduce
from grpo_cli.logs.files.strangers import what_it_is
from grpo_cli.logs.layouts.candidates import Columns, Sample, holds_lists_of_numbers, repeats, spells
from grpo_cli.logs.layouts.group_size import prompt_runs
from grpo_cli.logs.layouts.keys import Key
from grpo_cli.logs.layouts.layout import PER_GROUP_SIZE, RECORD, Layout
from grpo_cli.logs.layouts.reading import ASKED, NO_STEP, PLACES, STEP_FROM_PATH, Asked, NotTaken, Reading
from grpo_cli.logs.layouts.rewards import choose_rewards
from grpo_cli.logs.layouts.roles import CONVERSATIONS, PROMPT_IDS, PROMPTS, WEAK_IDS, WITHOUT_TAIL

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

QUIET = (*WEAK_IDS, WITHOUT_TAIL)
"""Names that mostly are no keys: that they are none here is not worth a word in the run line."""
SURE_IDS = ("prompt_id",)
"""Names that say what they are: no value of theirs makes them unfit."""
_VERL_UID = re.compile(r".+_\d+_\d+", re.DOTALL)


class _KeyChoice(NamedTuple):
    keys: tuple[Key, ...]
    places: tuple[str, ...]
    why: str
    not_taken: list[NotTaken]


def choose(
    asked: Asked,
    layout: Layout,
    names: Collection[str],
    sample: Sample,
    file: str,
    *,
    group_size: int | None = None,
    step_in_path: bool = False,
) -> Reading:
    """Choose the fields of a log whose top-level fields are `names`, looking at the values of a `sample` of it.

    `step_in_path` says that the paths of its files give a step by the pattern of the layout.

    Raises:
        UsageError: a field that was asked for cannot be.
        InputError: a role that is needed has no candidate, or two of one rank; it lists the fields and the option.
    """
    columns = Columns(names, sample, file, layout)
    step, from_path, step_why = _step(asked, layout, columns, step_in_path=step_in_path)
    key = _key(asked, layout, columns, group_size)
    rewards = choose_rewards(asked.reward, columns)
    if ASKED not in {key.why, rewards.why}:
        _refuse_strangers(columns, key.keys, [field for field, _ in rewards.chosen])
    reading = Reading(
        layout=layout,
        key=tuple(one for one in key.keys if one != Key(step or Field(()))),
        places=key.places,
        rewards=rewards.chosen,
        step=step,
        step_from_path=from_path,
        why={"key": key.why, "reward": rewards.why, "step": step_why},
        not_taken=(*key.not_taken, *rewards.not_taken),
    )
    _refuse_unlike_lists(columns, rewards.chosen[0][0])
    if not reading.key and not reading.places and step is None:
        raise UsageError("--group-by names no field")
    return replace(
        reading,
        length=_length(asked, layout, columns),
        rollout=_rollout(asked, layout, columns, key),
        outcome=columns.named(asked.outcome, "--outcome"),
        baseline=columns.named(asked.baseline, "--baseline"),
        logged=columns.named(asked.logged, "--logged") or _logged(layout, columns),
        completion=columns.first(layout.roles.get("completion", ())),
    )


def _key(asked: Asked, layout: Layout, columns: Columns, group_size: int | None) -> _KeyChoice:
    if asked.group_by:
        return _asked_key(asked.group_by, columns)
    not_taken: list[NotTaken] = []
    second: _KeyChoice | None = None
    third: _KeyChoice | None = None
    for candidate in layout.roles["key"]:
        if candidate == RECORD:
            return second or _KeyChoice((), (RECORD,), f"a record is a group in {layout.name}", not_taken)
        if candidate.endswith(PER_GROUP_SIZE):
            return _numbered_key(candidate, columns, group_size)
        for keys in columns.keys(candidate):
            unfit = _unfit(candidate, keys, columns)
            choice = _KeyChoice(keys, (), _key_why(candidate, layout), not_taken)
            if not unfit:
                worth_a_word = [one for one in not_taken if one.name not in QUIET or layout.has]
                return choice._replace(
                    why="; ".join([choice.why, *(f"{one.name} is {one.why}" for one in worth_a_word)]),
                    not_taken=[*not_taken, *_other_keys(choice, not_taken, columns)],
                )
            not_taken.append(NotTaken("key", candidate, unfit))
            if candidate in WEAK_IDS:
                third = third or choice
            elif candidate != WITHOUT_TAIL and unfit != _NO_VALUE:
                second = second or choice
    found = second or third
    if found is None:
        raise _nothing(columns, "no field names the prompt", "say which with --group-by FIELD")
    name = found.keys[0]
    unfit = next(reason for _, text, reason in not_taken if text == ",".join(map(str, found.keys)))
    others = [one for one in not_taken if one.name != str(name)]
    return found._replace(why=f"{found.why}, though it is {unfit}", not_taken=others)


def _other_keys(choice: _KeyChoice, named: Sequence[NotTaken], columns: Columns) -> list[NotTaken]:
    """Fields that might be keys by their names, and come later than the one that was chosen."""
    taken = {key.field.top for key in choice.keys} | {one.name for one in named}
    others = [name for name in (*PROMPT_IDS, *PROMPTS) if name in columns.names and name not in taken]
    return [NotTaken("key", name, f"{', '.join(map(str, choice.keys))} comes first") for name in others]


_NO_VALUE = "without a value"


def _key_why(candidate: str, layout: Layout) -> str:
    return "uid is GROUP_ROLLOUT_OUTPUT" if candidate == WITHOUT_TAIL else layout.why


def _unfit(candidate: str, keys: Sequence[Key], columns: Columns) -> str | None:
    """Why a field is no key, going by its values; None where it is one."""
    rows = columns.spelled(keys)
    if not rows:
        return _NO_VALUE
    distinct = len(set(rows))
    if candidate == WITHOUT_TAIL:
        raw = [value for value in columns.values(keys[0].field) if value is not MISSING and value is not None]
        fits = all(isinstance(value, str) and _VERL_UID.fullmatch(value) for value in raw)
        return None if fits and len(set(raw)) == len(raw) else "not GROUP_ROLLOUT_OUTPUT on every row"
    if candidate in WEAK_IDS:
        return None if repeats(rows) else "another for each row" if distinct == len(rows) else "one for all rows"
    if candidate in SURE_IDS or candidate not in columns.layout.roles["key"] or columns.layout.name != "plain":
        return None
    if distinct == len(rows) > 1 and _other_prompt(columns, candidate, at_most=len(rows) // 2):
        return "another for each row"
    if distinct == 1 < len(rows) and _other_prompt(columns, candidate, at_most=len(rows)):
        return "one for all rows"
    return None


def _other_prompt(columns: Columns, candidate: str, *, at_most: int) -> bool:
    """Whether the log has a prompt beside an id, of more than one and `at_most` so many values."""
    for name in PROMPTS:
        if name == candidate:
            return False  # a prompt itself gives way to nothing
        if name in CONVERSATIONS:
            continue
        for keys in columns.keys(name):
            rows = columns.spelled(keys)
            if rows and 1 < len(set(rows)) <= at_most:
                return True
    return False


def _asked_key(texts: Sequence[str], columns: Columns) -> _KeyChoice:
    fields = _split_commas(texts, columns.names)
    places = tuple(text for text in dict.fromkeys(fields) if text in PLACES and text not in columns.names)
    keys = [Key.parse(text, columns.names) for text in fields if text not in places]
    shaped = [replace(key, field=columns.in_shape(key.field)) for key in keys]
    return _KeyChoice(tuple(dict.fromkeys(shaped)), places, ASKED, [])


def _numbered_key(candidate: str, columns: Columns, group_size: int | None) -> _KeyChoice:
    """`idx//8`, the group size being said, or shown by the prompts' tokens."""
    name = candidate.removesuffix(PER_GROUP_SIZE)
    why = "--group-size"
    if group_size is None:
        group_size = prompt_runs(columns.sample, name)
        why = "the prompts' tokens change every so many rows"
    if group_size is None:
        raise InputError(
            f"{columns.layout.name} numbers its rows ({name}), and nothing tells how many make a group",
            file=columns.file,
            hint="say it with --group-size N, the generations per prompt",
        )
    return _KeyChoice((Key(Field.named(name), by=group_size),), (), why, [])


def _step(asked: Asked, layout: Layout, columns: Columns, *, step_in_path: bool) -> tuple[Field | None, bool, str]:
    from_path = Field.named(STEP_FROM_PATH)
    if asked.step == NO_STEP and NO_STEP not in columns.names:
        return None, False, "asked for none"
    if asked.step == STEP_FROM_PATH and STEP_FROM_PATH not in columns.names:
        if not step_in_path:
            raise UsageError(
                f"--step path: no path says a step as the layout {layout.name} has it",
                hint="name the layout with --layout, or a field with --step FIELD",
            )
        return from_path, True, ASKED
    if asked.step is not None:
        return columns.named(asked.step, "--step"), False, ASKED
    found = columns.first(layout.roles.get("step", ()), spells)
    if found is None and step_in_path:
        return from_path, True, "from the file's path"
    return found, False, layout.why if found else "none known"


def _rollout(asked: Asked, layout: Layout, columns: Columns, key: _KeyChoice) -> Key | None:
    if asked.rollout_id is not None:
        if not asked.rollout_id:
            raise UsageError("--rollout-id is empty", hint="name a field")
        found = Key.parse(asked.rollout_id, columns.names)
        return replace(found, field=columns.in_shape(found.field))
    if layout.rollout and any(one.without for one in key.keys):
        return Key.parse(layout.rollout)
    return None


def _length(asked: Asked, layout: Layout, columns: Columns) -> Field | None:
    found = columns.named(asked.length, "--length") or columns.first(layout.roles.get("length", ()))
    if found is not None and asked.length is None and holds_lists_of_numbers(columns.values(found)):
        return Field((*found.parts, Reduce("len")))
    return found


def _logged(layout: Layout, columns: Columns) -> Field | None:
    found = columns.first(layout.roles.get("logged", ()))
    if found is not None and found.is_plain and holds_lists_of_numbers(columns.values(found)):
        return Field((*found.parts, Element(0)))
    return found


def _refuse_strangers(columns: Columns, keys: Sequence[Key], rewards: Sequence[Field]) -> None:
    """Refuse records of another kind that happen to have a field called like a key and one like a reward."""
    of_rollouts = [record for record in columns.sample if not keys or keys[0].field.of(record) is not MISSING]
    scored = sum(any(field.of(record) is not MISSING for field in rewards) for record in of_rollouts)
    if scored * 2 >= len(of_rollouts):
        return
    if what := what_it_is(columns.names, columns.sample):
        raise InputError(
            f"{what[0]}, not a rollout log: only {scored} of the first {len(of_rollouts)} records have a reward",
            file=columns.file,
            hint=f"{what[1]}; -g and -r take it all the same",
        )


def _refuse_unlike_lists(columns: Columns, reward: Field) -> None:
    """Refuse records whose lists of rewards and of completions differ in length: which is whose is then a guess."""
    if columns.layout.is_table or columns.layout.is_wrapped:
        return  # the reader compares what it reads of them, and names the line
    completion = columns.first(columns.layout.roles.get("completion", ()))
    if completion is None or not completion.has_each or not reward.has_each or completion.top == reward.top:
        return
    for rewards, texts in zip(columns.whole(reward), columns.whole(completion), strict=True):
        if isinstance(rewards, list) and isinstance(texts, list) and len(rewards) != len(texts):
            raise InputError(
                f"a record has {len(texts)} in {completion}, and {len(rewards)} in {reward}",
                file=columns.file,
                hint="a rollout is an element of each; --layout plain reads a record as one rollout",
            )


def _nothing(columns: Columns, message: str, hint: str) -> InputError:
    if what := what_it_is(columns.names, columns.sample):
        return InputError(f"{what[0]}, not a rollout log", file=columns.file, hint=what[1])
    return InputError(message, file=columns.file, hint=f"{hint}; the fields are: {columns.listing()}")


def _split_commas(texts: Sequence[str], names: Collection[str]) -> list[str]:
    """`-g a,b` is two fields, unless the log has a field of exactly that name; commas in quotes are part of a name."""
    fields: list[str] = []
    for text in texts:
        if text in names:
            fields.append(text)
        else:
            fields += [part.strip() for part in re.findall(r'(?:"(?:[^"\\]|\\.)*"|[^,"])+', text)]
    if not all(fields) or not fields:
        raise UsageError("--group-by names an empty field")
    return fields
