"""The conjugate gradients in examples/proxies: their solution for any division and with each allreduce."""

from __future__ import annotations

import pytest
from proxy_program import SPREAD, built, built_for

from offbeat.libraries.installations.installation import Installation

pytestmark = pytest.mark.slow

BLOCKS = {1: (16, 8, 48), 2: (16, 8, 24), 3: (16, 8, 16), 4: (16, 4, 24)}
"""The block of each process, by their number: all divide the same grid, by z first."""

ALGORITHMS = ("ring", "recursive-doubling", "reduce-bcast", "rabenseifner", "library")


def grid(p: int) -> list[str]:
    """The options for the grid and its levels."""
    sizes = [f"--n{direction}={size}" for direction, size in zip("xyz", BLOCKS[p], strict=True)]
    return [*sizes, "--levels=3", "--iterations=14", "--history"]


@pytest.mark.parametrize(
    ("library", "p", "algorithm"),
    [(library, p, algorithm) for (library, p), algorithm in zip(SPREAD, ALGORITHMS, strict=True)],
)
def test_residuals_are_equal_for_any_number_of_processes(library: str, p: int, algorithm: str) -> None:
    multigrid = built_for(library, "multigrid")
    one = multigrid.result(1, *grid(1))
    several = multigrid.result(p, *grid(p), f"--allreduce={algorithm}")
    assert one["history"]["residual"][-1] < 1e-6
    assert several["history"]["residual"] == pytest.approx(one["history"]["residual"], rel=1e-8)
    assert several["residual"] == pytest.approx(one["residual"], rel=1e-6)


@pytest.mark.parametrize(
    ("library", "p", "algorithm"),
    [
        ("openmpi4", 3, "ring"),
        ("openmpi4", 5, "recursive-doubling"),
        ("openmpi4", 6, "reduce-bcast"),
        ("intelmpi", 4, "rabenseifner"),
        ("intelmpi", 7, "rabenseifner"),
    ],
)
def test_each_allreduce_computes_what_the_librarys_computes(library: str, p: int, algorithm: str) -> None:
    options = ("--nx=4", "--ny=4", "--nz=4", "--iterations=2", f"--allreduce={algorithm}")
    built_for(library, "multigrid").result(p, *options)  # the program compares them, and says 'verified'


def test_the_solution_is_found_and_matrix_and_preconditioner_are_symmetric(
    some_mpi_installation: Installation,
) -> None:
    options = ("--nx=16", "--ny=16", "--nz=16", "--iterations=30", "--solves=2")
    result = built(some_mpi_installation, "multigrid").result(2, *options)
    assert result["iterations"] == 60
    assert result["levels"] == 4
    assert result["residual"] < 1e-12
    assert result["error"] < 1e-12
    assert result["matrix_asymmetry"] < 1e-13
    assert result["preconditioner_asymmetry"] < 1e-13


def test_coarser_grids_speed_up_the_convergence(some_mpi_installation: Installation) -> None:
    multigrid = built(some_mpi_installation, "multigrid")
    one, four = (
        multigrid.result(1, f"--levels={levels}", "--iterations=20")["residual"] for levels in (1, 4)
    )
    assert four < one / 10


def test_levels_are_as_many_as_the_sizes_allow(some_mpi_installation: Installation) -> None:
    multigrid = built(some_mpi_installation, "multigrid")
    for nz, levels in ((1, 1), (6, 2), (12, 3), (32, 4)):
        assert multigrid.result(1, "--nx=8", "--ny=8", f"--nz={nz}", "--iterations=3")["levels"] == levels
