from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grpo_cli.errors import RowError
from grpo_cli.logs.shapes import explode, fold, record_of


def test_rows_are_left_alone():
    records = pl.DataFrame({"key": ["a", "b"], "reward": [1.0, 0.0]})
    rollouts, lengths = explode(records, [])
    assert rollouts is records
    assert lengths is None
    values = pl.Series("advantage", [1.0, -1.0])
    assert fold(values, lengths) is values
    assert record_of(1, lengths) == 1


def test_lists_become_rollouts_and_come_back():
    records = pl.DataFrame({"key": ["a", "b", "c", "d"], "r": [[1.0, 2.0], [], [None], None]})
    rollouts, lengths = explode(records, ["r"])
    assert rollouts.to_dict(as_series=False) == {"key": ["a", "a", "c"], "r": [1.0, 2.0, None]}
    folded = fold(pl.Series("advantage", [10.0, 20.0, 30.0]), lengths)
    assert folded.to_list() == [[10.0, 20.0], [], [30.0], []]
    assert folded.name == "advantage"
    assert [record_of(rollout, lengths) for rollout in range(3)] == [0, 0, 2]


def test_lists_of_unlike_length_in_a_record_are_refused():
    records = pl.DataFrame({"r": [[1.0, 2.0]], "s": [[1.0]]})
    with pytest.raises(RowError, match="s has 1 elements, and r has 2"):
        explode(records, ["r", "s"])


@settings(deadline=None)
@given(st.lists(st.lists(st.floats(allow_nan=False), max_size=4), max_size=8))
def test_fold_undoes_explode(lists):
    records = pl.DataFrame({"r": pl.Series(lists, dtype=pl.List(pl.Float64))})
    rollouts, lengths = explode(records, ["r"])
    assert fold(rollouts["r"], lengths).to_list() == lists
    assert [record_of(row, lengths) for row in range(rollouts.height)] == [
        at for at, values in enumerate(lists) for _ in values
    ]
