"""The platforms that come with offbeat: a file each, in the folder beside this module."""

from __future__ import annotations

from pathlib import Path

from offbeat.base.toml.bundled_files import Presets

DEFAULT_PRESET = "paper"
"""The default platform, which is first in lists."""

PRESETS = Presets(Path(__file__).with_name("presets"), "a platform", first=DEFAULT_PRESET)
