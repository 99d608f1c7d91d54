"""The pattern file: one delay in seconds per line, line i for rank i, after ``#`` header lines.

The format is that of "MPI Collective Algorithm Selection in the Presence of Process Arrival Patterns",
section III.B: p lines. Everything from a ``#`` to the end of its line is a comment, and blank lines are
skipped, so that a bare column of numbers from any other tool is a pattern file. Comments of the form
``# key: value`` make up the header; three keys have a meaning when the file is read: ``p`` (how many lines
follow), ``unit``, and ``partitions``. In the pattern of a partitioned send, ``partitions`` says how many
delays a line has: the j-th is that of the rank's partition j. Replay files
(:mod:`offbeat.model.pattern.replay_file`) share this format of lines.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

import offbeat
from offbeat.base.atomic_write import write_atomically, write_error
from offbeat.base.errors import BadInput
from offbeat.base.reading import TEXT_BYTES, raise_too_large, read_file, size_limit
from offbeat.base.units import TIME_UNITS, amount
from offbeat.model.pattern.shapes import MAX_DELAY_S, delays

UNITS_S = {unit: float(scale) for unit, scale in TIME_UNITS.items()} | {"seconds": 1.0, "μs": 1e-6}
"""Value of the header key ``unit`` → seconds."""

LINE_BYTES = 22
"""Bytes of a line that holds a delay of full precision."""

_FILE_KIND = "pattern file"

_PARTITIONS = "partitions"
"""The header key with the number of delays in a line; 1 where the header does not have it."""

# Adjacent parts of an expression never match the same character, so that matching takes linear time.
_HEADER = re.compile(r"#\s*([A-Za-z_][\w .-]*):(.*)")
_PLAIN_NUMBERS = re.compile(r"[0-9.eE+\-]+")
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")


def read_lines(path: Path, file_kind: str, line_content: str) -> list[str]:
    """The lines of a text file; ``file_kind`` and ``line_content`` describe it in messages.

    Raises BadInput for a file that cannot be read or is not UTF-8 text.
    """
    try:
        data = read_file(path)
    except OSError as error:
        raise BadInput(f"cannot read the {file_kind} {path}: {error.strerror}") from error
    try:
        return re.split(r"\r\n|\r|\n", data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        number = data[: error.start].count(b"\n") + 1
        raise BadInput(
            f"{path}:{number}: the byte 0x{data[error.start]:02x} is not UTF-8 text;"
            f" a {file_kind} is plain text with {line_content}"
        ) from error


def write_text(path: Path, file_kind: str, text: str) -> None:
    """Write a text file, replacing an existing one. Raises BadInput if it cannot be written."""
    try:
        write_atomically(Path(path), text.encode())
    except OSError as error:
        raise write_error(path, error, f"the {file_kind}") from error


def fields_of(line: str) -> list[str]:
    """The fields of a line before its comment, separated by blanks, commas and semicolons.

    A line that holds separators alone is not blank: the separators count as a field, which is no number.
    """
    content = line.split("#", 1)[0]
    return content.replace(",", " ").replace(";", " ").split() or content.split()


def parse_header(lines: Sequence[str]) -> dict[str, str]:
    """The ``# key: value`` lines."""
    matches = (_HEADER.match(line.strip()) for line in lines if "#" in line)
    return {match[1].strip(): match[2].strip() for match in matches if match}


def file_text(title: str, header: Mapping[str, str], rows: NDArray[np.float64]) -> str:
    """The text of a file: title, header, and a line for each row; line breaks in the header become spaces."""
    lines = [title, *(f"# {key}: {' '.join(value.split())}" for key, value in header.items())]
    lines += [" ".join(map(repr, row)) for row in rows.tolist()]
    return "\n".join(lines) + "\n"


def unit_of(path: Path, header: Mapping[str, str]) -> float:
    """The unit of a file's delays in seconds."""
    unit = header.get("unit", "s")
    if unit not in UNITS_S:
        raise BadInput(f"{path}: the header names the unit {unit!r}; known units are {', '.join(UNITS_S)}")
    return UNITS_S[unit]


def delays_of_line(path: Path, number: int, fields: Sequence[str], unit_s: float) -> list[float]:
    """The fields of a line as delays in seconds; raises BadInput with the first fault."""
    if _PLAIN_NUMBERS.fullmatch("".join(fields)):  # fast path for lines without faults
        try:
            delays = [float(field) * unit_s + 0.0 for field in fields]
        except ValueError:
            delays = [-1.0]
        if min(delays) >= 0 and max(delays) <= MAX_DELAY_S:
            return delays
    return [_delay_s(f"{path}:{number}", field, unit_s) for field in fields]


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
    """The calls and the trace that a file was extracted from; empty if its header does not name them.

    Two files with the same result describe the same calls, however they summarise them.
    """
    calls, trace = header.get("calls", ""), header.get("trace", "")
    return f"{calls} in {trace}" if calls and trace else ""


class NamedDelays(Struct, kw_only=True, eq=False):
    """The content of a pattern or replay file: ``delays_s`` in seconds.

    ``name`` labels it in tables: the file's name without its suffix. ``header`` holds the file's ``# key:
    value`` lines except those with a meaning.
    """

    name: str
    delays_s: NDArray[np.float64]
    header: dict[str, str] = {}

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and all(
            np.array_equal(getattr(self, name), getattr(other, name)) for name in self.__struct_fields__
        )

    __hash__ = None  # type: ignore[assignment]


class Pattern(NamedDelays, kw_only=True, eq=False):
    """An arrival pattern: ``delays_s`` has one delay a rank, in seconds, (p,); the smallest is 0.

    The pattern of a partitioned send with several partitions has a delay for each rank and partition:
    ``delays_s`` is then (p, partitions). ``shifted_by_s`` is what was subtracted from every delay on reading
    because the file's smallest delay was not 0.
    """

    shifted_by_s: float = 0.0

    def __post_init__(self) -> None:
        if self.delays_s.shape[1:] == (1,):  # one partition: the same as one delay a rank
            self.delays_s = self.delays_s[:, 0]

    @property
    def p(self) -> int:
        """Number of processes."""
        return len(self.delays_s)

    @property
    def partitions(self) -> int:
        """Number of delays of each rank: 1 for collectives."""
        return int(np.prod(self.delays_s.shape[1:]))

    @property
    def skew_s(self) -> float:
        """The largest delay, in seconds."""
        return float(self.delays_s.max())


def check_size(path: Path, p: int) -> None:
    """Raise BadInput if a file of p delays would be larger than :func:`read` accepts."""
    limit = size_limit(TEXT_BYTES)
    if p * LINE_BYTES > limit:
        raise_too_large(path, p * LINE_BYTES, limit, "would have")


def text(pattern: Pattern) -> str:
    """The text of a pattern file, without its name; reading it gives every delay to the last bit."""
    header = pattern.header | {"p": str(pattern.p), "unit": "s"}
    header.pop(_PARTITIONS, None)
    title = "# offbeat arrival pattern; line i is the delay of rank i"
    if pattern.partitions > 1:
        header |= {_PARTITIONS: str(pattern.partitions)}
        title = "# offbeat arrival pattern; line i has the delays of rank i, one for each partition"
    return file_text(title, header, pattern.delays_s.astype(np.float64).reshape(pattern.p, -1))


def write(path: Path, pattern: Pattern) -> None:
    """Write a pattern file, replacing an existing one. Raises BadInput if it cannot be written."""
    write_text(path, _FILE_KIND, text(pattern))


def read(path: Path, p: int | None = None, partitions: int | None = 1) -> Pattern:
    """Read a pattern file of offbeat or of any other tool.

    If the smallest delay is not 0 it is subtracted from all, as only differences between ranks matter
    (``Pattern.shifted_by_s`` says by how much). Raises BadInput, with file and line, for a file that cannot
    be read, is empty or not UTF-8, for text, more or fewer columns than the header's ``partitions``, NaN,
    infinite or negative delays and delays above one day, and for a number of ranks or partitions other than
    ``p`` and ``partitions`` (None: any number) or than the header's own.
    """
    path = Path(path)
    lines = read_lines(path, _FILE_KIND, "one delay in seconds per line")
    header = parse_header(lines)
    unit_s = unit_of(path, header)
    partitions_text = header.get(_PARTITIONS, "")
    columns = max(int(partitions_text), 1) if partitions_text.isdecimal() and len(partitions_text) < 10 else 1
    delays = [
        _delays_of_rank(path, number, fields, columns, unit_s)
        for number, line in enumerate(lines, 1)
        if (fields := fields_of(line))
    ]
    _check_count(path, len(delays), header, p)
    _check_partitions(path, columns, partitions)
    values = np.array(delays, dtype=np.float64)
    smallest = float(values.min())
    extra_keys = {key: value for key, value in header.items() if key not in ("p", "unit", _PARTITIONS)}
    return Pattern(name=path.stem, delays_s=values - smallest, header=extra_keys, shifted_by_s=smallest)


def _delays_of_rank(
    path: Path, number: int, fields: list[str], partitions: int, unit_s: float
) -> list[float]:
    """The delays of a line in seconds, one for each partition. Raises BadInput."""
    if len(fields) == partitions:
        return delays_of_line(path, number, fields, unit_s)
    if partitions > 1:
        raise BadInput(
            f"{path}:{number}: the line has {amount(len(fields), 'delay')}, but the header"
            f" says partitions = {partitions}; a line has the delays of one rank, one for each partition"
        )
    raise BadInput(
        f"{path}:{number}: {' '.join(fields)[:60]!r} is more than one number; a pattern file has one"
        " delay a line, with a decimal point and without a unit (a replay file has one call a line)"
    )


def _check_partitions(path: Path, columns: int, partitions: int | None) -> None:
    if partitions in (None, columns):
        return
    needs = f"the operation has {partitions} partitions" if partitions != 1 else "one delay a rank is needed"
    raise BadInput(
        f"{path}: the pattern has {amount(columns, 'delay')} for each rank, but {needs}; give another file"
    )


def _check_count(path: Path, count: int, header: dict[str, str], p: int | None) -> None:
    if count == 0:
        raise BadInput(f"{path}: the pattern file holds no delays; it needs one line a rank")
    stated = header.get("p", "")
    if stated.isdecimal() and stated.lstrip("0") != str(count):  # not int: there may be any number of digits
        raise BadInput(
            f"{path}: the header says p = {stated}, but {following(count, 'delay')}; is the file cut off?"
        )
    if p is not None and p != count:
        raise BadInput(
            f"{path}: the pattern has {amount(count, 'delay')}, but p = {p} processes need {p};"
            f" make one with 'offbeat pattern make SHAPE --p {p} --skew TIME' or give another file"
        )


def following(count: int, noun: str) -> str:
    """``1 delay follows``, ``2 delays follow``."""
    return f"{amount(count, noun)} {'follows' if count == 1 else 'follow'}"


def shape_pattern(shape: str, p: int, skew_s: float, *, seed: int = 1, ppn: int = 0) -> Pattern:
    """A pattern of a shape, with the arguments in its header. Raises BadInput as :func:`delays` does."""
    header = {
        "producer": f"offbeat {offbeat.__version__}",
        "shape": shape,
        "skew_s": repr(float(skew_s)),
        "seed": str(seed),
    }
    if ppn:
        header["ppn"] = str(ppn)
    return Pattern(name=shape, delays_s=delays(shape, p, skew_s, seed=seed, ppn=ppn), header=header)
