"""The requests of the engine mpi when it measures, the launch that gets them, and the results."""

from __future__ import annotations

import functools

import fake_launches
import numpy as np
import pytest
import scripted_library
from fake_launches import SOUND
from scripted_library import VARIABLES, case, number_of

from offbeat.base.errors import RunFailed
from offbeat.model.study.schema import MpiSection, RepetitionsSection, StartSection

RULE = RepetitionsSection(blocks=1, minimum=3, maximum=3)


@pytest.fixture
def make(tmp_path):
    """Makes an engine of a family over a function that answers for the library."""
    return functools.partial(scripted_library.engine, tmp_path)


def measure(engine, name="chain", delays_s=(0.0, 1e-6, 2e-6, 3e-6), rule=RULE):
    return engine.measure(engine.find_algorithm("reduce", name), case(), np.array(delays_s), rule)


def test_measuring_forces_the_algorithm_and_sends_the_delays_in_nanoseconds(make):
    engine = make("openmpi", lambda *_: SOUND)
    samples = measure(engine)
    assert samples.failure == ""
    assert samples.arrivals_s[0] == pytest.approx([0, 1e-6, 2e-6, 3e-6])
    assert samples.exits_s[0] == pytest.approx([4e-6] * 4)
    force, asked = engine.launches.asked
    assert force[2] == "force"
    assert asked[1] == ("coll_tuned_reduce_algorithm=2",)
    assert asked[3]["delays"] == [0, 1000, 2000, 3000]
    assert asked[3]["duration_ns"] == 2_000_000_000


def test_a_running_launch_and_its_forced_settings_are_reused(make):
    engine = make("openmpi", lambda *_: SOUND)
    for name in ("chain", "chain", "linear", "default", "default"):
        assert measure(engine, name).failure == ""
    assert len(engine.launches.started) == 1
    assert [verb for _, _, verb, _ in engine.launches.asked].count("force") == 3


@pytest.mark.parametrize(("family", "launches"), [("openmpi", 1), ("mpich", 1), ("intelmpi", 3)])
def test_libraries_that_cannot_switch_get_a_launch_for_each_algorithm(make, family, launches):
    engine = make(family, lambda *_: SOUND)
    names = [one.name for one in engine.algorithms("reduce")][1:]
    assert {len({repr(engine.group_key(engine.find_algorithm("reduce", n), case())) for n in names})} == {
        launches
    }


@pytest.mark.parametrize("family", VARIABLES)
def test_with_isolate_every_algorithm_has_its_own_launch(make, family):
    engine = make(family, lambda *_: SOUND, section=MpiSection(isolate=True))
    algorithms = engine.algorithms("reduce")
    keys = {repr(engine.group_key(one, case())) for one in algorithms}
    assert len(keys) == len(algorithms)


def test_a_launch_that_dies_while_measuring_loses_only_the_case(make):
    def answer(where, forced, verb, values):
        return fake_launches.driver_lost() if verb == "measure" and number_of(forced) == "2" else SOUND

    engine = make("openmpi", answer)
    assert measure(engine, "chain").failure == "the launch was killed by signal 11"
    assert measure(engine, "linear").failure == ""


def test_a_call_that_fails_while_measuring_loses_the_case(make):
    def answer(where, forced, verb, values):
        return fake_launches.refused() if verb == "measure" else SOUND

    assert measure(make("openmpi", answer)).failure == "the library refused the value"


def test_missing_samples_end_the_run_with_a_remedy(make):
    engine = make("openmpi", lambda where, forced, verb, values: SOUND | {"tried": 3})
    with pytest.raises(RunFailed, match=r"wrote 408 bytes of samples, but .* has 0 here: .*share.*--output"):
        measure(engine)


def test_incomplete_samples_end_the_run(make):
    engine = make("openmpi", lambda *_: SOUND)
    measure(engine)
    engine.launches.answer = lambda where, forced, verb, values: SOUND | {"tried": 4}
    with pytest.raises(RunFailed, match=r"wrote 544 bytes of samples, but .* has 408 here"):
        measure(engine)


def test_samples_that_rank_0_cannot_write_end_the_run(make):
    def answer(where, forced, verb, values):
        if verb == "measure":
            raise fake_launches.CommandRefused("the sample file could not be written")
        return SOUND

    with pytest.raises(RunFailed, match="rank 0 could not write its samples to"):
        measure(make("openmpi", answer))


def test_a_library_that_cannot_list_its_algorithms_fails_with_a_sentence(make):
    engine = make("openmpi", lambda *_: SOUND)
    engine.launches.variables = fake_launches.driver_lost
    with pytest.raises(RunFailed, match=r"openmpi-9 could not list its .*signal 11.*offbeat doctor"):
        engine.algorithms("reduce")


@pytest.mark.parametrize(
    ("p", "delays_s", "tolerance", "expected_s"),
    [
        (1, [0.0], "auto", 2e-6),
        (1, [1e-3], "auto", 50e-6),
        (4096, [0.0], "auto", 200e-6),
        (4096, [1.0], "auto", 0.05),
        (4096, [1.0], 7e-6, 7e-6),
    ],
)
def test_the_tolerance_depends_on_cores_and_skew_unless_the_study_sets_it(
    make, p, delays_s, tolerance, expected_s
):
    engine = make("openmpi", lambda *_: SOUND, start=StartSection(tolerance=tolerance))
    where = engine._spec(engine.algorithms("reduce")[1], case(p=p))
    assert engine.tolerance_s(where, np.array(delays_s)) == pytest.approx(expected_s)


@pytest.mark.parametrize(
    ("answer", "diagnosis"),
    [
        (lambda *_: {"ok": True, "p": 4, "clock_source": "tsc"}, {"clock_source": "tsc"}),
        (fake_launches.driver_lost, {"failure": "the launch was killed by signal 11"}),
        (fake_launches.refused, {"failure": "the library refused the value"}),
    ],
)
def test_inspection_reports_how_processes_run_or_why_they_do_not(make, answer, diagnosis):
    facts = make("openmpi", answer).inspect(case())
    assert facts.items() >= ({"p": 4, "nodes": 0, "ppn": 0} | diagnosis).items()
    assert "mpirun" in str(facts["command"])


def test_closing_ends_the_launch_and_removes_the_scratch_folder(make):
    engine = make("openmpi", lambda *_: SOUND)
    measure(engine)
    assert engine.launches.samples.exists()
    engine.close()
    assert engine.launches.closed == 1
    assert not engine.launches.samples.parent.exists()
    engine.close()


CALLS_S = np.array([[0.0, 1e-6, 2e-6, 3e-6], [4e-6, 0.0, 0.0, 0.0], [0.0, 0.0, 1e-3, 0.0]])


ONCE = RepetitionsSection(minimum=1, maximum=1)


def replay(engine, rule=ONCE, delays_s=CALLS_S):
    one = case(skew_policy="replay", pattern="site", shape="site")
    return engine.measure(engine.find_algorithm("reduce", "chain"), one, delays_s, rule)


def test_a_replay_goes_to_rank_0_as_a_file_of_nanoseconds_beside_the_samples(make):
    engine = make("openmpi", lambda *_: SOUND)
    samples = replay(engine)
    asked = engine.launches.asked[-1][3]
    assert "delays" not in asked
    written = engine.launches.samples.with_name(asked["sequence"]).read_text()
    assert written == "0 1000 2000 3000\n4000 0 0 0\n0 0 1000000 0\n"
    assert samples.arrivals_s == pytest.approx(CALLS_S)
    assert samples.calls.tolist() == [0, 1, 2]


def test_a_replay_continues_with_the_call_after_the_last_valid_one(make):
    engine = make("openmpi", lambda *_: SOUND)

    def cut_short(where, forced, verb, values):
        values["repetitions"] = 2
        return engine.launches.get(where)._measure(values) if verb == "measure" else SOUND

    engine.launches.answer = cut_short
    samples = replay(engine, RepetitionsSection(blocks=1, minimum=6, maximum=2))
    begun = [values["call"] for _, _, verb, values in engine.launches.asked if verb == "measure"]
    assert begun == [0, 2, 1]
    assert samples.arrivals_s == pytest.approx(np.tile(CALLS_S, (2, 1)))
    assert samples.calls.tolist() == [0, 1, 2, 0, 1, 2]


def test_each_replay_is_written_once_under_its_own_name(make):
    engine = make("openmpi", lambda *_: SOUND)
    for delays_s in (CALLS_S, CALLS_S, CALLS_S[::-1]):
        assert replay(engine, delays_s=delays_s).failure == ""
    assert len(list(engine.launches.samples.parent.glob("calls-*.ns"))) == 2


def test_a_replay_s_starts_may_be_late_by_a_share_of_its_mean_skew(make):
    engine = make("openmpi", lambda *_: SOUND)
    where = engine._spec(engine.algorithms("reduce")[1], case(p=1))
    assert engine.tolerance_s(where, np.array([[0.0], [3e-3], [3e-3]])) == pytest.approx(100e-6)


def test_a_replay_that_rank_0_cannot_read_or_reads_in_part_ends_the_run(make):
    def unread(where, forced, verb, values):
        if verb == "measure":
            raise fake_launches.CommandRefused("the sequence file could not be read")
        return SOUND

    with pytest.raises(RunFailed, match="rank 0 could not read a replay's calls in"):
        replay(make("openmpi", unread))
    engine = make("openmpi", lambda *_: SOUND)

    def partial(where, forced, verb, values):
        answer = engine.launches.get(where)._measure(values) if verb == "measure" else SOUND
        return answer | {"calls": 2} if verb == "measure" else answer

    engine.launches.answer = partial
    with pytest.raises(RunFailed, match="rank 0 read 2 calls of a replay that has 3"):
        replay(engine)
