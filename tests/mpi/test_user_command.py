"""Measurements are launched as the user launches the program: the parts of a launch command."""

from __future__ import annotations

from pathlib import Path

import pytest

from offbeat.errors import BadInput
from offbeat.mpi.environment import process_count
from offbeat.mpi.user_command import user_command


@pytest.mark.parametrize(
    ("command", "launcher", "options", "program"),
    [
        ("mpirun -n 4 ./app 7", "mpirun", "", "./app 7"),
        ("mpiexec.hydra -np 4 -genv A 1 -ppn 2 ./app -n 3", "mpiexec", "-genv A 1 -ppn 2", "./app -n 3"),
        (
            "mpirun --bind-to core --mca btl tcp,self -n4 sh",
            "mpirun",
            "--bind-to core --mca btl tcp,self",
            "sh",
        ),
        ("mpirun --oversubscribe -np 2 sh -c x", "mpirun", "--oversubscribe", "sh -c x"),
        ("mpirun -n 2 --unknown value sh", "mpirun", "--unknown value", "sh"),
        ("mpirun -n 2 --unknown sh sh", "mpirun", "--unknown", "sh sh"),
        ("mpirun --map-by ppr:2:node -x PATH sh", "mpirun", "--map-by ppr:2:node -x PATH", "sh"),
        ("srun -n 8 -c 2 --cpu-bind=cores sh", "srun", "-c 2 --cpu-bind=cores", "sh"),
        ("srun --ntasks=8 -N 2 sh", "srun", "-N 2", "sh"),
        ("./run.sh -n 4", "", "", "./run.sh -n 4"),
    ],
)
def test_a_command_has_a_launcher_its_options_and_a_program(
    command: str, launcher: str, options: str, program: str
) -> None:
    parts = user_command(command.split())
    assert parts.launcher == launcher
    assert parts.options == options.split()
    assert parts.program == program.split()


def test_host_files_are_found_from_any_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert user_command("mpirun --hostfile hosts -n 2 sh".split()).options == [
        "--hostfile",
        str(tmp_path / "hosts"),
    ]


def test_the_cores_of_a_process_are_not_the_number_of_processes() -> None:
    assert process_count("srun -c 4 -n 2 ./app".split(), {}) == 2
    assert process_count("mpirun -c 4 ./app".split(), {}) == 4


@pytest.mark.parametrize(
    ("command", "words"), [("mpirun -n 2", "no program"), ("mpirun -n 2 sh : -n 1 sh", "several programs")]
)
def test_commands_that_cannot_be_repeated_are_refused(command: str, words: str) -> None:
    with pytest.raises(BadInput, match=words):
        user_command(command.split())
