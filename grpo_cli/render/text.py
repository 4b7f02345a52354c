r"""Text that came from a log, made safe for a terminal, and cut or wrapped by the width it is seen at.

Rollout logs carry what a model wrote: terminal escapes, line ends, bidirectional overrides, invisible characters.
`visible` shows each of these as the escape a programmer knows (`\x1b`, `\n`, `\u202e`), and everything that is drawn
goes through it. Text is never handed to Rich as markup, so `[red]` and `:x:` stay what they are.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from rich.cells import cell_len

if TYPE_CHECKING:
    from collections.abc import Iterator

_SPELLED = re.compile("\0(0000|d[89a-f][0-9a-f]{2})")

# Default-ignorable characters that Python counts as printable letters or marks: fillers, variation selectors, blanks.
_INVISIBLE = (
    "\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff"
)
_HAS_INVISIBLE = re.compile(f"[{_INVISIBLE}]")

# Two invisible characters have honest work: joiners inside words of the Arabic and Indic scripts, and the emoji
# variation selector right after a character that has an emoji form.
_JOINING = "\u0620-\u06ff\u0750-\u077f\u08a0-\u08ff\u0900-\u0dff\u1000-\u109f\u1780-\u17b3\u17b6-\u17d3"
_HONEST = re.compile(
    f"(?<=[{_JOINING}])[\u200c\u200d](?=[{_JOINING}])|(?<=[#*0-9\u00a9\u00ae\u203c-\u3299\U0001f000-\U0001faff])\ufe0f"
)
_SHORT = {"\n": r"\n", "\r": r"\r", "\t": r"\t"}

# One step of eliding or wrapping: an escape stays whole.
_UNIT = re.compile(r"\\x[0-9a-f]{2}|\\u[0-9a-f]{4}|\\U[0-9a-f]{8}|\\[nrt]|.", re.DOTALL)

# A backslash is doubled only where it would read as the beginning of an escape.
_BACKSLASH = re.compile(r"\\(?=(.))", re.DOTALL)


@dataclass(frozen=True)
class Charset:
    """What the encoding of a stream can show."""

    encoding: str = "utf-8"

    @cached_property
    def unicode(self) -> bool:
        """True where the glyphs, bars and rules that we draw can be shown; otherwise ASCII stands in for them."""
        return self._can("…─█▁▏◐✓✗·")

    @property
    def ellipsis(self) -> str:
        """What stands for text that is left out."""
        return "…" if self.unicode else "..."

    @property
    def rule(self) -> str:
        """What a line across the page is drawn with."""
        return "─" if self.unicode else "-"

    def visible(self, text: str) -> str:
        """`visible(text)`, with escapes also for what the encoding cannot carry."""
        shown = visible(text)
        if shown.isascii() or self._can(shown):
            return shown
        return shown.encode(self.encoding, "backslashreplace").decode(self.encoding)

    def _can(self, text: str) -> bool:
        try:
            text.encode(self.encoding)
        except (UnicodeEncodeError, LookupError):
            return False
        return True


def unspell(text: str) -> str:
    """The text that `logs.format.spell` wrote: NUL and four hex digits are a lone surrogate, or NUL itself."""
    if "\0" not in text:
        return text
    return _SPELLED.sub(lambda match: chr(int(match[1], 16)), text)


def visible(text: str) -> str:
    r"""The text with every character that is not seen as itself shown as an escape: `\x1b`, `\n`, `\u202e`."""
    if text.isprintable() and (text.isascii() or not _HAS_INVISIBLE.search(text)):
        return text
    text = unspell(text)
    honest = {match.start() for match in _HONEST.finditer(text)}
    return "".join(c if i in honest or not is_hidden(c) else escape(c) for i, c in enumerate(text))


def is_hidden(character: str) -> bool:
    """True for what a terminal obeys, hides or cannot show: controls, formats, surrogates, unassigned, fillers."""
    if character.isprintable():
        return not character.isascii() and _HAS_INVISIBLE.match(character) is not None
    return unicodedata.category(character) != "Zs"


def escape(character: str) -> str:
    r"""The escape of one character: `\n`, `\x1b`, `\u202e`, `\U000e0041`."""
    code = ord(character)
    if short := _SHORT.get(character):
        return short
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def tsv(text: str) -> str:
    r"""The text as a TSV field: escapes for tabs, line ends and all that is hidden; no quotes.

    A backslash is doubled where it would read as an escape, and only there, so that `a\[b]` stays findable. Read
    back: `\\ \n \r \t \xHH \uHHHH \UHHHHHHHH` are escapes, any other backslash is itself.
    """
    if text.isascii() and text.isprintable() and "\\" not in text:
        return text
    return visible(_BACKSLASH.sub(lambda match: "\\" * (1 + (match[1] in r"\nrtxuU" or is_hidden(match[1]))), text))


def width(text: str) -> int:
    """How many columns of a terminal the (visible) text takes."""
    if text.isascii():
        return len(text)
    # Rich takes a zero-width joiner to swallow what follows it, which holds for emoji; those that `visible` lets
    # through stand between letters.
    return cell_len(text.replace("\u200d", ""))


def units(text: str) -> Iterator[tuple[str, int]]:
    """The pieces that are never cut, with their widths: a character and its combining marks, or one escape."""
    piece, columns = "", 0
    for match in _UNIT.finditer(text):
        joined = piece + match[0]
        if piece and width(match[0]) == 0:
            piece, columns = joined, width(joined)
            continue
        if piece:
            yield piece, columns
        piece, columns = match[0], width(match[0])
    if piece:
        yield piece, columns


def elide(text: str, room: int, *, where: Literal["middle", "end"] = "end", ellipsis: str = "…") -> str:
    """The (visible) text in at most `room` columns, with an ellipsis where something was left out.

    In the middle, two thirds are the beginning and one third is the end, where ids differ.
    """
    if width(text) <= room:
        return text
    ellipsis = ellipsis[: max(room, 0)]
    spare = room - width(ellipsis)
    tail_room = spare // 3 if where == "middle" else 0
    pieces = list(units(text))
    tail = _taken(reversed(pieces), tail_room)[::-1]
    head = _taken(iter(pieces), spare - tail_room)
    return "".join(head) + ellipsis + "".join(tail)


def _taken(pieces: Iterator[tuple[str, int]], room: int) -> list[str]:
    taken: list[str] = []
    for piece, columns in pieces:
        room -= columns
        if room < 0:
            break
        taken.append(piece)
    return taken


def wrap(text: str, room: int) -> list[str]:
    """The (visible) text in lines of at most `room` columns (at least 2), broken between words; long words fold."""
    room = max(room, 2)
    lines, line, used = [], "", 0
    for word in text.split(" "):
        columns = width(word)
        if line and used + 1 + columns <= room:
            line, used = f"{line} {word}", used + 1 + columns
            continue
        if line:
            lines.append(line)
        line, used = "", 0
        for piece, piece_columns in units(word) if columns > room else [(word, columns)]:
            # An escape of ten columns in a room of fewer is the one piece that must break.
            for part, part_columns in [(piece, piece_columns)] if piece_columns <= room else [(c, 1) for c in piece]:
                if used + part_columns > room:
                    lines.append(line)
                    line, used = "", 0
                line, used = line + part, used + part_columns
    return [*lines, line]
