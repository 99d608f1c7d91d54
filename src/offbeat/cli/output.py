"""What verbs have in common where they print: ``--json``, ``--notes``, and standard output."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from offbeat.atomic_write import write_atomically, write_error

if TYPE_CHECKING:
    from rich.console import Console

Json = Annotated[
    str,
    typer.Option(
        "--json",
        help="Write JSON to this file as well; '-' prints it in place of the text.",
        metavar="FILE",
    ),
]
"""The same option of every verb that has numbers to tell; empty where it is not given."""

AllNotes = Annotated[
    bool, typer.Option("--notes", help="Print all notes, not only the ten that matter most.")
]


def stdout() -> Console:
    """Standard output: text is plain, and sentences are not broken."""
    from rich.console import Console

    return Console(highlight=False, soft_wrap=True)


def is_wanted(json: str) -> bool:
    """Whether the text is printed: unless JSON takes its place."""
    return json != "-"


def write_json(json: str, made: Callable[[], bytes]) -> None:
    """Make a JSON document and write it where ``--json`` says; nothing if it was not given.

    Raises BadInput for a file that cannot be written, RunFailed for a full disk.
    """
    if json == "-":
        sys.stdout.write(made().decode())
    elif json:
        try:
            write_atomically(Path(json), made())
        except OSError as error:
            raise write_error(Path(json), error) from error


def encoded(document: Any) -> bytes:
    """A structure, or a dictionary of them, as indented JSON; paths become text."""
    import msgspec

    return msgspec.json.format(msgspec.json.encode(document, enc_hook=str), indent=2) + b"\n"


def print_notes(console: Console, notes: Iterable[str], *, everything: bool, word: str = "note") -> None:
    """Print notes with their word in front: ten of them, and how many more there are."""
    from offbeat.table import limit_notes

    shown, rest = limit_notes(notes, everything=everything)
    for note in shown:
        console.print(f"{word}: {note}", markup=False)
    if rest:
        console.print(rest, markup=False)
