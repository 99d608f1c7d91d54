"""Exported files break no legal call, unless the user requests it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from plan_factory import algorithms, choice

from offbeat.model.study.algorithm import DEFAULT, Algorithm, Verdict, WrongCall
from offbeat.selection.choices.choose import Choice
from offbeat.selection.tuning_files.export import faults_of_default
from offbeat.selection.tuning_files.tuning_plan import TuningPlan, plan


def wrong(kind: str = "in-place", p: int = 4, algorithm: str = "way1", at: int = 4) -> Verdict:
    """A verdict on an algorithm of reduce with ``at`` processes: wrong for a call on ``p`` of them."""
    call = WrongCall(kind=kind, p=p, call=f"MPI_Reduce on {p} processes", result="3 elements are wrong")
    return Verdict(
        collective="reduce",
        algorithm=algorithm,
        p=at,
        bytes=8,
        status="proved",
        wrong_calls=[call],
        legal_calls=1,
    )


def chosen(p: int = 4, **scores: float) -> Choice:
    """way1 was chosen for reduce of 8 B."""
    return choice("reduce", p, 8, "way1", scores=scores or {"way1": 1.0, "way2": 1.2, "way3": 1.1})


def planned(
    choices: Sequence[Choice], *verdicts: Verdict, family: str = "openmpi", **more: Any
) -> TuningPlan:
    known: list[Algorithm] = more.pop("known", algorithms(family, "reduce"))
    return plan(choices, known, verdicts=verdicts, library={"family": family}, **more)


def rules(tuning_plan: TuningPlan) -> list[str]:
    return [rule.algorithm.name for own in tuning_plan.rules.values() for rule in own]


def test_the_best_algorithm_that_is_right_for_every_call_replaces_a_wrong_one() -> None:
    tuning_plan = planned([chosen()], wrong())
    assert rules(tuning_plan) == ["way3"] and not tuning_plan.wrong_result_warnings
    (note,) = tuning_plan.notes
    assert note == (
        "reduce by way1 is not exported: it is wrong for MPI_IN_PLACE (MPI_Reduce on 4 processes: 3 elements"
        " are wrong). Instead: way3 for reduce of 8 B on p=4, +10.0%. --allow-wrong-results in-place"
        " exports it anyway."
    )


def test_the_next_best_is_wrong_for_another_call_and_left_out_too() -> None:
    tuning_plan = planned([chosen()], wrong(), wrong("roots", algorithm="way3"))
    assert rules(tuning_plan) == ["way2"]


def test_without_any_right_algorithm_and_where_it_is_better_the_library_decides() -> None:
    assert rules(planned([chosen(way1=1.0)], wrong())) == []
    better = msgspec.structs.replace(chosen(), reference_scores={DEFAULT: 1.05})
    assert rules(planned([better], wrong())) == []


def test_a_requested_wrong_algorithm_is_exported_with_a_warning() -> None:
    tuning_plan = planned([chosen()], wrong(), allowed_kinds=["in-place"])
    assert rules(tuning_plan) == ["way1"] and not tuning_plan.notes
    (warning,) = tuning_plan.wrong_result_warnings
    assert warning.startswith(
        "WRONG RESULTS: reduce by way1 is wrong for MPI_IN_PLACE; for instance MPI_Reduce"
    )
    assert "because of --allow-wrong-results in-place" in warning


def test_allowing_one_kind_of_wrong_call_does_not_allow_another() -> None:
    assert rules(planned([chosen()], wrong(), allowed_kinds=["roots"])) == ["way3"]
    both = (wrong(), wrong("roots"))
    assert rules(planned([chosen()], *both, allowed_kinds=["roots"])) == ["way3"]
    assert rules(planned([chosen()], *both, allowed_kinds=["roots", "in-place"])) == ["way1"]


def test_results_of_an_earlier_version_have_the_verdict_on_noncommutative_operations() -> None:
    before = Verdict(
        collective="reduce", algorithm="way1", p=4, bytes=8, status="proved", commutative_only=True
    )
    assert rules(planned([chosen()], before)) == ["way3"]
    assert rules(planned([chosen()], before, allowed_kinds=["noncommutative"])) == ["way1"]


@pytest.mark.parametrize(
    ("p", "names"),
    [(1, ["way1", "way1"]), (2, ["way3", "way1"]), (5, ["way3", "way1"]), (6, ["way1", "way3"])],
)
def test_calls_count_on_the_processes_for_which_the_rule_holds(p: int, names: list[str]) -> None:
    """With p = 2 and 16 measured, the rule of 2 holds for communicators of 2 to 5, that of 16 for 6 to 16."""
    both = [chosen(p=2), chosen(p=16)]
    assert rules(planned(both, wrong("communicators", p=p, at=16))) == names


def test_intel_mpi_s_variables_act_on_smaller_communicators_too() -> None:
    assert rules(planned([chosen()], wrong("communicators", p=3))) == ["way1"]
    assert rules(planned([chosen()], wrong("communicators", p=3), family="intelmpi")) == ["way3"]


def test_mpich_s_files_ask_whether_the_operation_commutes() -> None:
    assert rules(planned([chosen()], wrong("noncommutative"), family="mpich")) == ["way1"]
    assert rules(planned([chosen()], wrong("in-place"), family="mpich")) == ["way3"]


def test_an_algorithm_that_is_kept_to_the_measured_processes_is_judged_on_those_alone() -> None:
    two = Algorithm(collective="reduce", name="two_proc", settings={"coll_tuned_reduce_algorithm": "9"})
    choices = [
        choice("reduce", 2, 8, "two_proc", scores={"two_proc": 1.0}),
        choice("reduce", 16, 8, "way1", scores={"way1": 1.0}),
    ]
    bad = wrong("communicators", p=3, algorithm="two_proc", at=16)
    known = [*algorithms("openmpi", "reduce"), two]
    assert rules(planned(choices, bad, known=known)) == ["two_proc", "way1"]


def test_faults_of_the_library_itself_are_named_and_leave_out_no_choice() -> None:
    faulty = wrong("pair-types", algorithm=DEFAULT)
    (note,) = faults_of_default([faulty, faulty, wrong("roots")])
    assert "wrong in reduce for datatypes of pairs" in note and "other roots" not in note
    assert "3 elements are wrong" in note
    assert rules(planned([chosen()], faulty)) == ["way1"]
