"""Regular expressions for Polars that find names in raw lines, and the escapes that may hide one."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

_PLAIN = re.compile(r"[A-Za-z0-9_.:@ -]+")


def all_plain(names: Iterable[str]) -> bool:
    """Whether the names have one spelling in JSON, but for escapes with four digits."""
    return all(map(_PLAIN.fullmatch, names))


def pattern(name: str) -> str:
    """A plain name as a regular expression. Rust's know fewer escapes than `re.escape` makes."""
    return name.replace(".", r"\.")


def quick(names: Collection[str]) -> str:
    """Matches each of the names as JSON spells it, and every escape that may spell a part of one, and more."""
    return "|".join([f'"{pattern(name)}"' for name in names] + [r"\\u00"])


def exact(names: Collection[str]) -> str:
    """The same without the escapes that spell no part of a name. It takes twice as long."""
    codes = "|".join(sorted({f"{ord(c):02x}" for name in names for c in name}))
    return quick(names) + f"(?i:{codes})"
