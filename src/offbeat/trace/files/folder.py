"""The folder of a trace that is to be written."""

from __future__ import annotations

from pathlib import Path

from offbeat.base.errors import BadInput

SUFFIX = ".trace"
"""Of the files in the folder, one for each rank."""


def check_unused(folder: Path, option: str) -> None:
    """Raise :class:`BadInput` if the folder holds a trace; ``option`` gives another folder."""
    if folder.is_dir() and any(path.suffix == SUFFIX for path in folder.iterdir()):
        raise BadInput(f"{folder} holds a trace already; give another folder with {option}, or remove it")


def create(folder: Path) -> None:
    """Create the folder unless it exists. Raises :class:`BadInput`."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(
            f"cannot create the folder {folder}: {error.strerror or error}; give one in a folder that you can"
            " write to"
        ) from error
