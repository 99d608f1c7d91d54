"""The page of the commands, from the commands themselves."""

from __future__ import annotations

import enum
import inspect
import typing
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from markdown import code, prose, sentence, table

from offbeat.cli import app

SOURCE = "src/offbeat/cli"

STATUSES = {
    "0": "success",
    "1": "the command failed completely or partly: a message says what failed",
    "2": "the input is invalid: a message names the file, line, key or option; nothing was launched",
    "129, 130, 143": "stopped by a signal (130: Ctrl-C); a message says whether measurements were stored",
}
"""Exit statuses of every command, with their meaning."""

OUTPUT = """Tables go to standard output, progress and warnings to standard error. If the output is not a terminal, it has
no colours. Tables are as wide as the terminal, or 80 columns without a terminal; the variable `COLUMNS` sets
another width. If a table is too wide, names break between their parts, and columns that still do not fit
continue in a second table below; numbers and their units never break.

`--json FILE` has the same meaning in every command that has it: JSON is also written to FILE, and with `-` it
is printed instead of the text. `--notes` prints all notes; without it, the ten most important notes are
printed, with the number of the others.
"""
"""What every command prints, and where."""

HEAD = f"""# Commands

`offbeat COMMAND --help`, or `-h`, prints the same, and so does `man offbeat COMMAND` where offbeat is installed.
Every command ends with one of these exit statuses:

{table(("status", "meaning"), STATUSES.items())}
{OUTPUT}
Tab completes commands, options, names of collectives and algorithms, and result directories:
[how to install that](../howto/install.md).
"""


class Parameter(NamedTuple):
    """An argument or option of a command, as pages show it."""

    kind: str
    """``argument`` or ``option``."""
    names: str
    """The names of an option: ``--output, -o``; empty for an argument."""
    value: str
    """The placeholder of its value; empty for a flag."""
    meaning: str
    default: str
    """``required``; the default; empty for flags and where there is no default."""


def commands() -> Iterator[tuple[str, Any]]:
    """Every command with its full name; groups come before their members."""
    for verb in app.VERBS:
        command = app.load(verb)
        yield f"offbeat {verb}", command
        yield from below(f"offbeat {verb}", command)


def below(name: str, command: Any) -> Iterator[tuple[str, Any]]:
    """The members of a group with their full names, and theirs; ``name`` is that of the group."""
    for word, inner in getattr(command, "commands", {}).items():
        yield f"{name} {word}", inner
        yield from below(f"{name} {word}", inner)


def parameters(command: Any) -> list[Parameter]:
    """The arguments and options of a command in their order, without --help."""
    types = _types(command)
    return [
        _parameter(parameter, types)
        for parameter in command.params
        if not getattr(parameter, "hidden", False)
    ]


def usage(name: str, listed: Iterable[Parameter]) -> str:
    """The usage line of a command, with its full name."""
    values = [
        entry.value if entry.default == "required" else f"[{entry.value}]"
        for entry in listed
        if entry.kind == "argument"
    ]
    return " ".join([name, "[OPTIONS]", *values])


def page() -> str:
    """The whole page."""
    return "\n".join([HEAD, *(_section(name, command) for name, command in commands())])


def _section(name: str, command: Any) -> str:
    level = "#" * len(name.split())
    parts = [f"{level} {name}\n", f"{prose(command.help)}\n"]
    if getattr(command, "commands", None):
        return "\n".join(parts)
    listed = parameters(command)
    parts.append(f"```console\n$ {usage(name, listed)}\n```\n")
    parts.append(table(("argument or option", "meaning", "default"), map(_row, listed)))
    return "\n".join(parts)


def _row(entry: Parameter) -> tuple[str, str, str]:
    default = entry.default if entry.default in ("", "required") else code(entry.default)
    return code(f"{entry.names} {entry.value}".strip()), sentence(entry.meaning), default


def _types(command: Any) -> dict[str, Any]:
    """The Python types of a command's parameters by name; for lists and optional ones that of the value."""
    types: dict[str, Any] = {}
    if command.callback is None:  # a group without options of its own
        return types
    for name, hint in typing.get_type_hints(inspect.unwrap(command.callback)).items():
        inner = hint
        while typing.get_args(inner):
            inner = next(entry for entry in typing.get_args(inner) if entry is not type(None))
        types[name] = inner
    return types


def _parameter(parameter: Any, types: dict[str, Any]) -> Parameter:
    kind = parameter.param_type_name
    if kind == "argument":
        names, value = "", parameter.metavar or parameter.name.upper()
    else:
        names = ", ".join([*parameter.opts, *parameter.secondary_opts])
        value = parameter.metavar or _placeholder(types.get(parameter.name, bool))  # typer's own are flags
    default = "required" if parameter.required else _default(parameter.default)
    return Parameter(kind, names, value, " ".join((parameter.help or "").split()), default)


def _placeholder(kind: Any) -> str:
    """The placeholder of an option's value; empty for a flag."""
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return "|".join(str(entry.value) for entry in kind)
    return {bool: "", int: "NUMBER", float: "NUMBER", str: "TEXT", Path: "PATH"}[kind]


def _default(value: Any) -> str:
    """The default of an option; empty for flags and for options without a default."""
    if value is None or value is False or value == "" or value == []:
        return ""
    return str(value.value if hasattr(value, "value") else value)
