"""A program whose requests fail does the same as without the tracer, whatever it does with statuses."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

import pytest
from msgspec import Struct
from traced_program import Traced

pytestmark = pytest.mark.slow

FUNCTIONS = ("Wait", "Waitall", "Waitany", "Waitsome", "Test", "Testall", "Testany", "Testsome")
BLOCKING = ("Recv", "Mrecv", "Sendrecv")
STATUSES = ("ignored", "read")

Case = tuple[str, ...]
"""Arguments of programs/failing_requests.c."""

CORPUS: list[Case] = [("Waitall", "fatal", "ignored", "1"), ("Waitall", "user", "ignored", "1")]
"""What once differed: on Open MPI 5, MPICH 5 and Intel MPI."""


def drawn(count: int, seed: int, handlers: Sequence[str]) -> list[Case]:
    """Cases with one of the handlers: first those of the corpus."""
    draw = random.Random(seed)
    choices = (FUNCTIONS + BLOCKING, handlers, STATUSES)
    corpus = [case for case in CORPUS if case[1] in handlers]
    return corpus + [(*map(draw.choice, choices), str(draw.randrange(1000))) for _ in range(count)]


class Outcome(Struct, frozen=True):
    """How a run ended, what process 0 wrote, and the words on errors on standard error."""

    status: int
    lines: list[str]
    errors: set[str]


def outcome(traced: Traced, p: int, cases: Sequence[Case], *, is_traced: bool) -> Outcome:
    """The outcome of the cases in one launch of p processes; 0: without a launcher."""
    program, file = traced.folder / "failing_requests-cc", traced.folder / "lines"
    trace = traced.folder / f"trace-{'-'.join(cases[0])}"
    variables = {"OFFBEAT_TRACE_MESSAGES": "1", "OFFBEAT_TRACE_DIR": str(trace)}
    words = [str(file), *(word for case in cases for word in case)]
    done = traced.run(program, p, *words, variables=variables, traced=is_traced)
    return Outcome(done.returncode, file.read_text().splitlines(), set(re.findall(r"MPI_\w+", done.stderr)))


@pytest.mark.parametrize("p", [1, 2])
def test_requests_that_fail_have_the_same_effect_as_without_the_tracer(traced: Traced, p: int) -> None:
    traced.compile_c("failing_requests.c")
    seed = random.randrange(10**6)
    cases = drawn(30, seed, ("return", "user"))
    alone, done = (outcome(traced, p, cases, is_traced=is_traced) for is_traced in (False, True))
    assert done == alone, seed


def test_an_error_that_ends_the_program_ends_it_as_without_the_tracer(traced: Traced) -> None:
    """Without a launcher, which can lose messages and chooses the status among those of its processes.

    Open MPI starts a daemon for a process without a launcher: there, status and messages depend on which of
    the two ends first.
    """
    traced.compile_c("failing_requests.c")
    seed = random.randrange(10**6)
    for case in drawn(5, seed, ("fatal",)):
        alone, done = (outcome(traced, 0, [case], is_traced=is_traced) for is_traced in (False, True))
        assert done.lines == alone.lines, (seed, case)
        assert (done.status == 0) == (alone.status == 0), (seed, case)
        if traced.mpi.family != "openmpi":
            assert done == alone, (seed, case)


def test_an_error_that_ends_one_of_two_processes_ends_both_after_the_same_calls(traced: Traced) -> None:
    """The status and the messages depend on the order in which the launcher sees the processes end."""
    traced.compile_c("failing_requests.c")
    case = ("Test", "fatal", "read", "296")
    alone, done = (outcome(traced, 2, [case], is_traced=is_traced) for is_traced in (False, True))
    assert done.lines == alone.lines
    assert done.status != 0
    assert alone.status != 0
