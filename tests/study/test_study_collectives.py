"""The table of collectives agrees with the arguments that MPI libraries declare."""

from __future__ import annotations

import re

import pytest

from offbeat.libraries.installations.installation import Installation
from offbeat.model.study.collectives import COLLECTIVES, PROPERTIES


@pytest.fixture(scope="module")
def arguments(some_mpi_installation: Installation) -> dict[str, str]:
    """Collective → the arguments of its blocking function in the library's headers."""
    include = some_mpi_installation.include
    headers = [include / "mpi.h", *include.glob("mpi_*proto*.h")]
    text = "\n".join(header.read_text(encoding="utf-8", errors="replace") for header in headers)
    return {
        name: re.search(rf"\bMPI_{name.capitalize()}\(([^)]*)\)", text)[1]  # type: ignore[index]
        for name in PROPERTIES
    }


@pytest.mark.parametrize("name", PROPERTIES)
def test_a_row_has_what_the_function_of_mpi_takes(name: str, arguments: dict[str, str]) -> None:
    row, declared = PROPERTIES[name], arguments[name]
    assert row.is_rooted == bool(re.search(r"\bint root\b", declared))
    assert row.reduces == ("MPI_Op" in declared)
    assert row.has_uneven_counts == bool(re.search(r"counts\[\]|\*\s*\w*counts", declared))
    buffers = len(re.findall(r"void\s*\*", declared))
    assert buffers == sum(length != "NO_BLOCK" for length in (row.sent, row.received))


def test_collectives_keep_their_order_in_results() -> None:
    """Results and tuning files are sorted by it."""
    assert COLLECTIVES[:2] == ("allreduce", "alltoall")
    assert COLLECTIVES[-1] == "barrier"
