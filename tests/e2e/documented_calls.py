"""Reads from docs/trace-format-details.md which calls are recorded by default. Tests compare traces
with this documented list, and not with the patterns from which the library's tables are
generated."""
import functools
import itertools
import pathlib
import re

DOCUMENT = pathlib.Path(__file__).resolve().parents[2] / "docs" / "trace-format-details.md"


@functools.cache
def lists() -> tuple[list[str], list[str]]:
    """Returns two lists: the patterns of the documented table, with their braces, and the names of calls that
    the text below the table lists as not recorded."""
    section = DOCUMENT.read_text().split("\n## Calls that are recorded by default\n")[1].split("\n## ")[0]
    head, table, below = section.strip().split("\n\n")
    assert "`{a,b}` stands for either, `*` for any letters and digits" in " ".join(head.split())
    patterns = [pattern for row in table.splitlines()[2:]
                for pattern in re.findall(r"`([^`]+)`", row.split(" | ")[1])]
    return patterns, re.findall(r"`([^`]+)`", below)


def spelled(pattern: str) -> list[str]:
    """Expands the braces of a pattern. Returns one pattern for each combination of alternatives."""
    parts = [part[1:-1].split(",") if part.startswith("{") else [part]
             for part in re.findall(r"\{[^}]*\}|[^{}]+", pattern)]
    return ["".join(choice) for choice in itertools.product(*parts)]


@functools.cache
def names() -> tuple[set[str], re.Pattern]:
    """Returns the documented names that have no star, and a regular expression for the names that
    have one."""
    every = [name for pattern in lists()[0] for name in spelled(pattern)]
    stars = [re.escape(name).replace(r"\*", "[A-Za-z0-9]*") for name in every if "*" in name]
    return {name for name in every if "*" not in name}, re.compile("|".join(stars))


def is_documented(name: str) -> bool:
    """Returns whether the call is documented as recorded. `name` is without its version suffix."""
    full, stars = names()
    return name in full or stars.fullmatch(name) is not None
