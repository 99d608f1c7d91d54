"""Options whose value is missing: the next word is another option, which would be taken as the value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import typer


def check_option_values(command: Any, words: Sequence[str]) -> None:
    """Raise :class:`typer.BadParameter` for an option of a command with another option in place of its value.

    Words after ``--``, and those of a program, are not read.
    """
    index = 0
    while hasattr(command, "commands"):
        if index == len(words) or words[index] not in command.commands:
            return
        command, index = command.commands[words[index]], index + 1
    options = {name: one for one in command.params if _takes_value(one) for name in one.opts}
    while index < len(words) and words[index] != "--":
        word, next_word = words[index], (*words[index + 1 :], "")[0]
        if word in options and next_word.startswith("--"):
            raise typer.BadParameter(f"the next word is another option, {next_word}", param=options[word])
        if not word.startswith("-") and not command.allow_interspersed_args:
            return
        index += 2 if word in options else 1


def _takes_value(parameter: Any) -> bool:
    return parameter.param_type_name == "option" and not parameter.is_flag and not parameter.count
