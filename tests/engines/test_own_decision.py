"""What is measured does not depend on the settings of users that choose algorithms."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest
import real_studies
import scripted_library
from fake_launches import SOUND

from offbeat.base.errors import BadInput, RunFailed
from offbeat.libraries.families.library import Variable
from offbeat.libraries.families.openmpi import OpenMpiSteering
from offbeat.libraries.installations.installation import Installation
from offbeat.measurement.engines.mpi_engine import MpiEngine, open_engine
from offbeat.measurement.proofs.default_decision import refuse_chosen, refuse_forced
from offbeat.measurement.proofs.prove import observe
from offbeat.model.study.case import Case
from offbeat.model.study.evidence import functions
from offbeat.model.study.schema import MpiSection, StartSection
from offbeat.selection.tuning_files.openmpi import COLLECTIVES as NUMBERS

pytestmark = pytest.mark.slow

DRAWS = int(os.environ.get("OFFBEAT_TEST_DRAWS", "1"))
CALLS = {"alltoall": 1024, "allgatherv": 16384, "bcast": 4096}
P = 3


def _case(collective: str) -> Case:
    return Case(
        collective=collective,
        algorithm="x",
        pattern="x",
        shape="x",
        skew_policy="none",
        skew_factor=0.0,
        nodes=0,
        ppn=0,
        op="",
        datatype="byte",
        p=P,
        bytes=CALLS[collective],
    )


def _engine(installation: Installation, driver: Path, folder: Path) -> MpiEngine:
    return open_engine(
        installation, driver, MpiSection(), StartSection(), 60.0, folder, logs=folder, scratch=folder / "s"
    )


def _ran(installation: Installation, driver: Path, folder: Path) -> dict[tuple[str, str], list[str]]:
    """(collective, algorithm) → the collective's functions that the call entered."""
    engine = _engine(installation, driver, folder)
    entered = {}
    try:
        for collective in CALLS:
            for algorithm in engine.algorithms(collective)[: 3 if collective == "alltoall" else 2]:
                case = _case(collective)
                arguments = engine._force_arguments(algorithm)
                spec = engine._spec(algorithm, case)
                seen = observe(engine.launches, spec, arguments, algorithm, case, 60.0)
                names = functions(seen.evidence)
                entered[collective, algorithm.name] = engine.steering.functions_of(collective, names)
    finally:
        engine.close()
    return entered


def _made_up(folder: Path) -> Installation:
    return scripted_library.engine(folder, "openmpi", lambda *_: SOUND).installation


def _rules(chance: random.Random, path: Path) -> Path:
    lines = [f"{len(CALLS)}"]
    for collective in CALLS:
        lines += [str(NUMBERS[collective].number), "1", "0", "1", f"0 {chance.randint(1, 4)} 0 0"]
    path.write_text("\n".join(lines) + "\n")
    return path


def _settings(family: str, chance: random.Random, folder: Path) -> dict[str, str]:
    """Settings of a user, without prefix: a rules file, forced algorithms, and their parameters."""
    collective = chance.choice(sorted(CALLS))
    if family == "openmpi":
        rules = _rules(chance, folder / "user.rules")
        return {
            "coll_tuned_use_dynamic_rules": "1",
            "coll_tuned_dynamic_rules_filename": str(rules),
            f"coll_tuned_{collective}_algorithm": "2",
            "coll_tuned_bcast_algorithm_segmentsize": "64",
        }
    if family == "mpich":
        prefix = chance.choice(["MPIR_CVAR", "MPIR_PARAM", "MPICH"])
        name = {"alltoall": "scattered", "allgatherv": "ring", "bcast": "binomial"}[collective]
        return {f"{prefix}_{collective.upper()}_INTRA_ALGORITHM": name, "MPIR_CVAR_BCAST_TREE_KVAL": "3"}
    return {f"I_MPI_ADJUST_{collective.upper()}": "2", "I_MPI_ADJUST_BARRIER": "3"}


@pytest.mark.parametrize("seed", range(DRAWS))
def test_every_algorithm_and_default_run_the_same_functions_whatever_the_user_has_set(
    mpi_installation, mpi_driver, seed, tmp_path, monkeypatch
):
    chance = random.Random(seed)
    without = _ran(mpi_installation, mpi_driver, tmp_path)
    settings = _settings(mpi_installation.family, chance, tmp_path)
    sources = ["environment"]
    if mpi_installation.family == "openmpi":
        sources.append(".openmpi/mca-params.conf")
        if mpi_installation.is_at_least(5):
            sources.append(".pmix/mca-params.conf")
    source = chance.choice(sources)
    if source == "environment":
        prefix = "OMPI_MCA_" if mpi_installation.family == "openmpi" else ""
        for name, value in settings.items():
            monkeypatch.setenv(prefix + name, value)
    else:
        path = tmp_path / source
        path.parent.mkdir()
        path.write_text("".join(f"{name} = {value}\n" for name, value in settings.items()))
        monkeypatch.setenv("HOME", str(tmp_path))
    assert _ran(mpi_installation, mpi_driver, tmp_path) == without, (seed, source, settings)


@pytest.mark.parametrize(
    ("section", "name"),
    [
        ('options = ["--mca", "coll_tuned_bcast_algorithm", "6"]', "OMPI_MCA_coll_tuned_bcast_algorithm"),
        (
            'environment = {OMPI_MCA_coll_tuned_dynamic_rules_filename = "/x"}',
            "OMPI_MCA_coll_tuned_dynamic_rules_filename",
        ),
    ],
)
def test_a_study_that_forces_algorithms_in_every_launch_is_refused(section, name, tmp_path):
    loaded = real_studies.study(tmp_path, real_studies.TINY + f"\n[mpi]\n{section}\n")
    with pytest.raises(BadInput, match=rf"study\.toml:\d+: mpi\.\w+: {name} forces algorithms"):
        refuse_forced(loaded, _made_up(tmp_path))


def test_a_library_that_something_else_forces_is_refused_with_the_variable_and_its_value(tmp_path):
    forced = Variable(
        name="coll_tuned_bcast_algorithm", type="int", settable=True, value="6", items=[], description=""
    )
    with pytest.raises(RunFailed, match="is launched with coll_tuned_bcast_algorithm = 6, which offbeat"):
        refuse_chosen(OpenMpiSteering(), [forced], _made_up(tmp_path))
