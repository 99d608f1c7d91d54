"""Writing a file that a person will edit, and that must not be lost."""

from __future__ import annotations

from pathlib import Path

from offbeat.errors import BadInput


def write_new(path: Path, text: str, what: str, *, force: bool = False) -> None:
    """Write a new file; ``what`` names it in sentences (``the study file``).

    Raises :class:`BadInput` for one that exists, unless ``force``, and where nothing can be written.
    """
    if path.is_dir():
        raise BadInput(f"{path}: this is a directory; give a file name in it")
    try:
        with path.open("w" if force else "x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        mend = "give another name, or overwrite it with --force"
        raise BadInput(f"{path}: this file exists already; {mend}") from None
    except OSError as error:
        raise BadInput(f"{path}: {what} cannot be written: {error.strerror}") from None
