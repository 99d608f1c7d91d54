"""Results as CSV and JSON, for other tools."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import msgspec
import polars as pl

from offbeat.base.atomic_write import atomic_writer, write_error
from offbeat.base.errors import BadInput
from offbeat.measurement.results.read import Results
from offbeat.measurement.results.schema import SCHEMA_VERSION

TABLES = ("cases", "repetitions", "ranks")
"""The tables that can be exported."""

_SLICE_ROWS = 50_000

_FORMULA = r"^[=+@\t\r-]"
"""Texts that spreadsheets evaluate as formulas."""


def table(results: Results, name: str) -> pl.DataFrame:
    """One of TABLES as a frame; raises BadInput for another name."""
    if name not in TABLES:
        raise BadInput(f"there is no table {name!r}; the tables are {', '.join(TABLES)}")
    if name == "ranks":
        return results.ranks()
    return results.cases if name == "cases" else results.repetitions


def export_csv(results: Results, stream: BinaryIO, name: str = "cases") -> None:
    """Write a table as CSV in UTF-8: a header line, then one line for each row; unknown values are empty.

    Numbers are written with all bits. A text that a spreadsheet would evaluate as a formula is preceded by
    an apostrophe. Raises BadInput for an unknown table.
    """
    for number, rows in enumerate(_slices(table(results, name))):
        texts = pl.col(pl.String)
        safe = rows.with_columns(
            pl.when(texts.str.contains(_FORMULA)).then(pl.lit("'") + texts).otherwise(texts).name.keep()
        )
        stream.write(safe.write_csv(include_header=number == 0).encode())


def export_json(results: Results, stream: BinaryIO, name: str = "cases") -> None:
    """Write a table as one JSON object with the keys schema_version, table, study, provenance and rows.

    ``rows`` is a list with an object for each row; unknown values are null. BadInput for another table.
    """
    frame = table(results, name)
    head = {
        "schema_version": SCHEMA_VERSION,
        "table": name,
        "study": results.study,
        "provenance": results.provenance,
    }
    stream.write(msgspec.json.encode(head)[:-1] + b',"rows":[')
    separator = b"\n"
    for rows in _slices(frame):
        for row in rows.iter_rows(named=True):
            stream.write(separator + msgspec.json.encode(row))
            separator = b",\n"
    stream.write(b"\n]}\n")


def export_file(results: Results, path: Path, *, json: bool = False, name: str = "cases") -> None:
    """Write a table to a file completely or not at all; raises BadInput."""
    try:
        with atomic_writer(path) as stream:
            (export_json if json else export_csv)(results, stream, name)
    except OSError as error:
        raise write_error(path, error) from error


def _slices(frame: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """A frame in slices; at least one, so that an empty table has its header."""
    return iter(list(frame.iter_slices(_SLICE_ROWS)) or [frame])
