"""Settings that choose algorithms and that a launch would inherit: from the environment, from launcher
options and from the library's parameter files.

They would replace the library's own decision in ``default``, or be stronger than a forced algorithm (a rules
file in Open MPI 4.1). So measurements run without them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from offbeat.base.errors import BadInput
from offbeat.base.reading import read_file
from offbeat.base.units import enumeration
from offbeat.libraries.families.libraries import library_of
from offbeat.libraries.installations.installation import Installation

ENVIRONMENT, OPTIONS = "environment", "launcher options"
_ASSIGNMENT = re.compile(r"(?P<name>[\w]+)\s*=\s*(?P<value>.*?)\s*")


class InheritedSetting(Struct, frozen=True, kw_only=True):
    """A setting that chooses algorithms. ``name`` is that of the environment variable; ``source`` is
    ENVIRONMENT, OPTIONS, or a file with the line."""

    name: str
    value: str
    source: str

    @property
    def is_in_file(self) -> bool:
        """Whether a parameter file has the setting."""
        return self.source not in (ENVIRONMENT, OPTIONS)

    def __str__(self) -> str:
        """The setting and its source."""
        return f"{self.name}={self.value} ({self.source})"


def inherited_settings(installation: Installation, environ: Mapping[str, str]) -> list[InheritedSetting]:
    """The settings of the environment and of the parameter files that the library reads under it."""
    library = library_of(installation)
    settings = [
        InheritedSetting(name=name, value=value, source=ENVIRONMENT)
        for name, value in sorted(environ.items())
        if library.chooses_algorithms(name, value)
    ]
    for path in library.parameter_files(installation, environ):
        settings += [
            one
            for one in _settings_of_file(path, library.environment_prefix)
            if library.chooses_algorithms(one.name, one.value)
        ]
    return settings


def _settings_of_file(path: Path, prefix: str) -> list[InheritedSetting]:
    """The settings of a parameter file; none if there is no such file, or if it cannot be read."""
    try:
        lines = read_file(path).decode(errors="replace").splitlines()
    except OSError:
        return []
    settings = []
    for number, line in enumerate(lines, start=1):
        match = _ASSIGNMENT.fullmatch(line.partition("#")[0].strip())
        if match:
            source = f"{path}, line {number}"
            settings.append(
                InheritedSetting(name=prefix + match["name"], value=match["value"], source=source)
            )
    return settings


def without_settings(environ: Mapping[str, str], settings: Iterable[InheritedSetting]) -> dict[str, str]:
    """The environment without those of the settings that it has."""
    names = {one.name for one in settings if one.source == ENVIRONMENT}
    return {name: value for name, value in environ.items() if name not in names}


def neutral_variables(installation: Installation, settings: Iterable[InheritedSetting]) -> dict[str, str]:
    """The variables that take back the settings of parameter files.

    Raises :class:`BadInput` for a setting that no value of a variable takes back.
    """
    library = library_of(installation)
    variables = {}
    for setting in settings:
        if not setting.is_in_file:
            continue
        value = library.neutral_value(setting.name)
        if value is None:
            raise BadInput(
                f"{setting.source}: {setting.name.removeprefix(library.environment_prefix)} = {setting.value}"
                " changes which algorithms run, and no variable can take it back for a measurement;"
                " remove the line while you measure"
            )
        variables[setting.name] = value
    return variables


def overridden(installation: Installation, settings: Iterable[InheritedSetting]) -> dict[str, str]:
    """The variables that take back settings of the environment and of files, where a value does so."""
    library = library_of(installation)
    values = {one.name: library.neutral_value(one.name) for one in settings if one.source != OPTIONS}
    return {name: value for name, value in values.items() if value is not None}


def removal_note(settings: Sequence[InheritedSetting]) -> list[str]:
    """A sentence that names the settings without which is measured; none without any."""
    if not settings:
        return []
    names = enumeration([str(one) for one in settings])
    return [f"Measurements leave out these settings, which choose algorithms: {names}."]
