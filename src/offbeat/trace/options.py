"""Checks the OFFBEAT_TRACE_* variables before a launch.

The tracer itself lets a program run untraced if it cannot parse a variable.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping

from offbeat.errors import BadInput
from offbeat.study.collectives import PROPERTIES
from offbeat.trace.format import PAGE_BYTES
from offbeat.units import parse_size

COLLECTIVES = (*PROPERTIES, "constructors")
"""Names in OFFBEAT_TRACE_COLLECTIVES."""

FEWEST_BYTES = 3 * PAGE_BYTES
MOST_RANGES = 64
MOST_DEPTH = 16
_MOST_NUMBER = 2**31 - 1
DIR = "OFFBEAT_TRACE_DIR"
RANKS = "OFFBEAT_TRACE_RANKS"
PREFIX = DIR.removesuffix("DIR")

_RANGE = re.compile(r"(\d{1,18})(-(\d{1,18})?)?")
_WINDOW = re.compile(r"(\d+(?:\.\d*)?|\.\d+)-((?:\d+(?:\.\d*)?|\.\d+)?)")


def option(name: str) -> str:
    """The option of ``offbeat trace run`` that sets a variable: ``--comm-sizes``."""
    return "--" + name.removeprefix(PREFIX).lower().replace("_", "-")


def check(variables: Mapping[str, str], options: Collection[str] = ()) -> None:
    """Raise :class:`BadInput` for a value that the tracer cannot parse; other variables are ignored.

    The message names the variable, or the command line option for variables in ``options``.
    """
    for name, value in variables.items():
        if name.startswith(PREFIX) and value:
            test = _CHECKS.get(name)
            if test is None:
                raise BadInput(f"{name} is not a variable of the tracer, which are {', '.join(_CHECKS)}")
            fix = test(value)
            if fix:
                setting = f"{option(name)} {value}" if name in options else f"{name}={value}"
                raise BadInput(f"{setting} is invalid; {fix}")


def _ranges(value: str) -> str:
    parts = value.split(",")
    for part in parts:
        match = _RANGE.fullmatch(part)
        if match is None or (match[3] and int(match[3]) < int(match[1])):
            return "it should be numbers and ranges like 0-3,8,16-"
    return f"there are more than {MOST_RANGES} ranges" if len(parts) > MOST_RANGES else ""


def _whole_number(least: int, most: int, fix: str) -> Callable[[str], str]:
    """A check for whole numbers from ``least`` to ``most``."""

    def check_number(value: str) -> str:
        is_sound = value.isdecimal() and len(value) <= len(str(most)) and least <= int(value) <= most
        return "" if is_sound else f"it should be a whole number{fix}"

    return check_number


def _collectives(value: str) -> str:
    unknown = [word for word in value.split(",") if word.lower() not in COLLECTIVES]
    return f"{unknown[0]!r} is not one of {', '.join(COLLECTIVES)}" if unknown else ""


def _window(value: str) -> str:
    match = _WINDOW.fullmatch(value)
    if match is None or float(match[1]) > 1e9 or (match[2] and float(match[2]) <= float(match[1])):
        return "it should be seconds since MPI_Init, from the first to the last, like 10-60 or 2.5-"
    return ""


def _bytes(value: str) -> str:
    try:
        size = parse_size(value)
    except BadInput as error:
        return str(error)
    if re.fullmatch(r"\d+ *[A-Za-z]*", value) and size >= FEWEST_BYTES:
        return ""
    return "it should be a size of 192 KiB or more, like 100 MB or 1GiB"


_CHECKS = {
    DIR: lambda value: "",
    RANKS: _ranges,
    "OFFBEAT_TRACE_EVERY": _whole_number(1, _MOST_NUMBER, ", 1 or more"),
    "OFFBEAT_TRACE_COLLECTIVES": _collectives,
    "OFFBEAT_TRACE_COMM_SIZES": _ranges,
    "OFFBEAT_TRACE_WINDOW": _window,
    "OFFBEAT_TRACE_BYTES": _bytes,
    "OFFBEAT_TRACE_DEPTH": _whole_number(0, MOST_DEPTH, f" from 0 to {MOST_DEPTH}"),
    "OFFBEAT_TRACE_SYNC_LEVEL": _whole_number(
        3, _MOST_NUMBER, ", 3 or more: the MPI standard defines 0, 1 and 2"
    ),
}
