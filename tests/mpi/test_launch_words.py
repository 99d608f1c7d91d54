"""The words of launch commands, for command lines that are drawn from the grammars of launchers."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from launch_lines import HYDRA, LAUNCHERS, OPENMPI_4, OPENMPI_5, Line, lines
from real_libraries import real_installation

from offbeat.libraries.launch.launch_words import process_count
from offbeat.libraries.launch.user_command import following_environment, user_command, with_variables

drawn = st.sampled_from(LAUNCHERS).flatmap(lines)


@given(drawn)
def test_processes_are_counted_in_the_options_of_the_launcher_only(line: Line) -> None:
    known = [count for count in line.counts if count is not None]
    expected = sum(known) if len(known) == len(line.counts) else None
    assert process_count(line.words, {"PATH": "/usr/bin:/bin"}) == expected


@given(st.sampled_from(LAUNCHERS).flatmap(lambda one: lines(one, most_programs=1)))
def test_a_program_keeps_its_arguments_and_the_launcher_its_variables(line: Line) -> None:
    parts = user_command(line.words, {"PATH": "/usr/bin:/bin"})
    assert parts.program == line.programs[0]
    assert parts.variables == line.variables
    assert not set(parts.options) & {"--", *parts.variables}


@given(drawn)
def test_a_variable_of_the_environment_is_not_overridden_by_the_command(line: Line) -> None:
    command = following_environment(line.words, {"A": "7"}, {"PATH": "/usr/bin:/bin"})
    assert command is not None
    own = command[: len(command) - len(line.programs[-1])]
    assert not {"A=1", "A=x y", "A=a=b", "A=sh"} & {item for word in own for item in word.split(",")}
    assert command[len(own) :] == line.programs[-1]


REAL = {"openmpi5": OPENMPI_5, "openmpi4": OPENMPI_4, "mpich4": HYDRA, "mpich5": HYDRA, "intelmpi": HYDRA}


@pytest.mark.parametrize("name", REAL)
def test_the_launchers_start_as_many_processes_with_the_forwarded_variable(name: str, tmp_path: Path) -> None:
    """OFFBEAT_TEST_LAUNCH_LINES is the number of drawn lines that each launcher runs."""
    installation = real_installation(name)
    app = tmp_path / "app"
    ran = tmp_path / "ran"  # launchers may lose what a process prints before it ends
    app.write_text(f'#!/bin/sh\necho "$A" >> {ran}\n', encoding="utf-8")
    app.chmod(0o755)

    @settings(max_examples=int(os.environ.get("OFFBEAT_TEST_LAUNCH_LINES", "2")), deadline=None)
    @given(lines(REAL[name], always_counted=True, programs=(str(app),)))
    def launch(line: Line) -> None:
        argv, _ = with_variables([str(installation.mpirun), *line.words[1:]], {"A": "7 8"}, installation)
        ran.unlink(missing_ok=True)
        _launch(argv)
        assert ran.read_text().splitlines() == ["7 8"] * sum(count or 0 for count in line.counts), argv

    launch()


def _launch(argv: list[str]) -> None:
    allowed = {
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "OMPI_MCA_rmaps_base_oversubscribe": "1",
        "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
    }
    subprocess.run(
        argv,
        capture_output=True,
        stdin=subprocess.DEVNULL,
        env=os.environ | allowed,
        timeout=60,
        check=False,
    )
