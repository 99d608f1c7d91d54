"""Setting damaged records aside when a study goes on, so that what they held is measured again.

Nothing is thrown away: damaged lines are appended to a file of the same name in the folder ``damaged``, and
damaged files of samples are moved there. The order of the steps is such that a kill between any two of them
leaves a directory that the next run mends the same way.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from offbeat.results import layout, samples
from offbeat.results.append import AppendFile, Lines, encode_lines, read_sealed
from offbeat.results.checksum import Damaged
from offbeat.results.parts import batches_of, checksums_of_part, committed_rows
from offbeat.results.recorded import (
    LeftOut,
    Recorded,
    case_words,
    committed,
    most_rows,
    read_recorded,
    stated_sums,
)
from offbeat.results.row_checksums import added
from offbeat.results.schema import RANKS, REPETITIONS, polars_schema

_TABLES = ((layout.REPETITIONS, REPETITIONS), (layout.RANKS, RANKS))


def mend_lines(directory: Path, name: str, kind: Any) -> tuple[list[Any], list[LeftOut]]:
    """The sound lines of a file, once the damaged ones are set aside, and what those were. Raises OSError."""
    lines = read_sealed(directory / name, kind)
    _set_aside_lines(directory, name, lines)
    if lines.damaged:
        layout.write_whole(directory / name, encode_lines(lines.items))
    else:
        AppendFile(directory / name, end=lines.end).close()
    return lines.items, [LeftOut(f"{name}:{bad.number}", bad.why) for bad in lines.damaged]


def mend_cases(directory: Path) -> tuple[list[dict[str, Any]], list[LeftOut]]:
    """The rows of the sound cases, once everything that does not count is gone, and what was set aside.

    Streams of samples become Parquet. Raises OSError, RunFailed and BadInput.
    """
    for folder, _ in _TABLES:
        for unfinished in (directory / folder).glob("*" + layout.UNFINISHED):
            unfinished.unlink()
    recorded = read_recorded(directory)
    _set_aside_lines(directory, layout.CASES, recorded.lines)
    _keep(directory, recorded, recorded.rows)
    samples.convert_streams(directory, committed(recorded.rows))
    kept, left_out = _with_sound_ranks(directory, recorded.rows)
    if len(kept) < len(recorded.rows):
        layout.write_whole(directory / layout.CASES, encode_lines(kept))
    _drop_rows(directory, kept)
    return kept, [*recorded.left_out, *left_out]


def _keep(directory: Path, recorded: Recorded, rows: list[dict[str, Any]]) -> None:
    """Make ``cases.jsonl`` hold these rows and nothing else."""
    if len(rows) < len(recorded.lines.items) or recorded.lines.damaged:
        layout.write_whole(directory / layout.CASES, encode_lines(rows))
    else:
        AppendFile(directory / layout.CASES, end=recorded.lines.end).close()


def _set_aside_lines(directory: Path, name: str, lines: Lines) -> None:
    if not lines.damaged:
        return
    (directory / layout.DAMAGED).mkdir(exist_ok=True)
    aside = AppendFile(directory / layout.DAMAGED / name)
    try:
        aside.append(b"".join(bad.content + b"\n" for bad in lines.damaged))
    finally:
        aside.close()


def _with_sound_ranks(
    directory: Path, rows: list[dict[str, Any]]
) -> tuple[list[dict[str, Any]], list[LeftOut]]:
    """The cases whose ranks' times fit their checksums, and the others; the files are read in pieces."""
    sums: dict[str, int] = {}
    left_out = []
    most = most_rows(rows, ranks=True)
    for part in samples.parts_of(directory, layout.RANKS):
        try:
            found = checksums_of_part(part, polars_schema(RANKS), most, committed(rows))
        except Damaged as error:
            left_out.append(LeftOut(f"{layout.RANKS}/{part.name}", str(error)))
            continue
        sums = added(sums, found)
    bad = [row for row in rows if sums.get(row["case"], 0) != stated_sums(row)[1]]
    why = "the times of its ranks do not fit their checksum"
    left_out += [LeftOut(case_words(row), why) for row in bad]
    lost = {row["case"] for row in bad}
    return [row for row in rows if row["case"] not in lost], left_out


def _drop_rows(directory: Path, rows: list[dict[str, Any]]) -> None:
    """Take the rows of other cases out of the Parquet files; files that were damaged are set aside."""
    kept = committed(rows)
    for folder, columns in _TABLES:
        schema = polars_schema(columns)
        for part in samples.parts_of(directory, folder):
            most = most_rows(rows, ranks=folder == layout.RANKS)
            try:
                whole = checksums_of_part(part, schema, most)
                counting = checksums_of_part(part, schema, most, kept)
            except Damaged:
                layout.set_aside(directory, part)
                continue
            if whole == counting:
                continue
            copy = part.with_name(part.name + layout.UNFINISHED + layout.UNFINISHED)
            copy.unlink(missing_ok=True)
            copy.hardlink_to(part)
            samples.write_part(part, _tables(copy, schema, most, kept))
            if not counting:
                part.unlink()
            layout.set_aside(directory, copy)


def _tables(part: Path, schema: Any, most: int, kept: Mapping[str, int]) -> Iterator[pa.Table]:
    for frame in batches_of(part, schema, most):
        yield committed_rows(frame, kept).to_arrow()
