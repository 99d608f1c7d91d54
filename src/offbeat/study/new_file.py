"""Writing a file that a person will edit, and that must not be lost."""

from __future__ import annotations

import os
from pathlib import Path

from offbeat.atomic_write import write_atomically, write_error
from offbeat.errors import BadInput


def check_new(path: Path, *, force: bool = False) -> None:
    """Raise :class:`BadInput` where :func:`write_new` would, as far as that can be known beforehand."""
    try:
        _refuse_taken(path, force)
        folder = path.absolute().parent
        if not folder.is_dir():
            raise BadInput(f"{path}: there is no folder {folder}; give one that exists")
        is_replaced = path.is_file() or not path.exists()  # what is no file (/dev/stdout) is written as it is
        if is_replaced and not os.access(folder, os.W_OK | os.X_OK):
            raise BadInput(f"{path}: you may not write to the folder {folder}; give another one")
    except OSError as error:
        raise BadInput(f"{path}: this cannot be looked at: {error.strerror}; give another file") from None


def write_new(path: Path, text: str, what: str, *, force: bool = False) -> None:
    """Write a new file; ``what`` names it in sentences (``the study file``).

    Raises :class:`BadInput` for one that exists, unless ``force``, and as :func:`write_error` says.
    """
    try:
        _refuse_taken(path, force)
        write_atomically(path, text.encode())
    except OSError as error:
        raise write_error(path, error, what) from None


def _refuse_taken(path: Path, force: bool) -> None:
    if path.is_dir():
        raise BadInput(f"{path}: this is a directory; give a file name in it")
    if not force and os.path.lexists(path):
        mend = "give another name, or overwrite it with --force"
        raise BadInput(f"{path}: this file exists already; {mend}")
