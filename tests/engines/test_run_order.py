"""The order in which a study is measured, and the events that a listener gets."""

from __future__ import annotations

import debug_run
import msgspec
import pytest
from debug_engine import NAMES, DebugEngine, Script
from debug_run import LARGE, SMALL, Silent

from offbeat.base.errors import BadInput, RunFailed
from offbeat.measurement.results.read import read_study
from offbeat.measurement.results.status import read_status
from offbeat.measurement.runs import run
from offbeat.model.study.algorithm import Verdict
from offbeat.model.study.case_expansion import group_of

pytestmark = pytest.mark.slow


def measured(tmp_path, text=LARGE, script=None, name="results"):
    """The cases of a finished study, in the order in which they were measured."""
    engine = DebugEngine(script)
    debug_run.go(debug_run.study(tmp_path, text), tmp_path / name, engine)
    return engine.measured


def test_everything_is_proved_before_anything_is_measured(tmp_path):
    engine = DebugEngine()
    debug_run.go(debug_run.study(tmp_path, LARGE), tmp_path / "results", engine)
    kinds = [event[0] for event in engine.events]
    assert kinds == sorted(kinds, reverse=True)
    proofs = [event[1:] for event in engine.events if event[0] == "prove"]
    assert proofs == [(p, name, 2 * 4) for p in (2, 3) for name in ("bcast", "reduce")]


def test_every_case_is_measured_once(tmp_path):
    cases = measured(tmp_path)
    assert len(cases) == len({case.id for case in cases}) == 2 * 2 * 2 * 4 * 3
    assert {case.algorithm for case in cases} == {"default", *NAMES}


def test_no_delay_comes_first_in_each_group(tmp_path):
    observed: dict[str, list[bool]] = {}
    for case in measured(tmp_path):
        observed.setdefault(repr(group_of(case)), []).append(case.skew_policy != "none")
    assert len(observed) == 8
    assert all(late == sorted(late) for late in observed.values())


def test_groups_with_fewer_processes_come_first(tmp_path):
    counts = [case.p for case in measured(tmp_path)]
    assert counts == sorted(counts)


def test_the_order_depends_on_the_seed_alone(tmp_path):
    first = [case.id for case in measured(tmp_path, name="one")]
    again = [case.id for case in measured(tmp_path, name="two")]
    other_script = Script(runtimes_s={"fast": 0.5}, failures={("slow", "ascending"): "crashed"})
    differently = [case.id for case in measured(tmp_path, script=other_script, name="three")]
    assert first == again == differently
    other_seed = [case.id for case in measured(tmp_path, LARGE.replace("seed = 3", "seed = 4"), name="four")]
    assert other_seed != first
    assert sorted(other_seed) == sorted(first)


def test_an_algorithm_with_its_own_launch_is_launched_twice_at_each_p(tmp_path):
    launches = {"slow": "own", "odd": "another"}
    cases = measured(tmp_path, script=Script(launches=launches))
    for p in (2, 3):
        keys = [launches.get(case.algorithm, "") for case in cases if case.p == p]
        visits = [key for place, key in enumerate(keys) if place == 0 or keys[place - 1] != key]
        assert all(visits.count(key) <= 2 for key in ("", "own", "another"))
        late = [case.skew_policy != "none" for case in cases if case.p == p]
        assert late == sorted(late)


@pytest.mark.parametrize(
    ("status", "is_measured"),
    [
        ("proved", True),
        ("unproved", True),
        ("duplicate", False),
        ("fell_back", False),
        ("wrong", False),
        ("refused", False),
        ("quarantined", False),
    ],
)
def test_only_proved_and_unproved_algorithms_are_measured(tmp_path, status, is_measured):
    cases = measured(tmp_path, SMALL, Script(verdicts={"odd": status}))
    assert ("odd" in {case.algorithm for case in cases}) == is_measured
    proofs = dict(debug_run.cases(tmp_path / "results").select("algorithm", "proof").iter_rows())
    assert proofs.get("odd") == (status if is_measured or status == "quarantined" else None)


def test_an_algorithm_that_is_wrong_for_one_of_two_operations_is_measured_with_neither(tmp_path):
    class Picky(DebugEngine):
        def _prove(self, requests):
            proved = super()._prove(requests)
            for place, (algorithm, case) in enumerate(requests):
                if algorithm.name == "odd" and case.op == "sum":
                    proved.verdicts[place] = msgspec.structs.replace(proved.verdicts[place], status="wrong")
            return proved

    second = '[[collective]]\nnames = ["reduce"]\nsizes = [8, 1024]\nop = "max"\n'
    engine = Picky()
    debug_run.go(debug_run.study(tmp_path, SMALL + second), tmp_path / "results", engine)
    assert {case.op for case in engine.measured} == {"sum", "max"}
    assert {case.algorithm for case in engine.measured} == {"default", "fast", "slow"}
    statuses = {(one.algorithm, one.bytes): one.status for one in read_study(tmp_path / "results").verdicts}
    assert statuses["odd", 8] == statuses["odd", 1024] == "wrong"


@pytest.mark.parametrize("order", [("proved", "unproved", "wrong"), ("wrong", "unproved", "proved")])
def test_the_worst_of_several_verdicts_counts(order):
    verdicts = [
        Verdict(
            collective="reduce", algorithm="a", p=2, bytes=8, status=one, commutative_only=one == "proved"
        )
        for one in order
    ]
    (worst,) = run.worst_verdicts(verdicts)
    assert (worst.status, worst.commutative_only) == ("wrong", True)
    assert run.worst_verdicts(verdicts[:2])[0].status == max(
        order[:2], key=["proved", "unproved", "wrong"].index
    )
    assert run.worst_verdicts([]) == []


def test_only_named_algorithms_and_the_default_are_proved_and_measured(tmp_path):
    text = SMALL.replace("sizes = [8, 1024]", 'sizes = [8, 1024]\nalgorithms = ["slow"]')
    assert {case.algorithm for case in measured(tmp_path, text)} == {"default", "slow"}
    verdicts = read_study(tmp_path / "results").verdicts
    assert {verdict.algorithm for verdict in verdicts} == {"default", "slow"}


def test_an_unknown_algorithm_is_refused_with_its_line_before_anything_is_launched(tmp_path):
    text = SMALL.replace("sizes = [8, 1024]", 'sizes = [8, 1024]\nalgorithms = ["slwo"]')
    engine = DebugEngine()
    with pytest.raises(BadInput, match=r"study\.toml:7: .*'slwo' for reduce.*slow"):
        debug_run.go(debug_run.study(tmp_path, text), tmp_path / "results", engine)
    assert (engine.events, engine.inspected) == ([], [])


def test_if_nothing_can_be_measured_the_run_fails_with_a_sentence(tmp_path):
    script = Script(verdicts=dict.fromkeys(("default", *NAMES), "quarantined"))
    with pytest.raises(RunFailed, match="no algorithm could be measured"):
        debug_run.go(debug_run.study(tmp_path), tmp_path / "results", DebugEngine(script))


def test_names_given_by_proof_are_the_names_of_the_cases(tmp_path):
    names = {"fast": "binomial_1", "slow": "ring_2"}
    cases = measured(tmp_path, SMALL, Script(named=names))
    assert {case.algorithm for case in cases} == {"default", "binomial_1", "ring_2", "odd"}
    noted = {one.name: one.settings for one in read_study(tmp_path / "results").algorithms}
    assert noted["binomial_1"] == {"algorithm": "fast"}


def test_a_study_that_names_an_algorithm_which_proof_renames_measures_it(tmp_path):
    text = SMALL.replace("sizes = [8, 1024]", 'sizes = [8, 1024]\nalgorithms = ["fast"]')
    script = Script(named={"fast": "binomial_1"})
    assert {case.algorithm for case in measured(tmp_path, text, script)} == {"default", "binomial_1"}
    again = DebugEngine(script)
    debug_run.go(debug_run.study(tmp_path, text), tmp_path / "results", again)
    assert again.events == []


def test_a_listener_gets_every_case_and_each_warning_once(tmp_path):
    listener = Silent()
    debug_run.go(debug_run.study(tmp_path), tmp_path / "results", listener=listener)
    assert listener.begun == [(0, 24)]
    assert [status for _, status in listener.ended] == ["measured"] * 24
    assert listener.warned == ["the debug engine measures nothing"]
    provenance = read_study(tmp_path / "results").provenance
    assert provenance["warnings"] == listener.warned
    assert provenance["launches"] == [{"p": 3, "nodes": 0, "ppn": 0, "command": "debug"}]
    assert read_status(tmp_path / "results").total == 24


def test_the_facts_of_a_case_describe_what_was_measured(tmp_path):
    pattern = tmp_path / "trace.txt"
    tmp_path.mkdir(exist_ok=True)
    pattern.write_text("0\n2e-6\n1e-6\n")
    text = SMALL.replace('"last_delayed"]', '"last_delayed"]\nfiles = ["trace.txt"]')
    debug_run.go(debug_run.study(tmp_path, text), tmp_path / "results")
    rows = debug_run.cases(tmp_path / "results")
    assert set(rows["engine"]) == {"mpi"}
    assert set(rows["library"]) == {"debug"}
    assert set(rows["status"]) == {"measured"}
    assert set(rows["proof"]) == {"proved"}
    assert set(rows["repetitions"]) == {3}
    kinds = dict(rows.select("pattern", "pattern_kind").unique().iter_rows())
    assert kinds == {
        "no_delay": "shape",
        "ascending": "shape",
        "last_delayed": "shape",
        "trace": "scenario",
    }
    evidence = dict(rows.select("algorithm", "evidence").unique().iter_rows())
    assert evidence["fast"] == "functions:fast"
