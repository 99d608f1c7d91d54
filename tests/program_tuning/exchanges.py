"""The programs of the tests of tuning, built for an MPI library."""

from __future__ import annotations

import subprocess
from pathlib import Path

from offbeat.libraries.installations.installation import Installation

BRUCK = {
    "OMPI_MCA_coll_tuned_use_dynamic_rules": "1",
    "OMPI_MCA_coll_tuned_alltoall_algorithm": "3",
}
"""Makes Open MPI use an algorithm that copies every block for each exchange: slow for large blocks."""


def built(mpi: Installation, folder: Path, name: str = "exchanges") -> Path:
    program = folder / name
    source = Path(__file__).with_name(f"{name}.c")
    library = mpi.library
    lines = ["cc", "-O2", f"-I{mpi.include}", str(source), str(library), f"-Wl,-rpath,{library.parent}"]
    done = subprocess.run([*lines, "-o", str(program)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return program
