"""Which calls are recorded by default, as docs/trace-format-details.md tells users: what tests judge by, rather
than by the patterns that the library's own tables are made from."""
import functools
import itertools
import pathlib
import re

DOCUMENT = pathlib.Path(__file__).resolve().parents[2] / "docs" / "trace-format-details.md"


@functools.cache
def lists() -> tuple[list[str], list[str]]:
    """The patterns of the table, with their braces; the names below it, of examples that are left out."""
    section = DOCUMENT.read_text().split("\n## Calls that are recorded by default\n")[1].split("\n## ")[0]
    head, table, below = section.strip().split("\n\n")
    assert "`{a,b}` stands for either, `*` for any letters and digits" in " ".join(head.split())
    patterns = [pattern for row in table.splitlines()[2:]
                for pattern in re.findall(r"`([^`]+)`", row.split(" | ")[1])]
    return patterns, re.findall(r"`([^`]+)`", below)


def spelled(pattern: str) -> list[str]:
    """Without braces: one for each choice."""
    parts = [part[1:-1].split(",") if part.startswith("{") else [part]
             for part in re.findall(r"\{[^}]*\}|[^{}]+", pattern)]
    return ["".join(choice) for choice in itertools.product(*parts)]


@functools.cache
def names() -> tuple[set[str], re.Pattern]:
    """Those that are told in full, and an expression for those with a star."""
    every = [name for pattern in lists()[0] for name in spelled(pattern)]
    stars = [re.escape(name).replace(r"\*", "[A-Za-z0-9]*") for name in every if "*" in name]
    return {name for name in every if "*" not in name}, re.compile("|".join(stars))


def is_documented(name: str) -> bool:
    """Of a call's name without its version."""
    full, stars = names()
    return name in full or stars.fullmatch(name) is not None
