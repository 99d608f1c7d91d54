"""Writing a file that a person will edit, and that must not be lost."""

from __future__ import annotations

import os
from pathlib import Path

from offbeat.errors import BadInput
from offbeat.whole_file import write_whole_file


def check_new(path: Path, *, force: bool = False) -> None:
    """Raise :class:`BadInput` where :func:`write_new` would, as far as that can be known beforehand."""
    try:
        _refuse_taken(path, force)
        if not path.absolute().parent.is_dir():
            raise BadInput(f"{path}: there is no folder {path.absolute().parent}; give one that exists")
    except OSError as error:
        raise BadInput(f"{path}: this cannot be looked at: {error.strerror}; give another file") from None


def write_new(path: Path, text: str, what: str, *, force: bool = False) -> None:
    """Write a new file; ``what`` names it in sentences (``the study file``).

    Raises :class:`BadInput` for one that exists, unless ``force``, and where nothing can be written.
    """
    try:
        _refuse_taken(path, force)
        write_whole_file(path, text.encode())
    except OSError as error:
        mend = "give a file in a folder that exists and that you can write to"
        raise BadInput(f"{path}: {what} cannot be written: {error.strerror}; {mend}") from None


def _refuse_taken(path: Path, force: bool) -> None:
    if path.is_dir():
        raise BadInput(f"{path}: this is a directory; give a file name in it")
    if not force and os.path.lexists(path):
        mend = "give another name, or overwrite it with --force"
        raise BadInput(f"{path}: this file exists already; {mend}")
