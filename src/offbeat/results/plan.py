"""Which cases a study has, measured or not: what makes an unfinished study recognisable as one."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from offbeat.errors import BadInput
from offbeat.reading import decode_json, read_file
from offbeat.results import layout
from offbeat.results.checksum import Damaged, check_document
from offbeat.study.case import Case

if TYPE_CHECKING:
    import polars as pl

CELL = ("collective", "bytes", "p", "nodes", "ppn", "op", "datatype", "root")
"""Fields of a case, and columns of CASES, that say what an algorithm is chosen for within one study."""

CellKey = tuple[object, ...]
"""The values of :data:`CELL`."""


class PlannedCases(Struct, frozen=True, kw_only=True):
    """Every one of ``algorithms`` under every one of ``patterns``, in one cell."""

    collective: str
    bytes: int
    p: int
    nodes: int
    ppn: int
    op: str
    datatype: str
    root: int
    algorithms: list[str]
    patterns: list[str]

    @property
    def cell(self) -> CellKey:
        """The values of :data:`CELL`."""
        return tuple(getattr(self, name) for name in CELL)


class Plan(Struct, frozen=True, kw_only=True):
    """What ``plan.json`` says: how many cases there are and, except for imports, which ones."""

    total: int
    cases: list[PlannedCases] = []

    def not_measured(self, cases: pl.DataFrame) -> dict[CellKey, list[tuple[str, str]]]:
        """The (algorithm, pattern) pairs of each cell that the frame ``cases`` has no row of.

        Quarantined cases have one. Cells of which nothing is missing are absent.
        """
        found: dict[CellKey, set[tuple[str, str]]] = {}
        for *cell, algorithm, pattern in cases.select(*CELL, "algorithm", "pattern").iter_rows():
            found.setdefault(tuple(cell), set()).add((algorithm, pattern))
        missing: dict[CellKey, list[tuple[str, str]]] = {}
        for planned in self.cases:
            has = found.get(planned.cell, set())
            lacking = [
                (algorithm, pattern)
                for algorithm in planned.algorithms
                for pattern in planned.patterns
                if (algorithm, pattern) not in has
            ]
            if lacking:
                missing.setdefault(planned.cell, []).extend(lacking)
        return missing


def plan_of(cases: Iterable[Case]) -> Plan:
    """The plan of a study with these cases."""
    total = 0
    patterns: dict[tuple[CellKey, str], list[str]] = {}
    for case in cases:
        cell = tuple(getattr(case, name) for name in CELL)
        patterns.setdefault((cell, case.algorithm), []).append(case.pattern)
        total += 1
    together: dict[tuple[CellKey, tuple[str, ...]], list[str]] = {}
    for (cell, algorithm), labels in patterns.items():
        together.setdefault((cell, tuple(labels)), []).append(algorithm)
    planned = [
        PlannedCases(**dict(zip(CELL, cell, strict=True)), algorithms=names, patterns=list(labels))  # type: ignore[arg-type]
        for (cell, labels), names in together.items()
    ]
    return Plan(total=total, cases=planned)


def read_plan(directory: Path) -> Plan | None:
    """The plan of a result directory; None before a run has made one. Raises BadInput if it is damaged."""
    path = directory / layout.PLAN
    try:
        content = decode_json(read_file(path), dict)
        return msgspec.convert(check_document(content), Plan)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise BadInput(f"cannot read {path}: {error.strerror}") from error
    except (Damaged, msgspec.DecodeError) as error:
        raise BadInput(
            f"{path} is damaged ({error}), so which cases the study has is not known; the 'offbeat run' or"
            " 'offbeat results import' that made it writes it again"
        ) from error
