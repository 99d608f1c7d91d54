"""Writes docs/reference and the manual pages from the sources, so that they always agree with the program.

Usage: ``python docs/reference_pages [--check]``. With ``--check`` nothing is written: outdated pages are
named, and the exit status is 1 if there are any.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import commands
import driver
import environment
import json_documents
import man_pages
import patterns
import platform_file
import program_file
import python_api
import results
import study
import wrong_collectives

REPOSITORY = Path(__file__).resolve().parents[2]
REFERENCE = "docs/reference"
MAN = "packaging/share/man/man1"

PAGES: dict[str, Callable[[], str]] = {
    "commands.md": commands.page,
    "study.md": study.page,
    "platform.md": platform_file.page,
    "program.md": program_file.page,
    "results.md": results.page,
    "json.md": json_documents.page,
    "patterns.md": patterns.page,
    "python.md": python_api.page,
    "environment.md": environment.page,
    "driver.md": driver.page,
    "wrong-collectives.md": wrong_collectives.page,
}
"""File name in docs/reference → the function that returns the page."""

MARK = "<!-- Written by `make docs` from {source}; edit that, not this page. -->\n\n"


def texts(repository: Path = REPOSITORY) -> Iterator[tuple[Path, str]]:
    """Every page of a repository with the text that it should have."""
    for name, page in PAGES.items():
        mark = MARK.format(source=sys.modules[page.__module__].SOURCE)
        yield repository / REFERENCE / name, mark + page().rstrip() + "\n"
    for name, text in json_documents.schemas():
        yield repository / REFERENCE / json_documents.FOLDER / name, text
    for name in man_pages.names():
        path = repository / MAN / name
        yield path, man_pages.page(name, _text(path))


def stale(repository: Path = REPOSITORY) -> Iterator[tuple[Path, str]]:
    """The pages whose file differs from :func:`texts`; of manual pages and schemas also those of removed
    commands.

    The text of a file that should not exist is empty.
    """
    expected = dict(texts(repository))
    yield from ((path, text) for path, text in expected.items() if _text(path) != text)
    schemas = repository / REFERENCE / json_documents.FOLDER
    written = sorted([*(repository / MAN).glob("*.1"), *schemas.glob("*.json")])
    yield from ((path, "") for path in written if path not in expected)


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.is_file() else ""


def main(arguments: list[str]) -> int:
    """Write the pages, or check them; returns the exit status."""
    if arguments not in ([], ["--check"]):
        print(f"unknown arguments {arguments}; the only option is --check", file=sys.stderr)
        return 2
    old = [(path, path.relative_to(REPOSITORY), text) for path, text in stale()]
    if arguments:
        for _, name, _ in old:
            print(f"{name} is outdated; run 'make docs'", file=sys.stderr)
        return 1 if old else 0
    for path, name, text in old:
        if text:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
        else:
            path.unlink()
        print(f"{'wrote' if text else 'removed'} {name}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
