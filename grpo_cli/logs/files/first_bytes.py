"""What a file is, told by its first bytes: so that what is no rollout log at all is named for what it is."""

from __future__ import annotations

import re
from pathlib import PurePath

from grpo_cli.errors import InputError

_MAGIC: tuple[tuple[bytes, str, str], ...] = (
    (b"version https://git-lfs", "a Git LFS pointer", "fetch it with: git lfs pull"),
    (
        b"\x80\x02",
        "a Python pickle (a torch save?)",
        "load it where it was written and save its samples as JSONL",
    ),
    (b"\x80\x04", "a Python pickle", "load it where it was written and save its samples as JSONL"),
    (b"\x80\x05", "a Python pickle", "load it where it was written and save its samples as JSONL"),
    (b"PARE", "a Parquet file with an encrypted footer", "decrypt it where its keys are, and save it as plain Parquet"),
    (b"ARROW1", "an Arrow IPC file", "save it as Parquet first"),
    (b"SQLite format 3", "an SQLite database", "export the table as JSONL or Parquet first"),
    (b"<!doctype html", "an HTML page", "was a web page saved in place of the file?"),
    (b"<html", "an HTML page", "was a web page saved in place of the file?"),
    (b"BZh", "bzip2-compressed", "unpack it, or pack it with gzip or zstd"),
    (b"\xfd7zXZ", "xz-compressed", "unpack it, or pack it with gzip or zstd"),
    (b"\xff\xfe", "UTF-16 text", "convert it: iconv -f UTF-16 -t UTF-8"),
    (b"\xfe\xff", "UTF-16 text", "convert it: iconv -f UTF-16 -t UTF-8"),
)
_ZIPS = {
    ".eval": ("an Inspect log", "make a table of its samples: inspect_ai's samples_df(), then to_parquet()"),
    ".pt": ("a torch file", "load it with torch.load where it was written, and save its samples as JSONL"),
    ".zip": ("a zip archive", "unpack it"),
}
_ZIPS |= {".pth": _ZIPS[".pt"], ".bin": _ZIPS[".pt"], ".ckpt": _ZIPS[".pt"]}
_NAMES = {
    ".yaml": ("YAML", "write each trajectory as a line of JSON, with its group and its reward"),
    ".csv": ("a CSV table", "make Parquet of it: pl.read_csv(...).write_parquet(...)"),
}
_NAMES |= {".yml": _NAMES[".yaml"], ".tsv": _NAMES[".csv"]}
_BOM = b"\xef\xbb\xbf"


def refuse_what_is_no_log(head: bytes, name: str) -> None:
    """Refuse a file that begins with `head` and can be neither JSONL nor Parquet.

    Raises:
        InputError: it is something else; it says what, and what to do.
    """
    suffix = PurePath(name.lower()).suffix
    lowered = head.lower()
    for magic, what, hint in _MAGIC:
        if lowered.startswith(magic.lower()):
            raise _not_a_log(what, hint, name)
    if head.startswith(b"PK\x03\x04"):
        raise _not_a_log(*_ZIPS.get(suffix, ("a zip archive", "unpack it, or export its samples as JSONL")), name)
    if suffix in {".parquet", ".pq"}:
        raise InputError("not a Parquet file (it does not begin with PAR1)", file=name)
    text = head.removeprefix(_BOM).lstrip()
    if b"\0" in head:
        raise InputError("binary data, not JSONL or Parquet", file=name)
    if re.match(rb"\[(?:prompt|step)\]", text):
        raise _not_a_log("a text dump of generations", "nothing tells where a text ends: log rollouts as JSONL", name)
    if suffix in _NAMES and not text.startswith(b"{"):
        raise _not_a_log(*_NAMES[suffix], name)
    if re.match(rb"\[\s*(\{|$)", text):
        raise InputError(
            "one JSON array, not JSONL", file=name, hint=f"make lines of it: jq -c '.[]' {name} > log.jsonl"
        )
    if re.match(rb"\{\s*\n", text):
        raise InputError(
            "a JSON object spread over several lines, not JSONL",
            file=name,
            hint=f"make a line of it: jq -c . {name} > log.jsonl",
        )


def _not_a_log(what: str, hint: str, name: str) -> InputError:
    return InputError(f"{what}, not a rollout log", file=name, hint=hint)
