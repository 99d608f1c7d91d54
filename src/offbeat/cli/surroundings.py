"""What a command finds around it: standard streams, the width of the terminal, names in other encodings."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from offbeat.errors import BadInput


def settle() -> None:
    """Make standard streams usable whatever the caller did to them, before anything is printed or opened."""
    _open_closed_streams()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without µ and × still gets everything else
    if os.environ.get("COLUMNS") == "0":  # some terminals say so before they know; nothing fits into it
        del os.environ["COLUMNS"]


def check_names(words: Sequence[str]) -> None:
    """Refuse names that are not text, which no result file could hold; raises BadInput."""
    try:
        folder = str(Path.cwd())
    except FileNotFoundError:
        raise BadInput("the folder that this was started in is gone; go to one that exists") from None
    for word in (*words, folder):
        try:
            word.encode()
        except UnicodeEncodeError:
            shown = os.fsencode(word).decode("utf-8", "backslashreplace")
            raise BadInput(
                f"the name {shown} is not UTF-8 text, and results could not name it: rename it"
            ) from None


def _open_closed_streams() -> None:
    """Put the null device where a standard stream is closed: the next file opened would take its place."""
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(descriptor, True)
    os.close(descriptor)
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115 - to the end
