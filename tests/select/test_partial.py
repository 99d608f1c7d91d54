"""Unfinished studies: progress is printed with choices; partial configurations have no confidence."""

from __future__ import annotations

import msgspec
import pytest
from measured import case, matrix, results, scattered

from offbeat.base.errors import RunFailed
from offbeat.measurement.results.plan import Plan, PlannedCases
from offbeat.selection.choices.choose import Selection, select
from offbeat.selection.choices.document import selection_document
from offbeat.selection.choices.restrictions import study_progress
from offbeat.selection.tuning_files.exportable import exportable_choices, with_progress_note
from offbeat.selection.tuning_files.tuning_plan import plan

FAST_A = {"no_delay": {"a": 1e-5, "b": 2e-5}, "ascending": {"a": 1e-5, "b": 2e-5}}


def planned(size: int) -> PlannedCases:
    return PlannedCases(
        collective="reduce",
        bytes=size,
        p=4,
        nodes=0,
        ppn=0,
        op="sum",
        datatype="double",
        root=0,
        algorithms=["a", "b"],
        patterns=["no_delay", "ascending"],
    )


def selection(missing: int = 1, quarantined: bool = False) -> Selection:
    """Of three sizes, 8 B is complete, 64 B lacks the last cases, and 512 B is not started."""
    rows = matrix(FAST_A, bytes=8)
    second = matrix(FAST_A, bytes=64)
    rows += second[: len(second) - missing]
    if quarantined:
        rows.append(
            case("b", "ascending", None, bytes=64, status="quarantined", reason="it hung", repetitions=0)
        )
    study_results = results(rows, scattered([row for row in rows if row["last_delay_s"]], 0.01))
    study_results.plan = Plan(total=12, cases=[planned(8), planned(64), planned(512)])
    return select(study_results)


def test_the_progress_comes_first_and_only_complete_configurations_have_a_confidence() -> None:
    chosen = selection()
    assert chosen.notes[0].startswith(
        "7 of 12 cases are done, the study is not finished: 1 configuration is partial and 1 configuration"
        " is not started."
    )
    complete, part = chosen.choices
    assert (complete.not_measured, complete.certainty.same_choice) == (0, 1.0)
    assert (part.not_measured, part.certainty) == (1, None)
    assert part.warnings[0].startswith("partial: 1 case is not completely measured yet (b under ascending)")
    assert msgspec.to_builtins(selection_document(chosen))["notes"][0] == chosen.notes[0]


def test_a_quarantined_case_does_not_remain_to_be_measured() -> None:
    chosen = selection(missing=1, quarantined=True)
    part = chosen.choices[1]
    assert part.not_measured == 0
    assert any("it hung" in sentence for sentence in part.warnings)
    assert "(1 of them quarantined)" in chosen.notes[0]


def test_the_only_remaining_candidate_has_no_confidence() -> None:
    chosen = selection(missing=1, quarantined=True)
    assert list(chosen.choices[1].scores) == ["a"]
    assert chosen.choices[1].certainty is None


def test_a_finished_study_and_an_import_are_not_unfinished() -> None:
    rows = matrix(FAST_A, bytes=8)
    study_results = results(rows, scattered(rows, 0.01))
    for known in (None, Plan(total=4), Plan(total=4, cases=[planned(8)])):
        study_results.plan = known
        assert study_progress(study_results) is None
        assert select(study_results).choices[0].certainty.same_choice == 1.0


def test_only_complete_configurations_are_exported_and_their_rules_do_not_spread_over_the_others() -> None:
    chosen = selection()
    algorithms = [
        msgspec.structs.replace(one, settings={"coll_tuned_reduce_algorithm": "1"})
        for one in results(matrix(FAST_A)).algorithms
    ]
    tuning_plan = with_progress_note(
        plan(exportable_choices(chosen, partial=False), algorithms), chosen, partial=False
    )
    assert [(rule.bytes_low, rule.bytes_high) for rule in tuning_plan.rules["reduce"]] == [(6, 22)]
    assert "7 of 12 cases are done" in tuning_plan.notes[0]
    assert "1 partial configuration is left to the library (reduce of 64 B on p=4)" in tuning_plan.notes[0]
    every = with_progress_note(
        plan(exportable_choices(chosen, partial=True), algorithms), chosen, partial=True
    )
    assert [rule.bytes for rule in every.rules["reduce"]] == [8, 64]
    assert every.partial.startswith("PARTIAL EVIDENCE, exported with --partial: 7 of 12 cases")
    assert every.notes[0] == every.partial


def test_where_no_configuration_is_complete_nothing_is_exported() -> None:
    rows = matrix(FAST_A, bytes=64)[:-1]
    study_results = results(rows, scattered(rows, 0.01))
    study_results.plan = Plan(total=4, cases=[planned(64)])
    with pytest.raises(RunFailed, match=r"no configuration is complete: 3 of 4 cases are done.*--partial"):
        exportable_choices(select(study_results), partial=False)
