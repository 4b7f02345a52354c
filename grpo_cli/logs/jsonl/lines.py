"""One line: a record, nothing (blank), or a bad line and why. Python's `json` says what a record is.

The rules that Python leaves to the depth of its stack are made definite here, so that two readings of one line
never differ: more than `MAX_DEPTH` levels of nesting is a bad line, as is an integer that Python will not convert.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from grpo_cli.errors import InputError
from grpo_cli.logs.fields import Each, Element, Field, Name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

BOM: Final = b"\xef\xbb\xbf"
SPACE: Final = b" \t\r\n"
MAX_DEPTH: Final = 500
"""Levels of objects and lists in a record. Far above any log, far below where Python's stack ends."""


@dataclass(frozen=True, slots=True)
class Bad:
    """Why a line is no record. Never holds the line's own text."""

    reason: str
    torn: bool = False
    """The line ends too early, or might: it is not JSON."""


def stripped(line: bytes) -> bytes:
    """The line's text without the space around it and without a byte-order mark."""
    text = line.strip(SPACE)
    return text[len(BOM) :].strip(SPACE) if text.startswith(BOM) else text


def record(line: bytes, load: Callable[[str], Any] = json.loads) -> dict[str, Any] | Bad | None:
    """The record on `line`; None where it is blank; `Bad` where it is something else."""
    text = stripped(line)
    if not text:
        return None
    try:
        decoded = text.decode("utf-8", "surrogatepass")
        if len(text) > 2 * MAX_DEPTH and _too_deep(text):
            return Bad(f"nested more than {MAX_DEPTH} levels deep")
        value = load(decoded)
    except (ValueError, RecursionError) as error:
        return _fault(error)
    if isinstance(value, dict):
        return value
    return Bad(f"{_KINDS.get(type(value), 'a number')} where a JSON object is needed")


def _fault(error: ValueError | RecursionError) -> Bad:
    match error:
        case UnicodeDecodeError():
            return Bad(f"not UTF-8 at byte {error.start + 1}", torn=True)
        case json.JSONDecodeError():
            return Bad(f"not valid JSON ({error.msg} at character {error.pos + 1})", torn=True)
        case RecursionError():
            return Bad(f"nested more than {MAX_DEPTH} levels deep")
        case _:
            return Bad("an integer with too many digits")


_KINDS: Final[dict[type, str]] = {list: "a list", str: "a string", bool: "true or false", type(None): "null"}


_STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"?', re.DOTALL)
_NO_BRACKET = bytes(sorted(set(range(256)) - set(b"[]{}")))


def _too_deep(text: bytes) -> bool:
    if text.count(b"[") + text.count(b"{") <= MAX_DEPTH:
        return False
    depth = 0
    for sign in _STRING.sub(b"", text).translate(None, _NO_BRACKET):
        if sign in b"[{":
            depth += 1
            if depth > MAX_DEPTH:
                return True
        elif sign in b"]}":
            depth -= 1
    return False


class Names:
    """A quick test of raw lines for object keys that matter: which may have one of them twice, or hidden.

    The test may be wrong in one direction only: a line that it clears has none of the names twice.
    """

    def __init__(self, names: Iterable[str]) -> None:
        """Take the names as they are, not as JSON spells them."""
        self._quoted: list[bytes] = []
        hidden: set[str] = set()
        always = False
        for name in dict.fromkeys(names):
            raw = json.dumps(name, ensure_ascii=False)
            if not name.isascii() or len(raw) != len(name) + 2:
                always = True  # such a name has more than one everyday spelling
            else:
                self._quoted.append(raw.encode())
            hidden.update(name)
        codes = "|".join(sorted(f"{ord(c):04x}" for c in hidden if c.isascii()))
        slash = rb"|\\/" if "/" in hidden else b""
        self._hidden = re.compile(rb"(?i)\\u(?:" + codes.encode() + rb")" + slash) if codes else None
        self._escape = b"\\" if slash else b"\\u00"
        self._always = always

    def __bool__(self) -> bool:
        """Whether there is any name."""
        return self._always or bool(self._quoted)

    def may_repeat(self, line: bytes) -> bool:
        """Whether one of the names may stand twice in one object of `line`."""
        return self._always or any(line.count(quoted) > 1 for quoted in self._quoted) or self.may_be_hidden(line)

    def may_be_hidden(self, line: bytes) -> bool:
        """Whether an escape in `line` may spell a part of one of the names."""
        return self._escape in line and self._hidden is not None and self._hidden.search(line) is not None

    def may_have(self, line: bytes) -> bool:
        """Whether one of the names may stand in `line` as a key."""
        return self._always or any(quoted in line for quoted in self._quoted) or self.may_be_hidden(line)


class Pairs(dict[str, Any]):
    """A JSON object that remembers which of its names came more than once."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        """Keep the last value of a name, as Python does."""
        super().__init__(pairs)
        self.repeated: frozenset[str] = frozenset()
        if len(self) < len(pairs):
            seen: set[str] = set()
            self.repeated = frozenset(name for name, _ in pairs if name in seen or seen.add(name))  # type: ignore[func-returns-value]


def repeated(line: bytes, field: Field) -> str | None:
    """The name on the way to `field` that one object of `line` has twice, if there is one."""
    return _repeated(record(line, _LOAD_PAIRS), field.parts)


def _LOAD_PAIRS(text: str) -> Any:  # noqa: N802 - a constant way to load
    return json.loads(text, object_pairs_hook=Pairs)


def _repeated(value: object, parts: tuple[Any, ...]) -> str | None:
    for at, part in enumerate(parts):
        match part:
            case Name(name) if isinstance(value, Pairs) and name in value:
                if name in value.repeated:
                    return name
                value = value[name]
            case Element(index) if isinstance(value, list) and -len(value) <= index < len(value):
                value = value[index]
            case Each() if isinstance(value, list):
                found = (_repeated(element, parts[at + 1 :]) for element in value)
                return next((name for name in found if name is not None), None)
            case _:
                return None
    return None


@dataclass(frozen=True, slots=True)
class Member:
    """A name of a record's object and where its value's bytes stand in the line."""

    name: str
    start: int
    end: int


_DECODER = json.JSONDecoder()
_GAP = re.compile(r"[ \t\n\r]*")


def members(line: bytes) -> list[Member]:
    """The names and value places of the record on `line` (which must be one), in order, repeated ones too."""
    head = len(line) - len(line.lstrip(SPACE))
    if line.startswith(BOM, head):
        head += len(BOM)
    text = line[head:].decode("utf-8", "surrogatepass")

    def skip(at: int) -> int:
        match = _GAP.match(text, at)
        assert match is not None
        return match.end()

    def place(at: int) -> int:
        return head + (at if text.isascii() else len(text[:at].encode("utf-8", "surrogatepass")))

    found: list[Member] = []
    at = skip(skip(0) + 1)
    while text[at] != "}":
        name, at = _DECODER.raw_decode(text, at)
        start = skip(skip(at) + 1)
        _, end = _DECODER.raw_decode(text, start)
        found.append(Member(name, place(start), place(end)))
        at = skip(end)
        if text[at] == ",":
            at = skip(at + 1)
    return found


class BadLines:
    """The bad lines of one file: raised as one error, or gathered where they are to be skipped."""

    def __init__(self, file_name: str) -> None:
        """Start with none."""
        self._file = file_name
        self._first: Bad | None = None
        self._ends = True
        self.numbers: list[int] = []

    def add(self, number: int, bad: Bad, line: bytes) -> None:
        """Note line `number`."""
        if self._first is None:
            self._first = bad
            self._ends = line.endswith(b"\n")
        self.numbers.append(number)

    def error(self) -> InputError:
        """The error that names the first of them."""
        assert self._first is not None
        more = len(self.numbers) - 1
        reason = self._first.reason
        if self._first.torn and not self._ends:
            reason = f"the last line is cut short ({reason}): the file may still be being written"
        if more:
            reason += f"; {more:,} more bad line{'s' if more > 1 else ''} in this file"
        return InputError(
            reason,
            file=self._file,
            line=self.numbers[0],
            hint="--on-bad-line skip leaves such lines out of the numbers, and in the output as they are",
        )
