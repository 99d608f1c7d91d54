"""Options and functions for output that verbs share: ``--json``, ``--notes``, standard output."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from offbeat.base.atomic_write import check_new, write_atomically, write_error, write_new

if TYPE_CHECKING:
    from msgspec import Struct
    from rich.console import Console

Json = Annotated[
    str,
    typer.Option(
        "--json",
        help="Write JSON to this file as well; '-' prints it in place of the text.",
        metavar="FILE",
    ),
]
"""The option of every verb that prints numbers; empty if it is not given."""

SchemaFile = Annotated[
    Path | None, typer.Option("--output", "-o", help="File to write; standard output if not given.")
]
"""The option of the commands that print a JSON Schema."""

AllNotes = Annotated[bool, typer.Option("--notes", help="Print all notes, not only the most important.")]


def stdout() -> Console:
    """Standard output without highlighting and line breaks."""
    from rich.console import Console

    return Console(highlight=False, soft_wrap=True)


def echo(line: str) -> None:
    """Print a line to standard error."""
    print(line, file=sys.stderr)


def prints_text(json: str) -> bool:
    """Whether the text is printed: unless JSON is printed instead."""
    return json != "-"


def check_outputs(json: str, *paths: Path | None) -> None:
    """Raise :class:`BadInput` for files that cannot be written, before long work; None: not asked for."""
    for path in (Path(json) if json not in ("", "-") else None, *paths):
        if path is not None:
            check_new(path, force=True)


def write_json(json: str, document: Callable[[], Struct]) -> None:
    """Create a document and write it to the file of ``--json``; do nothing if that was not given.

    The structure is one of :data:`offbeat.cli.documents.STRUCTURES`. Raises BadInput for a file that cannot
    be written, RunFailed for a full disk.
    """
    if not json:
        return
    from offbeat.base import json_document

    content = json_document.encode_document(document())
    if json == "-":
        sys.stdout.write(content.decode())
    else:
        try:
            write_atomically(Path(json), content)
        except OSError as error:
            raise write_error(Path(json), error) from error


def write_or_print(path: Path | None, text: str, description: str, *, force: bool) -> bool:
    """Write text by :func:`~offbeat.base.atomic_write.write_new`, or print it without a path; true if
    written.
    """
    if path is None:
        sys.stdout.write(text)
        return False
    write_new(path, text, description, force=force)
    return True


def print_sentences(console: Console, *sentences: str) -> None:
    """Print sentences, each on lines of its own that fit the console."""
    from rich.text import Text

    from offbeat.base.terminal_table import wrap_text

    for sentence in sentences:
        for line in wrap_text(Text(sentence), console.width):
            console.print(line)


def write_schema(output: Path | None, text: str) -> None:
    """Write a JSON Schema to a file, or print it without one."""
    if write_or_print(output, text, "the schema", force=True):
        print(f"wrote {output}")


def print_notes(console: Console, notes: Iterable[str], *, everything: bool, word: str = "note") -> None:
    """Print notes with ``word`` in front: at most ten, and the number of the others."""
    from offbeat.base.terminal_table import limit_notes

    lines, rest = limit_notes(notes, is_complete=everything)
    for note in lines:
        console.print(f"{word}: {note}", markup=False)
    if rest:
        console.print(rest, markup=False)
