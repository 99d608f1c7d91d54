"""PMPI tools of all kinds do under the tracer what they do without it, and each call is recorded once."""

from __future__ import annotations

import random

import pytest
from drawn_tools import CASES_PER_PROGRAM, Case, differences, differing
from tool_workshop import Program, Tool, Workshop
from traced_program import Traced

ENDS = (("MPI_Finalize", "jump"), ("MPI_Init", "call"), ("MPI_Init_thread", "call"))
INITS = (("MPI_Init", "looked up"), ("MPI_Init_thread", "looked up"))
BARRIER = (("MPI_Barrier", "jump"),)
CORPUS = [
    (Tool("a", "before", "C", ENDS),),
    (
        Tool("a", "before", "C", (("MPI_Pcontrol", "next"),)),
        Tool("b", "after", "C", (("MPI_Pcontrol", "call"),)),
    ),
    (Tool("a", "after", "C", ENDS),),
    (Tool("a", "inside", "C", ENDS),),
    (Tool("a", "before", "C", (("MPI_Abort", "call"),)), Tool("b", "after", "C", (("MPI_Abort", "jump"),))),
    (Tool("a", "before", "C", BARRIER), Tool("b", "after", "C", BARRIER)),
    (Tool("a", "after", "C", (("MPI_Isend", "looked up"),)),),
    (Tool("a", "before", "C", INITS), Tool("b", "after", "C", BARRIER)),
]
"""Tools with which programs once ended or printed otherwise, or calls were not recorded once."""
F08 = (("mpi_ibarrier_f08_", "looked up"), ("mpi_pcontrol_f08_", "looked up"))
F08_CORPUS = [(), (Tool("a", "before", "C of Fortran", F08),), (Tool("a", "inside", "C of Fortran", F08),)]
"""The same with a program in Fortran that uses mpi_f08."""


def differences_of(traced: Traced, corpus: list[tuple[Tool, ...]], drawn: int) -> list[str]:
    """The differences of a corpus and of drawn cases, which share a program."""
    workshop = Workshop(traced)
    cases = []
    for tools in corpus:
        is_f08 = tools in F08_CORPUS
        if is_f08 and "USE_F08" not in workshop.bindings:
            continue
        end = "abort" if any(name == "MPI_Abort" for tool in tools for name, _ in tool.ways) else "finalize"
        words = ("235", "40", end) if is_f08 else ("3", "40", end, "0")
        cases.append(Case(0, Program("USE_F08" if is_f08 else "linked", 1, words, with_messages=True), tools))
    found = [f"{case}: {text}" for case in cases for text in differences(workshop, case)]
    first = CASES_PER_PROGRAM * random.randrange(10**6)
    return found + list(differing(workshop, 1, range(first, first + drawn)))


def test_drawn_tools_and_their_programs_behave_as_without_the_tracer(some_traced: Traced) -> None:
    assert differences_of(some_traced, CORPUS[:2], drawn=2) == []


@pytest.mark.slow
def test_drawn_tools_behave_as_without_the_tracer_on_all_libraries(traced: Traced) -> None:
    assert differences_of(traced, CORPUS + F08_CORPUS, drawn=4) == []
