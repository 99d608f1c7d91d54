"""A user's launch command without the settings that choose algorithms."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from msgspec import Struct

from offbeat.libraries.families.inherited_settings import (
    OPTIONS,
    InheritedSetting,
    inherited_settings,
    neutral_variables,
    without_settings,
)
from offbeat.libraries.families.libraries import library_of
from offbeat.libraries.installations.installation import Installation
from offbeat.libraries.launch.launch_words import Word, is_launcher, is_srun, launch_words
from offbeat.libraries.launch.user_command import EXPORT, settings_of


class PlainCommand(Struct, frozen=True, kw_only=True):
    """A launch without the user's settings that choose algorithms: a command and a complete environment.

    ``variables`` take back what parameter files set; all processes must get them. ``settings`` are those
    without which the command runs.
    """

    argv: list[str]
    environment: dict[str, str]
    variables: dict[str, str]
    settings: list[InheritedSetting]


def plain_command(
    argv: Sequence[str], installation: Installation, environ: Mapping[str, str] = os.environ
) -> PlainCommand:
    """A user's command without the settings that choose algorithms.

    Raises :class:`BadInput` for a setting of a parameter file that cannot be taken back.
    """
    arguments, of_options = without_choices(argv, installation, environ)
    inherited_choices = inherited_settings(installation, environ)
    return PlainCommand(
        argv=arguments,
        environment=without_settings(environ, inherited_choices),
        variables=neutral_variables(installation, inherited_choices),
        settings=[*of_options, *inherited_choices],
    )


def without_choices(
    argv: Sequence[str], installation: Installation, environ: Mapping[str, str] = os.environ
) -> tuple[list[str], list[InheritedSetting]]:
    """A command without the launcher options that choose algorithms, and their settings."""
    by_srun = is_srun(argv)
    if not (is_launcher(argv) or by_srun):
        return list(argv), []
    chooses = library_of(installation).chooses_algorithms
    arguments, settings = [argv[0]], list[InheritedSetting]()
    for word in launch_words(argv, environ):
        choices = {
            name: value
            for name, value in settings_of(word, environ, by_srun=by_srun).items()
            if chooses(name, value)
        }
        settings += [
            InheritedSetting(name=name, value=value, source=OPTIONS) for name, value in choices.items()
        ]
        arguments += _remove_variables(word, choices) if choices else word.text
    return arguments, settings


def _remove_variables(word: Word, choices: Mapping[str, str]) -> list[str]:
    """The text of an option without some of its variables: srun's option has several."""
    if word.option != EXPORT:
        return []
    items = [item for item in word.values[0].split(",") if item.partition("=")[0] not in choices]
    return [f"{EXPORT}={','.join(items)}"] if items else []
