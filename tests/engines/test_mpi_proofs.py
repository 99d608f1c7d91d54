"""The requests of the engine mpi when it proves algorithms, the launch that gets them, and the verdicts."""

from __future__ import annotations

import functools
import itertools

import fake_launches
import numpy as np
import pytest
import scripted_library
from fake_launches import SOUND
from scripted_library import MPICH_REDUCE, case, number_of, observed, preset_of

from offbeat.base.errors import RunFailed
from offbeat.model.study.schema import RepetitionsSection


@pytest.fixture
def make(tmp_path):
    """Makes an engine of a family over a function that answers for the library."""
    return functools.partial(scripted_library.engine, tmp_path)


def prove(engine, *cases_):
    """All verdicts on all algorithms at some cases: (algorithm, p, size) → verdict."""
    requests = [(algorithm, one) for one in cases_ for algorithm in engine.algorithms(one.collective)]
    by_name = {}
    for proved in engine.prove(requests):
        by_name |= {(v.algorithm, v.p, v.bytes): v for v in proved.verdicts}
    return by_name


def intel(functions):
    """An Intel MPI whose presets run these functions: (preset, p) → name."""

    def answer(where, forced, verb, values):
        if verb == "observe":
            return observed(f"MPIR_Reduce_intra_{functions(preset_of(where), where.p)}")
        return SOUND

    return answer


def test_presets_are_named_after_their_function_and_duplicates_refer_to_the_new_name(make):
    engine = make(
        "intelmpi", intel(lambda preset, p: {"1": "ring", "2": "tree", "3": "ring"}.get(preset, "x"))
    )
    verdicts = prove(engine, case())
    assert set(verdicts) == {(name, 4, 8) for name in ("default", "ring_1", "tree_2", "ring_3")}
    assert verdicts["ring_3", 4, 8].same_as == "ring_1"
    assert verdicts["ring_3", 4, 8].reason == "runs the same code as ring_1"
    assert [one.name for one in engine.algorithms("reduce")] == ["default", "ring_1", "tree_2", "ring_3"]


def test_a_preset_keeps_the_name_of_its_first_proof_if_it_runs_another_function_at_another_p(make):
    engine = make("intelmpi", intel(lambda preset, p: f"{'small' if p == 2 else 'large'}{preset}"))
    verdicts = prove(engine, case(p=2), case(p=4))
    names = ["default", "small1_1", "small2_2", "small3_3"]
    assert set(verdicts) == {(name, p, 8) for name in names for p in (2, 4)}
    assert [one.name for one in engine.algorithms("reduce")] == names
    assert verdicts["small1_1", 4, 8].evidence == "functions:MPIR_Reduce_intra_large1"


def test_a_preset_is_found_by_its_number_after_it_was_renamed(make):
    engine = make("intelmpi", intel(lambda preset, p: f"a{preset}"))
    prove(engine, case())
    assert engine.find_algorithm("reduce", "preset_2").name == "a2_2"
    assert engine.find_algorithm("reduce", "a2_2").settings == {"I_MPI_ADJUST_REDUCE": "2"}
    assert engine.find_algorithm("reduce", "preset_9") is None


def test_names_of_an_earlier_run_are_reused(make):
    first = make("intelmpi", intel(lambda preset, p: f"a{preset}"))
    prove(first, case())
    second = make("intelmpi", intel(lambda preset, p: f"b{preset}"))
    second.restore_names(first.algorithms("reduce"))
    assert [one.name for one in second.algorithms("reduce")] == ["default", "a1_1", "a2_2", "a3_3"]
    assert second.find_algorithm("reduce", "preset_3").name == "a3_3"
    assert set(prove(second, case())) == {(name, 4, 8) for name in ("default", "a1_1", "a2_2", "a3_3")}


def test_names_with_parameters_are_understood(make):
    engine = make("openmpi", lambda *_: SOUND)
    one = engine.find_algorithm("reduce", "chain( segment = 0512 )")
    assert one.name == "chain(segment=512)"
    assert engine.find_algorithm("reduce", "linear(segment=512)") is None
    assert engine.find_algorithm("reduce", "chain(segment)") is None
    assert engine.find_algorithm("reduce", "ring") is None


def test_the_proof_asks_for_results_with_both_kinds_of_operation_and_for_what_ran(make):
    engine = make(
        "openmpi", lambda where, forced, verb, values: observed("ompi_coll_base_reduce_intra_chain")
    )

    def answer(where, forced, verb, values):
        return observed("ompi_coll_base_reduce_intra_chain") if verb == "observe" else SOUND

    engine.launches.answer = answer
    prove(engine, case(size=40))
    asked = [(verb, values.get("op"), values.get("bytes")) for _, _, verb, values in engine.launches.asked]
    assert asked[:5] == [
        ("force", None, None),
        ("check", "sum", 40),
        ("check", "affine", 32),
        ("bits", "sum", 40),
        ("observe", "sum", 40),
    ]


@pytest.mark.parametrize(
    ("answers", "status"),
    [
        ({"error": "MPI_ERR_ARG: no\nbecause: of that"}, "refused"),
        ({"wrong": 7}, "wrong"),
    ],
)
def test_an_algorithm_with_a_wrong_result_or_an_error_is_not_tested_further(make, answers, status):
    def answer(where, forced, verb, values):
        if verb == "observe":
            return observed("ompi_coll_base_reduce_intra_chain")
        is_chain = number_of(forced) == "2" and verb == "check"
        return SOUND | answers if is_chain else SOUND

    engine = make("openmpi", answer)
    verdicts = prove(engine, case())
    assert verdicts["chain", 4, 8].status == status
    verbs = [verb for _, forced, verb, _ in engine.launches.asked if number_of(forced) == "2"]
    assert verbs.count("check") == 1 and "observe" not in verbs


def test_a_noncommutative_operation_that_fails_is_no_wrong_result(make):
    def answer(where, forced, verb, values):
        if verb == "observe":
            name = {"1": "basic_linear", "2": "chain"}.get(number_of(forced), "binomial")
            return observed(f"ompi_coll_base_reduce_intra_{name}")
        wrong = 5 if values.get("op") == "affine" and number_of(forced) == "2" else 0
        return SOUND | {"wrong": wrong}

    verdicts = prove(make("openmpi", answer), case())
    assert (verdicts["chain", 4, 8].status, verdicts["chain", 4, 8].commutative_only) == ("proved", True)
    assert (verdicts["linear", 4, 8].status, verdicts["linear", 4, 8].commutative_only) == ("proved", False)


def mpich(misbehave):
    """An MPICH with visible messages; ``misbehave`` may answer first."""

    def answer(where, forced, verb, values):
        odd = misbehave(where, forced, verb, values)
        if odd is not None:
            return odd
        if verb == "observe":
            return observed(messages=[[1, 0, int(number_of(forced))]])
        if verb == "fingerprint":
            return {"ok": True, "late": [None, [0, 0], [1, 0, 1]]}
        return SOUND

    return answer


def test_an_algorithm_is_proved_in_the_launch_that_measures_it(make):
    engine = make("mpich", mpich(lambda *_: None))
    verdicts = prove(engine, case())
    assert {verdict.status for verdict in verdicts.values()} == {"proved"}
    assert verdicts["ring", 4, 8].evidence.startswith("messages:")
    proved_in = {where for where, forced, verb, _ in engine.launches.asked if verb == "observe" and forced}
    engine.measure(engine.find_algorithm("reduce", "ring"), case(), np.zeros(4), RepetitionsSection())
    assert proved_in == {where for where, forced, verb, _ in engine.launches.asked if verb == "measure"}
    assert (f"{MPICH_REDUCE}=3",) in {
        forced for _, forced, verb, _ in engine.launches.asked if verb == "check"
    }


def test_evidence_is_compared_only_between_equal_calls(make):
    """Messages depend on the root, so that calls with different roots do not show whether a setting is
    obeyed."""

    def misbehave(where, forced, verb, values):
        return observed(messages=[[1, int(values["root"]), 8]]) if verb == "observe" else None

    engine = make("mpich", mpich(misbehave))
    requests = [(algorithm, case(root=root)) for root in (0, 1) for algorithm in engine.algorithms("reduce")]
    (proved,) = engine.prove(requests)
    assert len(proved.verdicts) == 2 * 4
    assert {v.status for v in proved.verdicts if v.algorithm != "default"} == {"unproved"}


def same_functions(late):
    """An MPICH whose mesh and ring enter the same function; ``late`` gives the ranks that leave each late."""

    def misbehave(where, forced, verb, values):
        if verb == "observe":
            return observed("MPIR_Reduce_intra_" + ("binomial" if number_of(forced) == "1" else "tree"))
        if verb == "fingerprint":
            return {"ok": True, "late": [None, *late(number_of(forced))]}
        return None

    return mpich(misbehave)


def test_algorithms_with_the_same_functions_are_distinguished_by_fingerprints(make):
    engine = make("mpich", same_functions(lambda number: [[0, 0], [1, 1] if number == "3" else [1, 0, 1]]))
    verdicts = prove(engine, case())
    assert {verdicts[name, 4, 8].status for name in ("binomial", "mesh", "ring")} == {"proved"}
    assert verdicts["mesh", 4, 8].evidence == "functions:MPIR_Reduce_intra_tree; late:0>0 1>0,1"
    assert verdicts["ring", 4, 8].evidence == "functions:MPIR_Reduce_intra_tree; late:0>0 1>1"


def test_algorithms_that_cannot_be_distinguished_are_not_proved_and_name_each_other(make):
    verdicts = prove(make("mpich", same_functions(lambda number: [[0, 0], [1, 0, 1]])), case())
    assert verdicts["binomial", 4, 8].status == "proved"
    assert (verdicts["mesh", 4, 8].status, verdicts["ring", 4, 8].status) == ("indistinguishable",) * 2
    assert verdicts["mesh", 4, 8].reason == "not proved: the evidence is the same for ring"


def test_a_fingerprint_that_keeps_changing_does_not_count(make):
    """On an oversubscribed machine a process leaves late because it waits for a core."""
    answers = iter(range(1000))
    verdicts = prove(make("mpich", same_functions(lambda number: [[0, 0], [1, next(answers)]])), case())
    assert (verdicts["mesh", 4, 8].status, verdicts["ring", 4, 8].status) == ("indistinguishable",) * 2


def test_a_proof_without_an_observation_is_repeated_and_says_so(make):
    looks = iter(["", "", "ompi_coll_base_reduce_intra_chain"])

    def answer(where, forced, verb, values):
        if verb == "observe":
            name = next(looks) if number_of(forced) == "2" else "ompi_coll_base_reduce_intra_basic_linear"
            return observed(name) | {"sees_functions": True}
        return SOUND

    verdicts = prove(make("openmpi", answer), case())
    assert (verdicts["chain", 4, 8].status, verdicts["chain", 4, 8].reason) == (
        "proved",
        "only observation 3 showed functions or messages",
    )


def test_a_launch_that_shows_no_functions_is_replaced_by_a_new_one(make):
    engine = make("openmpi", lambda *_: SOUND)

    def answer(where, forced, verb, values):
        if verb == "fingerprint":
            return {"ok": True, "late": [None, [0, 0]]}
        if verb == "observe":
            name = "basic_linear" if number_of(forced) == "1" else "chain"
            is_first = len(engine.launches.started) == 1
            return observed("" if is_first else f"ompi_coll_base_reduce_intra_{name}")
        return SOUND

    engine.launches.answer = answer
    verdicts = prove(engine, case())
    assert (verdicts["linear", 4, 8].status, verdicts["chain", 4, 8].status) == ("proved", "proved")
    assert verdicts["linear", 4, 8].reason == "only observation 2 showed functions or messages"
    assert len(proving_launches(engine)) == 2


def proving_launches(engine):
    """The launches before the one without settings, with which ``default`` is compared."""
    return list(itertools.takewhile(lambda where: where.environment, engine.launches.started))


def test_a_library_that_never_shows_anything_is_not_launched_again_for_ever(make):
    def answer(where, forced, verb, values):
        if verb == "observe":
            return observed("")
        return {"ok": True, "late": [None, [0, 0]]} if verb == "fingerprint" else SOUND

    engine = make("mpich", answer)
    verdicts = prove(engine, *(case(size=size) for size in (8, 16, 32)))
    assert {verdicts[name, 4, 8].status for name in ("binomial", "mesh", "ring")} == {"unproved"}
    assert len(proving_launches(engine)) <= 3 + 3


def test_after_a_call_that_failed_the_launch_is_not_used_again(make):
    """MPICH 4.0.2 leaves receives behind when some processes return with an error: later calls crash."""

    def misbehave(where, forced, verb, values):
        return SOUND | {"error": "not usable"} if number_of(forced) == "2" and verb == "check" else None

    engine = make("mpich", mpich(misbehave))
    verdicts = prove(engine, case())
    assert [verdicts[name, 4, 8].status for name in ("binomial", "mesh", "ring")] == [
        "proved",
        "refused",
        "proved",
    ]
    # for the default, for the forced algorithm, and after the failure
    assert len(proving_launches(engine)) == 3


def test_after_failures_at_two_sizes_other_sizes_of_that_p_are_skipped(make):
    def answer(where, forced, verb, values):
        if number_of(forced) == "2" and verb == "check" and where.p == 2:
            return fake_launches.driver_lost()
        return observed("ompi_coll_base_reduce_intra_chain") if verb == "observe" else SOUND

    engine = make("openmpi", answer)
    cases_ = [case(p=p, size=size) for p in (2, 4) for size in (8, 16, 32, 64)]
    verdicts = prove(engine, *cases_)
    reasons = [verdicts["chain", 2, size].reason for size in (8, 16, 32, 64)]
    died = "the launch was killed by signal 11"
    assert reasons == [died, died, f"not tried again: {died}", f"not tried again: {died}"]
    assert {verdicts["chain", 2, size].status for size in (8, 16, 32, 64)} == {"quarantined"}
    assert {verdicts["chain", 4, size].status for size in (8, 16, 32, 64)} == {"proved"}


def test_if_nothing_can_be_launched_no_algorithm_is_blamed(make):
    engine = make("openmpi", fake_launches.driver_lost)
    with pytest.raises(RunFailed, match=r"openmpi-9 cannot be launched with 4 processes: .*signal 11"):
        prove(engine, case())
    with pytest.raises(RunFailed, match="cannot be launched"):
        engine.measure(engine.algorithms("reduce")[1], case(), np.zeros(4), RepetitionsSection())


def test_a_lost_launch_is_replaced_and_the_next_algorithm_proved(make):
    def answer(where, forced, verb, values):
        if number_of(forced) == "1" and verb == "check":
            return fake_launches.driver_lost()
        return observed("ompi_coll_base_reduce_intra_chain") if verb == "observe" else SOUND

    engine = make("openmpi", answer)
    verdicts = prove(engine, case())
    assert verdicts["linear", 4, 8].status == "quarantined"
    assert verdicts["chain", 4, 8].status == "proved"
    assert len(proving_launches(engine)) == 3  # the lost one is repeated once


def test_a_launch_that_is_lost_once_is_repeated_and_its_algorithm_proved(make):
    lost = []

    def answer(where, forced, verb, values):
        if number_of(forced) == "1" and verb == "check" and not lost:
            lost.append(forced)
            return fake_launches.driver_lost()
        return observed("ompi_coll_base_reduce_intra_chain") if verb == "observe" else SOUND

    verdicts = prove(make("openmpi", answer), case())
    assert lost and "quarantined" not in {verdict.status for verdict in verdicts.values()}


def test_a_refused_setting_is_the_algorithms_refusal(make):
    def answer(where, forced, verb, values):
        if verb == "force" and number_of(forced) == "2":
            return fake_launches.refused()
        return observed("ompi_coll_base_reduce_intra_basic_linear") if verb == "observe" else SOUND

    verdicts = prove(make("openmpi", answer), case())
    assert (verdicts["chain", 4, 8].status, verdicts["chain", 4, 8].reason) == (
        "refused",
        "the library refused the value",
    )
    assert verdicts["linear", 4, 8].status == "proved"


@pytest.mark.parametrize(("own", "status"), [("ring", "proved"), ("linear", "fell_back")])
def test_default_is_not_measured_if_the_library_itself_decides_otherwise(make, own, status):
    def answer(where, forced, verb, values):
        if verb == "observe":
            return observed(f"ompi_coll_base_reduce_intra_{'ring' if where.steerable else own}")
        return SOUND

    verdict = prove(make("openmpi", answer), case())["default", 4, 8]
    assert verdict.status == status
    assert verdict.reason == (
        ""
        if own == "ring"
        else "ompi_coll_base_reduce_intra_ring ran, but the library itself decides for"
        " ompi_coll_base_reduce_intra_linear"
    )
