"""The verdict on each algorithm of a group, from the observations of the group."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from offbeat.libraries.families.intelmpi import IntelMpiSteering
from offbeat.libraries.families.mpich import MpichSteering
from offbeat.libraries.families.openmpi import OpenMpiSteering
from offbeat.measurement.proofs.verdicts import Observation, judge, rename
from offbeat.model.study.algorithm import Algorithm, Verdict

CHAIN = "functions:ompi_coll_base_reduce_intra_chain"
BINOMIAL = "functions:ompi_coll_base_reduce_intra_binomial"
SAME = "messages:aaaaaaaaaaaa 1 messages, 8 B: 1>0:8B"
OTHER = "messages:bbbbbbbbbbbb 2 messages, 16 B: 1>0:8B×2"


def observation(name, evidence="", **more):
    return Observation(algorithm=Algorithm(collective="reduce", name=name), evidence=evidence, **more)


def verdicts(*observations, steering=None, p=4):
    judged = judge(observations, steering or OpenMpiSteering(), p, 8)
    return {verdict.algorithm: verdict for verdict in judged}


def statuses(*observations, **more):
    return {name: verdict.status for name, verdict in verdicts(*observations, **more).items()}


def test_an_algorithm_that_ran_under_its_name_is_proved():
    judged = verdicts(
        observation("default", BINOMIAL), observation("chain", CHAIN), observation("binomial", BINOMIAL)
    )
    assert {verdict.status for verdict in judged.values()} == {"proved"}
    assert judged["chain"] == Verdict(
        collective="reduce", algorithm="chain", p=4, bytes=8, status="proved", evidence=CHAIN
    )


def test_an_algorithm_that_ran_another_one_fell_back_and_names_it():
    judged = verdicts(observation("chain", BINOMIAL), observation("binomial", BINOMIAL))
    assert judged["binomial"].status == "proved"
    assert (judged["chain"].status, judged["chain"].same_as) == ("fell_back", "binomial")
    assert judged["chain"].reason == "ompi_coll_base_reduce_intra_binomial ran instead"


def test_a_collective_handled_by_another_component_fell_back():
    judged = verdicts(observation("chain", "functions:mca_coll_han_reduce_intra"))
    assert (judged["chain"].status, judged["chain"].same_as) == ("fell_back", "")
    assert "mca_coll_han_reduce_intra ran instead" in judged["chain"].reason


def test_a_hierarchical_algorithm_is_proved_by_its_function_and_not_by_messages_alone():
    """Both libraries may fall back silently, and messages alone do not identify the function that sent
    them."""
    settings = {"MPIR_CVAR_REDUCE_INTRA_ALGORITHM": "smp", "MPIR_CVAR_COLLECTIVE_FALLBACK": "silent"}
    smp = Algorithm(collective="reduce", name="smp", settings=settings, hierarchical=True)
    expected = {
        "functions:MPIR_Reduce_intra_smp MPIR_Reduce_intra_binomial": "proved",
        "functions:MPIR_Reduce_intra_binomial": "fell_back",
        SAME: "unproved",
    }
    for evidence, status in expected.items():
        one = Observation(algorithm=smp, evidence=evidence)
        judged = verdicts(observation("ring", OTHER), one, steering=MpichSteering())
        assert judged["smp"].status == status


def test_the_first_of_several_that_ran_the_same_code_is_proved():
    presets = [observation(f"preset_{n}", f"functions:MPIR_Reduce_intra_{c}") for n, c in enumerate("abab")]
    judged = verdicts(*presets, steering=IntelMpiSteering())
    assert [v.status for v in judged.values()] == ["proved", "proved", "duplicate", "duplicate"]
    assert [v.same_as for v in judged.values()] == ["", "", "preset_0", "preset_1"]
    assert judged["preset_3"].reason == "runs the same code as preset_1"


def test_algorithms_that_run_the_functions_of_the_default_are_no_duplicates():
    judged = verdicts(
        observation("default", "functions:MPIR_Reduce_intra_a"),
        observation("preset_1", "functions:MPIR_Reduce_intra_a"),
        steering=IntelMpiSteering(),
    )
    assert [v.status for v in judged.values()] == ["proved", "proved"]


def test_an_algorithm_with_wrong_results_has_no_duplicates():
    judged = verdicts(
        observation("preset_1", "functions:MPIR_Reduce_intra_a", wrong=3),
        observation("preset_2", "functions:MPIR_Reduce_intra_a"),
        steering=IntelMpiSteering(),
    )
    assert judged["preset_2"].status == "proved"


def test_parameters_make_no_duplicates():
    by_name = statuses(
        observation("chain", CHAIN),
        observation("chain(fanout=2)", CHAIN),
        observation("chain(fanout=4)", CHAIN),
        observation("chain(fanout=4, segment=8)", CHAIN),
    )
    assert set(by_name.values()) == {"proved"}


def test_algorithms_with_different_inner_functions_are_no_duplicates():
    one, other = CHAIN, CHAIN + " ompi_coll_base_bcast_intra_binomial"
    by_name = statuses(
        observation("preset_1", one.replace("ompi_coll_base_reduce_intra_", "MPIR_Reduce_intra_")),
        observation("preset_2", other.replace("ompi_coll_base_reduce_intra_", "MPIR_Reduce_intra_")),
        steering=IntelMpiSteering(),
    )
    assert set(by_name.values()) == {"proved"}


@given(
    st.builds(
        Observation,
        algorithm=st.sampled_from(["default", "chain", "binomial", "chain(fanout=2)"]).map(
            lambda name: Algorithm(collective="reduce", name=name)
        ),
        evidence=st.sampled_from(["", CHAIN, BINOMIAL, SAME, OTHER, "late:0>0"]),
        failure=st.sampled_from(["", "hung"]),
        error=st.sampled_from(["", "no"]),
        wrong=st.sampled_from([0, 3]),
        wrong_noncommutative=st.sampled_from([0, 3]),
    )
)
def test_lost_refused_and_wrong_algorithms_are_never_proved(one):
    (verdict,) = judge([one], OpenMpiSteering(), 4, 8)
    if one.failure:
        assert (verdict.status, verdict.reason) == ("quarantined", "hung")
    elif one.error:
        assert (verdict.status, verdict.reason) == ("refused", "no")
    elif one.wrong:
        assert (verdict.status, verdict.reason) == ("wrong", "3 wrong elements")
    else:
        assert verdict.status in ("proved", "unproved", "fell_back")
    assert verdict.commutative_only == (one.wrong_noncommutative > 0)


def test_an_algorithm_wrong_only_for_noncommutative_operations_is_proved_with_a_remark():
    judged = verdicts(observation("chain", CHAIN, wrong_noncommutative=7))
    assert (judged["chain"].status, judged["chain"].commutative_only) == ("proved", True)


def test_without_evidence_only_the_default_is_proved():
    assert statuses(observation("default"), observation("chain")) == {
        "default": "proved",
        "chain": "unproved",
    }


def test_unique_messages_prove_an_algorithm_and_messages_of_two_algorithms_prove_neither():
    judged = verdicts(
        observation("a", SAME), observation("b", SAME), observation("c", OTHER), steering=MpichSteering()
    )
    assert {name: verdict.status for name, verdict in judged.items()} == {
        "a": "indistinguishable",
        "b": "indistinguishable",
        "c": "proved",
    }
    assert judged["a"].reason == "not proved: the evidence is the same for b"


def test_an_algorithm_with_the_messages_of_the_default_is_proved():
    by_name = statuses(
        observation("default", SAME),
        observation("a", SAME),
        observation("b", OTHER),
        observation("c", CHAIN),
        steering=MpichSteering(),
    )
    assert set(by_name.values()) == {"proved"}


def test_equal_functions_that_may_depend_on_the_name_are_indistinguishable():
    by_name = statuses(observation("a", CHAIN), observation("b", CHAIN), steering=MpichSteering())
    assert set(by_name.values()) == {"indistinguishable"}
    one, other = f"{CHAIN}; late:0>0 1>1", f"{CHAIN}; late:0>0 1>0,1"
    assert set(
        statuses(observation("a", one), observation("b", other), steering=MpichSteering()).values()
    ) == {"proved"}


def test_parameters_without_evidence_are_reported_as_only_read_back():
    judged = verdicts(observation("chain", CHAIN), observation("chain(fanout=2)", CHAIN))
    assert judged["chain"].reason == ""
    assert "parameters were only set and read back" in judged["chain(fanout=2)"].reason


@pytest.mark.parametrize("evidence", [SAME, "late:0>0 1>0,1"])
def test_a_setting_that_changes_nothing_visible_is_unproved(evidence):
    judged = verdicts(
        observation("default", evidence),
        *(observation(name, evidence) for name in "abc"),
        steering=MpichSteering(),
    )
    assert judged["default"].status == "proved"
    assert {judged[name].status for name in "abc"} == {"unproved"}
    assert "the library may ignore them" in judged["a"].reason


def test_a_setting_that_makes_a_call_fail_is_obeyed():
    failed = observation("d", error="not usable", call_failed=True)
    by_name = statuses(*(observation(name, SAME) for name in "abc"), failed, steering=MpichSteering())
    assert by_name == dict.fromkeys("abc", "indistinguishable") | {"d": "refused"}


def test_a_setting_that_could_not_be_written_shows_nothing():
    refused = observation("d", error="the library has no such variable")
    by_name = statuses(*(observation(name, SAME) for name in "abc"), refused, steering=MpichSteering())
    assert by_name == {"a": "unproved", "b": "unproved", "c": "unproved", "d": "refused"}


def test_a_setting_under_which_other_messages_run_than_by_default_is_obeyed():
    by_name = statuses(
        observation("default", OTHER), *(observation(name, SAME) for name in "abc"), steering=MpichSteering()
    )
    assert by_name == dict.fromkeys("abc", "indistinguishable") | {"default": "proved"}


def test_equal_messages_are_detected_beside_evidence_of_another_kind():
    late = observation("d", "late:0>0")
    by_name = statuses(*(observation(name, SAME) for name in "abc"), late, steering=MpichSteering())
    assert {by_name[name] for name in "abc"} == {"unproved"}


def test_one_process_or_two_algorithms_do_not_show_that_a_setting_is_ignored():
    for names, p in (("abc", 1), ("ab", 4)):
        by_name = statuses(*(observation(name, SAME) for name in names), p=p, steering=MpichSteering())
        assert set(by_name.values()) == {"indistinguishable"}


def test_renaming_changes_the_algorithm_its_duplicate_and_the_reason():
    presets = [observation(f"preset_{n}", "functions:MPIR_Reduce_intra_a") for n in (1, 2)]
    names = {("reduce", "preset_1"): "a_1", ("reduce", "preset_2"): "a_2", ("bcast", "a_1"): "x"}
    first, second = rename(judge(presets, IntelMpiSteering(), 4, 8), names)
    assert (first.algorithm, first.same_as, first.reason) == ("a_1", "", "")
    assert (second.algorithm, second.same_as) == ("a_2", "a_1")
    assert second.reason == "runs the same code as a_1"
    assert rename([first], {}) == [first]
