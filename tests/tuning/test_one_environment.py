"""The same algorithm runs in the proof, in the measurement, with the tuning file, and as users launch."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from tuned_study import Tuned

from offbeat.engines.launches import Launches, Where
from offbeat.engines.mpi import STEERING, MpiEngine
from offbeat.engines.ran import Ran, different_runs, different_variables, what_ran
from offbeat.mpi.build import build_native
from offbeat.mpi.driver import Driver
from offbeat.mpi.installation import Installation
from offbeat.results.read import read_study
from offbeat.study.case import Case
from offbeat.study.schema import MpiSection, RepetitionsSection, StartSection
from offbeat.tuning.files import TuningFiles

PATIENCE_S = 60.0

SITE = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
    "OFFBEAT_YIELD": "1",
}
"""What this machine needs, and no user's tuning: root may launch, and more processes than cores."""


def test_what_was_proved_is_what_is_measured_verified_and_used(tuned: Tuned, tmp_path: Path) -> None:
    installation, case = tuned.installation, cell(tuned)
    steering = STEERING[installation.family]()
    proof, measurement = proved_and_measured(tuned, case, tmp_path / "measured")
    with launches_of(installation, tmp_path / "verified") as launches:
        variables = tuple(sorted(tuned.files.environment_for(case.p).items()))
        where = Where(p=case.p, nodes=0, ppn=0, environment=variables, steerable=False)
        verification = what_ran(launches.get(where), case, steering, PATIENCE_S)
    use = used(installation, tuned.files, case, tmp_path)
    assert proof.functions, "nothing was seen to run"
    assert different_runs(proof, measurement) == []
    assert different_runs(measurement, verification) == []
    assert different_runs(verification, use) == []
    assert different_variables(proof, measurement) == []
    assert different_variables(verification, use) == []


def cell(tuned: Tuned) -> Case:
    """The call of the rule for reduce at 64 B."""
    rule = tuned.plan.rules["reduce"][0]
    rows = read_study(tuned.results).cases.to_dicts()
    row = next(
        row
        for row in rows
        if (row["collective"], row["bytes"], row["algorithm"]) == ("reduce", 64, rule.algorithm.name)
    )
    return Case(**{name: row[name] for name in Case.__struct_fields__})


@contextmanager
def launches_of(installation: Installation, folder: Path) -> Iterator[Launches]:
    launches = Launches(
        installation,
        build_native(installation),
        MpiSection(),
        folder,
        logs=folder / "logs",
        scratch=folder / "scratch",
    )
    try:
        yield launches
    finally:
        launches.close()


def proved_and_measured(tuned: Tuned, case: Case, folder: Path) -> tuple[Ran, Ran]:
    """What ran in the launch that proved the algorithm, and in the launch that measured it."""
    with launches_of(tuned.installation, folder) as launches:
        engine = MpiEngine(tuned.installation, launches, MpiSection(), StartSection(), PATIENCE_S)
        algorithm = tuned.plan.rules["reduce"][0].algorithm
        engine.adopt([algorithm])
        (proved,) = engine.prove([(algorithm, case)])
        assert [verdict.status for verdict in proved.verdicts] == ["proved"]
        proof = what_ran(running(launches), case, engine.steering, PATIENCE_S)
        launches.close()
        few = RepetitionsSection(minimum=2, maximum=2, time_cap=0.1)
        samples = engine.measure(algorithm, case, np.zeros(case.p), few)
        assert not samples.failure
        return proof, what_ran(running(launches), case, engine.steering, PATIENCE_S)


def running(launches: Launches) -> Driver:
    driver = launches._running
    assert driver is not None
    return driver


def used(installation: Installation, files: TuningFiles, case: Case, folder: Path) -> Ran:
    """What runs in a launch by the very line that ``offbeat export`` prints."""
    line = next(line for line in files.usage if line.startswith(("mpirun", "mpiexec")))
    words = [str(case.p) if word == "P" else word for word in shlex.split(line)]
    assert words[-1] == "./application"
    argv = [str(installation.mpirun), *words[1:-1], str(build_native(installation))]
    environment = os.environ | SITE
    if installation.family == "intelmpi":  # what Intel's own script of variables sets
        environment["I_MPI_ROOT"] = str(installation.prefix)
        environment["PATH"] = f"{installation.mpirun.parent}{os.pathsep}{environment['PATH']}"
    driver = Driver(argv, environment, folder / "user.log")
    try:
        return what_ran(driver, case, STEERING[installation.family](), PATIENCE_S)
    finally:
        driver.close()
