"""Tuning files from a simulated study: the target library is queried for its settings, and a caveat is
printed."""

from __future__ import annotations

import subprocess
import sys

import msgspec
import pytest
from real_libraries import real_installation

from offbeat.base.errors import BadInput
from offbeat.measurement.results.read import read_study
from offbeat.model.study.algorithm import KINDS
from offbeat.selection.choices.choose import choose
from offbeat.selection.tuning_files import openmpi
from offbeat.selection.tuning_files.export import plan_for, write

pytestmark = pytest.mark.slow

STUDY = """
engine = "sim"
[[collective]]
names = ["reduce", "alltoall"]
sizes = [64, 4096]
[processes]
p = [64]
[patterns]
shapes = ["no_delay", "last_delayed", "random"]
"""


def offbeat(*arguments, check=True):
    arguments = [sys.executable, "-m", "offbeat", *map(str, arguments)]
    return subprocess.run(arguments, capture_output=True, text=True, timeout=180, check=check)


@pytest.fixture(scope="module", params=["openmpi", "mpich"])
def simulated(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param)
    (folder / "study.toml").write_text(STUDY)
    offbeat("run", folder / "study.toml", "--family", request.param, "-o", folder / "results")
    return request.param, folder / "results"


def test_the_library_of_the_family_gets_a_file_with_a_caution(simulated):
    family, directory = simulated
    installation = real_installation(f"{family}5")
    done = offbeat("export", directory, "--mpi", installation.prefix)
    assert f"for {installation.name}" in done.stdout
    flat = " ".join(done.stdout.split())
    assert f"These choices were simulated (sim-{family} on paper), not measured." in flat


def test_rules_name_the_simulated_choices_by_the_librarys_settings(simulated):
    family, directory = simulated
    installation = real_installation(f"{family}5")
    results = read_study(directory)
    choices = choose(results, bootstrap=0)
    tuning_plan, used = plan_for(results, choices, str(installation.prefix), KINDS)
    assert used.identity == installation.identity
    safe, _ = plan_for(results, choices, str(installation.prefix))
    assert not safe.wrong_result_warnings
    assert len(tuning_plan.wrong_result_warnings) == (1 if family == "openmpi" else 0)
    chosen = {(one.configuration.collective, one.configuration.bytes): one.algorithm for one in choices}
    ruled = {
        (rule.collective, rule.bytes): rule.algorithm.name
        for own in tuning_plan.rules.values()
        for rule in own
    }
    assert ruled
    assert ruled.items() <= chosen.items()
    assert all(rule.settings for own in tuning_plan.rules.values() for rule in own)


def test_a_choice_that_breaks_legal_programs_is_replaced_by_another_simulated_algorithm(simulated):
    family, directory = simulated
    results = read_study(directory)
    installation = real_installation(f"{family}5")
    for choice in choose(results, bootstrap=0):
        for verdict in results.verdicts:
            if verdict.commutative_only and verdict.algorithm in choice.scores:
                unsafe = msgspec.structs.replace(choice, algorithm=verdict.algorithm)
                tuning_plan, _ = plan_for(results, [unsafe], str(installation.prefix))
                rules = [rule for own in tuning_plan.rules.values() for rule in own]
                assert all(rule.algorithm.name != verdict.algorithm and rule.settings for rule in rules)


def test_open_mpis_file_names_the_simulation(tmp_path, simulated):
    family, directory = simulated
    results = read_study(directory)
    expected = str(real_installation(f"{family}5").prefix)
    tuning_plan, installation = plan_for(results, choose(results, bootstrap=0), expected)
    assert tuning_plan.origin == f"simulations (sim-{family} on paper)"
    write(tuning_plan, installation, tmp_path)
    if family == "openmpi":  # MPICH's files cannot hold it
        assert f"from {tuning_plan.origin}" in (tmp_path / openmpi.FILE_NAME).read_text()


def test_another_family_than_the_simulated_one_is_refused(simulated):
    family, directory = simulated
    other = real_installation("mpich5" if family == "openmpi" else "openmpi5")
    results = read_study(directory)
    with pytest.raises(BadInput, match="these results simulate"):
        plan_for(results, choose(results, bootstrap=0), str(other.prefix))


def test_algorithms_of_simgrid_belong_to_no_library(tmp_path):
    (tmp_path / "study.toml").write_text(STUDY)
    offbeat("run", tmp_path / "study.toml", "--family", "simgrid", "-o", tmp_path / "results")
    done = offbeat("export", tmp_path / "results", check=False)
    assert done.returncode == 2
    assert "which no MPI library has" in done.stderr


def test_choices_that_the_library_lacks_are_left_to_its_default_with_a_note(simulated):
    family, directory = simulated
    import msgspec

    results = read_study(directory)
    choices = choose(results, bootstrap=0)
    odd = [msgspec.structs.replace(choices[0], algorithm="of_another_version"), *choices[1:]]
    tuning_plan, _ = plan_for(results, odd, str(real_installation(f"{family}5").prefix))
    assert any("left to the library" in note and "of_another_version" in note for note in tuning_plan.notes)


def test_files_from_a_simulation_cannot_be_verified(simulated):
    family, directory = simulated
    installation = real_installation(f"{family}5")
    offbeat("export", directory, "--mpi", installation.prefix)
    done = offbeat("verify", directory, check=False)
    assert done.returncode == 2
    assert "they were simulated" in done.stderr
