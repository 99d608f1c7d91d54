"""A program that handles its faults itself gets them as without the tracer, which handles SIGBUS, too."""

from __future__ import annotations

import pytest
from traced_program import Traced, read

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("kind", ["plain", "information", "once", "ending"])
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_program_keeps_its_handlers_of_faults(some_traced: Traced, when: str, kind: str) -> None:
    program = some_traced.compile_c("fault_handlers.c")
    words = (when, kind, str(some_traced.folder / "empty"))
    alone, done = (some_traced.run(program, 0, *words, traced=is_traced) for is_traced in (False, True))
    assert len(alone.stdout.splitlines()) == (2 if kind == "ending" else 4)
    assert (done.returncode, done.stdout) == (alone.returncode, alone.stdout)
    (trace,) = read(some_traced.folder / "trace")
    assert trace.names.count("MPI_Allreduce") == (2 if kind == "ending" else 3)
