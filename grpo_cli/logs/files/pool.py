"""A small pool: work on blocks or files ahead of whoever uses them, in order, and never far ahead.

Memory is bounded: at most `workers` results wait beside the one in use. An error comes when its item's turn comes.
"""

from __future__ import annotations

from collections import deque
from itertools import chain, islice
from typing import TYPE_CHECKING, Final, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from concurrent.futures import Future

    from grpo_cli.logs.files.source import LogFile

WORKERS: Final = 2
"""Polars has threads of its own; two of ours keep them busy between blocks and files."""
SMALL: Final = 32 << 20
"""Bytes of a file up to which several are worked on at once; a larger one keeps all cores busy by itself."""

Item = TypeVar("Item")
Result = TypeVar("Result")


def in_order(
    work: Callable[[Item], Result], items: Iterable[Item], workers: int = WORKERS
) -> Iterator[tuple[Item, Result]]:
    """Each item with what `work` makes of it; the next ones are worked on while one is in use."""
    items = iter(items)
    head = list(islice(items, 2))
    if len(head) < 2 or workers < 2:  # no thread is worth its start
        yield from ((item, work(item)) for item in chain(head, items))
        return
    from concurrent.futures import ThreadPoolExecutor

    waiting: deque[tuple[Item, Future[Result]]] = deque()
    with ThreadPoolExecutor(workers, thread_name_prefix="ahead") as pool:
        try:
            for item in chain(head, items):
                waiting.append((item, pool.submit(work, item)))
                if len(waiting) > workers:
                    done, result = waiting.popleft()
                    yield done, result.result()
            while waiting:
                done, result = waiting.popleft()
                yield done, result.result()
        finally:
            for _, result in waiting:
                result.cancel()


def workers_for(files: Sequence[LogFile]) -> int:
    """How many of these files to work on at once."""
    sizes = [file.path.stat().st_size for file in files if file.path.exists()]
    return WORKERS if len(sizes) > 1 and max(sizes) <= SMALL else 1
