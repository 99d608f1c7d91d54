"""What one rule's call runs: in its proof, in its measurement, with the tuning files, and as users launch.

As a program, for the first rule of exported tuning files, with the study's own placement:
``python one_environment.py RESULTS FOLDER`` prints the answer as JSON; ``FOLDER`` is for scratch files.
"""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec
import numpy as np
from executed_calls import ExecutedCall, execution_differences, observe_executed, variable_differences
from msgspec import Struct

from offbeat.libraries.families.libraries import library_of
from offbeat.libraries.installations.build import build_native
from offbeat.libraries.installations.find import choose
from offbeat.libraries.installations.installation import Installation
from offbeat.libraries.launch.driver import Driver
from offbeat.measurement.engines.driver_launches import Launches, LaunchSpec
from offbeat.measurement.engines.mpi_engine import MpiEngine
from offbeat.measurement.results.read import read_study
from offbeat.model.study.case import Case
from offbeat.model.study.schema import MpiSection, RepetitionsSection, StartSection
from offbeat.selection.tuning_files.manifest import TuningFiles, read_manifest
from offbeat.selection.tuning_files.tuning_plan import Rule

PATIENCE_S = 60.0

SITE = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
    "OFFBEAT_YIELD": "1",
}
"""Settings that this machine needs and that do no tuning: root may launch, and more processes than cores."""


class Everywhere(Struct, frozen=True, kw_only=True):
    """The functions, messages and variables of the same call in four launches."""

    proof: ExecutedCall
    measurement: ExecutedCall
    verification: ExecutedCall
    use: ExecutedCall


def expect_the_same(executed: Everywhere) -> None:
    """Functions and messages must be equal in all four launches, and some variables as well."""
    assert executed.proof.functions, "nothing was seen to run"
    assert execution_differences(executed.proof, executed.measurement) == []
    assert execution_differences(executed.measurement, executed.verification) == []
    assert execution_differences(executed.verification, executed.use) == []
    assert variable_differences(executed.proof, executed.measurement) == []
    assert variable_differences(executed.verification, executed.use) == []


def everywhere(
    results: Path,
    rule: Rule,
    files: TuningFiles,
    installation: Installation,
    folder: Path,
    section: MpiSection | None = None,
) -> Everywhere:
    """Launch four times and observe a rule's call; ``section`` names a host file of ``folder``, if any."""
    section = section or MpiSection()
    case = cell(results, rule)
    steering = library_of(installation).steering()
    with launches_of(installation, section, folder, "measured") as launches:
        proof, measurement = proved_and_measured(installation, section, launches, rule, case)
    with launches_of(installation, section, folder, "verified") as launches:
        variables = tuple(sorted(files.environment_for(case.p).items()))
        where = LaunchSpec(p=case.p, nodes=case.nodes, ppn=case.ppn, environment=variables, steerable=False)
        verification = observe_executed(launches.get(where), case, steering, PATIENCE_S)
    use = used(installation, files, case, folder, placing_words(installation, section, case))
    return Everywhere(proof=proof, measurement=measurement, verification=verification, use=use)


def cell(results: Path, rule: Rule) -> Case:
    """The measured call of a rule."""
    expected = (rule.collective, rule.p, rule.bytes, rule.algorithm.name)
    row = next(
        row
        for row in read_study(results).cases.to_dicts()
        if (row["collective"], row["p"], row["bytes"], row["algorithm"]) == expected
    )
    return Case(**{name: row[name] for name in Case.__struct_fields__})


@contextmanager
def launches_of(
    installation: Installation, section: MpiSection, folder: Path, name: str
) -> Iterator[Launches]:
    """Launches of an installation with their own folder."""
    launches = Launches(
        installation,
        build_native(installation),
        section,
        folder,
        logs=folder / name / "logs",
        scratch=folder / name / "scratch",
    )
    try:
        yield launches
    finally:
        launches.close()


def proved_and_measured(
    installation: Installation, section: MpiSection, launches: Launches, rule: Rule, case: Case
) -> tuple[ExecutedCall, ExecutedCall]:
    """What ran in the launch that proved the algorithm, and in the launch that measured it."""
    engine = MpiEngine(installation, launches, section, StartSection(), PATIENCE_S)
    engine.restore_names([rule.algorithm])
    (proved,) = engine.prove([(rule.algorithm, case)])
    assert [verdict.status for verdict in proved.verdicts] == ["proved"]
    proof = observe_executed(running(launches), case, engine.steering, PATIENCE_S)
    launches.close()
    few = RepetitionsSection(minimum=2, maximum=2, time_cap=0.1)
    samples = engine.measure(rule.algorithm, case, np.zeros(case.p), few)
    assert not samples.failure
    return proof, observe_executed(running(launches), case, engine.steering, PATIENCE_S)


def running(launches: Launches) -> Driver:
    """The launch that is running."""
    driver = launches._driver_of_launch
    assert driver is not None
    return driver


def placing_words(installation: Installation, section: MpiSection, case: Case) -> list[str]:
    """The options with which a user places processes on several nodes."""
    if not section.hostfile:
        return []
    if installation.family == "openmpi":
        # two processes share the core of a node, and Open MPI forwards only the variables that are named
        oversubscribed = ["--mca", "mpi_yield_when_idle", "1", "-x", "OFFBEAT_YIELD=1"]
        placed = ["--map-by", f"ppr:{case.ppn}:node:oversubscribe"]
        return ["--hostfile", section.hostfile, *placed, *oversubscribed]
    return ["-f", section.hostfile, "-ppn", str(case.ppn)]


def used(
    installation: Installation, files: TuningFiles, case: Case, folder: Path, placing: Sequence[str] = ()
) -> ExecutedCall:
    """What runs in a launch with exactly the line that ``offbeat export`` prints."""
    line = next(line for line in files.usage if line.startswith(("mpirun", "mpiexec")))
    arguments = [str(case.p) if word == "P" else word for word in shlex.split(line)]
    assert arguments[-1] == "./application"
    argv = [str(installation.mpirun), *placing, *arguments[1:-1], str(build_native(installation))]
    environment = os.environ | SITE
    if installation.family == "intelmpi":  # set by Intel's own script of variables
        environment["I_MPI_ROOT"] = str(installation.prefix)
        environment["PATH"] = f"{installation.mpirun.parent}{os.pathsep}{environment['PATH']}"
    driver = Driver(argv, environment, folder / "user.log")
    try:
        return observe_executed(driver, case, library_of(installation).steering(), PATIENCE_S)
    finally:
        driver.close()


def main(results: Path, folder: Path) -> None:
    """Print what the call of the first exported rule runs in all four launches."""
    manifest = read_manifest(results / "tuning")
    assert manifest is not None
    rule = manifest.tuning.rules[0]
    section = MpiSection(hostfile=str((results / "hostfile").absolute()))
    executed = everywhere(results, rule, manifest.tuning, choose(manifest.mpirun), folder, section)
    print(msgspec.json.encode(executed).decode())


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
