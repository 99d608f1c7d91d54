"""The engine mpi over a library that is scripted: what is asked in which launch, and what follows."""

from __future__ import annotations

import fake_launches
import numpy as np
import pytest
from fake_launches import SOUND, FakeLaunches

from offbeat.engines.mpi import MpiEngine
from offbeat.errors import RunFailed
from offbeat.mpi.driver import HUNG, DriverLost
from offbeat.mpi.installation import Installation
from offbeat.study.case import Case
from offbeat.study.schema import MpiSection, RepetitionsSection, StartSection

MPICH_REDUCE = "MPIR_CVAR_REDUCE_INTRA_ALGORITHM"
RULE = RepetitionsSection(minimum=3, maximum=3)


def variable(name, description="", items=()):
    return {
        "name": name,
        "type": "int",
        "settable": True,
        "value": "0",
        "items": [list(item) for item in items],
        "description": description,
    }


VARIABLES = {
    "openmpi": [
        variable("coll_tuned_reduce_algorithm", items=[(0, "ignore"), (1, "linear"), (2, "chain")]),
        variable("coll_tuned_reduce_algorithm_segmentsize"),
    ],
    "mpich": [variable(MPICH_REDUCE, "Whichauto - auto\nbinomial - tree\nsmp - nodes\nring - ring")],
    "intelmpi": [variable("MPIR_CVAR_USE_REDUCE", "range: 0-3 @Alias:# I_MPI_ADJUST_REDUCE")],
}


@pytest.fixture
def make(tmp_path):
    """Makes an engine of a family over a function that answers for the library."""

    def engine(family, answer, section=None, start=None):
        library = tmp_path / "libmpi.so"
        library.write_bytes(b"\x7fELF")
        installation = Installation(
            name=f"{family}-9",
            family=family,
            version=(9, 0),
            version_text=family,
            prefix=tmp_path,
            source="PATH",
            library=library,
            include=tmp_path,
            mpicc=None,
            mpirun=tmp_path / "mpirun",
            identity=family,
        )
        section = section or MpiSection()
        launches = FakeLaunches(installation, VARIABLES[family], answer, tmp_path, section)
        return MpiEngine(installation, launches, section, start or StartSection(), 5.0)

    return engine


def case(p=4, size=8, **other):
    values = {
        "collective": "reduce",
        "algorithm": "x",
        "pattern": "x",
        "shape": "x",
        "skew_policy": "none",
        "skew_factor": 0.0,
        "nodes": 0,
        "ppn": 0,
        "op": "sum",
        "datatype": "double",
    }
    return Case(**(values | {"p": p, "bytes": size} | other))


def observed(functions="", messages=None):
    rows = [None, *([] if messages is None else messages)]
    return {"ok": True, "functions": functions, "sees_messages": messages is not None, "messages": rows}


def preset_of(where):
    return dict(where.environment).get("I_MPI_ADJUST_REDUCE", "0")


def number_of(forced):
    return forced[0].split("=")[1] if forced else "0"


def is_proof(where):
    return "MPIR_CVAR_NOLOCAL" in dict(where.environment)


def prove(engine, *cases_):
    """All verdicts on all algorithms at some cases: (algorithm, p, size) → verdict."""
    requests = [(algorithm, one) for one in cases_ for algorithm in engine.algorithms(one.collective)]
    found = {}
    for proved in engine.prove(requests):
        found |= {(v.algorithm, v.p, v.bytes): v for v in proved.verdicts}
    return found


def intel(functions):
    """An Intel MPI whose presets run these functions: (preset, p) → name."""

    def answer(where, forced, verb, values):
        if verb == "observe":
            return observed(f"MPIR_Reduce_intra_{functions(preset_of(where), where.p)}")
        return SOUND

    return answer


def test_presets_are_named_by_what_they_run_and_doubles_point_to_the_new_name(make):
    engine = make(
        "intelmpi", intel(lambda preset, p: {"1": "ring", "2": "tree", "3": "ring"}.get(preset, "x"))
    )
    found = prove(engine, case())
    assert set(found) == {(name, 4, 8) for name in ("default", "ring_1", "tree_2", "ring_3")}
    assert found["ring_3", 4, 8].same_as == "ring_1"
    assert found["ring_3", 4, 8].reason == "runs the same code as ring_1"
    assert [one.name for one in engine.algorithms("reduce")] == ["default", "ring_1", "tree_2", "ring_3"]


def test_a_preset_keeps_the_name_of_its_first_proof_though_it_runs_something_else_at_another_p(make):
    engine = make("intelmpi", intel(lambda preset, p: f"{'small' if p == 2 else 'large'}{preset}"))
    found = prove(engine, case(p=2), case(p=4))
    names = ["default", "small1_1", "small2_2", "small3_3"]
    assert set(found) == {(name, p, 8) for name in names for p in (2, 4)}
    assert [one.name for one in engine.algorithms("reduce")] == names
    assert found["small1_1", 4, 8].evidence == "functions:MPIR_Reduce_intra_large1"


def test_a_preset_is_known_by_its_number_after_it_got_a_name(make):
    engine = make("intelmpi", intel(lambda preset, p: f"a{preset}"))
    prove(engine, case())
    assert engine.named("reduce", "preset_2").name == "a2_2"
    assert engine.named("reduce", "a2_2").settings == {"I_MPI_ADJUST_REDUCE": "2"}
    assert engine.named("reduce", "preset_9") is None


def test_names_of_an_earlier_run_are_taken_over(make):
    first = make("intelmpi", intel(lambda preset, p: f"a{preset}"))
    prove(first, case())
    second = make("intelmpi", intel(lambda preset, p: f"b{preset}"))
    second.adopt(first.algorithms("reduce"))
    assert [one.name for one in second.algorithms("reduce")] == ["default", "a1_1", "a2_2", "a3_3"]
    assert second.named("reduce", "preset_3").name == "a3_3"
    assert set(prove(second, case())) == {(name, 4, 8) for name in ("default", "a1_1", "a2_2", "a3_3")}


def test_names_with_parameters_are_understood(make):
    engine = make("openmpi", lambda *_: SOUND)
    one = engine.named("reduce", "chain( segment = 0512 )")
    assert one.name == "chain(segment=512)"
    assert engine.named("reduce", "linear(segment=512)") is None
    assert engine.named("reduce", "chain(segment)") is None
    assert engine.named("reduce", "ring") is None


def test_the_proof_asks_for_results_with_both_kinds_of_operation_and_for_what_ran(make):
    engine = make(
        "openmpi", lambda where, forced, verb, values: observed("ompi_coll_base_reduce_intra_chain")
    )

    def answer(where, forced, verb, values):
        return observed("ompi_coll_base_reduce_intra_chain") if verb == "observe" else SOUND

    engine.launches.answer = answer
    prove(engine, case(size=40))
    asked = [(verb, values.get("op"), values.get("bytes")) for _, _, verb, values in engine.launches.asked]
    assert asked[:4] == [
        ("force", None, None),
        ("check", "sum", 40),
        ("check", "affine", 32),
        ("observe", "sum", 40),
    ]


@pytest.mark.parametrize(
    ("answers", "status"),
    [
        ({"error": "MPI_ERR_ARG: no\nbecause: of that"}, "refused"),
        ({"wrong": 7}, "wrong"),
    ],
)
def test_an_algorithm_with_a_wrong_result_or_an_error_is_not_looked_at_further(make, answers, status):
    def answer(where, forced, verb, values):
        if verb == "observe":
            return observed("ompi_coll_base_reduce_intra_chain")
        is_chain = number_of(forced) == "2" and verb == "check"
        return SOUND | answers if is_chain else SOUND

    engine = make("openmpi", answer)
    found = prove(engine, case())
    assert found["chain", 4, 8].status == status
    verbs = [verb for _, forced, verb, _ in engine.launches.asked if number_of(forced) == "2"]
    assert verbs == ["check"]


def test_a_noncommutative_operation_that_fails_is_no_wrong_result(make):
    def answer(where, forced, verb, values):
        if verb == "observe":
            name = {"1": "basic_linear", "2": "chain"}.get(number_of(forced), "binomial")
            return observed(f"ompi_coll_base_reduce_intra_{name}")
        wrong = 5 if values.get("op") == "affine" and number_of(forced) == "2" else 0
        return SOUND | {"wrong": wrong}

    found = prove(make("openmpi", answer), case())
    assert (found["chain", 4, 8].status, found["chain", 4, 8].commutative_only) == ("proved", True)
    assert (found["linear", 4, 8].status, found["linear", 4, 8].commutative_only) == ("proved", False)


def mpich(misbehave):
    """An MPICH with visible messages in the launch for proofs; ``misbehave`` may answer first."""

    def answer(where, forced, verb, values):
        odd = misbehave(where, forced, verb, values)
        if odd is not None:
            return odd
        if verb == "observe":
            return observed(messages=[[1, 0, int(number_of(forced))]] if is_proof(where) else None)
        if verb == "fingerprint":
            return {"ok": True, "late": [None, [0, 0], [1, 0, 1]]}
        return SOUND

    return answer


def test_everything_is_looked_at_in_the_launch_for_proofs_and_tried_in_the_one_that_measures(make):
    engine = make("mpich", mpich(lambda *_: None))
    found = prove(engine, case())
    assert {verdict.status for verdict in found.values()} == {"proved"}
    assert found["ring", 4, 8].evidence.startswith("messages:")
    checked = [
        (is_proof(where), forced) for where, forced, verb, _ in engine.launches.asked if verb == "check"
    ]
    for number in (1, 2, 3):
        words = (f"{MPICH_REDUCE}={number}",)
        assert (True, words) in checked
        assert (False, words) in checked


def test_only_what_does_the_same_thing_is_compared(make):
    """Another root means other messages, which says nothing about whether the setting is obeyed."""

    def misbehave(where, forced, verb, values):
        if verb == "observe":
            return observed(messages=[[1, int(values["root"]), 8]] if is_proof(where) else None)
        return None

    engine = make("mpich", mpich(misbehave))
    requests = [(algorithm, case(root=root)) for root in (0, 1) for algorithm in engine.algorithms("reduce")]
    (proved,) = engine.prove(requests)
    assert len(proved.verdicts) == 2 * 4
    assert {v.status for v in proved.verdicts if v.algorithm != "default"} == {"unproved"}


def test_what_fails_only_in_the_launch_for_proofs_is_proved_by_who_leaves_late(make):
    def misbehave(where, forced, verb, values):
        if is_proof(where) and number_of(forced) == "2" and verb == "check":
            return SOUND | {"error": "not usable"}
        if is_proof(where) and number_of(forced) == "3" and verb == "check":
            return fake_launches.lost()
        return None

    found = prove(make("mpich", mpich(misbehave)), case())
    for name in ("smp", "ring"):
        assert (found[name, 4, 8].status, found[name, 4, 8].evidence) == ("proved", "late:0>0 1>0,1")


@pytest.mark.parametrize(
    ("odd", "status"),
    [(SOUND | {"wrong": 3}, "wrong"), (SOUND | {"error": "no"}, "refused"), (None, "quarantined")],
)
def test_what_fails_only_in_the_launch_that_measures_is_not_proved(make, odd, status):
    def misbehave(where, forced, verb, values):
        if not is_proof(where) and number_of(forced) == "3" and verb == "check":
            return odd or fake_launches.lost()
        return None

    found = prove(make("mpich", mpich(misbehave)), case())
    assert found["ring", 4, 8].status == status
    assert found["binomial", 4, 8].status == "proved"


def test_what_hung_in_the_launch_for_proofs_is_not_waited_for_again(make):
    def misbehave(where, forced, verb, values):
        if number_of(forced) == "3" and verb == "check":
            raise DriverLost(f"{HUNG}no answer within 5 s")
        return None

    engine = make("mpich", mpich(misbehave))
    found = prove(engine, case())
    assert found["ring", 4, 8].status == "quarantined"
    tries = [where for where, forced, verb, _ in engine.launches.asked if number_of(forced) == "3"]
    assert [is_proof(where) for where in tries] == [True]


def test_after_losses_at_two_sizes_the_others_of_that_p_are_not_tried_and_other_ps_are(make):
    def answer(where, forced, verb, values):
        if number_of(forced) == "2" and verb == "check" and where.p == 2:
            return fake_launches.lost()
        return observed("ompi_coll_base_reduce_intra_chain") if verb == "observe" else SOUND

    engine = make("openmpi", answer)
    cases_ = [case(p=p, size=size) for p in (2, 4) for size in (8, 16, 32, 64)]
    found = prove(engine, *cases_)
    reasons = [found["chain", 2, size].reason for size in (8, 16, 32, 64)]
    died = "the launch was killed by signal 11"
    assert reasons == [died, died, f"not tried again: {died}", f"not tried again: {died}"]
    assert {found["chain", 2, size].status for size in (8, 16, 32, 64)} == {"quarantined"}
    assert {found["chain", 4, size].status for size in (8, 16, 32, 64)} == {"proved"}


def test_where_nothing_can_be_launched_no_algorithm_is_blamed(make):
    engine = make("openmpi", fake_launches.lost)
    with pytest.raises(RunFailed, match=r"openmpi-9 cannot be launched with 4 processes: .*signal 11"):
        prove(engine, case())
    with pytest.raises(RunFailed, match="cannot be launched"):
        engine.measure(engine.algorithms("reduce")[1], case(), np.zeros(4), RULE)


def test_a_lost_launch_is_replaced_and_the_next_algorithm_proved(make):
    def answer(where, forced, verb, values):
        if number_of(forced) == "1" and verb == "check":
            return fake_launches.lost()
        return observed("ompi_coll_base_reduce_intra_chain") if verb == "observe" else SOUND

    engine = make("openmpi", answer)
    found = prove(engine, case())
    assert found["linear", 4, 8].status == "quarantined"
    assert found["chain", 4, 8].status == "proved"
    assert len(engine.launches.started) == 2


def test_a_refused_setting_is_the_algorithms_refusal(make):
    def answer(where, forced, verb, values):
        if verb == "force" and number_of(forced) == "2":
            return fake_launches.refused()
        return observed("ompi_coll_base_reduce_intra_basic_linear") if verb == "observe" else SOUND

    found = prove(make("openmpi", answer), case())
    assert (found["chain", 4, 8].status, found["chain", 4, 8].reason) == (
        "refused",
        "the library refused the value",
    )
    assert found["linear", 4, 8].status == "proved"


def measure(engine, name="chain", delays_s=(0.0, 1e-6, 2e-6, 3e-6), rule=RULE):
    return engine.measure(engine.named("reduce", name), case(), np.array(delays_s), rule)


def test_measuring_forces_the_algorithm_and_sends_the_delays_in_nanoseconds(make):
    engine = make("openmpi", lambda *_: SOUND)
    samples = measure(engine)
    assert samples.failure == ""
    assert samples.arrivals_s[0] == pytest.approx([0, 1e-6, 2e-6, 3e-6])
    assert samples.exits_s[0] == pytest.approx([4e-6] * 4)
    force, asked = engine.launches.asked
    assert force[2] == "force"
    assert asked[1] == ("coll_tuned_reduce_algorithm=2",)
    assert asked[3]["delays"] == "0,1000,2000,3000"
    assert asked[3]["duration_ns"] == 2_000_000_000


def test_the_running_launch_and_what_is_forced_in_it_are_used_again(make):
    engine = make("openmpi", lambda *_: SOUND)
    for name in ("chain", "chain", "linear", "default", "default"):
        assert measure(engine, name).failure == ""
    assert len(engine.launches.started) == 1
    assert [verb for _, _, verb, _ in engine.launches.asked].count("force") == 3


@pytest.mark.parametrize(("family", "launches"), [("openmpi", 1), ("mpich", 1), ("intelmpi", 3)])
def test_libraries_that_cannot_switch_get_a_launch_for_each_algorithm(make, family, launches):
    engine = make(family, lambda *_: SOUND)
    names = [one.name for one in engine.algorithms("reduce")][1:]
    assert {len({repr(engine.group_key(engine.named("reduce", n), case())) for n in names})} == {launches}


@pytest.mark.parametrize("family", VARIABLES)
def test_isolated_every_algorithm_has_a_launch_of_its_own(make, family):
    engine = make(family, lambda *_: SOUND, section=MpiSection(isolate=True))
    algorithms = engine.algorithms("reduce")
    keys = {repr(engine.group_key(one, case())) for one in algorithms}
    assert len(keys) == len(algorithms)


def test_a_launch_that_dies_while_measuring_loses_the_case_alone(make):
    def answer(where, forced, verb, values):
        return fake_launches.lost() if verb == "measure" and number_of(forced) == "2" else SOUND

    engine = make("openmpi", answer)
    assert measure(engine, "chain").failure == "the launch was killed by signal 11"
    assert measure(engine, "linear").failure == ""


def test_a_call_that_fails_while_measuring_loses_the_case(make):
    def answer(where, forced, verb, values):
        return fake_launches.refused() if verb == "measure" else SOUND

    assert measure(make("openmpi", answer)).failure == "the library refused the value"


def test_samples_that_do_not_arrive_end_the_run_with_what_would_be_right(make):
    engine = make("openmpi", lambda where, forced, verb, values: SOUND | {"tried": 3})
    with pytest.raises(RunFailed, match=r"wrote 408 bytes of samples, but .* has 0 here: .*share.*--output"):
        measure(engine)


def test_half_the_samples_end_the_run_too(make):
    engine = make("openmpi", lambda *_: SOUND)
    measure(engine)
    engine.launches.answer = lambda where, forced, verb, values: SOUND | {"tried": 4}
    with pytest.raises(RunFailed, match=r"wrote 544 bytes of samples, but .* has 408 here"):
        measure(engine)


def test_samples_that_rank_0_cannot_write_end_the_run(make):
    def answer(where, forced, verb, values):
        if verb == "measure":
            raise fake_launches.Refused("the sample file could not be written")
        return SOUND

    with pytest.raises(RunFailed, match="rank 0 could not write its samples to"):
        measure(make("openmpi", answer))


def test_a_library_that_cannot_be_asked_for_its_algorithms_fails_with_a_sentence(make):
    engine = make("openmpi", lambda *_: SOUND)
    engine.launches.variables = fake_launches.lost
    with pytest.raises(RunFailed, match=r"openmpi-9 could not be asked .*signal 11.*offbeat doctor"):
        engine.algorithms("reduce")


@pytest.mark.parametrize(
    ("p", "delays_s", "tolerance", "wanted_s"),
    [
        (1, [0.0], "auto", 2e-6),
        (1, [1e-3], "auto", 50e-6),
        (4096, [0.0], "auto", 200e-6),
        (4096, [1.0], "auto", 0.05),
        (4096, [1.0], 7e-6, 7e-6),
    ],
)
def test_how_late_a_start_may_be_goes_by_cores_and_skew_unless_the_study_says(
    make, p, delays_s, tolerance, wanted_s
):
    engine = make("openmpi", lambda *_: SOUND, start=StartSection(tolerance=tolerance))
    where = engine._where(engine.algorithms("reduce")[1], case(p=p))
    assert engine.tolerance_s(where, np.array(delays_s)) == pytest.approx(wanted_s)


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        (lambda *_: {"ok": True, "p": 4, "clock_source": "tsc"}, {"clock_source": "tsc"}),
        (fake_launches.lost, {"failure": "the launch was killed by signal 11"}),
        (fake_launches.refused, {"failure": "the library refused the value"}),
    ],
)
def test_inspecting_tells_how_processes_run_or_why_they_do_not(make, answer, found):
    facts = make("openmpi", answer).inspect(case())
    assert facts.items() >= ({"p": 4, "nodes": 0, "ppn": 0} | found).items()
    assert "mpirun" in str(facts["command"])


def test_closing_ends_the_launch_and_removes_the_scratch_folder(make):
    engine = make("openmpi", lambda *_: SOUND)
    measure(engine)
    assert engine.launches.samples.exists()
    engine.close()
    assert engine.launches.closed == 1
    assert not engine.launches.samples.parent.exists()
    engine.close()
