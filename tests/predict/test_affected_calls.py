"""A choice affects the calls of a program that its tuning file covers, and no others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
import trace_factory as factory

from offbeat.model.study.algorithm import Algorithm
from offbeat.selection.tuning_files.manifest import ProcessEnvironment, TuningFiles
from offbeat.selection.tuning_files.tuning_plan import NO_END, Rule
from offbeat.trace.files import format as form
from offbeat.trace.files.trace_folder import open_trace
from offbeat.trace.summary import summarise
from offbeat.tuning.prediction.affected_calls import AffectedCalls, calls_affected_by_files


def rule(collective: str, p: int = 4, low: int = 724, high: int = 1448) -> Rule:
    return Rule(
        collective=collective,
        p=p,
        bytes=1024,
        p_low=p,
        p_high=p,
        bytes_low=low,
        bytes_high=high,
        algorithm=Algorithm(collective=collective, name="ring"),
    )


def files_with(*rules: Rule, **more: Any) -> TuningFiles:
    return TuningFiles(
        files=[], environment={}, launch_options=[], usage=[], notes=[], rules=list(rules), **more
    )


def reach(folder: Path, tuning: TuningFiles, *calls: dict[str, Any]) -> AffectedCalls:
    """The affected calls of a program with these calls on four ranks, and one on two of them."""
    ranks = factory.files(4)
    for one in ranks:
        for sequence, values in enumerate(calls):
            begin = 1 + 1000 * sequence
            one.call(begin, begin + 500, **({"sequence": sequence, "bytes": 1024} | values))
        if one.rank < 2:
            one.definitions.append(factory.communicator(3, [0, 1], one.rank, parent=1))
            one.call(900_001, 900_501, communicator=3, bytes=1024, function="MPI_Gather", root=0)
    return calls_affected_by_files(tuning, summarise(open_trace(factory.write(folder, ranks))))


@pytest.mark.parametrize(("size", "number"), [(723, 0), (724, 1), (1448, 1), (1449, 0)])
def test_a_rule_affects_only_calls_within_its_sizes(tmp_path: Path, size: int, number: int) -> None:
    affected = reach(tmp_path / "t", files_with(rule("allreduce")), {"bytes": size})
    assert (affected.number, affected.all_calls) == (number, 2)
    assert ("cannot change the run time" in affected.sentence) == (number == 0)


def test_a_rule_affects_its_collective_processes_and_blocking_calls_alone(tmp_path: Path) -> None:
    other = {"function": "MPI_Iallreduce", "flags": form.ISSUE}
    affected = reach(
        tmp_path / "t", files_with(rule("allreduce"), rule("gather")), {}, {"function": "MPI_Bcast"}, other
    )
    assert [(one.description.partition(" of ")[0], one.number) for one in affected.acted] == [
        ("MPI_Allreduce", 1)
    ]


def test_a_rule_without_sizes_affects_calls_of_every_size(tmp_path: Path) -> None:
    tuning = files_with(rule("allreduce", low=0, high=NO_END))
    assert reach(tmp_path / "t", tuning, {"bytes": 8}, {"bytes": 2**20}).number == 2


def test_calls_in_place_whose_size_the_library_cannot_see_are_not_affected(tmp_path: Path) -> None:
    tuning = files_with(rule("alltoall"), rule("allreduce"), not_in_place=["alltoall"])
    flags = {"flags": form.IN_PLACE}
    affected = reach(tmp_path / "t", tuning, {"function": "MPI_Alltoall"} | flags, flags)
    assert [one.description.partition(" of ")[0] for one in affected.acted] == ["MPI_Allreduce"]


@pytest.mark.parametrize(("nodes", "number"), [(1, 0), (2, 1)])
def test_a_hierarchical_algorithm_affects_no_call_of_a_program_on_one_node(
    tmp_path: Path, nodes: int, number: int
) -> None:
    by_nodes = Algorithm(collective="allreduce", name="han_simple", hierarchical=True)
    tuning = files_with(msgspec.structs.replace(rule("allreduce"), algorithm=by_nodes))
    ranks = factory.files(4)
    for one in ranks:
        one.header["host"] = f"node{one.rank % nodes}".encode()
        one.call(1, 501, bytes=1024)
    summary = summarise(open_trace(factory.write(tmp_path / "t", ranks)))
    assert calls_affected_by_files(tuning, summary).number == number


def test_files_for_a_number_of_processes_act_on_smaller_communicators_as_well(tmp_path: Path) -> None:
    own = ProcessEnvironment(p_low=4, p_high=4, environment={})
    assert reach(tmp_path / "t", files_with(rule("gather"), by_processes=[own])).number == 1
    assert reach(tmp_path / "u", files_with(rule("gather"))).number == 0


def test_uneven_blocks_are_compared_by_their_mean(tmp_path: Path) -> None:
    ranks = factory.files(4)
    for one, size in zip(ranks, (0, 0, 0, 4096), strict=True):
        one.call(1, 501, function="MPI_Allgatherv", bytes=size)
    summary = summarise(open_trace(factory.write(tmp_path / "t", ranks)))
    assert calls_affected_by_files(files_with(rule("allgatherv")), summary).number == 1
    assert calls_affected_by_files(files_with(rule("allgatherv", low=4096, high=4096)), summary).number == 0
