"""Measurements are launched as the user launches the program: the parts of a launch command."""

from __future__ import annotations

from pathlib import Path

import pytest
from real_libraries import real_installation

from offbeat.base.errors import BadInput
from offbeat.libraries.launch.launch_words import process_count
from offbeat.libraries.launch.user_command import forward_variables, user_command


@pytest.mark.parametrize(
    ("command", "launcher", "options", "program"),
    [
        ("mpirun -n 4 ./app 7", "mpirun", "", "./app 7"),
        ("mpiexec.hydra -np 4 -genv A 1 -ppn 2 ./app -n 3", "mpiexec", "-ppn 2", "./app -n 3"),
        (
            "mpirun --bind-to core --mca btl tcp,self -n 4 sh",
            "mpirun",
            "--bind-to core",
            "sh",
        ),
        ("mpirun --oversubscribe -np 2 sh -c x", "mpirun", "--oversubscribe", "sh -c x"),
        ("mpirun -n 2 --unknown value sh", "mpirun", "--unknown value", "sh"),
        ("mpirun -n 2 --unknown sh sh", "mpirun", "--unknown", "sh sh"),
        ("mpirun --map-by ppr:2:node -x PATH sh", "mpirun", "--map-by ppr:2:node", "sh"),
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


def test_variables_of_the_processes_are_known_by_their_names_in_the_environment() -> None:
    command = "mpirun -x A=1 -x B --mca btl tcp -n 2 -genv C 3 sh -x D=4"
    assert user_command(command.split(), {"B": "2", "PATH": "/bin"}).variables == {
        "A": "1",
        "B": "2",
        "OMPI_MCA_btl": "tcp",
        "C": "3",
    }


def test_forwarded_variables_replace_those_of_the_command() -> None:
    command = [
        "mpirun",
        *[
            "-x",
            "A=1",
            "--mca",
            "b",
            "2",
            "-n",
            "2",
            "./app",
            "-x",
            "A=5",
            ":",
            "-x",
            "A=3",
            "-n",
            "1",
            "./app",
        ],
    ]
    expected = "-x A=7 -x OMPI_MCA_b=8 -n 2 ./app -x A=5 : -x A=7 -x OMPI_MCA_b=8 -n 1 ./app"
    library = real_installation("openmpi4")
    forwarded = forward_variables(command, {"A": "7", "OMPI_MCA_b": "8"}, library)
    assert " ".join(forwarded) == f"mpirun {expected}"


def test_host_files_are_found_from_any_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert user_command(["mpirun", "--hostfile", "hosts", "-n", "2", "sh"]).options == [
        "--hostfile",
        str(tmp_path / "hosts"),
    ]


def test_the_cores_of_a_process_are_not_the_number_of_processes() -> None:
    assert process_count(["srun", "-c", "4", "-n", "2", "./app"], {}) == 2
    assert process_count(["mpirun", "-c", "4", "./app"], {}) == 4


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("mpirun -n 2", "no program"),
        ("mpirun -n 2 sh : -n 1 sh", "several programs"),
        ("mpirun --app programs.txt", "reads its programs from a file"),
        ("mpiexec -configfile programs.txt", "reads its programs from a file"),
        ("srun -n 4 --multi-prog programs.txt", "reads its programs from a file"),
    ],
)
def test_commands_that_cannot_be_repeated_are_refused(command: str, words: str) -> None:
    with pytest.raises(BadInput, match=words):
        user_command(command.split())
