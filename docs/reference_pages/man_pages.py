"""The manual pages, from the commands themselves: one of offbeat, and one of each command with its sub-commands."""

from __future__ import annotations

import datetime
import os
import re
import textwrap
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import commands
import environment
from markdown import prose
from typer.main import get_command

from offbeat.cli import app

SOURCE = "src/offbeat/cli"

MARK = '.\\" Written by `make docs` from {source}; edit that, not this page.\n'
"""The first line of a page, which man does not show."""

DESCRIPTION = """
`offbeat tune -- COMMAND` makes a program faster in one command. The other commands do its steps one by one: they
record a program, measure or simulate a study, choose algorithms, write the tuning files of the MPI library, verify
that the library obeys them, and report.

Each command has a page: `man offbeat run`.
"""
"""What offbeat is, in its own page."""

_PROJECT = Path(__file__).resolve().parents[2] / "pyproject.toml"


def names() -> list[str]:
    """The file names of all pages."""
    return ["offbeat.1", *(f"offbeat-{verb}.1" for verb in app.VERBS)]


def page(name: str, written: str) -> str:
    """The page of a file name; ``written`` is the file's text today, empty if there is none.

    The date in the page's title is the day on which the rest of the page changed.
    """
    verb = name.removesuffix(".1").removeprefix("offbeat").removeprefix("-")
    body = "\n".join(_of_verb(verb) if verb else _of_offbeat()) + "\n"
    dated = re.search(r"^\.TH \S+ 1 (\S+) ", written, flags=re.MULTILINE)
    if dated and written == _titled(name, dated[1]) + body:
        return written
    return _titled(name, _today()) + body


def _titled(name: str, date: str) -> str:
    version = tomllib.loads(_PROJECT.read_text(encoding="utf-8"))["project"]["version"]
    title = name.removesuffix(".1").upper()
    return MARK.format(source=SOURCE) + f'.TH {title} 1 {date} "offbeat {version}" "offbeat manual"\n.nh\n.ad l\n'


def _today() -> str:
    """Today, or the day of SOURCE_DATE_EPOCH."""
    now = datetime.datetime.now(datetime.UTC)
    if epoch := os.environ.get("SOURCE_DATE_EPOCH"):
        now = datetime.datetime.fromtimestamp(int(epoch), datetime.UTC)
    return now.date().isoformat()


def _of_offbeat() -> Iterator[str]:
    """The page of offbeat itself, without its title."""
    whole = get_command(app.build())
    yield from _name("offbeat", whole.help)
    yield ".SH SYNOPSIS"
    yield _synopsis("offbeat", "[OPTIONS] COMMAND [ARGUMENTS]")
    yield ".SH DESCRIPTION"
    yield from _paragraphs(DESCRIPTION)
    yield ".SH COMMANDS"
    yield from _tagged((f"{_bold(f'offbeat-{verb}')}(1)", _text(line)) for verb, line in app.VERBS.items())
    yield from _sections(commands.parameters(whole))
    yield ".SH OUTPUT"
    yield from _paragraphs(commands.OUTPUT)
    yield ".SH EXIT STATUS"
    yield from _tagged((_bold(status), _text(meaning)) for status, meaning in commands.STATUSES.items())
    yield ".SH ENVIRONMENT"
    variables = environment.YOURS | environment.OTHERS
    yield from _tagged((_bold(name), _text(meaning)) for name, meaning in variables.items())


def _of_verb(verb: str) -> Iterator[str]:
    """The page of a command, without its title; sub-commands are sections of it."""
    command = app.load(verb)
    members = list(commands.below(f"offbeat {verb}", command))
    yield from _name(f"offbeat-{verb}", app.VERBS[verb])
    yield ".SH SYNOPSIS"
    for name, inner in members or [(f"offbeat {verb}", command)]:
        yield _usage(name, inner)
    yield ".SH DESCRIPTION"
    yield from _paragraphs(command.help)
    if members:
        yield ".SH COMMANDS"
    else:
        yield from _sections(commands.parameters(command))
    for name, inner in members:
        yield f".SS {_text(name)}"
        yield from _paragraphs(inner.help)
        yield from _tagged(map(_described, commands.parameters(inner)))
    yield ".SH SEE ALSO"
    yield f"{_bold('offbeat')}(1)"


def _sections(listed: Sequence[commands.Parameter]) -> Iterator[str]:
    """The sections of the arguments and of the options."""
    for kind, heading in (("argument", "ARGUMENTS"), ("option", "OPTIONS")):
        if rows := [entry for entry in listed if entry.kind == kind]:
            yield f".SH {heading}"
            yield from _tagged(map(_described, rows))


def _name(name: str, line: str) -> Iterator[str]:
    yield ".SH NAME"
    yield _text(f"{name} - {line.rstrip('.')}")


def _synopsis(name: str, arguments: str) -> str:
    return f".HP\n{_bold(name)} {_text(arguments)}"


def _usage(name: str, command: Any) -> str:
    return _synopsis(name, commands.usage("", commands.parameters(command)))


def _described(entry: commands.Parameter) -> tuple[str, str]:
    """An argument or option as it is typed, and its meaning with the default."""
    breakable = _escaped(entry.value).replace("|", r"|\:")
    value = rf"\fI{breakable}\fP" if entry.value else ""
    default = {"": "", "required": " [required]"}.get(entry.default, f" [default: {entry.default}]")
    if "[default:" in entry.meaning:  # in words
        default = ""
    names = ", ".join(map(_bold, entry.names.split(", "))) if entry.names else ""
    return f"{names} {value}".strip(), _text(entry.meaning + default)


def _paragraphs(text: str | None) -> Iterator[str]:
    for number, paragraph in enumerate(prose(text).split("\n\n")):
        if number:
            yield ".PP"
        yield _text(paragraph)


def _tagged(rows: Iterable[tuple[str, str]]) -> Iterator[str]:
    """A list of tags with their texts; both are roff."""
    for tag, text in rows:
        yield f".TP\n{tag}\n{text}"


def _bold(text: str) -> str:
    return rf"\fB{_escaped(text)}\fP"


def _text(text: str) -> str:
    """Text as lines of roff of at most 72 characters, one or more a sentence; code in backticks is bold."""
    parts = re.split(r"`([^`]*)`", " ".join(text.split()))
    line = "".join(_bold(part) if number % 2 else _escaped(part) for number, part in enumerate(parts))
    sentences = re.split(r"(?<=[.?!]) (?=[A-Z])", line)
    lines = [part for sentence in sentences for part in textwrap.wrap(sentence, 72, break_on_hyphens=False)]
    return "\n".join(rf"\&{part}" if part.startswith(".") else part for part in lines)


def _escaped(text: str) -> str:
    """Text without a meaning for roff; hyphens stay ASCII, so that what is copied from a page can be typed."""
    return text.replace("\\", r"\e").replace("-", r"\-").replace("'", r"\(aq").replace("`", r"\(ga")
