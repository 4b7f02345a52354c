"""A pool must give results in order, hold few of them, and say errors when their turn comes."""

from __future__ import annotations

import threading
import time

import pytest

from grpo_cli.logs.files.pool import in_order


@pytest.mark.parametrize("workers", [1, 2, 5])
@pytest.mark.parametrize("count", [0, 1, 2, 3, 50])
def test_results_come_in_the_order_of_the_items(workers, count):
    def work(item):
        time.sleep(0.002 if item % 3 == 0 else 0)
        return item * item

    assert list(in_order(work, iter(range(count)), workers)) == [(item, item * item) for item in range(count)]


def test_no_more_results_wait_than_there_are_workers():
    made = 0

    def work(item):
        nonlocal made
        made += 1
        return item

    for used, _ in enumerate(in_order(work, range(40), 3)):
        time.sleep(0.001)
        assert made <= used + 1 + 3 + 1, "one more is handed out while one is used"


def test_two_items_are_worked_on_at_once():
    both = threading.Barrier(2, timeout=5)
    assert [result for _, result in in_order(lambda _: both.wait() >= 0, range(4), 2)] == [True] * 4


def test_an_error_comes_after_what_was_before_it_and_nothing_after_it():
    started = []

    def work(item):
        started.append(item)
        if item == 3:
            raise ValueError("three")
        return item

    results = in_order(work, range(100), 2)
    assert [next(results)[0] for _ in range(3)] == [0, 1, 2]
    with pytest.raises(ValueError, match="three"):
        next(results)
    assert max(started) < 8


def test_whoever_stops_early_leaves_no_thread_behind():
    results = in_order(lambda item: item, range(1000), 2)
    next(results)
    results.close()
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("ahead")]
