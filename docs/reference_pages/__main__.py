"""Writes the pages of docs/reference from the sources, so that the pages always agree with the program.

Usage: ``python docs/reference_pages [--check]``. With ``--check`` nothing is written: outdated pages are
named, and the exit status is 1 if there are any.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import commands
import driver
import environment
import patterns
import platform_file
import program_file
import python_api
import results
import study

REFERENCE = Path(__file__).resolve().parents[1] / "reference"

PAGES: dict[str, Callable[[], str]] = {
    "commands.md": commands.page,
    "study.md": study.page,
    "platform.md": platform_file.page,
    "program.md": program_file.page,
    "results.md": results.page,
    "patterns.md": patterns.page,
    "python.md": python_api.page,
    "environment.md": environment.page,
    "driver.md": driver.page,
}
"""File name in docs/reference → the function that returns the page."""

MARK = "<!-- Written by `make docs` from {source}; edit that, not this page. -->\n\n"


def text_of(name: str) -> str:
    """The current text of a page."""
    page = PAGES[name]
    return MARK.format(source=sys.modules[page.__module__].SOURCE) + page().rstrip() + "\n"


def stale() -> list[str]:
    """The names of the pages whose file differs from :func:`text_of`."""
    return [
        name
        for name in PAGES
        if not (REFERENCE / name).is_file() or (REFERENCE / name).read_text(encoding="utf-8") != text_of(name)
    ]


def main(arguments: list[str]) -> int:
    """Write the pages, or check them; returns the exit status."""
    if arguments not in ([], ["--check"]):
        print(f"unknown arguments {arguments}; the only option is --check", file=sys.stderr)
        return 2
    old = stale()
    if arguments:
        for name in old:
            print(f"docs/reference/{name} is outdated; run 'make docs'", file=sys.stderr)
        return 1 if old else 0
    for name in old:
        (REFERENCE / name).write_text(text_of(name), encoding="utf-8")
        print(f"wrote docs/reference/{name}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
