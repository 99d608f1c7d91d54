"""The options of ``offbeat async inject``: what is refused, and how delays are described."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from offbeat.base.errors import BadInput, RunFailed
from offbeat.base.units import ordinal
from offbeat.trace.wrapped_functions import wrapped_functions
from offbeat.tuning.trial.delays import DelayPlan, check_plan, parse_delay, parse_every, report_path, variants

PLAN = DelayPlan(
    call="MPI_Allreduce",
    delay_s=5e-4,
    distribution="fixed",
    when="after",
    ranks="random:1",
    every=(4, 20),
    first=1,
    last=0,
    seed=7,
)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"call": "MPI_Allredce"}, "did you mean 'MPI_Allreduce'"),
        ({"call": ""}, "is not a function whose calls can be delayed"),
        ({"call": "MPI_Put"}, "is not a function whose calls can be delayed"),
        ({"ranks": "random:0"}, "a number of ranks from 1 "),
        ({"ranks": "random:5"}, "from 1 to 4, the processes that the command starts"),
        ({"ranks": "0,4"}, "there is no rank 4; the last of 4 is 3"),
        ({"ranks": "99999999999999999-"}, "there is no rank 99999999999999999"),
        ({"ranks": "-1"}, "write all, each-domain, random:2, or a list"),
        ({"ranks": ""}, "write all, each-domain, random:2, or a list"),
        ({"ranks": "each_domain"}, "write all, each-domain, random:2, or a list"),
        ({"first": 0}, "calls are counted from 1"),
        ({"first": 10, "last": 9}, "--last 9 is before --first 10"),
        ({"first": 1, "last": 3}, "no call from 1 to 3 has a multiple of 4"),
        ({"first": -(10**20)}, "calls are counted from 1"),
    ],
)
def test_a_plan_that_cannot_be_right_is_refused_in_a_sentence(changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(BadInput, match=sentence):
        check_plan(structs.replace(PLAN, **changes), 4)


def test_ranks_are_not_refused_where_the_number_of_processes_is_unknown() -> None:
    for ranks in ("all", "each-domain", "random:5", "0-3,8", "16-"):
        check_plan(structs.replace(PLAN, ranks=ranks), None)


def test_the_report_of_a_killed_run_does_not_prove_the_delays_of_the_next_one(tmp_path: Path) -> None:
    _, delayed, _ = variants(PLAN, {})
    output = tmp_path / "output" / "001-every-4.txt"
    report = report_path(output)
    report.parent.mkdir()
    report.write_text('{"functions": {}, "ranks": [[8, 2, 2, 1000000]]}')
    assert delayed.effect(output)["delays"] == 2
    assert delayed.run_variables(output) == {"OFFBEAT_INJECT_REPORT": str(report)}
    with pytest.raises(RunFailed, match="no process wrote the report"):
        delayed.effect(output)


@pytest.mark.parametrize("text", ["0", "-1", "4,0", "4,,5", "", "4,4", "1.5", "x", "9" * 40])
def test_intervals_that_cannot_be_right_are_refused(text: str) -> None:
    with pytest.raises(BadInput, match="--every"):
        parse_every(text)


def test_several_intervals_are_several_variants_beside_none() -> None:
    assert parse_every("4, 20,100") == (4, 20, 100)
    assert [one.name for one in variants(PLAN, {})] == ["none", "every 4", "every 20"]


@pytest.mark.parametrize("text", ["0", "-1 ms", "", "nan", "2 h", "1e-10 s", "soon", "5 MiB"])
def test_times_that_cannot_be_right_are_refused(text: str) -> None:
    with pytest.raises(BadInput, match="--delay"):
        parse_delay(text)


def test_delays_are_described_in_a_phrase() -> None:
    assert PLAN.described(4) == "500 µs after every 4th call of MPI_Allreduce on 1 random rank (seed 7)"
    marks = structs.replace(PLAN, call="MPI_Pcontrol", distribution="exponential", first=5, ranks="0-3")
    assert marks.described(1) == (
        "exponential times with a mean of 500 µs after each call of MPI_Pcontrol with level 2 on the ranks"
        " 0-3, from call 5"
    )
    assert [ordinal(number) for number in (1, 2, 3, 4, 11, 22, 112)] == [
        *("1st", "2nd", "3rd", "4th", "11th", "22nd", "112th")
    ]


def test_functions_of_all_kinds_can_be_named() -> None:
    kinds = {"MPI_Pcontrol", "MPI_Iallreduce", "MPI_Bcast_init", "MPI_Isend", "MPI_Mprobe", "MPI_Waitall"}
    assert kinds | {"MPI_Comm_split", "MPI_Neighbor_alltoallv"} <= set(wrapped_functions())
