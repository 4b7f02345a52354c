import csv
import io
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grpo_cli.logs.format import spell
from grpo_cli.render.text import Charset, elide, is_hidden, tsv, unspell, visible, width, wrap

ANYTHING = st.text(st.one_of(st.characters(), st.characters(categories=["Cs", "Cf", "Mn", "Cc"])), max_size=60)
VISIBLE = ANYTHING.map(lambda text: visible(spell(text)))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("esc\x1b[2J", r"esc\x1b[2J"),
        ("a\nb\tc\rd", r"a\nb\tc\rd"),
        ("\x00\x7f\x9b", r"\x00\x7f\x9b"),
        ("bidi\u202edrow\u2066x\u2069\u200e", r"bidi\u202edrow\u2066x\u2069\u200e"),
        ("zero\u200bwidth\ufeff\u00ad", r"zero\u200bwidth\ufeff\xad"),
        ("line\u2028paragraph\u2029", r"line\u2028paragraph\u2029"),
        ("tag\U000e0041vs\U000e0100", r"tag\U000e0041vs\U000e0100"),
        ("filler\u3164\u115f\u2800", r"filler\u3164\u115f\u2800"),
        ("private\ue000", r"private\ue000"),
        ("family \U0001f468\u200d\U0001f469", "family \U0001f468\\u200d\U0001f469"),
    ],
)
def test_what_is_not_seen_as_itself_becomes_an_escape(text, shown):
    assert visible(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "[/INST] q1",
        "[red]q2[/red]",
        r"q3\[x]",
        "ds:x:17",
        "naïve café e\u0301",
        "数学の問題",
        "ideographic\u3000space no\u00a0break",
        "\u0645\u06cc\u200c\u062e\u0648",
        "क्\u200dष",
        "❤\ufe0f",
    ],
)
def test_what_is_seen_stays_as_it_is(text):
    assert visible(text) == text


def test_the_emoji_selector_is_shown_where_it_selects_nothing():
    assert visible("a\ufe0f") == r"a\ufe0f"


@pytest.mark.parametrize(("original", "shown"), [("k\ud83d", r"k\ud83d"), ("\udcff", r"\udcff"), ("a\0b", r"a\x00b")])
def test_lone_surrogates_and_nul_arrive_spelled_and_are_shown_as_escapes(original, shown):
    assert visible(spell(original)) == shown
    assert unspell(spell(original)) == original


def test_nul_before_other_digits_is_only_nul():
    assert unspell("\0d7ff") == "\0d7ff"
    assert visible("\0d7ff") == r"\x00d7ff"


@given(VISIBLE)
def test_visible_text_has_nothing_hidden_but_honest_joiners(text):
    assert not [c for c in text if is_hidden(c) and c not in "\u200c\u200d\ufe0f"]
    assert visible(text) == text


@given(VISIBLE, st.integers(0, 40), st.sampled_from(["middle", "end"]), st.sampled_from(["…", "..."]))
def test_elided_text_is_never_wider_than_its_room(text, room, where, ellipsis):
    short = elide(text, room, where=where, ellipsis=ellipsis)
    assert width(short) <= room
    if width(text) <= room:
        assert short == text


def test_eliding_keeps_the_beginning_or_both_ends():
    assert elide("gsm8k-train-0001", 10) == "gsm8k-tra…"
    assert elide("gsm8k-train-0001", 10, where="middle") == "gsm8k-…001"
    assert elide("gsm8k-train-0001", 10, where="middle", ellipsis="...") == "gsm8k...01"


def test_eliding_counts_columns_and_cuts_no_character_in_two():
    assert elide("数学の問題", 6) == "数学…"
    assert elide("ab" + "e\u0301" * 5, 4) == "abe\u0301…"
    assert elide(r"ab\x1b[2J", 5) == "ab…"
    assert elide(r"long text \u202e", 6, where="middle") == "long…"


@given(VISIBLE, st.integers(2, 40))
def test_wrapped_lines_fit_and_lose_nothing(text, room):
    lines = wrap(text, room)
    assert all(width(line) <= room for line in lines)
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")


def test_wrapping_breaks_between_words_and_folds_long_ones():
    assert wrap("one two three", 7) == ["one two", "three"]
    assert wrap("a gsm8k-00000001 b", 8) == ["a", "gsm8k-00", "000001 b"]
    assert wrap("数学の 問題", 6) == ["数学の", "問題"]


def _read_tsv(field):
    names = {"\\": "\\", "n": "\n", "r": "\r", "t": "\t"}
    pattern = r"\\(?:([\\nrt])|x([0-9a-f]{2})|u([0-9a-f]{4})|U([0-9a-f]{8}))"
    return re.sub(pattern, lambda m: names[m[1]] if m[1] else chr(int(m[2] or m[3] or m[4], 16)), field)


@given(st.text(st.one_of(st.characters(), st.sampled_from("\\\\\t\n\rxuUnrt0")), max_size=40))
def test_a_tsv_field_reads_back_as_what_it_was(text):
    field = tsv(spell(text))
    assert not any(ord(c) < 32 for c in field)
    assert _read_tsv(field) == text
    rows = list(csv.reader(io.StringIO(field + "\tend\n"), delimiter="\t", quoting=csv.QUOTE_NONE))
    assert rows == [[field, "end"]]


def test_a_backslash_in_tsv_is_doubled_only_where_it_would_read_as_an_escape():
    assert tsv(r"q3\[x] \frac") == r"q3\[x] \frac"
    assert tsv("\\times\t\\\\") == r"\\times\t\\" + "\\"


def test_a_charset_escapes_what_its_encoding_cannot_carry():
    assert Charset("ascii").visible("é 数") == r"\xe9 \u6570"
    assert Charset("latin-1").visible("é 数") == r"é \u6570"
    assert Charset("utf-8").visible("é 数") == "é 数"
    assert not Charset("latin-1").unicode
    assert not Charset("no-such-encoding").unicode
