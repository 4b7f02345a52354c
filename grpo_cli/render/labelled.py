"""A few facts as labelled lines: what is too uneven for a table, and too much for a sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from grpo_cli.render.text import width, wrap

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grpo_cli.render.screen import Screen, To
    from grpo_cli.render.tables import Table

_GAP = 2


def labelled(screen: Screen, facts: Sequence[tuple[str, Sequence[str]]], *, to: To = "out") -> None:
    """Print for each fact its label, and beside it its lines, wrapped to the room there is."""
    room, charset = screen.room(to), screen.charset(to)
    indent = max((width(label) for label, _ in facts), default=0) + _GAP
    lines: list[Text] = []
    for label, said in facts:
        shown = [charset.visible(line) for line in said]
        for number, line in enumerate(
            part for whole in shown for part in (wrap(whole, room - indent) if room else [whole])
        ):
            head = label if number == 0 else ""
            lines.append(Text().append(head, "bold").append(" " * (indent - width(head)) + line))
    screen.draw(lines, to=to)


def headed(
    screen: Screen,
    title: str,
    table: Table,
    *,
    sort: str | None = None,
    descending: bool = False,
    limit: int = 0,
    to: To = "out",
) -> None:
    """Print a table below its title, set off from what stands above; `limit` 0 is all of it."""
    room = screen.room(to)
    screen.draw([Text(), *(Text(line, "bold") for line in (wrap(title, room) if room else [title]))], to=to)
    screen.show(table, format="table", sort=sort, descending=descending, limit=limit, to=to)
