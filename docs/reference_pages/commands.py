"""The page of the commands, from the commands themselves."""

from __future__ import annotations

import enum
import inspect
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from markdown import code, prose, sentence, table

from offbeat.cli import app

SOURCE = "src/offbeat/cli"

HEAD = """# Commands

`offbeat COMMAND --help`, or `-h`, prints the same. Every command ends with one of these exit statuses:

| status | meaning |
| --- | --- |
| 0 | success |
| 1 | the command failed completely or partly: a message says what failed |
| 2 | the input is invalid: a message names the file, line, key or option; nothing was launched |
| 129, 130, 143 | stopped by a signal (130: Ctrl-C); a message says whether measurements were stored |

Tables go to standard output, progress and warnings to standard error. If the output is not a terminal, it has
no colours. Tables are as wide as the terminal, or 80 columns without a terminal; the variable `COLUMNS` sets
another width. If a table is too wide, names break between their parts, and columns that still do not fit
continue in a second table below; numbers and their units never break.

`--json FILE` has the same meaning in every command that has it: JSON is also written to FILE, and with `-` it
is printed instead of the text. `--notes` prints all notes; without it, the ten most important notes are
printed, with the number of the others.

`offbeat --install-completion` lets the shell complete commands, options, names of collectives and algorithms,
and result directories.
"""


def commands() -> Iterator[tuple[str, Any]]:
    """Every command with its full name; groups come before their members."""
    for verb in app.VERBS:
        command = app.load(verb)
        yield f"offbeat {verb}", command
        yield from _below(f"offbeat {verb}", command)


def _below(name: str, command: Any) -> Iterator[tuple[str, Any]]:
    for word, inner in getattr(command, "commands", {}).items():
        yield f"{name} {word}", inner
        yield from _below(f"{name} {word}", inner)


def parameters(command: Any) -> list[Any]:
    """The arguments and options of a command in their order, without --help."""
    return [parameter for parameter in command.params if not getattr(parameter, "hidden", False)]


def page() -> str:
    """The whole page."""
    return "\n".join([HEAD, *(_section(name, command) for name, command in commands())])


def _section(name: str, command: Any) -> str:
    level = "#" * len(name.split())
    parts = [f"{level} {name}\n", f"{prose(command.help)}\n"]
    if getattr(command, "commands", None):
        return "\n".join(parts)
    listed = parameters(command)
    parts.append(f"```console\n$ {' '.join([name, '[OPTIONS]', *_usage(listed)])}\n```\n")
    types = _types(command)
    parts.append(
        table(("argument or option", "meaning", "default"), (_row(entry, types) for entry in listed))
    )
    return "\n".join(parts)


def _usage(listed: list[Any]) -> Iterator[str]:
    """The arguments of the usage line."""
    for parameter in listed:
        if parameter.param_type_name == "argument":
            word = parameter.metavar or parameter.name.upper()
            yield word if parameter.required else f"[{word}]"


def _types(command: Any) -> dict[str, Any]:
    """The Python types of a command's parameters by name; for lists and optional ones that of the value."""
    types = {}
    for name, hint in typing.get_type_hints(inspect.unwrap(command.callback)).items():
        inner = hint
        while typing.get_args(inner):
            inner = next(entry for entry in typing.get_args(inner) if entry is not type(None))
        types[name] = inner
    return types


def _row(parameter: Any, types: dict[str, Any]) -> tuple[str, str, str]:
    if parameter.param_type_name == "argument":
        typed = parameter.metavar or parameter.name.upper()
    else:
        names = ", ".join([*parameter.opts, *parameter.secondary_opts])
        typed = f"{names} {parameter.metavar or _placeholder(types[parameter.name])}".strip()
    default = "required" if parameter.required else _default(parameter.default)
    return code(typed), sentence(parameter.help or ""), default


def _placeholder(kind: Any) -> str:
    """The placeholder of an option's value; empty for a flag."""
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return "|".join(str(entry.value) for entry in kind)
    return {bool: "", int: "NUMBER", float: "NUMBER", str: "TEXT", Path: "PATH"}[kind]


def _default(value: Any) -> str:
    """The default of an option; empty for flags and for options without a default."""
    if value is None or value is False or value == "" or value == []:
        return ""
    return code(str(value.value if hasattr(value, "value") else value))
