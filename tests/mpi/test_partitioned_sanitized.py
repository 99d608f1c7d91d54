"""Random partitioned transfers and collectives with sanitizers of address and threads, on real libraries."""

from __future__ import annotations

from pathlib import Path

import pytest
from native_build import native_tests, need_sanitizer
from plain_install import succeed
from real_libraries import real_installation

from offbeat.libraries.launch.launch_command import command

pytestmark = pytest.mark.slow

RANDOM = {
    "random": "300 random transfers by 2 processes arrived as they were sent",
    "collective_random": "300 random collectives of 2 processes had the right result",
}
"""The programs, and what each prints at its end."""

SUPPRESSED = "called_from_lib:libmpi.so\ncalled_from_lib:libopen-pal.so\n"
"""The thread sanitizer cannot see how MPI libraries, which are not built with it, protect their data."""

CASES = [
    *((name, "address") for name in ("openmpi4", "openmpi5", "mpich4", "mpich5", "intelmpi")),
    *((name, "thread") for name in ("openmpi4", "intelmpi")),  # with others, MPI_Init crashes
]


@pytest.mark.parametrize("kind", RANDOM)
@pytest.mark.parametrize(("library", "sanitizer"), CASES)
def test_random_partitioned_communication_is_clean_with_the_sanitizers(
    library: str, sanitizer: str, kind: str, tmp_path: Path
) -> None:
    mpi = real_installation(library)
    need_sanitizer(sanitizer, tmp_path)
    program = f"partitioned_{kind}_test_with_{sanitizer}_sanitizer"
    folder = native_tests(mpi, program)
    (tmp_path / "suppressed").write_text(SUPPRESSED, encoding="utf-8")
    launch = command(mpi, folder / program, 2)
    environment = {
        **launch.environment,
        "ASAN_OPTIONS": "detect_leaks=0",  # MPI libraries do not free everything
        "TSAN_OPTIONS": f"suppressions={tmp_path}/suppressed ignore_noninstrumented_modules=1",
    }
    said = succeed([*launch.argv, "300"], environment)
    assert said.strip() == RANDOM[kind]
