"""Markdown: inline code, tables, and the text of Python docstrings."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Sequence


def code(text: str) -> str:
    """Inline code; bars are escaped, because a bar ends a table cell."""
    return f"`{text}`".replace("|", "\\|")


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; the cells are Markdown."""
    lines = ["| " + " | ".join(headings) + " |", "|" + " --- |" * len(headings)]
    lines += ["| " + " | ".join(cell.replace("\n", " ") for cell in row) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def prose(docstring: str | None) -> str:
    """A docstring as Markdown: dedented, with Sphinx roles and double backticks turned into code."""
    text = inspect.cleandoc(docstring or "")
    text = re.sub(r":\w+:`~?([^`]+)`", r"`\1`", text)
    return text.replace("``", "`")


def sentence(text: str) -> str:
    """Text as one line, for a table cell."""
    return " ".join(text.split()).replace("|", "\\|")
