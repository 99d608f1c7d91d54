"""The programs in examples/legal_calls compile without a warning."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from offbeat.libraries.installations.installation import Installation

PROGRAMS = sorted((Path(__file__).resolve().parents[2] / "examples" / "legal_calls").glob("*.c"))


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.stem)
def test_a_program_with_a_legal_call_compiles(program: Path, some_mpi_installation: Installation) -> None:
    options = [
        "-std=c11",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-fsyntax-only",
        f"-I{some_mpi_installation.include}",
    ]
    subprocess.run(["cc", *options, program], check=True)
