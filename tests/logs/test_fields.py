from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grpo_cli.errors import UsageError
from grpo_cli.logs.fields import MISSING, Field

RECORD = {
    "reward": 0.5,
    "info": {"reward": 2, "odd.name": 3},
    "a.b": 4,
    "turns": [{"reward": 1}, {"reward": None}, {"reward": 3}],
    "score": [0.25, 0.5, None],
    "nothing": None,
    "empty": [],
}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("reward", 0.5),
        ("info.reward", 2),
        ('info."odd.name"', 3),
        ('"a.b"', 4),
        ("turns[-1].reward", 3),
        ("turns[0].reward", 1),
        ("turns[].reward", [1, None, 3]),
        ("score[sum]", 0.75),
        ("score[mean]", 0.375),
        ("score[min]", 0.25),
        ("score[max]", 0.5),
        ("reward[sum]", 0.5),
        ("empty[sum]", None),
        ("empty[]", []),
        ("nothing", None),
        ("nothing.inner", None),
        ("absent", MISSING),
        ("info.absent", MISSING),
        ("reward.inner", MISSING),
        ("turns[7].reward", MISSING),
        ("info[]", MISSING),
    ],
)
def test_of(text, value):
    assert Field.parse(text).of(RECORD) == value


def test_an_exact_name_wins_over_the_grammar():
    assert Field.parse("a.b").of(RECORD) is MISSING
    assert Field.parse("a.b", names=RECORD).of(RECORD) == 4


@pytest.mark.parametrize("text", ["", ".", "a.", ".a", "a..b", "a[", "a]", "[0]", "a[b]", "a b[].", 'a"b"'])
def test_what_names_no_field_is_refused(text):
    with pytest.raises(UsageError, match=r"field|list"):
        Field.parse(text)


NAMES = st.text(min_size=1, max_size=8)


@given(st.lists(NAMES, min_size=1, max_size=4))
def test_str_reads_back_the_same(names):
    field = Field(tuple(part for name in names for part in Field.named(name).parts))
    assert Field.parse(str(field)) == field
    assert field.names == tuple(names)
    assert field.top == names[0]


@pytest.mark.parametrize("text", ["a[]", "a[].b", "a[-1]", "a.b[sum]", '"x y".z'])
def test_str_keeps_the_way_into_lists(text):
    assert Field.parse(str(Field.parse(text))) == Field.parse(text)
    assert Field.parse(text).has_each == ("[]" in text)


def test_the_length_of_a_text_is_its_characters():
    field = Field.parse("text[len]")
    assert [field.of({"text": text}) for text in ("", "abc", "é🎉", None, [1, 2])] == [0, 3, 2, None, 2]
