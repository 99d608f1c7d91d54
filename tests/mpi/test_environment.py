"""Variables are forwarded to every process of a user's command, and its processes are counted."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from offbeat.base.errors import BadInput
from offbeat.libraries.installations.installation import Installation
from offbeat.libraries.launch.launch_words import is_launcher, process_count
from offbeat.libraries.launch.user_command import forward_variables

KNOWN = Installation(
    name="openmpi-5.0.8",
    family="openmpi",
    version=(5, 0, 8),
    version_text="Open MPI 5.0.8",
    prefix=Path("/nowhere"),
    source="test",
    library=Path("/nowhere/lib/libmpi.so"),
    include=Path("/nowhere/include"),
    mpicc=None,
    mpirun=Path("/nowhere/bin/mpirun"),
    identity="0",
)


@pytest.mark.parametrize(
    ("line", "count"),
    [
        ("mpirun -n 4 ./app", 4),
        ("/opt/bin/mpirun.openmpi --bind-to none -np 16 ./app -n 3", 16),
        ("mpiexec --np 2 ./one -n 9 : -n 3 ./two", 5),
        ("srun --ntasks=64 ./app", 64),
        ("srun -n8 ./app", 8),
        ("./app -n 4", None),
        ("mpirun ./app", None),
        ("mpirun -n many ./app", None),
        ("mpirun -n", None),
    ],
)
def test_processes_are_counted_as_the_launcher_does(line: str, count: int | None) -> None:
    assert process_count(line.split(), {}) == count


def test_a_batch_job_gives_the_number_of_processes_that_the_command_lacks() -> None:
    assert process_count(["srun", "./app"], {"SLURM_NTASKS": "32"}) == 32


def test_open_mpi_gets_a_variable_once_for_each_of_several_programs() -> None:
    words = forward_variables(["mpirun", "-n", "1", "./a", ":", "-n", "2", "./b"], {"A": "1 2"}, KNOWN)
    assert words == ["mpirun", "-x", "A=1 2", "-n", "1", "./a", ":", "-x", "A=1 2", "-n", "2", "./b"]


def test_mpich_and_intel_mpi_get_a_variable_once() -> None:
    for family in ("mpich", "intelmpi"):
        known = msgspec.structs.replace(KNOWN, family=family)
        words = forward_variables(["mpiexec", "-n", "1", "./a", ":", "-n", "2", "./b"], {"A": "1"}, known)
        assert words == ["mpiexec", "-genv", "A", "1", "-n", "1", "./a", ":", "-n", "2", "./b"]


@pytest.mark.parametrize("option", ["--app", "-app", "--app=programs.txt"])
def test_variables_that_an_appfile_would_hide_from_the_programs_are_refused(option: str) -> None:
    command = ["mpirun", *([option] if "=" in option else [option, "programs.txt"])]
    older = msgspec.structs.replace(KNOWN, family="openmpi", version=(4, 1, 4), version_text="Open MPI 4.1.4")
    with pytest.raises(BadInput, match=r"programs\.txt: Open MPI 4\.1\.4 ignores the options"):
        forward_variables(command, {"A": "1"}, older)
    newer = msgspec.structs.replace(older, version=(5, 0, 7))
    assert forward_variables(command, {"A": "1"}, newer) == ["mpirun", "-x", "A=1", *command[1:]]


def test_srun_and_plain_programs_get_no_options_for_variables() -> None:
    assert is_launcher(["/usr/bin/mpiexec.hydra"])
    assert not is_launcher(["srun"])
    assert not is_launcher(["./app"])
