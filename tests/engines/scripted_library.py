"""A scripted MPI library: an engine over a function that answers for the library."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fake_launches import Answer, FakeLaunches

from offbeat.libraries.installations.installation import Installation
from offbeat.measurement.engines.driver_launches import LaunchSpec
from offbeat.measurement.engines.mpi_engine import MpiEngine
from offbeat.model.study.case import Case
from offbeat.model.study.schema import MpiSection, StartSection

MPICH_REDUCE = "MPIR_CVAR_REDUCE_INTRA_ALGORITHM"


def _variable(name: str, description: str = "", items: Any = ()) -> dict[str, Any]:
    return {
        "name": name,
        "type": "int",
        "settable": True,
        "value": "0",
        "items": [list(item) for item in items],
        "description": description,
    }


VARIABLES = {
    "openmpi": [
        _variable("coll_tuned_reduce_algorithm", items=[(0, "ignore"), (1, "linear"), (2, "chain")]),
        _variable("coll_tuned_reduce_algorithm_segmentsize"),
    ],
    "mpich": [_variable(MPICH_REDUCE, "Whichauto - auto\nbinomial - tree\nmesh - nodes\nring - ring")],
    "intelmpi": [_variable("MPIR_CVAR_USE_REDUCE", "range: 0-3 @Alias:# I_MPI_ADJUST_REDUCE")],
}
"""Family → the list of algorithms for reduce of a library of that family."""


def engine(
    folder: Path,
    family: str,
    answer: Answer,
    section: MpiSection | None = None,
    start: StartSection | None = None,
) -> MpiEngine:
    """An engine for a library of a family; ``answer`` is the library."""
    library = folder / "libmpi.so"
    library.write_bytes(b"\x7fELF")
    installation = Installation(
        name=f"{family}-9",
        family=family,
        version=(9, 0),
        version_text=family,
        prefix=folder,
        source="PATH",
        library=library,
        include=folder,
        mpicc=None,
        mpirun=folder / "mpirun",
        identity=family,
    )
    section = section or MpiSection()
    launches = FakeLaunches(installation, VARIABLES[family], answer, folder, section)
    return MpiEngine(installation, launches, section, start or StartSection(), 5.0)


def case(p: int = 4, size: int = 8, **other: Any) -> Case:
    values: dict[str, Any] = {
        "collective": "reduce",
        "algorithm": "x",
        "pattern": "x",
        "shape": "x",
        "skew_policy": "none",
        "skew_factor": 0.0,
        "nodes": 0,
        "ppn": 0,
        "op": "sum",
        "datatype": "double",
    }
    return Case(**(values | {"p": p, "bytes": size} | other))


def observed(functions: str = "", messages: list[list[int]] | None = None) -> dict[str, object]:
    """The answer to ``observe``."""
    rows = [None, *([] if messages is None else messages)]
    return {"ok": True, "functions": functions, "sees_messages": messages is not None, "messages": rows}


def preset_of(where: LaunchSpec) -> str:
    """Which preset a launch of Intel MPI forces; 0 for none."""
    return dict(where.environment).get("I_MPI_ADJUST_REDUCE", "0")


def number_of(forced: tuple[str, ...]) -> str:
    """The number of the forced algorithm; 0 for none."""
    return forced[0].split("=")[1] if forced else "0"
