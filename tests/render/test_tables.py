import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from grpo_cli.frame import Status
from grpo_cli.render.tables import Kind, Table, draw
from grpo_cli.render.text import Charset, visible, width

GROUPS = Table(
    "groups",
    pl.DataFrame(
        {
            "id": ["3f2a91", "00c4de", "b71e05", "5d9a2c"],
            "key": ["[/INST] q1", "数学の問題を解いてください", "esc\x1b[2J\tq", None],
            "n": [8, 8, 2, 1],
            "std": [0.4330127018922193, 0.0, 1e-9, None],
            "pass_rate": [0.25, 1.0, 0.9999, None],
            "status": ["mixed", "all-pass", "tied", "singleton"],
            "rewards": [[0.0, 0.0, 1.0], [1.0, 1.0, 1.0], [0.5, 0.5], [0.25]],
        }
    ),
    {
        "id": Kind.ID,
        "key": Kind.KEY,
        "n": Kind.COUNT,
        "std": Kind.NUMBER,
        "pass_rate": Kind.SHARE,
        "status": Kind.STATUS,
        "rewards": Kind.SPARK,
    },
    narrow=("rewards", "std"),
)


def lines(table, room=None, encoding="utf-8"):
    return [line.plain for line in draw(table, room=room, charset=Charset(encoding)).lines]


def test_a_table_without_a_terminal_is_whole():
    assert "\n".join(lines(GROUPS)) == (
        "id      key                         n    std  pass_rate  status       rewards\n"
        "─────────────────────────────────────────────────────────────────────────────\n"
        "3f2a91  [/INST] q1                  8  0.433     25.0 %  ◐ mixed      ▁▁█\n"
        "00c4de  数学の問題を解いてください  8  0          100 %  ✓ all-pass   ▄▄▄\n"
        r"b71e05  esc\x1b[2J\tq               2   1e-9    >99.9 %  = tied       ▄▄" + "\n"
        "5d9a2c  -                           1      -          -  · singleton  ▄"
    )


def test_a_narrow_terminal_elides_keys_and_leaves_out_what_the_table_can_spare():
    drawing = draw(GROUPS, room=52, charset=Charset())
    assert drawing.left_out == ["rewards", "std"]
    assert "\n".join(line.plain for line in drawing.lines) == (
        "id      key                n  pass_rate  status\n"
        "────────────────────────────────────────────────────\n"
        "3f2a91  [/INST] q1         8     25.0 %  ◐ mixed\n"
        "00c4de  数学の問題…さい    8      100 %  ✓ all-pass\n"
        r"b71e05  esc\x1b[2J\tq      2    >99.9 %  = tied" + "\n"
        "5d9a2c  -                  1          -  · singleton"
    )


def test_an_encoding_without_the_glyphs_gets_ascii():
    table = "\n".join(lines(GROUPS, encoding="ascii"))
    assert table.isascii()
    assert "~ mixed" in table
    assert "+ all-pass" in table
    assert "__#" in table


def test_every_status_has_a_glyph_of_its_own():
    table = Table("groups", pl.DataFrame({"status": list(Status)}), {"status": Kind.STATUS})
    for encoding in ("utf-8", "ascii"):
        cells = lines(table, encoding=encoding)[2:]
        assert [cell[2:] for cell in cells] == [status.value for status in Status]
        assert len({cell[0] for cell in cells}) == len(Status)


def test_words_of_our_own_wrap_on_a_terminal_and_nowhere_else():
    table = Table(
        "estimators",
        pl.DataFrame({"name": ["grpo"], "about": ["rewards minus the mean of the group over its deviation"]}),
        {"name": Kind.ID, "about": Kind.TEXT},
    )
    assert lines(table, 40) == [
        "name  about",
        "────────────────────────────────────────",
        "grpo  rewards minus the mean of the",
        "      group over its deviation",
    ]
    assert lines(table)[2:] == ["grpo  rewards minus the mean of the group over its deviation"]


def test_an_id_is_never_elided_and_folds_where_even_alone_it_has_no_room():
    table = Table("groups", pl.DataFrame({"id": ["0123456789abcdef"], "n": [8]}), {"id": Kind.ID, "n": Kind.COUNT})
    drawing = draw(table, room=10, charset=Charset())
    assert [line.plain for line in drawing.lines][2:] == ["0123456789", "abcdef"]
    assert drawing.left_out == ["n"]


def test_the_last_to_go_are_ids_keys_and_statuses():
    drawing = draw(GROUPS, room=30, charset=Charset())
    assert drawing.lines[0].plain.split() == ["id", "key", "n", "status"]
    assert drawing.left_out == ["rewards", "std", "pass_rate"]


def test_a_huge_key_is_cut_before_it_is_drawn():
    table = Table("groups", pl.DataFrame({"key": ["a" * 2_000_000 + "z"]}), {"key": Kind.KEY})
    row = lines(table, 40)[2]
    assert width(row) == 40
    assert row.startswith("aaa")
    assert row.endswith("az")


def test_an_empty_table_has_its_header():
    table = Table("groups", pl.DataFrame({"id": [], "mean": []}), {"id": Kind.ID, "mean": Kind.NUMBER})
    assert lines(table, 80) == ["id  mean", "────────"]


TEXTS = st.one_of(st.none(), st.text(max_size=50))
NUMBERS = st.one_of(st.none(), st.floats(allow_nan=False, allow_infinity=False))
SHARES = st.one_of(st.none(), st.floats(0, 1))
ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "id": st.text("0123456789abcdef", min_size=6, max_size=12),
            "key": TEXTS,
            "n": st.one_of(st.none(), st.integers(0, 10**9)),
            "mean": NUMBERS,
            "about": TEXTS,
            "share": SHARES,
            "status": st.sampled_from([*Status, None]),
            "rewards": st.one_of(st.none(), st.lists(NUMBERS, max_size=70)),
            "bar": SHARES,
        }
    ),
    max_size=4,
)
COLUMNS = {
    "id": (Kind.ID, pl.String),
    "key": (Kind.KEY, pl.String),
    "n": (Kind.COUNT, pl.Int64),
    "mean": (Kind.NUMBER, pl.Float64),
    "about": (Kind.TEXT, pl.String),
    "share": (Kind.SHARE, pl.Float64),
    "status": (Kind.STATUS, pl.String),
    "rewards": (Kind.SPARK, pl.List(pl.Float64)),
    "bar": (Kind.BAR, pl.Float64),
}


@given(
    ROWS,
    st.integers(20, 200),
    st.lists(st.sampled_from(list(COLUMNS)), min_size=1, unique=True),
    st.lists(st.sampled_from(list(COLUMNS)), unique=True),
    st.sampled_from(["utf-8", "ascii"]),
)
def test_no_line_is_wider_than_the_terminal(rows, room, names, narrow, encoding):
    frame = pl.DataFrame(rows, schema={name: dtype for name, (_, dtype) in COLUMNS.items()})
    table = Table("rows", frame, {name: COLUMNS[name][0] for name in names}, tuple(narrow))
    drawing = draw(table, room=room, charset=Charset(encoding))
    for line in drawing.lines:
        assert width(line.plain) <= room
        assert "\n" not in line.plain
        line.plain.encode(encoding)
    shown = [name for name in names if name not in drawing.left_out]
    assert shown
    for name, cells in (("id", frame["id"]), ("status", frame["status"])):
        if name in shown and width(drawing.lines[1].plain) > 20:
            assert all(any(cell in line.plain for line in drawing.lines) for cell in cells if cell)


@given(ROWS)
def test_without_a_terminal_every_key_is_whole_and_every_row_one_line(rows):
    frame = pl.DataFrame(rows, schema={name: dtype for name, (_, dtype) in COLUMNS.items()})
    table = Table("rows", frame, {name: kind for name, (kind, _) in COLUMNS.items()}, ("key", "about"))
    drawing = draw(table, room=None, charset=Charset())
    assert not drawing.left_out
    assert len(drawing.lines) == 2 + len(rows)
    for line, row in zip(drawing.lines[2:], rows, strict=True):
        assert visible(row["key"] or "-").rstrip() in line.plain


def test_a_histogram_begins_at_zero_and_has_a_gap_for_none():
    frame = pl.DataFrame({"rewards": [[5, 3], [0, 8], [4, 0], [0, 0]]})
    table = Table("groups", frame, {"rewards": Kind.HISTOGRAM})
    for room in (None, 80):
        lines = [line.plain for line in draw(table, room=room, charset=Charset()).lines]
        assert lines[2:] == ["█▅", " █", "█", ""]
    narrow = Table("groups", pl.DataFrame({"rewards": [[8, 0, 0, 0, 0, 0, 0, 4]]}), {"rewards": Kind.HISTOGRAM})
    assert draw(narrow, room=4, charset=Charset()).lines[2].plain == "█  ▅"
