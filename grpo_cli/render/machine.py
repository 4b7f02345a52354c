r"""Tables for programs: full precision, stable names, every column, never a colour, always UTF-8.

Null is `null` or an empty field. A number that is not finite is null. Text is the original text: JSON escapes what a
terminal could obey, TSV and Markdown show it as a visible escape, and CSV, which has no escapes, keeps it raw
except on a terminal.
"""

from __future__ import annotations

import json
import math
import re
from typing import TYPE_CHECKING

import polars as pl

from grpo_cli.render.tables import Kind
from grpo_cli.render.text import escape, is_hidden, tsv, unspell, visible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from grpo_cli.render.tables import Table

FORMATS = ("json", "jsonl", "csv", "tsv", "md")
_ROWS_AT_ONCE = 50_000
_NOT_PLAIN = r"[^ -\[\]-~]"
"""What no spelling leaves as it is; a backslash too, since some spellings double it."""

# In JSON text: an escaped backslash (to step over it), a lone surrogate or NUL as `spell` writes it, or any
# character that is not ASCII and might be hidden.
_JSON_ESCAPES = re.compile(r"\\\\|\\u0000(0000|d[89a-f][0-9a-f]{2})|[^\x00-\x7e]")
_MD_SPECIAL = re.compile(r"([\\`*\[\]<>&|~]|(?<![^\W_])_|_(?![^\W_]))")
_RIGHT = (Kind.COUNT, Kind.NUMBER, Kind.SHARE, Kind.BAR)
_CODE = (Kind.KEY, Kind.SPARK, Kind.HISTOGRAM)
_SURROGATES = re.compile("[\ud800-\udfff]")


def written(table: Table, form: str, *, terminal: bool = False) -> Iterator[str]:
    """The table as one of `FORMATS`, in chunks that end with a line end."""
    frame = table.frame.select(_plain(name, table.frame.schema[name]) for name in table.columns)
    if form == "json":
        return _json(frame)
    if form == "jsonl":
        return (_json_escaped(part.write_ndjson()) for part in frame.iter_slices(_ROWS_AT_ONCE) if len(part))
    if form == "md":
        return _markdown(table, frame)
    return _separated(frame, form, terminal=terminal)


def _plain(name: str, dtype: pl.DataType) -> pl.Expr:
    column = pl.col(name)
    if dtype.is_decimal():
        return column.cast(pl.Float64)
    if dtype.is_float():
        return pl.when(column.is_finite()).then(column)
    if dtype in (pl.Enum, pl.Categorical):
        return column.cast(pl.String)
    return column


def _json(frame: pl.DataFrame) -> Iterator[str]:
    if frame.is_empty():
        yield "[]\n"
        return
    start = "[\n"
    for part in frame.iter_slices(_ROWS_AT_ONCE):
        lines = _json_escaped(part.write_ndjson()).removesuffix("\n").split("\n")
        yield start + ",\n".join(lines)
        start = ",\n"
    yield "\n]\n"


def _json_escaped(lines: str) -> str:
    return "\n".join(map(_json_line, lines.split("\n")))


def _json_line(line: str) -> str:
    if r"\u0000" not in line and visible(line) == line:
        return line
    return _JSON_ESCAPES.sub(_json_escape, line)


def _json_escape(match: re.Match[str]) -> str:
    found = match[0]
    if match[1]:
        return f"\\u{match[1]}"
    if found == r"\\" or not is_hidden(found):
        return found
    code = ord(found)
    if code < 0x10000:
        return f"\\u{code:04x}"
    code -= 0x10000
    return f"\\u{0xD800 + (code >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}"


def _texts(frame: pl.DataFrame, spelled: Callable[[str], str]) -> pl.DataFrame:
    """Every column as text: numbers in their shortest form, lists as JSON, text as `spelled` has it."""
    columns = []
    for column in frame.iter_columns():
        if column.dtype == pl.String:
            columns.append(_spelled(column, spelled))
            continue
        if isinstance(column.dtype, pl.List) and column.dtype.inner.is_integer():
            columns.append(_json_of_integers(column))
            continue
        if column.dtype.is_nested():
            texts = [None if v is None else spelled(_json_line(_nested(v))) for v in column.to_list()]
        else:
            columns.append(column.cast(pl.String))
            continue
        columns.append(pl.Series(column.name, texts, dtype=pl.String))
    return pl.DataFrame(columns)


def _spelled(texts: pl.Series, spelled: Callable[[str], str]) -> pl.Series:
    """Texts as `spelled` has them; it is asked only for those with anything but printable ASCII."""
    odd = texts.str.contains(_NOT_PLAIN).fill_null(value=False)
    if not odd.any():
        return texts
    return texts.scatter(odd.arg_true(), [spelled(text) for text in texts.filter(odd)])


def _json_of_integers(lists: pl.Series) -> pl.Series:
    inside = pl.first().list.eval(pl.element().cast(pl.String).fill_null("null")).list.join(",")
    return lists.to_frame().select(pl.concat_str(pl.lit("["), inside, pl.lit("]")).alias(lists.name)).to_series()


def _nested(value: object) -> str:
    return json.dumps(_finite(value), ensure_ascii=False, separators=(",", ":"), default=str)


def _finite(value: object) -> object:
    match value:
        case list():
            return [_finite(v) for v in value]
        case dict():
            return {name: _finite(v) for name, v in value.items()}
        case float() if not math.isfinite(value):
            return None
        case _:
            return value


def _separated(frame: pl.DataFrame, form: str, *, terminal: bool) -> Iterator[str]:
    spelled = tsv if form == "tsv" else visible if terminal else _csv_text
    frame = frame.rename(spelled)
    header = True
    for part in [frame] if frame.is_empty() else frame.iter_slices(_ROWS_AT_ONCE):
        texts = _texts(part, spelled)
        if form == "tsv":
            yield texts.write_csv(include_header=header, separator="\t", quote_style="never")
        else:
            # One empty field alone would be an empty line, which readers skip; quoted, it is a row.
            texts = texts.fill_null("") if texts.width == 1 else texts
            yield texts.write_csv(include_header=header)
        header = False


def _csv_text(text: str) -> str:
    return _SURROGATES.sub(lambda match: escape(match[0]), unspell(text)) if "\0" in text else text


def _markdown(table: Table, frame: pl.DataFrame) -> Iterator[str]:
    header = "| " + " | ".join(_md(name) for name in frame.columns) + " |\n"
    yield header + "|" + "|".join(" ---: " if k in _RIGHT else " --- " for k in table.columns.values()) + "|\n"
    for part in frame.iter_slices(_ROWS_AT_ONCE):
        texts = _texts(part, lambda text: text)
        cells = [
            [("" if v is None else code_span(v) if kind in _CODE else _md(v)) for v in column]
            for column, kind in zip(texts.iter_columns(), table.columns.values(), strict=True)
        ]
        yield "".join(f"| {' | '.join(row)} |\n" for row in zip(*cells, strict=True))


def _md(text: str) -> str:
    return _MD_SPECIAL.sub(r"\\\1", visible(text))


def code_span(text: str) -> str:
    """Text from a log as a Markdown code span: nothing in it is a link, a picture or a heading."""
    text = visible(text).replace("|", r"\|")
    if not text.strip():
        return text
    fence = "`" * (max((len(run) for run in re.findall("`+", text)), default=0) + 1)
    pad = " " if text[0] in "` " or text[-1] in "` " else ""
    return f"{fence}{pad}{text}{pad}{fence}"
