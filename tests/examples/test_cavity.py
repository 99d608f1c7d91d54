"""The lattice Boltzmann program in examples/proxies against published velocities, and for any division."""

from __future__ import annotations

import os
import resource
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from msgspec import Struct
from proxy_program import SPREAD, Proxy, built, built_for

from offbeat.libraries.installations.installation import Installation

pytestmark = pytest.mark.slow


class Published(Struct, frozen=True):
    """Velocities in units of the lid's, and the options of a run that approaches the steady flow."""

    along_vertical: str  # rows of a height and the velocity in the direction of the lid
    along_horizontal: str  # rows of a place and the velocity upwards
    options: tuple[object, ...]


SQUARE_RE_100 = Published(
    """
    0.0000  0.00000    0.0547 -0.03717    0.0625 -0.04192    0.0703 -0.04775
    0.1016 -0.06434    0.1719 -0.10150    0.2813 -0.15662    0.4531 -0.21090
    0.5000 -0.20581    0.6172 -0.13641    0.7344  0.00332    0.8516  0.23151
    0.9531  0.68717    0.9609  0.73722    0.9688  0.78871    0.9766  0.84123
    1.0000  1.00000
    """,
    """
    0.0000  0.00000    0.0625  0.09233    0.0703  0.10091    0.0781  0.10890
    0.0938  0.12317    0.1563  0.16077    0.2266  0.17507    0.2344  0.17527
    0.5000  0.05454    0.8047 -0.24533    0.8594 -0.22445    0.9063 -0.16914
    0.9453 -0.10313    0.9531 -0.08864    0.9609 -0.07391    0.9688 -0.05906
    1.0000  0.00000
    """,
    ("--nx=40", "--ny=1", "--nz=40", "--span=periodic", "--steps=8000"),
)
"""Ghia, Ghia & Shin, J. Comput. Phys. 48 (1982), tables I and II."""

CUBE_RE_1000 = Published(
    """
    0.0000  0.00000    0.0547 -0.20623    0.0625 -0.22283    0.0703 -0.23696
    0.1016 -0.27293    0.1719 -0.25160    0.2813 -0.10999    0.4531 -0.00612
    0.5000  0.00802    0.6172  0.03905    0.7344  0.07334    0.8516  0.12183
    0.9531  0.33171    0.9609  0.39821    0.9688  0.48443    0.9766  0.58964
    1.0000  1.00000
    """,
    """
    0.0000  0.00000    0.0625  0.21738    0.0703  0.22746    0.0781  0.23503
    0.0938  0.24407    0.1563  0.22924    0.2266  0.17580    0.2344  0.16987
    0.5000  0.03674    0.8047 -0.15223    0.8594 -0.31117    0.9063 -0.43423
    0.9453 -0.33511    0.9531 -0.29032    0.9609 -0.24095    0.9688 -0.18864
    1.0000  0.00000
    """,
    ("--nx=72", "--ny=72", "--nz=72", "--reynolds=1000", "--lid-velocity=0.15", "--steps=17000"),
)
"""Albensoeder & Kuhlmann, J. Comput. Phys. 206 (2005), tables 5 and 6, as tests/validations.py of
github.com/tum-pbs/PICT has them; there, x runs down and y from the other end."""

FLOWS = {"square, Re = 100": SQUARE_RE_100}
if os.environ.get("OFFBEAT_TEST_CAVITY"):  # minutes
    FLOWS["cube, Re = 1000"] = CUBE_RE_1000


def differences(published: str, cells: Sequence[float], velocities: Sequence[float], lid: float) -> Any:
    """From the published velocities; between the cells, and the walls at 0 and 1, it is a straight line."""
    places, expected = np.array(published.split(), dtype=float).reshape(-1, 2).T
    return np.interp(places, [0, *cells, 1], [0, *velocities, lid]) - expected


@pytest.mark.parametrize("flow", FLOWS.values(), ids=FLOWS)
def test_velocities_are_the_published_ones_within_2_percent_of_the_lids(
    some_mpi_installation: Installation, flow: Published
) -> None:
    result = built(some_mpi_installation, "cavity").result(2, "--profile", *flow.options)
    vertical, horizontal = result["vertical_centreline"], result["horizontal_centreline"]
    of_u = differences(flow.along_vertical, vertical["z"], vertical["u"], lid=1)
    of_w = differences(flow.along_horizontal, horizontal["x"], horizontal["w"], lid=0)
    assert of_u == pytest.approx(0, abs=0.02)
    assert of_w == pytest.approx(0, abs=0.02)
    assert result["mass_error"] < 1e-12


@pytest.mark.parametrize(("library", "p"), SPREAD)
@pytest.mark.parametrize("span", ["walls", "periodic"])
def test_fields_are_the_same_bit_by_bit_for_any_number_of_processes(library: str, p: int, span: str) -> None:
    cavity = built_for(library, "cavity")
    options = ("--nx=11", "--ny=6", "--nz=9", "--steps=40", f"--span={span}", "--reynolds=20", "--profile")
    one, several = cavity.result(1, *options), cavity.result(p, *options)
    assert several["checksum"] == one["checksum"]
    for line in ("vertical_centreline", "horizontal_centreline"):
        assert several[line] == one[line]
    assert several["mass_error"] < 1e-12


def test_a_periodic_span_of_any_length_gives_the_two_dimensional_flow(
    some_mpi_installation: Installation,
) -> None:
    cavity = built(some_mpi_installation, "cavity")
    options = ("--nx=10", "--nz=10", "--steps=200", "--span=periodic", "--profile")
    thin, thick = (cavity.result(1, *options, f"--ny={ny}") for ny in (1, 5))
    for line, column in (("vertical_centreline", "u"), ("horizontal_centreline", "w")):
        assert thick[line][column] == pytest.approx(thin[line][column], rel=0, abs=1e-12)


def processor_time_s(cavity: Proxy, *options: str) -> float:
    """Of a run of one process, which other programs on the machine hardly change."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    cavity.result(1, *options)
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def test_more_work_raises_the_arithmetic_and_leaves_the_result(some_mpi_installation: Installation) -> None:
    cavity = built(some_mpi_installation, "cavity")
    options = ("--nx=9", "--ny=8", "--nz=7", "--steps=20")
    light, heavy = (cavity.result(1, *options, f"--work={work}") for work in (1, 13))
    assert heavy["checksum"] == light["checksum"]
    assert heavy["flop_per_site"] == 13 * light["flop_per_site"]
    assert light["flop_per_byte"] < 1
    assert heavy["flop_per_byte"] > 11
    larger = ("--nx=24", "--ny=24", "--nz=24", "--steps=20")
    assert processor_time_s(cavity, *larger, "--work=60") > 2 * processor_time_s(cavity, *larger)


def test_a_flow_that_is_too_fast_for_its_cells_is_not_called_verified(
    some_mpi_installation: Installation,
) -> None:
    options = ("--nx=12", "--ny=12", "--nz=12", "--reynolds=20000", "--lid-velocity=0.3", "--steps=2000")
    done = built(some_mpi_installation, "cavity").run(1, *options)
    assert done.returncode == 1
    assert "not verified: the flow is unstable" in done.stderr
    assert "verified:" not in done.stdout
