"""The pattern file: one delay in seconds a line, line i that of rank i, behind ``#`` header lines.

The form is that of "MPI Collective Algorithm Selection in the Presence of Process Arrival Patterns",
section III.B: p lines. Everything from a ``#`` to the end of its line is a comment, and blank lines are
skipped, so that a bare column of numbers from any other tool is a pattern file. Comments of the form
``# key: value`` make up the header; two keys have a meaning on reading: ``p`` (how many delays must follow)
and ``unit``.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from offbeat.errors import BadInput
from offbeat.pattern.lines import (
    UNITS_S,
    delays_s,
    header_lines,
    header_of,
    read_lines,
    unit_of,
    words_of,
    write_text,
)
from offbeat.reading import TEXT_BYTES, raise_too_large, size_limit

__all__ = ["UNITS_S", "Pattern", "check_size", "read", "text", "write"]

LINE_BYTES = 22
"""What a delay of full precision takes in a file, with the line's end."""

_WHAT = "pattern file"


class Pattern(Struct, kw_only=True, eq=False):
    """An arrival pattern: ``delays_s`` has one delay a rank, in seconds, (p,); the smallest is 0.

    ``name`` labels it in tables: the file's name without its suffix. ``header`` holds the file's ``# key:
    value`` lines except ``p`` and ``unit``. ``shifted_by_s`` is what was subtracted from every delay on
    reading because the file's smallest delay was not 0.
    """

    name: str
    delays_s: NDArray[np.float64]
    header: dict[str, str] = {}
    shifted_by_s: float = 0.0

    @property
    def p(self) -> int:
        """Number of processes."""
        return len(self.delays_s)

    @property
    def skew_s(self) -> float:
        """The largest delay, in seconds."""
        return float(self.delays_s.max())

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Pattern)
            and (self.name, self.header, self.shifted_by_s) == (other.name, other.header, other.shifted_by_s)
            and np.array_equal(self.delays_s, other.delays_s)
        )

    __hash__ = None  # type: ignore[assignment]


def check_size(path: Path, p: int) -> None:
    """Raise BadInput where a file of p delays would be larger than what :func:`read` takes."""
    limit = size_limit(TEXT_BYTES)
    if p * LINE_BYTES > limit:
        raise_too_large(path, p * LINE_BYTES, limit, "would have")


def text(pattern: Pattern) -> str:
    """The file that holds a pattern; reading it back gives every delay to the last bit.

    Line breaks in the header become spaces. The name is not written: it is the file's own.
    """
    header = pattern.header | {"p": str(pattern.p), "unit": "s"}
    lines = ["# offbeat arrival pattern; line i is the delay of rank i", *header_lines(header)]
    lines += [repr(float(delay)) for delay in pattern.delays_s]
    return "\n".join(lines) + "\n"


def write(path: Path, pattern: Pattern) -> None:
    """Write a pattern file, replacing what was there. Raises BadInput where that is not possible."""
    write_text(path, _WHAT, text(pattern))


def read(path: Path, p: int | None = None) -> Pattern:
    """Read a pattern file of offbeat or of any other tool.

    A file whose smallest delay is not 0 is shifted by it, for only differences between ranks matter
    (``Pattern.shifted_by_s`` says by how much). Raises BadInput, with file and line, for a file that cannot
    be read, is empty or not UTF-8, for text, several columns, NaN, infinite or negative delays and delays
    above one day, and for a number of delays other than ``p`` or than the header's own.
    """
    path = Path(path)
    lines = read_lines(path, _WHAT, "one delay in seconds a line")
    header = header_of(lines)
    unit_s = unit_of(path, header)
    delays = [
        _delay(path, number, words, unit_s)
        for number, line in enumerate(lines, 1)
        if (words := words_of(line))
    ]
    _check_count(path, len(delays), header, p)
    values = np.array(delays, dtype=np.float64)
    smallest = float(values.min())
    kept = {key: value for key, value in header.items() if key not in ("p", "unit")}
    return Pattern(name=path.stem, delays_s=values - smallest, header=kept, shifted_by_s=smallest)


def _delay(path: Path, number: int, words: list[str], unit_s: float) -> float:
    """One line's delay in seconds; BadInput with what is wrong with it."""
    if len(words) > 1:
        raise BadInput(
            f"{path}:{number}: {' '.join(words)[:60]!r} is more than one number; a pattern file has one delay"
            " a line, with a decimal point and without a unit (a replay file has one call a line)"
        )
    return delays_s(path, number, words, unit_s)[0]


def _check_count(path: Path, found: int, header: dict[str, str], p: int | None) -> None:
    if found == 0:
        raise BadInput(f"{path}: the pattern file holds no delays; it needs one line a rank")
    stated = header.get("p", "")
    if stated.isdecimal() and int(stated) != found:
        raise BadInput(
            f"{path}: the header says p = {stated}, but {found} {_delays(found)}; is the file cut off?"
        )
    if p is not None and p != found:
        raise BadInput(
            f"{path}: the pattern has {found} {_delays(found, verb=False)}, but p = {p} processes need {p};"
            f" make one with 'offbeat pattern make SHAPE --p {p} --skew TIME' or give another file"
        )


def _delays(count: int, verb: bool = True) -> str:
    noun = "delay" if count == 1 else "delays"
    return f"{noun} {'follows' if count == 1 else 'follow'}" if verb else noun
