"""Options whose value is missing: the next word is another option, which would be taken as the value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import typer


def check_option_values(command: Any, words: Sequence[str]) -> None:
    """Raise :class:`typer.BadParameter` for an option of a command with another option in place of its value.

    Words after ``--``, and those of a program, are not read.
    """
    place = 0
    while hasattr(command, "commands"):
        if place == len(words) or words[place] not in command.commands:
            return
        command, place = command.commands[words[place]], place + 1
    options = {name: one for one in command.params if _takes_value(one) for name in one.opts}
    while place < len(words) and words[place] != "--":
        word, following = words[place], (*words[place + 1 :], "")[0]
        if word in options and following.startswith("--"):
            raise typer.BadParameter(f"the next word is another option, {following}", param=options[word])
        if not word.startswith("-") and not command.allow_interspersed_args:
            return
        place += 2 if word in options else 1


def _takes_value(parameter: Any) -> bool:
    return parameter.param_type_name == "option" and not parameter.is_flag and not parameter.count
