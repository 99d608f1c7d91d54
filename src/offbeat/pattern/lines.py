"""What pattern files and replay files share: plain text, a header of ``# key: value``, delays as numbers."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from offbeat.atomic_write import write_atomically, write_error
from offbeat.errors import BadInput
from offbeat.pattern.shapes import MAX_DELAY_S
from offbeat.reading import read_file
from offbeat.units import TIME_UNITS

UNITS_S = {unit: float(scale) for unit, scale in TIME_UNITS.items()} | {"seconds": 1.0, "μs": 1e-6}
"""What the header key ``unit`` may say, in seconds."""

# No two neighbours of an expression match the same character: a line of 100 kB then takes linear time.
_HEADER = re.compile(r"#\s*([A-Za-z_][\w .-]*):(.*)")
_PLAIN = re.compile(r"[0-9.eE+\-]+")
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")


def read_lines(path: Path, what: str, line: str) -> list[str]:
    """The lines of a text file. ``what`` is what it should be (``pattern file``), ``line`` what a line holds.

    Raises BadInput for a file that cannot be read or is no UTF-8 text.
    """
    try:
        data = read_file(path)
    except OSError as error:
        raise BadInput(f"cannot read the {what} {path}: {error.strerror}") from error
    try:
        return re.split(r"\r\n|\r|\n", data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        number = data[: error.start].count(b"\n") + 1
        raise BadInput(
            f"{path}:{number}: the byte 0x{data[error.start]:02x} is not UTF-8 text;"
            f" a {what} is plain text with {line}"
        ) from error


def write_text(path: Path, what: str, text: str) -> None:
    """Write a text file, replacing what was there. Raises BadInput where that is not possible."""
    try:
        write_atomically(Path(path), text.encode())
    except OSError as error:
        raise write_error(path, error, f"the {what}") from error


def words_of(line: str) -> list[str]:
    """The words of a line before its comment, between blanks, commas and semicolons; separators without any
    words are a word, as such a line isn't blank."""
    said = line.split("#", 1)[0]
    return said.replace(",", " ").replace(";", " ").split() or said.split()


def header_of(lines: Sequence[str]) -> dict[str, str]:
    """The ``# key: value`` lines."""
    matches = (_HEADER.match(line.strip()) for line in lines if "#" in line)
    return {match[1].strip(): match[2].strip() for match in matches if match}


def header_lines(header: Mapping[str, str]) -> list[str]:
    """The lines that :func:`header_of` reads; line breaks in values become spaces."""
    return [f"# {key}: {' '.join(value.split())}" for key, value in header.items()]


def unit_of(path: Path, header: Mapping[str, str]) -> float:
    """The unit of a file's delays in seconds."""
    unit = header.get("unit", "s")
    if unit not in UNITS_S:
        raise BadInput(f"{path}: the header names the unit {unit!r}; known units are {', '.join(UNITS_S)}")
    return UNITS_S[unit]


def delays_s(path: Path, number: int, words: Sequence[str], unit_s: float) -> list[float]:
    """The words of a line as delays in seconds; raises BadInput with the first fault."""
    if _PLAIN.fullmatch("".join(words)):  # the quick way, for lines without faults
        try:
            delays = [float(word) * unit_s + 0.0 for word in words]
        except ValueError:
            delays = [-1.0]
        if min(delays) >= 0 and max(delays) <= MAX_DELAY_S:
            return delays
    return [_delay_s(f"{path}:{number}", word, unit_s) for word in words]


def _delay_s(where: str, text: str, unit_s: float) -> float:
    """A delay in seconds; raises BadInput with what is wrong with it. ``where`` is its file and line."""
    if re.fullmatch(r"[+-]?(nan|inf|infinity)", text, re.IGNORECASE):
        raise BadInput(f"{where}: {text} is not a delay; every rank needs a finite number of seconds")
    if not _NUMBER.fullmatch(text):
        raise BadInput(f"{where}: {text[:60]!r} is not a number; a delay is a number of seconds")
    delay = float(text) * unit_s
    if delay < 0:
        raise BadInput(f"{where}: the delay {text} is negative; the earliest rank has the delay 0")
    if delay > MAX_DELAY_S:
        raise BadInput(f"{where}: the delay {text} is longer than one day; delays are in seconds")
    return delay + 0.0


def recorded_from(header: Mapping[str, str]) -> str:
    """Of which calls of which trace a file was made; empty where its header does not say.

    Two files that say the same tell of the same calls, however they sum them up.
    """
    calls, trace = header.get("calls", ""), header.get("trace", "")
    return f"{calls} in {trace}" if calls and trace else ""
