"""PMPI tools of all kinds do under the tracer what they do without it, and each call is recorded once."""

from __future__ import annotations

import random

import pytest
from drawn_tools import Case, Tool, Workshop, differing
from traced_program import Traced

ENDS = (("MPI_Finalize", "jump"), ("MPI_Init", "call"), ("MPI_Init_thread", "call"))
BARRIER = (("MPI_Barrier", "jump"),)
CORPUS = [
    (Tool("before", ENDS),),
    (Tool("after", ENDS),),
    (Tool("inside", ENDS),),
    (Tool("before", (("MPI_Abort", "call"),)), Tool("after", (("MPI_Abort", "jump"),))),
    (Tool("before", (("MPI_Pcontrol", "next"),)), Tool("after", (("MPI_Pcontrol", "call"),))),
    (Tool("before", BARRIER), Tool("after", BARRIER)),
    (Tool("after", (("MPI_Isend", "looked up"),)),),
    (Tool("before", (("MPI_Init", "looked up"), ("MPI_Init_thread", "looked up"))), Tool("after", BARRIER)),
]
"""Tools with which programs once ended or printed otherwise, or calls were not recorded once."""


def differences_of(traced: Traced, corpus: list[tuple[Tool, ...]], drawn: int) -> list[str]:
    workshop = Workshop(traced)
    cases = []
    for tools in corpus:
        end = "abort" if any(name == "MPI_Abort" for tool in tools for name, _ in tool.ways) else "finalize"
        cases.append(Case(0, 1, ("3", "40", end, "0"), True, False, tools))
    found = [f"{case}: {text}" for case in cases for text in workshop.differences(case)]
    return found + list(differing(workshop, random.randrange(10**6), range(drawn)))


def test_drawn_tools_and_their_programs_behave_as_without_the_tracer(some_traced: Traced) -> None:
    assert differences_of(some_traced, CORPUS[:1] + CORPUS[4:5], drawn=2) == []


@pytest.mark.slow
def test_drawn_tools_behave_as_without_the_tracer_on_all_libraries(traced: Traced) -> None:
    assert differences_of(traced, CORPUS, drawn=2) == []
