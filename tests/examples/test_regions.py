"""The shock waves in examples/proxies: against the exact solution, and for any division and cost."""

from __future__ import annotations

import math

import pytest
from proxy_program import SPREAD, built, built_for

from offbeat.libraries.installations.installation import Installation

pytestmark = pytest.mark.slow

SMALL = ("--nx=10", "--ny=8", "--nz=15", "--steps=25")


def density_in_sods_tube(speed: float) -> float:
    """The exact density at a place, given as the distance from the middle over the time.

    Between the waves: Toro, Riemann Solvers and Numerical Methods for Fluid Dynamics, section 4.3.3, test 1.
    """
    gamma, pressure, contact, left, right = 1.4, 0.30313, 0.92745, 0.42632, 0.26557
    sound_left, sound_between = math.sqrt(gamma), math.sqrt(gamma * pressure / left)
    shock = contact / (1 - 0.125 / right)  # mass is conserved through the shock
    if speed < -sound_left:
        return 1
    if speed < contact - sound_between:
        return float((2 / (gamma + 1) - (gamma - 1) / (gamma + 1) * speed / sound_left) ** (2 / (gamma - 1)))
    if speed < contact:
        return left
    return right if speed < shock else 0.125


def test_the_shock_tube_approaches_the_exact_solution(some_mpi_installation: Installation) -> None:
    regions = built(some_mpi_installation, "regions")
    errors = []
    for cells in (100, 200):
        options = ("--problem=tube", "--nx=1", "--ny=1", f"--nz={cells}", f"--steps={2 * cells}", "--profile")
        result = regions.result(2, *options)
        profile = zip(result["profile"]["z"], result["profile"]["density"], strict=True)
        differences = [abs(d - density_in_sods_tube((z - 0.5) / result["time"])) for z, d in profile]
        errors.append(sum(differences) / cells)
    assert errors[0] < 0.01
    assert errors[1] < 0.65 * errors[0]  # first order at shocks and contacts: half


@pytest.mark.parametrize(("library", "p"), SPREAD)
def test_fields_are_the_same_bit_by_bit_for_any_division_and_imbalance(library: str, p: int) -> None:
    regions = built_for(library, "regions")
    one = regions.result(1, *SMALL)
    balanced, imbalanced = regions.result(p, *SMALL), regions.result(p, *SMALL, "--imbalance=45")
    assert balanced["checksum"] == imbalanced["checksum"] == one["checksum"]
    assert balanced["time"] == imbalanced["time"] == one["time"]
    for run in (one, balanced, imbalanced):
        assert run["mass_error"] < 1e-12
        assert run["energy_error"] < 1e-12


def test_the_imbalance_is_the_one_that_was_requested(some_mpi_installation: Installation) -> None:
    regions = built(some_mpi_installation, "regions")
    for percent in (0, 20, 60):
        result = regions.result(2, "--nx=4", "--ny=4", "--nz=40", "--steps=2", f"--imbalance={percent}")
        assert result["element_imbalance_percent"] == pytest.approx(percent, abs=1e-9)


def test_costs_of_regions_change_the_work_and_not_the_result(some_mpi_installation: Installation) -> None:
    regions = built(some_mpi_installation, "regions")
    even = regions.result(2, *SMALL, "--region-cost=0", "--regions=1")
    uneven = regions.result(2, *SMALL, "--region-cost=50", "--region-growth=0")
    assert even["evaluation_imbalance_percent"] == pytest.approx(even["element_imbalance_percent"])
    assert abs(uneven["evaluation_imbalance_percent"] - even["evaluation_imbalance_percent"]) > 1
    assert uneven["checksum"] == even["checksum"]
