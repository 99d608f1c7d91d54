"""A program whose requests fail prints and ends as without the tracer, whatever it does with statuses.

MPICH 5 and Intel MPI are left out: after an error in MPI_Waitall, other requests stay active there if
statuses are read, and the tracer reads them (``docs/howto/trace.md``).
"""

from __future__ import annotations

import random
import re
import subprocess

import pytest
from traced_program import Traced

pytestmark = pytest.mark.slow

FUNCTIONS = ("Wait", "Waitall", "Waitany", "Waitsome", "Test", "Testall", "Testany", "Testsome")
BLOCKING = ("Recv", "Mrecv", "Sendrecv")
HANDLERS = ("fatal", "return", "user")
STATUSES = ("ignored", "read")
CORPUS = [("Waitall", "fatal", "ignored", "1"), ("Waitall", "user", "ignored", "1")]
"""Arguments of programs/failing_requests.c that once differed: Open MPI 5."""


def drawn(count: int, seed: int) -> list[tuple[str, ...]]:
    draw = random.Random(seed)
    choices = (FUNCTIONS + BLOCKING, HANDLERS, STATUSES)
    return [(*map(draw.choice, choices), str(draw.randrange(1000))) for _ in range(count)]


def outcome(done: subprocess.CompletedProcess[str]) -> tuple[int, list[str], set[str]]:
    """How a run ended, what it printed, and the errors that the library names."""
    return done.returncode, done.stdout.splitlines(), set(re.findall(r"MPI_\w+", done.stderr))


@pytest.mark.parametrize("mpi_installation", ["openmpi4", "openmpi5", "mpich4"], indirect=True)
@pytest.mark.parametrize("p", [1, 2])
def test_requests_that_fail_have_the_same_effect_as_without_the_tracer(traced: Traced, p: int) -> None:
    program = traced.compile_c("failing_requests.c")
    seed = random.randrange(10**6)
    for arguments in [*CORPUS, *drawn(8, seed)]:
        alone = outcome(traced.run(program, p, *arguments, traced=False))
        variables = {
            "OFFBEAT_TRACE_MESSAGES": "1",
            "OFFBEAT_TRACE_DIR": str(traced.folder / "-".join(arguments)),
        }
        done = outcome(traced.run(program, p, *arguments, variables=variables))
        assert done == alone, (seed, arguments)
