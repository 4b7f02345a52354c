"""What was said in a rollout: its prompt and its completion, read from the files for the rows that are shown."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from grpo_cli.logs.fields import MISSING, Field
from grpo_cli.logs.rollouts import format_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grpo_cli.logs.rollouts import Part, RolloutLog

PROMPTS = (
    "prompt", "input", "input_prompt", "question", "query", "problem", "instruction", "messages",
    "responses_create_params.input", "doc.query", "prompt_tokens",
)  # fmt: skip
"""The fields that may hold what was asked, best first."""


@dataclass(frozen=True)
class Turn:
    """One message of a conversation; `role` is None for text that is no chat."""

    role: str | None
    text: str


@dataclass(frozen=True)
class Texts:
    """What is in the files about one rollout."""

    file: str
    line: int
    """The line it is on (a row for Parquet)."""
    prompt: Any
    """The value as the file has it: text, chat messages, token ids; None where there is none."""
    completion: Any


def texts_of(log: RolloutLog, rows: Sequence[int], prompt: str | None, completion: str | None) -> list[Texts]:
    """The texts of some rows of the log's frame, in the order of `rows`. Nothing else of the files is decoded.

    Args:
        log: the log.
        rows: numbers of rows of its frame.
        prompt: the field of the prompt, where the person named one.
        completion: the same of the completion.

    Raises:
        InputError: a file is not what it was when it was read.
        UsageError: a field is not in the grammar.
    """
    prompts = [Field.parse(prompt, log.names)] if prompt else [Field.parse(name) for name in PROMPTS]
    found_completion = [log.reading.completion] if log.reading.completion else []
    completions = [Field.parse(completion, log.names)] if completion else found_completion
    prompts, completions = ([field for field in some if field.top in log.names] for some in (prompts, completions))
    found: dict[int, tuple[str, int, list[Any]]] = {}
    for part, places in _places(log, rows):
        records = sorted({record for record, _, _ in places})
        picked = dict(
            zip(records, format_of(part.file).picked(part.file, records, [*prompts, *completions]), strict=True)
        )
        for record, at, row in places:
            line, values = picked[record]
            every = zip([*prompts, *completions], values, strict=True)
            found[row] = part.file.name, line, [_of_rollout(field, value, at, part, record) for field, value in every]
    asked = _first([values[: len(prompts)] for _, _, values in found.values()])
    given = _first([values[len(prompts) :] for _, _, values in found.values()])
    texts = []
    for row in rows:
        file, line, values = found[row]
        said = values[asked] if asked is not None else None
        answer = values[len(prompts) + given] if given is not None else None
        if asked is not None and given is not None and prompts[asked].top == completions[given].top:
            said, answer = _parted(answer)
        texts.append(Texts(file, line, said, answer))
    return texts


def turns(value: Any) -> list[Turn]:
    """What a prompt or completion says, message by message: of text, chat messages (also as JSON text), or tokens."""
    match value:
        case None:
            return []
        case str():
            return _from_json(value) or [Turn(None, value)]
        case list() if value and all(isinstance(message, dict) for message in value):
            return [turn for message in value for turn in _turns_of(message)]
        case list() if value and all(isinstance(token, int) for token in value):
            return [Turn(None, f"{len(value)} token ids: {' '.join(map(str, value))}")]
        case list() if all(isinstance(text, str) for text in value):
            return [Turn(None, text) for text in value]
        case dict():
            return _turns_of(value)
        case _:
            return [Turn(None, _json(value))]


def _places(log: RolloutLog, rows: Sequence[int]) -> list[tuple[Part, list[tuple[int, int, int]]]]:
    """For each file that holds some of the rows: (record, place in the record, row)."""
    import polars as pl

    every = rows if log.kept is None else log.kept.arg_true().gather(list(rows)).to_list()
    found: list[tuple[Part, list[tuple[int, int, int]]]] = []
    start = 0
    for part in log.parts:
        end = start + part.rollouts
        ends = None if part.lengths is None else part.lengths.cum_sum().cast(pl.Int64)
        places = []
        for row, rollout in zip(rows, every, strict=True):
            if start <= rollout < end:
                at = rollout - start
                record = at if ends is None else int(ends.search_sorted(at, side="right"))
                before = 0 if ends is None or not record else int(ends[record - 1])
                places.append((record, 0 if ends is None else at - before, row))
        if places:
            found.append((part, places))
        start = end
    return found


def _of_rollout(field: Field, value: Any, at: int, part: Part, record: int) -> Any:
    """The value of one rollout out of a record's."""
    if value is MISSING:
        return None
    if part.lengths is not None and isinstance(value, list):
        parallel = len(value) == part.lengths[record]
        if field.has_each or (parallel and part.lengths[record] > 1):
            value = value[at] if at < len(value) else None
    return None if value is MISSING else value


def _first(rows: Sequence[Sequence[Any]]) -> int | None:
    """The first field that any rollout has something in, or at least has."""
    fields = range(len(rows[0])) if rows else range(0)
    for nothing in cast("tuple[Sequence[Any], ...]", ((None, "", []), (None,))):
        for at in fields:
            if any(row[at] not in nothing for row in rows):
                return at
    return None


def _parted(value: Any) -> tuple[Any, Any]:
    """A conversation as what was asked, and what came after the last message that was not the model's."""
    messages = value
    if isinstance(value, str):
        try:
            messages = json.loads(value)
        except ValueError:
            return None, value
    if not isinstance(messages, list) or not all(isinstance(message, dict) for message in messages):
        return None, value  # text, or one message of many
    first = next((at for at, message in enumerate(messages) if _role(message) in {"assistant", "gpt"}), len(messages))
    return messages[:first] or None, messages[first:] or None


def _from_json(text: str) -> list[Turn] | None:
    """Chat messages that were stored as JSON text."""
    if not text.startswith(("[{", '{"role"')):
        return None
    try:
        value = json.loads(text)
    except ValueError:
        return None
    messages = value if isinstance(value, list) else [value]
    if not messages or not all(isinstance(message, dict) and _role(message) for message in messages):
        return None
    return [turn for message in messages for turn in _turns_of(message)]


def _role(message: dict[str, Any]) -> str | None:
    role = message.get("role") or message.get("from")
    return role if isinstance(role, str) else None


def _turns_of(message: dict[str, Any]) -> list[Turn]:
    """An object as turns: a chat message, a wrapped one, an item of a response; anything else as JSON."""
    role = _role(message)
    if role is None:
        for name in ("message", "output", "messages", "input"):
            if isinstance(message.get(name), list | dict):
                return turns(message[name])
    kind = message.get("type")
    content = next((message[name] for name in ("content", "value", "text") if message.get(name)), None)
    said = [Turn(role or (kind if isinstance(kind, str) else None), _content(content))] if content is not None else []
    reasoning = message.get("reasoning_content") or message.get("reasoning")
    if isinstance(reasoning, str) and reasoning:
        said.insert(0, Turn(f"{role or 'assistant'} (reasoning)", reasoning))
    said += [Turn(f"{role or 'assistant'} (tool call)", _call(call)) for call in message.get("tool_calls") or ()]
    if said:
        return said
    return [Turn(role, "")] if role and set(message) <= {"role", "content"} else [Turn(role, _json(message))]


def _content(content: Any) -> str:
    """The text of a message's content: text, or a list of parts of which some are text."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(_part(part) for part in content)
    return _json(content)


def _part(part: Any) -> str:
    if isinstance(part, str):
        return part
    if isinstance(part, dict) and isinstance(part.get("text"), str):
        return str(part["text"])
    if isinstance(part, dict) and isinstance(part.get("type"), str):
        return f"[{part['type']}]"
    return _json(part)


def _call(call: Any) -> str:
    function = call.get("function") if isinstance(call, dict) else None
    if isinstance(function, dict) and isinstance(function.get("name"), str):
        arguments = function.get("arguments")
        return f"{function['name']}({arguments if isinstance(arguments, str) else _json(arguments)})"
    return call if isinstance(call, str) else _json(call)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
