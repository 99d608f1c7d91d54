"""A complete tiny study on each real library, after which no process is left."""

from __future__ import annotations

import numpy as np
import pytest
import real_studies
from real_studies import TINY

from offbeat.measurement.results.read import read_study
from offbeat.model.study.algorithm import MEASURED

OPENMPI4 = pytest.mark.parametrize("mpi_installation", ["openmpi4"], indirect=True)
STATUSES = {*MEASURED, "duplicate", "fell_back", "wrong", "refused", "quarantined"}


@pytest.fixture
def finished(mpi_installation, mpi_driver, tmp_path):
    """A finished study of one library."""
    loaded = real_studies.study(tmp_path)
    real_studies.measure(loaded, tmp_path / "results", mpi_installation)
    return loaded, tmp_path / "results"


def test_a_tiny_study_runs_through_on_every_library(finished, mpi_installation, mpi_driver):
    loaded, directory = finished
    assert real_studies.running(mpi_driver) == []
    results = read_study(directory)
    assert results.notes == []
    assert results.provenance["library"]["identity"] == mpi_installation.identity

    verdicts = real_studies.verdicts(directory)
    assert verdicts["default"] == "proved"
    assert set(verdicts.values()) <= STATUSES
    assert sum(status == "proved" for status in verdicts.values()) >= 4
    assert {one.name for one in results.algorithms} == set(verdicts)

    chosen = {name for name, status in verdicts.items() if status in MEASURED}
    cases = results.cases
    assert sorted(cases.select("algorithm", "pattern").rows()) == sorted(
        (name, pattern) for name in chosen for pattern in ("no_delay", "ascending")
    )
    assert set(cases["status"]) == {"measured"}
    assert set(cases["repetitions"]) == {3}
    assert cases["last_delay_s"].min() > 0
    assert (cases["total_delay_s"] >= cases["last_delay_s"]).all()

    skews = dict(cases.filter(pattern="ascending").select("algorithm", "skew_s").iter_rows())
    runtimes = dict(cases.filter(pattern="no_delay").select("algorithm", "last_delay_s").iter_rows())
    mean_s = np.mean([runtime_s for name, runtime_s in runtimes.items() if name != "default"])
    assert len(set(skews.values())) == 1
    assert skews["default"] == pytest.approx(1.5 * mean_s)

    ranks = results.ranks()
    repetitions = int(
        (cases["repetitions"] + cases["invalid"]).sum()
    )  # a late start is recorded and repeated
    assert len(ranks) == repetitions * 2
    assert (ranks["exit_s"] > ranks["arrival_s"]).all()

    again = real_studies.measure(loaded, directory, mpi_installation)
    assert (again.measured_now, again.finished_cases) == (0, len(cases))


@OPENMPI4
def test_an_algorithm_with_parameters_is_forced_proved_and_measured(mpi_installation, tmp_path):
    named = 'sizes = [65536]\nalgorithms = ["chain(fanout=1, segment=1024)", "chain"]'
    text = TINY.replace("sizes = [64]", named).replace("p = [2]", "p = [3]")
    real_studies.measure(real_studies.study(tmp_path, text), tmp_path / "results", mpi_installation)
    verdicts = real_studies.verdicts(tmp_path / "results")
    assert verdicts == dict.fromkeys(("default", "chain", "chain(fanout=1, segment=1024)"), "proved")
    assert set(real_studies.cases(tmp_path / "results")["status"]) == {"measured"}


@OPENMPI4
def test_with_isolate_each_algorithm_has_its_own_launch(mpi_installation, tmp_path):
    named = 'sizes = [64]\nalgorithms = ["chain", "binomial"]'
    text = TINY.replace("sizes = [64]", named) + "[mpi]\nisolate = true\n"
    real_studies.measure(real_studies.study(tmp_path, text), tmp_path / "results", mpi_installation)
    assert set(real_studies.verdicts(tmp_path / "results").values()) == {"proved"}
    logs = list((tmp_path / "results" / "logs").glob("launch-*.log"))
    assert len(logs) >= 3
