"""Cases in which an algorithm crashes or hangs are quarantined, and the study continues."""

from __future__ import annotations

import debug_run
import pytest
from debug_engine import NAMES, DebugEngine, Script
from debug_run import SMALL, Silent

from offbeat.base.errors import RunFailed
from offbeat.measurement.runs.resume import open_store

pytestmark = pytest.mark.slow

PATTERNS = ("no_delay", "ascending", "last_delayed", "first_delayed", "descending")
TEXT = SMALL.replace(
    '["no_delay", "ascending", "last_delayed"]', "[" + ", ".join(f'"{name}"' for name in PATTERNS) + "]"
)


def run(tmp_path, script, text=TEXT):
    engine = DebugEngine(script)
    listener = Silent()
    debug_run.go(debug_run.study(tmp_path, text), tmp_path / "results", engine, listener=listener)
    return engine, listener, debug_run.status_of(tmp_path / "results")


@pytest.mark.parametrize("pattern", PATTERNS)
def test_one_lost_case_is_quarantined_with_its_reason_and_all_others_are_measured(tmp_path, pattern):
    _, listener, statuses = run(
        tmp_path, Script(failures={("slow", pattern): "the launch was killed by signal 11"})
    )
    quarantined = {key: reason for key, (status, reason) in statuses.items() if status == "quarantined"}
    assert quarantined == {
        ("slow", size, pattern): "the launch was killed by signal 11" for size in (8, 1024)
    }
    assert len(statuses) == 2 * 4 * 5
    assert [status for _, status in listener.ended].count("quarantined") == 2


def test_after_two_failures_at_a_size_the_algorithms_other_cases_of_that_size_are_skipped(tmp_path):
    script = Script(failures={("slow", pattern): f"hung in {pattern}" for pattern in PATTERNS[1:]})
    engine, _, statuses = run(tmp_path, script)
    for size in (8, 1024):
        tried = [c.pattern for c in engine.measured if (c.algorithm, c.bytes) == ("slow", size)]
        after_no_delay = [pattern for pattern in tried if pattern != "no_delay"]
        assert len(after_no_delay) == 2
        for pattern in PATTERNS[1:]:
            status, reason = statuses["slow", size, pattern]
            assert status == "quarantined"
            expected = (
                f"hung in {pattern}"
                if pattern in after_no_delay
                else f"not tried again: hung in {after_no_delay[-1]}"
            )
            assert reason == expected
        assert statuses["slow", size, "no_delay"][0] == "measured"
    assert all(
        statuses[name, 8, pattern][0] == "measured" for name in ("fast", "odd") for pattern in PATTERNS
    )


def test_failures_are_counted_separately_for_each_group(tmp_path):
    """Failures of one placement do not exclude another."""
    text = TEXT.replace("p = [3]", "nodes = [2, 4]\nppn = [2, 4]")
    script = Script(failures={("slow", pattern): "crashed" for pattern in PATTERNS[1:]})
    engine, _, _ = run(tmp_path, script, text)
    placements = {(case.p, case.nodes, case.ppn) for case in engine.measured}
    assert len([place for place in placements if place[0] == 8]) == 2
    for place in placements:
        tried = [
            case
            for case in engine.measured
            if (case.p, case.nodes, case.ppn) == place and (case.algorithm, case.bytes) == ("slow", 8)
        ]
        assert len(tried) == 3


def test_too_few_valid_repetitions_make_a_case_incomplete(tmp_path):
    _, _, statuses = run(tmp_path, Script(unpunctual={("slow", "ascending"), ("odd", "no_delay")}))
    assert statuses["slow", 8, "ascending"] == ("incomplete", "too few starts were on time")
    assert statuses["odd", 8, "no_delay"][0] == "incomplete"
    assert statuses["fast", 8, "ascending"] == ("measured", "")
    rows = debug_run.cases(tmp_path / "results").filter(algorithm="slow", pattern="ascending", bytes=8)
    assert rows.select("repetitions", "invalid").row(0) == (1, 2)


def test_an_incomplete_no_delay_case_still_gives_a_runtime(tmp_path):
    own = TEXT + '[skew]\npolicy = "own"\n'
    _, _, statuses = run(tmp_path, Script(unpunctual={("odd", "no_delay")}), own)
    assert statuses["odd", 8, "ascending"] == ("measured", "")


def test_a_case_without_one_valid_repetition_has_no_runtime(tmp_path):
    class Late(DebugEngine):
        def measure(self, algorithm, case, delays_s, rule):
            samples = super().measure(algorithm, case, delays_s, rule)
            samples.valid[:] = case.algorithm != "odd"
            return samples

    text = TEXT + '[skew]\npolicy = "own"\n'
    debug_run.go(debug_run.study(tmp_path, text), tmp_path / "results", Late())
    statuses = debug_run.status_of(tmp_path / "results")
    assert statuses["odd", 8, "no_delay"][0] == "incomplete"
    assert statuses["odd", 8, "ascending"][1].startswith("its skew is unknown")


def test_a_study_in_which_every_case_is_lost_ends_normally(tmp_path):
    names = ("default", *NAMES)
    _, _, statuses = run(tmp_path, Script(failures={(n, p): "crashed" for n in names for p in PATTERNS}))
    assert {status for status, _ in statuses.values()} == {"quarantined"}
    assert len(statuses) == 2 * 4 * 5


def test_repetitions_before_a_loss_are_stored(tmp_path):
    class Dies(DebugEngine):
        def measure(self, algorithm, case, delays_s, rule):
            samples = super().measure(algorithm, case, delays_s, rule)
            samples.failure = "crashed at last" if case.algorithm == "odd" else ""
            return samples

    debug_run.go(debug_run.study(tmp_path), tmp_path / "results", Dies())
    row = debug_run.cases(tmp_path / "results").filter(algorithm="odd", pattern="no_delay", bytes=8)
    assert row.select("status", "reason", "repetitions").row(0) == ("quarantined", "crashed at last", 3)


def test_a_failure_of_the_machine_ends_the_run_and_quarantines_nothing(tmp_path):
    class Unplugged(DebugEngine):
        def measure(self, algorithm, case, delays_s, rule):
            if len(self.measured) == 5:
                raise RunFailed("there are no processes to be had")
            return super().measure(algorithm, case, delays_s, rule)

    loaded = debug_run.study(tmp_path)
    with pytest.raises(RunFailed, match="no processes"):
        debug_run.go(loaded, tmp_path / "results", Unplugged())
    assert len(debug_run.cases(tmp_path / "results")) == 5
    debug_run.go(loaded, tmp_path / "results")
    assert {status for status, _ in debug_run.status_of(tmp_path / "results").values()} == {"measured"}


def test_quarantined_cases_can_be_tried_again(tmp_path):
    run(tmp_path, Script(failures={("slow", "no_delay"): "the node failed", ("odd", "ascending"): "hung"}))
    measured = debug_run.status_of(tmp_path / "results")
    loaded = debug_run.study(tmp_path, TEXT)
    with open_store(loaded, tmp_path / "results") as store:
        again = store.retry_quarantined()
    assert again == sum(status == "quarantined" for status, _ in measured.values()) > 0
    engine = DebugEngine()
    outcome = debug_run.go(loaded, tmp_path / "results", engine)
    assert outcome.measured_now == again == len(engine.measured)
    statuses = debug_run.status_of(tmp_path / "results")
    assert {status for status, _ in statuses.values()} == {"measured"}
    assert len(debug_run.cases(tmp_path / "results")) == outcome.total


def test_blocks_from_before_the_failure_are_kept(tmp_path):
    text = TEXT.replace("blocks = 1", "blocks = 3").replace("minimum = 3", "minimum = 9")
    text = text.replace("maximum = 3", "maximum = 9")
    script = Script()
    engine = DebugEngine(script)
    loaded = debug_run.study(tmp_path, text)

    def fail_later(event):
        if len(engine.rounds) == 2:
            script.failures[("slow", "ascending")] = "the node failed"

    engine._before = fail_later
    debug_run.go(loaded, tmp_path / "results", engine)
    with open_store(loaded, tmp_path / "results") as store:
        count = store.retry_quarantined()
    rows = debug_run.cases(tmp_path / "results").iter_rows(named=True)
    again = [row for row in rows if row["status"] == "unfinished"]
    assert [row["blocks"] for row in again] == [1] * count
    debug_run.go(loaded, tmp_path / "results")
    rows = debug_run.cases(tmp_path / "results").iter_rows(named=True)
    assert {(row["status"], row["blocks"]) for row in rows} == {("measured", 3)}


def test_an_algorithm_whose_proof_crashed_is_proved_again(tmp_path):
    _, _, before = run(tmp_path, Script(verdicts={"slow": "quarantined"}))
    assert {one for key, one in before.items() if key[0] == "slow"} == {("quarantined", "not tried again: ")}
    loaded = debug_run.study(tmp_path, TEXT)
    with open_store(loaded, tmp_path / "results") as store:
        assert store.retry_quarantined() > 0
        assert store.retry_quarantined() == 0
    debug_run.go(loaded, tmp_path / "results")
    after = debug_run.status_of(tmp_path / "results")
    assert {status for status, _ in after.values()} == {"measured"}
    assert after.keys() == before.keys()
