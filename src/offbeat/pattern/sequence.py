"""The replay file: how processes arrived at one call after another, a line a call.

A line holds p delays in seconds, the i-th that of rank i, separated by blanks (or commas or semicolons).
Everything from a ``#`` to the end of its line is a comment, and blank lines are skipped. Comments of the form
``# key: value`` make up the header; three keys have a meaning on reading: ``p`` (how many delays a line has),
``length`` (how many calls must follow) and ``unit``. Delays are behind the first rank to arrive at that call.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from offbeat.errors import BadInput
from offbeat.pattern.file import Pattern
from offbeat.pattern.lines import (
    delays_s,
    header_lines,
    header_of,
    read_lines,
    unit_of,
    words_of,
    write_text,
)
from offbeat.units import counted

SUFFIX = ".replay"
"""How the name of a replay file ends where nothing else says that it is one."""

_WHAT = "replay file"


class Sequence(Struct, kw_only=True, eq=False):
    """The arrivals of one call after another: ``delays_s`` (calls, p) in seconds, each call's smallest 0.

    ``name`` labels it in tables: the file's name without its suffix. ``header`` holds the file's ``# key:
    value`` lines except ``p``, ``length`` and ``unit``. ``shifted`` is the number of calls whose smallest
    delay was not 0 in the file, and was subtracted from the others on reading.
    """

    name: str
    delays_s: NDArray[np.float64]
    header: dict[str, str] = {}
    shifted: int = 0

    @property
    def p(self) -> int:
        """Number of processes."""
        return int(self.delays_s.shape[1])

    @property
    def calls(self) -> int:
        """Number of calls."""
        return len(self.delays_s)

    @property
    def skews_s(self) -> NDArray[np.float64]:
        """The largest delay of each call, in seconds, (calls,)."""
        return np.asarray(self.delays_s.max(axis=1))

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Sequence)
            and (self.name, self.header, self.shifted) == (other.name, other.header, other.shifted)
            and np.array_equal(self.delays_s, other.delays_s)
        )

    __hash__ = None  # type: ignore[assignment]


def mean(sequence: Sequence) -> Pattern:
    """The mean delay of each rank over all calls, as it is: its smallest is 0 only if one rank always is
    first."""
    return Pattern(
        name=sequence.name, delays_s=np.asarray(sequence.delays_s.mean(axis=0)), header=sequence.header
    )


def text(sequence: Sequence) -> str:
    """The file that holds a sequence; reading it back gives every delay to the last bit."""
    sizes = {"p": str(sequence.p), "length": str(sequence.calls), "unit": "s"}
    lines = ["# offbeat replay; a line is a call, its i-th number the delay of rank i"]
    lines += header_lines(sequence.header | sizes)
    lines += [" ".join(map(repr, call)) for call in sequence.delays_s.tolist()]
    return "\n".join(lines) + "\n"


def write(path: Path, sequence: Sequence) -> None:
    """Write a replay file, replacing what was there. Raises BadInput where that is not possible."""
    write_text(path, _WHAT, text(sequence))


def read(path: Path, p: int | None = None) -> Sequence:
    """Read a replay file.

    A call whose smallest delay is not 0 is shifted by it (``Sequence.shifted`` says how many were). Raises
    BadInput, with file and line, for a file that cannot be read, is empty, cut off or not UTF-8, for text,
    NaN, infinite or negative delays and delays above one day, for calls of different numbers of processes,
    and for a number of processes other than ``p``.
    """
    path = Path(path)
    lines = read_lines(path, _WHAT, "one call a line")
    header = header_of(lines)
    unit_s = unit_of(path, header)
    said = [(number, words) for number, line in enumerate(lines, 1) if (words := words_of(line))]
    rows = [delays_s(path, number, words, unit_s) for number, words in said]
    _check_lengths(path, [number for number, _ in said], rows, header)
    _check_count(path, rows, header)
    values = np.array(rows, dtype=np.float64)
    smallest = values.min(axis=1, keepdims=True)
    found = Sequence(
        name=path.stem,
        delays_s=values - smallest,
        header={key: value for key, value in header.items() if key not in ("p", "length", "unit")},
        shifted=int(np.count_nonzero(smallest)),
    )
    if p is not None:
        check_processes(path, found, p)
    return found


def check_processes(path: Path, sequence: Sequence, p: int) -> None:
    """Raise BadInput unless a sequence, read from ``path``, is of p processes."""
    if sequence.p == p:
        return
    if sequence.p == 1:
        raise BadInput(
            f"{path}: each line has one delay, but p = {p} processes need {p} a line; a file with one line a"
            " rank is a pattern file"
        )
    raise BadInput(
        f"{path}: its calls are of {sequence.p} processes, but p = {p}; record a run with {p} processes,"
        f" scale the replay with 'offbeat trace pattern --what calls --p {p}', or give another file"
    )


def _check_lengths(path: Path, numbers: list[int], rows: list[list[float]], header: dict[str, str]) -> None:
    """Every call needs as many delays as the header's p says, or the first call has."""
    stated = header.get("p", "")
    wanted = int(stated) if stated.isdecimal() else max(len(rows[0]), 1) if rows else 0
    whose = "the header says p =" if stated.isdecimal() else "the first call has"
    for number, row in zip(numbers, rows, strict=True):
        if len(row) != wanted:
            raise BadInput(
                f"{path}:{number}: this call has {counted(len(row), 'delay')}, but {whose} {wanted}; a replay"
                " file has one call a line, with a delay for each rank"
            )


def _check_count(path: Path, rows: list[list[float]], header: dict[str, str]) -> None:
    if not rows:
        raise BadInput(f"{path}: the replay file holds no calls; it needs one line a call")
    stated = header.get("length", "")
    if stated.isdecimal() and int(stated) != len(rows):
        follow = "follows" if len(rows) == 1 else "follow"
        raise BadInput(
            f"{path}: the header says length = {stated}, but {counted(len(rows), 'call')} {follow};"
            " is the file cut off?"
        )
