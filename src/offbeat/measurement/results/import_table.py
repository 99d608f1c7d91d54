"""From the rows of a foreign CSV to cases with their repetitions."""

from __future__ import annotations

import csv
import difflib
import io
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec import Struct

from offbeat.base.errors import BadInput
from offbeat.base.reading import read_file
from offbeat.measurement.results.import_columns import TIMES, Column, find_columns
from offbeat.measurement.results.plausible import implausible_time, outside_interval
from offbeat.model.pattern.shapes import MAX_PROCESSES, SHAPES
from offbeat.model.study.case import LAYOUT, PARTITIONED_SEND, PARTS, Case
from offbeat.model.study.collectives import COLLECTIVES
from offbeat.model.study.skew_policy import FILE, FIXED, REPLAY, ZERO_SKEW, SkewPolicy

Value = str | int | float
"""The value of a field of the file."""

_AVERAGE = re.compile(r"(avg|average|mean)\b", re.IGNORECASE)
"""Pattern labels of rows that average other rows."""

_SUMMARY = ("last_delay_low", "last_delay_high", "repetitions")
"""Columns that mark a row as the median of several repetitions."""


class ImportedCase(Struct, kw_only=True):
    """A case with its rows.

    ``values`` are those of the first row by our column names, times in seconds; ``line`` is the line of that
    row. There is one delay in seconds for each row; both lists are empty for a quarantined case. ``calls``
    holds the number of the call of each row (by default the position of the row), and ``blocks`` the number
    of its block from 0, empty unless all rows state one.
    """

    case: Case
    library: str
    values: dict[str, Value]
    line: int
    last_delay_s: list[float] = []
    total_delay_s: list[float | None] = []
    calls: list[int] = []
    blocks: list[int] = []

    @property
    def is_replay(self) -> bool:
        """Whether it is a replay."""
        return self.case.is_replay or self.values.get("pattern_kind") == "replay"

    @property
    def is_summary(self) -> bool:
        """Whether its only row states the median and interval of repetitions that are not in the file."""
        return all(name in self.values for name in _SUMMARY) and self.values["repetitions"] != 1


class ImportedTable(Struct, kw_only=True):
    """The cases of a CSV in the order of the file, and the number of rows left out, by reason.

    ``settings`` maps (collective, algorithm) to the library's settings that force it, if there are templates.
    """

    cases: list[ImportedCase]
    columns: dict[str, Column]
    left_out: Counter[str]
    settings: dict[tuple[str, str], dict[str, str]]


def read_table(path: Path, requested: Mapping[str, str], templates: Mapping[str, str]) -> ImportedTable:
    """Read a CSV of measurements.

    ``requested`` maps our column names to the file's; ``templates`` maps names of library settings to their
    values, in both of which ``{column}`` stands for the value of the row. Raises BadInput, with file and
    line, for anything but a table of measurements.
    """
    rows = _rows(path)
    header_line, header = next(rows, (1, []))
    if not header:
        raise BadInput(
            f"{path}:{header_line}: the file is empty; it needs a line with column names, and rows"
        )
    columns = find_columns(path, header, requested)
    table = ImportedTable(cases=[], columns=columns, left_out=Counter(), settings={})
    cases: dict[tuple[str, Case], ImportedCase] = {}
    for line, fields in rows:
        if len(fields) != len(header):
            raise BadInput(f"{path}:{line}: the row has {len(fields)} fields, the header {len(header)}")
        if _add_row(path, line, fields, table, cases) and templates:
            _add_settings(path, line, dict(zip(header, fields, strict=True)), templates, table)
    table.cases = list(cases.values())
    for imported in table.cases:
        imported.blocks = (
            _number_blocks(imported.blocks) if len(imported.blocks) == len(imported.last_delay_s) else []
        )
    if not table.cases:
        raise BadInput(f"{path}: no row is a measurement; each needs a pattern and a last delay")
    return table


def _number_blocks(blocks: list[int]) -> list[int]:
    number = {block: position for position, block in enumerate(dict.fromkeys(blocks))}
    return [number[block] for block in blocks]


def _rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    """The rows that are not blank, with their line numbers; commas, semicolons or tabs between fields."""
    try:
        data = read_file(path)
        text = data.decode("utf-8-sig")
    except OSError as error:
        raise BadInput(f"cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise BadInput(
            f"{path}:{line}: the byte 0x{data[error.start]:02x} is not UTF-8 text;"
            " save the table as CSV in UTF-8"
        ) from error
    first = text.split("\n", 1)[0]
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=max(",;\t", key=first.count), strict=True)
    try:
        for fields in reader:
            if any(field.strip() for field in fields):
                yield reader.line_num, [field.strip() for field in fields]
    except csv.Error as error:
        raise BadInput(f"{path}:{reader.line_num}: {error}; the file is not a CSV table") from error


def _add_row(
    path: Path,
    line: int,
    fields: list[str],
    table: ImportedTable,
    cases: dict[tuple[str, Case], ImportedCase],
) -> bool:
    """Add a row to its case, or count it as left out; returns whether it was added."""
    values = _row_values(path, line, fields, table.columns)
    if _AVERAGE.match(str(values.get("pattern", ""))):
        table.left_out["averages of other rows"] += 1
        return False
    is_quarantined = values.get("status", "measured") not in ("measured", "unfinished")
    if "last_delay" not in values and not is_quarantined:
        table.left_out["without a last delay"] += 1
        return False
    _refuse_implausible(f"{path}:{line}", values)
    case = _case(f"{path}:{line}", values)
    library = str(values.get("library", path.stem))
    imported = cases.setdefault(
        (library, case), ImportedCase(case=case, library=library, values=values, line=line)
    )
    if imported.line != line and (imported.is_summary or is_quarantined or not imported.last_delay_s):
        raise BadInput(
            f"{path}:{line}: this case was summarised already on line {imported.line}; only one can count"
        )
    if "last_delay" in values:
        imported.last_delay_s.append(float(values["last_delay"]))
        total = values.get("total_delay")
        imported.total_delay_s.append(None if total is None else float(total))
        imported.calls.append(int(values.get("call", len(imported.calls))))
        if "block" in values:
            imported.blocks.append(int(values["block"]))
    return True


def _row_values(path: Path, line: int, fields: list[str], columns: Mapping[str, Column]) -> dict[str, Value]:
    """The values of a row by our column names, times in seconds; empty fields are left out."""
    values: dict[str, Value] = {}
    for name, column in columns.items():
        if text := fields[column.index]:
            if re.match(r"'[=+@\t\r-]", text):  # protected in spreadsheets by 'offbeat results export'
                text = text[1:]
            try:
                values[name] = column.parse(text)
            except BadInput as error:
                raise BadInput(f"{path}:{line}: column {column.header}: {error}") from error
    return values


def _refuse_implausible(where: str, values: Mapping[str, Value]) -> None:
    """Raise BadInput for implausible times and for an interval without its estimate."""
    for name in TIMES:
        time_s = values.get(name)
        if fault := implausible_time(None if time_s is None else float(time_s)):
            raise BadInput(f"{where}: the {name} is {fault}")
    ends = {f"{name}_s": values.get(name) for name in ("last_delay_low", "last_delay", "last_delay_high")}
    if fault := outside_interval(ends):
        raise BadInput(f"{where}: {fault}")


def _case(where: str, values: Mapping[str, Value]) -> Case:
    """The case of a row; raises BadInput if the row does not identify it."""
    for name in ("collective", "algorithm", "bytes", "pattern"):
        if name not in values:
            raise BadInput(f"{where}: the row does not state the {name}")
    pattern = _label(str(values["pattern"]))
    shape = str(values.get("shape", pattern.split("×")[0]))
    policy, factor = _skew(shape, values)
    p, nodes, ppn = _processes(where, values)
    partitions, threads = (int(values.get(name, 1)) for name in PARTS)
    communicators, stride = (int(values.get(name, 1)) for name in LAYOUT)
    name = _operation(where, str(values["collective"]), partitions, threads)
    return Case(
        collective=name,
        algorithm=str(values["algorithm"]),
        bytes=int(values["bytes"]),
        pattern=pattern,
        shape=shape,
        skew_policy=str(values.get("skew_policy", policy.key)),
        skew_factor=float(values.get("skew_factor", factor)),
        p=p,
        nodes=nodes,
        ppn=ppn,
        op=str(values.get("op", "")),
        datatype=str(values.get("datatype", "")),
        root=int(values.get("root", 0)),
        partitions=partitions,
        threads=threads,
        communicators=communicators,
        stride=stride,
    )


def _label(text: str) -> str:
    """The label of a pattern; shapes may be spelled differently: ``No-delay``."""
    shape_name = re.sub(r"[\s-]+", "_", text.lower())
    return shape_name if shape_name in SHAPES else text


def _skew(shape: str, values: Mapping[str, Value]) -> tuple[SkewPolicy, float]:
    """Default policy and factor of the skew: the skew itself if the file states it."""
    if shape == "no_delay":
        return ZERO_SKEW, 0.0
    if values.get("pattern_kind") == "replay":
        return REPLAY, 1.0
    return (FIXED, float(values["skew"])) if "skew" in values else (FILE, 0.0)


def _processes(where: str, values: Mapping[str, Value]) -> tuple[int, int, int]:
    """p, nodes and processes per node; the latter two are 0 if the file does not state them."""
    nodes, ppn = int(values.get("nodes", 0)), int(values.get("ppn", 0))
    p = int(values.get("p", nodes * ppn))
    if p > MAX_PROCESSES:
        raise BadInput(f"{where}: p = {p} is more than the {MAX_PROCESSES} processes that a pattern can have")
    if p < 1:
        raise BadInput(
            f"{where}: the row has p = {p} processes on {nodes} nodes with {ppn} each; p is 1 or more"
        )
    if nodes and ppn and p > nodes * ppn:
        raise BadInput(f"{where}: p = {p} processes do not fit on {nodes} nodes with {ppn} each")
    return p, nodes, ppn


def _operation(where: str, text: str, partitions: int, threads: int) -> str:
    """The name of an operation; raises BadInput if it cannot have so many partitions or threads."""
    name = text.lower().removeprefix("mpi_")
    if name not in (*COLLECTIVES, PARTITIONED_SEND):
        close_matches = difflib.get_close_matches(name, COLLECTIVES, n=1)
        hint = f"did you mean {close_matches[0]}?" if close_matches else f"known are {', '.join(COLLECTIVES)}"
        raise BadInput(f"{where}: there is no collective {text!r}; {hint}")
    if fault := _part_fault(name, partitions, threads):
        raise BadInput(f"{where}: {fault}")
    return name


def _part_fault(name: str, partitions: int, threads: int) -> str:
    """Returns what is wrong with the numbers of partitions and threads of an operation; empty if nothing."""
    is_partitioned = name == PARTITIONED_SEND
    for noun, number in (("partitions", partitions), ("threads", threads)):
        if number < 1 or (number > 1 and not is_partitioned):
            right = "a number above 0" if is_partitioned else "1: only a partitioned send has several"
            return f"{name} with {number} {noun}: the number of {noun} should be {right}"
    if is_partitioned and threads > partitions:
        return f"{name} with {threads} threads: the most are its {partitions} partitions"
    return ""


def _add_settings(
    path: Path, line: int, row: Mapping[str, str], templates: Mapping[str, str], table: ImportedTable
) -> None:
    """Fill the templates of library settings from a row; all rows of an algorithm must give the same."""
    try:
        settings = {name.format_map(row): value.format_map(row) for name, value in templates.items()}
    except KeyError as error:
        raise BadInput(
            f"--setting: {error} is no column of {path}; a column is named in braces, as in {{algorithm}}"
        ) from error
    except (ValueError, IndexError, AttributeError) as error:
        raise BadInput(
            f"--setting: braces that name no column of {path} ({error}); a column is named as in"
            " {algorithm}, and a brace itself is written twice"
        ) from error
    columns = table.columns
    collective = row[columns["collective"].header].lower().removeprefix("mpi_")
    algorithm = row[columns["algorithm"].header]
    if table.settings.setdefault((collective, algorithm), settings) != settings:
        raise BadInput(
            f"{path}:{line}: {collective} {algorithm} has other settings here than on an earlier line"
        )
