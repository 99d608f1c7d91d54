"""The replay file: the delays of one call after another, a line for each call.

A line holds p delays in seconds, the i-th that of rank i, separated by blanks (or commas or semicolons).
Everything from a ``#`` to the end of its line is a comment, and blank lines are skipped. Comments of the form
``# key: value`` make up the header; three keys have a meaning when the file is read: ``p`` (the number of
delays in a line), ``length`` (the number of calls) and ``unit``. Delays count from the first arrival of the
same call.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from offbeat.base.errors import BadInput
from offbeat.base.units import amount
from offbeat.model.pattern import pattern_file
from offbeat.model.pattern.pattern_file import (
    NamedDelays,
    Pattern,
    delays_of_line,
    fields_of,
    file_text,
    following,
    parse_header,
    read_lines,
    unit_of,
    write_text,
)
from offbeat.model.pattern.shapes import SHAPES

SUFFIX = ".replay"
"""Suffix by which the file name marks a replay file."""

_FILE_KIND = "replay file"


class Replay(NamedDelays, kw_only=True, eq=False):
    """The delays of one call after another: ``delays_s`` (calls, p) in seconds, the smallest of each call 0.

    ``shifted`` is the number of calls whose smallest delay in the file was not 0; it is subtracted from all
    delays of the call when the file is read.
    """

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


def mean_pattern(replay: Replay) -> Pattern:
    """The mean delay of each rank over all calls; the smallest is 0 only if one rank is always first."""
    return Pattern(name=replay.name, delays_s=np.asarray(replay.delays_s.mean(axis=0)), header=replay.header)


def text(replay: Replay) -> str:
    """The text of a replay file; reading it gives every delay to the last bit."""
    sizes = {"p": str(replay.p), "length": str(replay.calls), "unit": "s"}
    title = "# offbeat replay; a line is a call, its i-th number the delay of rank i"
    return file_text(title, replay.header | sizes, replay.delays_s)


def write(path: Path, replay: Replay) -> None:
    """Write a replay file, replacing an existing one. Raises BadInput if it cannot be written."""
    write_text(path, _FILE_KIND, text(replay))


def read(path: Path, p: int | None = None) -> Replay:
    """Read a replay file; the smallest delay of a call is subtracted from its others.

    Raises BadInput, with file and line, for a file that cannot be read, is empty, cut off or not UTF-8, for
    text, NaN, infinite or negative delays and delays above one day, for calls of different numbers of
    processes, and for a number of processes other than ``p``.
    """
    path = Path(path)
    lines = read_lines(path, _FILE_KIND, "one call a line")
    header = parse_header(lines)
    unit_s = unit_of(path, header)
    calls = [(number, fields) for number, line in enumerate(lines, 1) if (fields := fields_of(line))]
    rows = [delays_of_line(path, number, fields, unit_s) for number, fields in calls]
    _check_lengths(path, [number for number, _ in calls], rows, header)
    _check_count(path, rows, header)
    values = np.array(rows, dtype=np.float64)
    smallest = values.min(axis=1, keepdims=True)
    replay = Replay(
        name=path.stem,
        delays_s=values - smallest,
        header={key: value for key, value in header.items() if key not in ("p", "length", "unit")},
        shifted=int(np.count_nonzero(smallest)),
    )
    if p is not None:
        check_processes(path, replay, p)
    return replay


def check_processes(path: Path, replay: Replay, p: int) -> None:
    """Raise BadInput unless the replay read from ``path`` is for p processes."""
    if replay.p == p:
        return
    if replay.p == 1:
        raise BadInput(
            f"{path}: each line has one delay, but p = {p} processes need {p} a line; a file with one line a"
            " rank is a pattern file"
        )
    raise BadInput(
        f"{path}: its calls are of {replay.p} processes, but p = {p}; record a run with {p} processes,"
        f" scale the replay with 'offbeat trace pattern --what calls --p {p}', or give another file"
    )


def _check_lengths(path: Path, numbers: list[int], rows: list[list[float]], header: dict[str, str]) -> None:
    """Raise BadInput unless every call has p delays: the p of the header, or else that of the first call."""
    p_text = header.get("p", "")
    p = int(p_text) if p_text.isdecimal() else max(len(rows[0]), 1) if rows else 0
    source = "the header says p =" if p_text.isdecimal() else "the first call has"
    for number, row in zip(numbers, rows, strict=True):
        if len(row) != p:
            raise BadInput(
                f"{path}:{number}: this call has {amount(len(row), 'delay')}, but {source} {p}; a"
                " replay file has one call a line, with a delay for each rank"
            )


def _check_count(path: Path, rows: list[list[float]], header: dict[str, str]) -> None:
    if not rows:
        raise BadInput(f"{path}: the replay file holds no calls; it needs one line a call")
    stated = header.get("length", "")
    if stated.isdecimal() and int(stated) != len(rows):
        raise BadInput(
            f"{path}: the header says length = {stated}, but {following(len(rows), 'call')}; is the file cut"
            " off?"
        )


def file_or_shape(name: str, p: int, skew_s: float, *, seed: int = 1, ppn: int = 0) -> Pattern | Replay:
    """The pattern of a shape, or the content of a pattern or replay file. Raises BadInput for others."""
    if name in SHAPES:
        return pattern_file.shape_pattern(name, p, skew_s, seed=seed, ppn=ppn)
    if not Path(name).exists():
        raise BadInput(f"{name} is neither a pattern file nor a shape; the shapes are {', '.join(SHAPES)}")
    return read_any(Path(name))


def read_any(path: Path, p: int | None = None, partitions: int | None = 1) -> Pattern | Replay:
    """Read a replay file if the path ends in ``.replay``, else a pattern file. Raises BadInput."""
    return read(path, p) if path.suffix == SUFFIX else pattern_file.read(path, p, partitions)
