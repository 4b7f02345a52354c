"""A Parquet file opened, its faults turned into `InputError`, and which of its column chunks a field is in."""

from __future__ import annotations

import os
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from grpo_cli.errors import GrpoAdvError, InputError
from grpo_cli.logs.fields import EACH, Each, Element, Field, Name, Reduce
from grpo_cli.logs.parquet.chunks import Chunk, first_chunks
from grpo_cli.logs.parquet.footer import LENGTH, MAGIC
from grpo_cli.logs.parquet.plain import is_text

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from grpo_cli.logs.files.source import LogFile

BUFFER: Final = 1 << 20
"""Bytes of a column chunk that are held at once: a chunk may be far larger than memory should be."""
DECODED: Final = 32 << 20
"""Bytes of column chunks that are decoded at once, as far as their sizes tell."""
PACKED: Final = 8
"""How much larger than it is stored a file is taken to be."""
ROWS: Final = 65_536
"""Most rows that are decoded at once."""
GLANCE: Final = 64
"""Rows that are looked at to see how long the texts are."""
LONG: Final = 32
"""Bytes a value above which texts are read as a dictionary, so that a text that repeats is held once."""

_ENCRYPTED: Final = b"PARE"
_SMALLEST: Final = 12
"""Two magics and a footer length: no Parquet file is smaller."""


@contextmanager
def faults(file: LogFile) -> Iterator[None]:
    """Whatever the readers say of a file at fault becomes an `InputError` that names it.

    Nothing may be written in here: an error of the target is not one of the file.
    """
    try:
        yield
    except GrpoAdvError:
        raise
    except FileNotFoundError:
        raise InputError("there is no such file", file=file.name) from None
    except IsADirectoryError:
        raise InputError("a folder, not a Parquet file", file=file.name) from None
    except PermissionError:
        raise InputError("no permission to read it", file=file.name) from None
    except (pa.ArrowException, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise _unreadable(file, error) from error
    except (OSError, ValueError, ArithmeticError, MemoryError, LookupError, TypeError, RecursionError) as error:
        # a footer that was tampered with makes pyarrow raise nearly anything
        raise _unreadable(file, error) from error


def _unreadable(file: LogFile, error: BaseException) -> InputError:
    said = str(error).strip().partition("\n")[0] or type(error).__name__
    said = "".join(sign if sign.isprintable() else "?" for sign in said[:200]).rstrip(".")
    if isinstance(error, pa.ArrowNotImplementedError):
        return InputError(f"cannot be read: {said}", file=file.name, hint="write it anew with pyarrow or Polars")
    return InputError(
        f"not a Parquet file that can be read ({said})",
        file=file.name,
        hint="the file is damaged, or was not copied whole",
    )


@dataclass(frozen=True)
class Opened:
    """A Parquet file that is open, and the fields that were asked for as this file has them."""

    file: LogFile
    parquet: pq.ParquetFile
    names: Sequence[str]
    """The top-level columns, in the order of the file."""
    fields: Sequence[Field]
    paths: Sequence[str]
    """The leaf columns that hold the fields."""
    footer: bytes
    end: int
    """Where the footer begins."""
    row_bytes: float
    """What a row of the fields takes when it is decoded, going by the first rows; 0 where they were not looked at."""

    @cached_property
    def chunks(self) -> Sequence[Chunk]:
        """How the columns are stored, going by the first row group."""
        return first_chunks(self.footer)

    @property
    def rows(self) -> int:
        """How many rows its end promises."""
        return int(self.parquet.metadata.num_rows)

    def batches(self, limit: int = ROWS, groups: Sequence[int] | None = None) -> Iterator[Any]:
        """The rows of the wanted columns, in order, at most `limit` at once (all row groups, or only `groups`)."""
        if not self.paths:
            return
        limit = max(min(limit, self._rows_at_once()), 1)
        for span in self._spans(limit, range(self.parquet.num_row_groups) if groups is None else groups):
            for batch in self._of_groups(span, limit):
                yield batch
                self.file.passed(self.end * len(batch) // max(self.rows, 1), len(batch))

    def _of_groups(self, groups: list[int], limit: int) -> Iterator[Any]:
        done = 0
        while True:
            row = 0
            try:
                for batch in self.parquet.iter_batches(limit, row_groups=groups, columns=self.paths):
                    check_values(batch)
                    if row + len(batch) > done:
                        yield batch.slice(max(done - row, 0))
                        done = row + len(batch)
                    row += len(batch)
            except pa.ArrowNotImplementedError:  # over 2 GiB of text within lists or structs: fewer rows at once
                if limit == 1:
                    raise
                limit = max(limit // 16, 1)
            else:
                return

    def _spans(self, limit: int, groups: Sequence[int]) -> Iterator[list[int]]:
        """Row groups that are read together: small ones cost more to begin than to read."""
        span: list[int] = []
        rows = 0
        for group in groups:
            span.append(group)
            rows += self.parquet.metadata.row_group(group).num_rows
            if rows >= limit:
                yield span
                span, rows = [], 0
        if span:
            yield span

    def _rows_at_once(self) -> int:
        """How many rows of the wanted columns make up `DECODED` bytes."""
        if is_small(self.rows, self.end):
            return ROWS
        stored = sum(chunk.bytes for chunk in self.chunks if chunk.path in set(self.paths))
        row = max(self.row_bytes, stored / max(self.parquet.metadata.row_group(0).num_rows, 1) if stored else 0)
        return int(DECODED / row) if row > 0 else ROWS

    def column(self, batch: Any, name: str) -> Any:
        """The top-level column called `name` of a batch of this file."""
        found = batch.schema.get_all_field_indices(name)
        if len(found) != 1:
            raise InputError(
                f"{len(found)} columns have this name", file=self.file.name, column=name, hint="rename all but one"
            )
        return batch.column(found[0])


@contextmanager
def opened(file: LogFile, fields: Sequence[Field] = (), *, shared_texts: bool = False) -> Iterator[Opened]:
    """`file` opened to read `fields`, its column chunks streamed. Faults inside the block are the file's.

    With `shared_texts`, long texts come as dictionaries: worth it where many rows with few texts are read.
    """
    with faults(file):
        with file.path.open("rb") as source:
            check_ends(file, source.fileno())
            end, footer = _footer(source.fileno())
        yield from _opened(file, fields, shared_texts, end, footer)


def _footer(descriptor: int) -> tuple[int, bytes]:
    """Where the footer begins, and the footer."""
    size = os.fstat(descriptor).st_size - LENGTH - len(MAGIC)
    length = int.from_bytes(os.pread(descriptor, LENGTH, size), "little")
    if length > size - len(MAGIC):
        raise ValueError("a footer longer than the file")
    return size - length, os.pread(descriptor, length, size - length)


def _opened(file: LogFile, fields: Sequence[Field], shared_texts: bool, end: int, footer: bytes) -> Iterator[Opened]:
    # pyarrow's own file: its threads read a Python file only one at a time, and may still hold it when Python ends
    with pa.OSFile(os.fsencode(file.path)) as source:
        metadata = pq.read_metadata(source)
        schema = metadata.schema.to_arrow_schema()
        here = [in_this_file(field, schema.names) for field in fields]
        paths = list(dict.fromkeys(path for field in here for path in _leaves(metadata.schema, schema, field.names)))
        streamed = {"metadata": metadata, "pre_buffer": False, "buffer_size": BUFFER}
        texts = _texts(metadata.schema, schema, paths) if shared_texts else []
        long: list[str] = []
        row_bytes = 0.0
        if shared_texts and not is_small(metadata.num_rows, end):
            with pq.ParquetFile(source, **streamed) as first:
                long, row_bytes = _glance(first, texts, paths)
        with pq.ParquetFile(source, read_dictionary=long, **streamed) as parquet:
            yield Opened(file, parquet, list(dict.fromkeys(schema.names)), here, paths, footer, end, row_bytes)


def is_small(rows: int, stored: int) -> bool:
    """Whether all rows can be decoded at once without a look at how: a step's file, of which there may be thousands.

    It is so where they fit if each was as large as the whole file is, decompressed.
    """
    return rows * stored * PACKED <= DECODED


def check_values(rows: Any) -> None:
    """Raise what pyarrow finds wrong with decoded columns: it does not look by itself, and would crash on them later.

    Text that is not UTF-8 passes: only who reads it needs to mind.
    """
    for column in rows.columns:
        try:
            column.validate(full=True)
        except pa.ArrowInvalid as error:
            if "Invalid UTF8" not in str(error):
                raise


def check_ends(file: LogFile, descriptor: int) -> None:
    """Say in plain words what the commonest damages are: pyarrow's words are about magic bytes."""
    size = os.fstat(descriptor).st_size
    head, tail = os.pread(descriptor, 4, 0), os.pread(descriptor, 4, max(size - 4, 0))
    if size == 0:
        raise InputError("the file is empty", file=file.name)
    if _ENCRYPTED in (head, tail):
        raise InputError("the file is encrypted", file=file.name, hint="decrypt it first")
    if head != MAGIC:
        raise InputError("not a Parquet file", file=file.name, hint="it does not begin with PAR1")
    if size < _SMALLEST or tail != MAGIC:
        raise InputError(
            "the file is cut short: its end, which says where the columns are, is not there",
            file=file.name,
            hint="the file is still being written, or was not copied whole",
        )


def in_this_file(field: Field, names: Collection[str]) -> Field:
    """`field`; or the top-level column whose whole name is the field's text, where this file has one."""
    if field.is_plain:
        return field
    text = ""
    for part in field.parts:
        match part:
            case Name(name):
                text += f".{name}" if text else name
            case Element(index):
                text += f"[{index}]"
            case Each():
                text += EACH
            case Reduce(how):
                text += f"[{how}]"
    return Field.named(text) if text in names else field


def _texts(schema: pq.ParquetSchema, arrow: pa.Schema, paths: Collection[str]) -> list[str]:
    """Those of `paths` that are top-level columns of text; not a.b where a has a field b too."""
    counts = Counter(schema.column(index).path for index in range(len(schema.names)))
    return [field.name for field in arrow if is_text(field.type) and field.name in paths and counts[field.name] == 1]


def _glance(parquet: pq.ParquetFile, texts: Sequence[str], paths: Sequence[str]) -> tuple[list[str], float]:
    """Those of `texts` whose first values are long, and the bytes that a row of the other columns takes.

    The size of a column chunk says little: values may repeat.
    """
    rows = next(parquet.iter_batches(GLANCE, columns=paths), None) if paths else None
    if not rows:
        return [], 0.0
    long = [name for name in texts if rows.column(name).nbytes > LONG * len(rows)]
    return long, sum(
        rows.column(at).nbytes for at in range(rows.num_columns) if rows.schema.names[at] not in long
    ) / len(rows)


def _leaves(schema: pq.ParquetSchema, arrow: pa.Schema, names: Sequence[str]) -> list[str]:
    """The paths of the leaf columns that are needed for the field reached by `names`, lists on the way left out.

    A few columns too many do no harm: the value is taken by its names. A map is needed whole.
    """
    paths = [schema.column(index).path for index in range(len(schema.names))]
    below = [path for path in paths if f"{path}.".startswith(f"{names[0]}.")]
    if any(_has_map(field.type) for field in arrow if field.name == names[0]):
        return below
    for count in range(len(names), 1, -1):
        if found := [path for path in below if _passes(path, names[:count])]:
            return found
    return below


def _passes(path: str, names: Sequence[str]) -> bool:
    rest = f".{path}."
    for name in names:
        _, found, after = rest.partition(f".{name}.")
        if not found:
            return False
        rest = f".{after}"
    return True


def _has_map(kind: pa.DataType) -> bool:
    return pa.types.is_map(kind) or any(_has_map(kind.field(index).type) for index in range(kind.num_fields))
