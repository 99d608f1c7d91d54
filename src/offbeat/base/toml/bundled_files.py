"""The files of one kind that come with offbeat, by their names."""

from __future__ import annotations

import re
from pathlib import Path

from offbeat.base.errors import BadInput
from offbeat.base.toml.faults import unknown


class Presets:
    """The TOML files of a folder. ``phrase`` names one of them (``a platform``); ``first`` leads lists."""

    def __init__(self, folder: Path, phrase: str, *, first: str) -> None:
        self.folder = folder
        self._phrase = phrase
        self._first = first

    def names(self) -> list[str]:
        """The name of every file."""
        names = sorted(path.stem for path in self.folder.glob("*.toml"))
        return [self._first, *(name for name in names if name != self._first)]

    def path_of(self, name: str) -> Path:
        """The file of a name; raises :class:`BadInput`."""
        if name not in self.names():
            file = f"'./{name}' or '{name}.toml'"
            raise BadInput(f"{unknown(name, self._phrase, self.names())}. A file is given as {file}")
        return self.folder / f"{name}.toml"

    def resolve(self, path_or_name: Path | str) -> Path:
        """A path as it is; of a word without folders and suffix that is no file here, the file of that name.

        Raises :class:`BadInput`.
        """
        path = Path(path_or_name)
        return self.path_of(str(path_or_name)) if is_name(str(path_or_name)) and not path.is_file() else path


def is_name(text: str) -> bool:
    """Whether a word could be the name of such a file: no folders, no suffix."""
    return re.fullmatch(r"[\w-]+", text) is not None
