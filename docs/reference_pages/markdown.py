"""Pieces of Markdown: code in cells, tables, and Python docstrings as text."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Sequence


def code(text: str) -> str:
    """A word as it is typed; bars are escaped, as they would end a table's cell."""
    return f"`{text}`".replace("|", "\\|")


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; cells are Markdown already."""
    lines = ["| " + " | ".join(headings) + " |", "|" + " --- |" * len(headings)]
    lines += ["| " + " | ".join(cell.replace("\n", " ") for cell in row) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def prose(docstring: str | None) -> str:
    """A docstring as Markdown: dedented, with Sphinx roles and double backticks turned into code."""
    text = inspect.cleandoc(docstring or "")
    text = re.sub(r":\w+:`~?([^`]+)`", r"`\1`", text)
    return text.replace("``", "`")


def sentence(text: str) -> str:
    """Text on one line that can stand in a cell."""
    return " ".join(text.split()).replace("|", "\\|")
