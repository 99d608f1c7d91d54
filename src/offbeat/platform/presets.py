"""The platforms that come with offbeat: a file each, beside this module."""

from __future__ import annotations

import re
from pathlib import Path

from offbeat.errors import BadInput
from offbeat.toml.faults import hint

FOLDER = Path(__file__).with_name("presets")

DEFAULT_PRESET = "paper"
"""The default platform, which is first in lists."""


def names() -> list[str]:
    """The name of every built-in platform."""
    presets = sorted(path.stem for path in FOLDER.glob("*.toml"))
    return [DEFAULT_PRESET, *(name for name in presets if name != DEFAULT_PRESET)]


def is_preset_name(name: str) -> bool:
    """Whether a word could be the name of a built-in platform: no folders, no suffix."""
    return re.fullmatch(r"[\w-]+", name) is not None


def path_of(name: str) -> Path:
    """The file of a built-in platform; raises :class:`BadInput`."""
    if name not in names():
        file = f"'./{name}' or '{name}.toml'"
        raise BadInput(f"{name!r} is not a platform{hint(name, names())}. A file is given as {file}")
    return FOLDER / f"{name}.toml"
