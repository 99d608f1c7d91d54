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

from offbeat.errors import BadInput
from offbeat.pattern.shapes import MAX_PROCESSES, SHAPES
from offbeat.reading import read_file
from offbeat.results.import_columns import TIMES, Column, find_columns
from offbeat.results.plausible import implausible_time, outside_interval
from offbeat.study.case import COLLECTIVES, Case
from offbeat.study.cases import REPLAY

Value = str | int | float
"""What a field of the file can say."""

_AVERAGE = re.compile(r"(avg|average|mean)\b", re.IGNORECASE)
"""Pattern labels of rows that average other rows."""

_SUMMARY = ("last_delay_low", "last_delay_high", "repetitions")
"""Columns by which a row states the median of several repetitions instead of one."""


class Cell(Struct, kw_only=True):
    """A case with its rows.

    ``says`` is what the first of them says, by our column names with times in seconds; ``line`` is where it
    stands. The delays are one a row, in seconds; both are empty for a case that was set aside. ``calls`` has
    the number of the call of each row, which for rows that don't say it is their place in the file, and
    ``blocks`` the number of each row's block from 0, empty unless all rows say one.
    """

    case: Case
    library: str
    says: dict[str, Value]
    line: int
    last_delay_s: list[float] = []
    total_delay_s: list[float | None] = []
    calls: list[int] = []
    blocks: list[int] = []

    @property
    def is_replay(self) -> bool:
        """Whether it is of one recorded call after another."""
        return "replay" in (self.says.get("pattern_kind"), self.case.skew_policy)

    @property
    def is_summary(self) -> bool:
        """Whether its one row states the median and interval of repetitions that are not in the file."""
        return all(name in self.says for name in _SUMMARY) and self.says["repetitions"] != 1


class Sheet(Struct, kw_only=True):
    """What a CSV holds: cells in the file's order, and the number of rows that were left out, by reason.

    ``settings`` maps (collective, algorithm) to the library's settings that force it, if there are templates.
    """

    cells: list[Cell]
    columns: dict[str, Column]
    left_out: Counter[str]
    settings: dict[tuple[str, str], dict[str, str]]


def read_sheet(path: Path, given: Mapping[str, str], templates: Mapping[str, str]) -> Sheet:
    """Read a CSV of measurements.

    ``given`` maps our column names to the file's; ``templates`` maps names of library settings to their
    values, in both of which ``{column}`` stands for the row's value. Raises BadInput, with file and line, for
    whatever is not a table of measurements.
    """
    rows = _rows(path)
    header_line, header = next(rows, (1, []))
    if not header:
        raise BadInput(
            f"{path}:{header_line}: the file is empty; it needs a line with column names, and rows"
        )
    columns = find_columns(path, header, given)
    sheet = Sheet(cells=[], columns=columns, left_out=Counter(), settings={})
    cells: dict[tuple[str, Case], Cell] = {}
    for line, fields in rows:
        if len(fields) != len(header):
            raise BadInput(f"{path}:{line}: the row has {len(fields)} fields, the header {len(header)}")
        if _take(path, line, fields, sheet, cells) and templates:
            _note_settings(path, line, dict(zip(header, fields, strict=True)), templates, sheet)
    sheet.cells = list(cells.values())
    for cell in sheet.cells:
        cell.blocks = _numbered(cell.blocks) if len(cell.blocks) == len(cell.last_delay_s) else []
    if not sheet.cells:
        raise BadInput(f"{path}: no row is a measurement; each needs a pattern and a last delay")
    return sheet


def _numbered(blocks: list[int]) -> list[int]:
    """The same blocks by numbers from 0, in the order in which they come."""
    number = {block: place for place, block in enumerate(dict.fromkeys(blocks))}
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


def _take(
    path: Path, line: int, fields: list[str], sheet: Sheet, cells: dict[tuple[str, Case], Cell]
) -> bool:
    """Put one row where it belongs, and tell where: to its cell (true), or to those that are left out."""
    says = _says(path, line, fields, sheet.columns)
    if _AVERAGE.match(str(says.get("pattern", ""))):
        sheet.left_out["averages of other rows"] += 1
        return False
    set_aside = says.get("status", "measured") not in ("measured", "unfinished")
    if "last_delay" not in says and not set_aside:
        sheet.left_out["without a last delay"] += 1
        return False
    _refuse_implausible(f"{path}:{line}", says)
    case = _case(f"{path}:{line}", says)
    library = str(says.get("library", path.stem))
    cell = cells.setdefault((library, case), Cell(case=case, library=library, says=says, line=line))
    if cell.line != line and (cell.is_summary or set_aside or not cell.last_delay_s):
        raise BadInput(
            f"{path}:{line}: this cell was summarised already on line {cell.line}; only one can count"
        )
    if "last_delay" in says:
        cell.last_delay_s.append(float(says["last_delay"]))
        total = says.get("total_delay")
        cell.total_delay_s.append(None if total is None else float(total))
        cell.calls.append(int(says.get("call", len(cell.calls))))
        if "block" in says:
            cell.blocks.append(int(says["block"]))
    return True


def _says(path: Path, line: int, fields: list[str], columns: Mapping[str, Column]) -> dict[str, Value]:
    """What a row says, by our column names, times in seconds; empty fields say nothing."""
    says: dict[str, Value] = {}
    for name, column in columns.items():
        if fields[column.index]:
            try:
                says[name] = column.value(_without_apostrophe(fields[column.index]))
            except BadInput as error:
                raise BadInput(f"{path}:{line}: column {column.header}: {error}") from error
    return says


def _without_apostrophe(text: str) -> str:
    """A text as it was before 'offbeat results export' kept spreadsheets from computing it."""
    return text[1:] if re.match(r"'[=+@\t\r-]", text) else text


def _refuse_implausible(where: str, says: Mapping[str, Value]) -> None:
    """Refuse times that nothing takes, and an interval that does not hold its own middle."""
    for name in TIMES:
        time_s = says.get(name)
        if fault := implausible_time(None if time_s is None else float(time_s)):
            raise BadInput(f"{where}: the {name} is {fault}")
    ends = {f"{name}_s": says.get(name) for name in ("last_delay_low", "last_delay", "last_delay_high")}
    if fault := outside_interval(ends):
        raise BadInput(f"{where}: {fault}")


def _case(where: str, says: Mapping[str, Value]) -> Case:
    """The case that a row is about; raises BadInput if the row does not say which."""
    for name in ("collective", "algorithm", "bytes", "pattern"):
        if name not in says:
            raise BadInput(f"{where}: the row does not say the {name}")
    pattern = _label(str(says["pattern"]))
    shape = str(says.get("shape", pattern.split("×")[0]))
    policy, factor = _skew(shape, says)
    p, nodes, ppn = _processes(where, says)
    return Case(
        collective=_collective(where, str(says["collective"])),
        algorithm=str(says["algorithm"]),
        bytes=int(says["bytes"]),
        pattern=pattern,
        shape=shape,
        skew_policy=str(says.get("skew_policy", policy)),
        skew_factor=float(says.get("skew_factor", factor)),
        p=p,
        nodes=nodes,
        ppn=ppn,
        op=str(says.get("op", "")),
        datatype=str(says.get("datatype", "")),
        root=int(says.get("root", 0)),
    )


def _label(text: str) -> str:
    """A pattern's label; shapes are known in other spellings too: ``No-delay``."""
    folded = re.sub(r"[\s-]+", "_", text.lower())
    return folded if folded in SHAPES else text


def _skew(shape: str, says: Mapping[str, Value]) -> tuple[str, float]:
    """Policy and factor of the skew where the file does not name them: what it was, if it says that."""
    if shape == "no_delay":
        return "none", 0.0
    if says.get("pattern_kind") == "replay":
        return REPLAY, 1.0
    return ("fixed", float(says["skew"])) if "skew" in says else ("file", 0.0)


def _processes(where: str, says: Mapping[str, Value]) -> tuple[int, int, int]:
    """p, nodes and processes per node; the latter two 0 if the file does not say."""
    nodes, ppn = int(says.get("nodes", 0)), int(says.get("ppn", 0))
    p = int(says.get("p", nodes * ppn))
    if p > MAX_PROCESSES:
        raise BadInput(f"{where}: p = {p} is more than the {MAX_PROCESSES} processes that a pattern can have")
    if p < 1:
        raise BadInput(
            f"{where}: the row has p = {p} processes on {nodes} nodes with {ppn} each; p is 1 or more"
        )
    if nodes and ppn and p > nodes * ppn:
        raise BadInput(f"{where}: p = {p} processes do not fit on {nodes} nodes with {ppn} each")
    return p, nodes, ppn


def _collective(where: str, text: str) -> str:
    name = text.lower().removeprefix("mpi_")
    if name not in COLLECTIVES:
        near = difflib.get_close_matches(name, COLLECTIVES, n=1)
        hint = f"did you mean {near[0]}?" if near else f"known are {', '.join(COLLECTIVES)}"
        raise BadInput(f"{where}: there is no collective {text!r}; {hint}")
    return name


def _note_settings(
    path: Path, line: int, row: Mapping[str, str], templates: Mapping[str, str], sheet: Sheet
) -> None:
    """Fill the templates of library settings from a row; one algorithm must come out the same everywhere."""
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
    columns = sheet.columns
    collective = row[columns["collective"].header].lower().removeprefix("mpi_")
    algorithm = row[columns["algorithm"].header]
    if sheet.settings.setdefault((collective, algorithm), settings) != settings:
        raise BadInput(
            f"{path}:{line}: {collective} {algorithm} has other settings here than on an earlier line"
        )
