"""The rollouts of a group as text for reading: the prompt once, then each completion below its figures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.text import Text

from grpo_cli.render import digits
from grpo_cli.render.tables import status_text
from grpo_cli.render.text import Charset, elide, width, wrap

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from grpo_cli.frame import Status
    from grpo_cli.render.screen import Screen

_TAB = 4
_PLACE = 24
_TIED = "\u00a0"


@dataclass(frozen=True)
class Message:
    """Something that was said, and by whom; None where it is no chat."""

    role: str | None
    text: str


@dataclass(frozen=True)
class ShownRollout:
    """One rollout: where it stands, its figures by name in the order they are shown, and what it says."""

    place: str
    figures: Sequence[tuple[str, float | None]]
    said: Sequence[Message]


@dataclass(frozen=True)
class ShownGroup:
    """A group with the rollouts of it that are shown."""

    name: str
    """Its id and key, on one line."""
    about: str
    """Its size and statistics."""
    status: Status
    prompt: Sequence[Message]
    rollouts: Sequence[ShownRollout]
    left_out: int = 0
    """How many more rollouts it has."""


def draw_groups(screen: Screen, groups: Sequence[ShownGroup], *, chars: int | None = None) -> None:
    """Print the groups; each text in full, or its first `chars` characters."""
    page = _Page(screen.room(), screen.charset(), chars)
    for number, group in enumerate(groups):
        screen.draw(page.group(group, first=number == 0))


@dataclass(frozen=True)
class _Page:
    room: int | None
    charset: Charset
    chars: int | None

    def group(self, group: ShownGroup, *, first: bool) -> list[Text]:
        lines = [] if first else [Text()]
        lines += self._flowing(group.name, "bold")
        status = status_text(group.status, unicode=self.charset.unicode)
        if self.room is None or width(status.plain) + 2 + width(group.about) <= self.room:
            lines.append(Text().append(status).append(f"  {group.about}"))
        else:
            lines += [status, *self._flowing(group.about, "")]
        if group.prompt:
            lines += [Text(), *self._heading("prompt"), *self._messages(group.prompt)]
        for rollout in group.rollouts:
            # A name and its number stay on one line.
            figures = "  ".join(
                f"{name}{_TIED}{'-' if value is None else digits.number(value)}" for name, value in rollout.figures
            )
            lines += [Text(), *self._heading(figures, rollout.place), *self._messages(rollout.said)]
        if group.left_out:
            more = f"... and {group.left_out} more {'rollout' if group.left_out == 1 else 'rollouts'} of this group"
            lines += [Text(), Text(more, "dim")]
        return lines

    def _heading(self, title: str, place: str = "") -> list[Text]:
        """A heading that stands out from the text below it; the place beside it, or under it where there is no room."""
        mark = f"{self.charset.rule * 2} "
        shown, where = self.charset.visible(title), self.charset.visible(place)
        if self.room is None:
            return [Text(f"{mark}{shown}  {where}".replace(_TIED, " ").rstrip(), "cyan", no_wrap=True)]
        lines = [line.replace(_TIED, " ").strip() for line in wrap(shown, self.room - len(mark))]
        left = self.room - len(mark) - width(lines[-1]) - 2
        if where and left >= min(width(where), _PLACE):
            lines[-1] += f"  {elide(where, left, where='middle', ellipsis=self.charset.ellipsis)}"
        elif where:
            lines.append(elide(where, self.room - len(mark), where="middle", ellipsis=self.charset.ellipsis))
        return [Text((" " * len(mark) if at else mark) + line, "cyan", no_wrap=True) for at, line in enumerate(lines)]

    def _messages(self, messages: Sequence[Message]) -> list[Text]:
        if not messages:
            return [Text("(nothing)", "dim")]
        lines: list[Text] = []
        left = self.chars
        for at, message in enumerate(messages):
            if left is not None and left <= 0:
                rest = messages[at:]
                more = f"{len(rest)} more message{'' if len(rest) == 1 else 's'}"
                characters = sum(len(one.text) for one in rest)
                lines.append(Text(f"{self.charset.ellipsis} {more}, {characters:,} characters", "dim"))
                break
            text = message.text if left is None else message.text[:left]
            cut = len(message.text) - len(text)
            left = None if left is None else left - len(text)
            indent = ""
            if message.role is not None:
                lines.append(Text(f"{self.charset.visible(message.role)}:", "bold"))
                indent = "  "
            if text or not cut:
                lines += [Text(indent + line) for line in self._lines(text, len(indent))]
            if cut:
                more = f"{self.charset.ellipsis} {cut:,} more character{'' if cut == 1 else 's'}"
                lines.append(Text(indent + more, "dim"))
        return lines

    def _lines(self, text: str, indent: int) -> Iterator[str]:
        """The text safe and wrapped. Its own line ends hold; a tab is as wide as on a screen."""
        if not text:
            yield "(empty)"
            return
        for line in text.replace("\r\n", "\n").split("\n"):
            shown = self.charset.visible(line.expandtabs(_TAB))
            yield from self._wrapped(shown, self.room - indent) if self.room else [shown]

    @staticmethod
    def _wrapped(line: str, room: int) -> list[str]:
        """The line in `room`, each part of it as far in as its first: code stays readable."""
        said = line.lstrip(" ")
        margin = " " * min(len(line) - len(said), room // 2)
        return [margin + part for part in wrap(said, room - len(margin))]

    def _flowing(self, text: str, style: str) -> list[Text]:
        shown = self.charset.visible(text)
        return [Text(line, style) for line in (wrap(shown, self.room) if self.room else [shown])]
