"""From what was observed of a group of algorithms to a verdict on each."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from offbeat.engines.verdicts import Observation, judge, rename
from offbeat.mpi.intelmpi import IntelMpiSteering
from offbeat.mpi.mpich import MpichSteering
from offbeat.mpi.openmpi import OpenMpiSteering
from offbeat.study.algorithm import Algorithm, Verdict

CHAIN = "functions:ompi_coll_base_reduce_intra_chain"
BINOMIAL = "functions:ompi_coll_base_reduce_intra_binomial"
SAME = "messages:aaaaaaaaaaaa 1 messages, 8 B: 1>0:8B"
OTHER = "messages:bbbbbbbbbbbb 2 messages, 16 B: 1>0:8B×2"


def seen(name, evidence="", **more):
    return Observation(algorithm=Algorithm(collective="reduce", name=name), evidence=evidence, **more)


def verdicts(*observations, steering=None, p=4):
    found = judge(observations, steering or OpenMpiSteering(), p, 8)
    return {verdict.algorithm: verdict for verdict in found}


def statuses(*observations, **more):
    return {name: verdict.status for name, verdict in verdicts(*observations, **more).items()}


def test_an_algorithm_that_ran_under_its_name_is_proved():
    found = verdicts(seen("default", BINOMIAL), seen("chain", CHAIN), seen("binomial", BINOMIAL))
    assert {verdict.status for verdict in found.values()} == {"proved"}
    assert found["chain"] == Verdict(
        collective="reduce", algorithm="chain", p=4, bytes=8, status="proved", evidence=CHAIN
    )


def test_one_that_ran_something_else_fell_back_and_says_to_what():
    found = verdicts(seen("chain", BINOMIAL), seen("binomial", BINOMIAL))
    assert found["binomial"].status == "proved"
    assert (found["chain"].status, found["chain"].same_as) == ("fell_back", "binomial")
    assert found["chain"].reason == "ompi_coll_base_reduce_intra_binomial ran instead"


def test_one_that_another_component_handled_fell_back_to_nothing_we_know():
    found = verdicts(seen("chain", "functions:mca_coll_han_reduce_intra"))
    assert (found["chain"].status, found["chain"].same_as) == ("fell_back", "")
    assert "mca_coll_han_reduce_intra ran instead" in found["chain"].reason


def test_a_hierarchical_algorithm_is_proved_by_its_function_and_not_by_messages_alone():
    """Both libraries may fall back silently, and messages alone do not identify the function that sent
    them."""
    settings = {"MPIR_CVAR_REDUCE_INTRA_ALGORITHM": "smp", "MPIR_CVAR_COLLECTIVE_FALLBACK": "silent"}
    smp = Algorithm(collective="reduce", name="smp", settings=settings, hierarchical=True)
    wanted = {
        "functions:MPIR_Reduce_intra_smp MPIR_Reduce_intra_binomial": "proved",
        "functions:MPIR_Reduce_intra_binomial": "fell_back",
        SAME: "unproved",
    }
    for evidence, status in wanted.items():
        one = Observation(algorithm=smp, evidence=evidence)
        found = verdicts(seen("ring", OTHER), one, steering=MpichSteering())
        assert found["smp"].status == status


def test_of_several_that_ran_the_same_code_the_first_keeps_it():
    presets = [seen(f"preset_{n}", f"functions:MPIR_Reduce_intra_{c}") for n, c in enumerate("abab")]
    found = verdicts(*presets, steering=IntelMpiSteering())
    assert [v.status for v in found.values()] == ["proved", "proved", "duplicate", "duplicate"]
    assert [v.same_as for v in found.values()] == ["", "", "preset_0", "preset_1"]
    assert found["preset_3"].reason == "runs the same code as preset_1"


def test_the_default_is_nobodys_duplicate_and_owns_nothing():
    found = verdicts(
        seen("default", "functions:MPIR_Reduce_intra_a"),
        seen("preset_1", "functions:MPIR_Reduce_intra_a"),
        steering=IntelMpiSteering(),
    )
    assert [v.status for v in found.values()] == ["proved", "proved"]


def test_an_unsound_algorithm_owns_nothing():
    found = verdicts(
        seen("preset_1", "functions:MPIR_Reduce_intra_a", wrong=3),
        seen("preset_2", "functions:MPIR_Reduce_intra_a"),
        steering=IntelMpiSteering(),
    )
    assert found["preset_2"].status == "proved"


def test_parameters_make_no_duplicates():
    found = statuses(
        seen("chain", CHAIN),
        seen("chain(fanout=2)", CHAIN),
        seen("chain(fanout=4)", CHAIN),
        seen("chain(fanout=4, segment=8)", CHAIN),
    )
    assert set(found.values()) == {"proved"}


def test_other_functions_inside_make_other_code():
    one, other = CHAIN, CHAIN + " ompi_coll_base_bcast_intra_binomial"
    found = statuses(
        seen("preset_1", one.replace("ompi_coll_base_reduce_intra_", "MPIR_Reduce_intra_")),
        seen("preset_2", other.replace("ompi_coll_base_reduce_intra_", "MPIR_Reduce_intra_")),
        steering=IntelMpiSteering(),
    )
    assert set(found.values()) == {"proved"}


@given(
    st.builds(
        Observation,
        algorithm=st.sampled_from(["default", "chain", "binomial", "chain(fanout=2)"]).map(
            lambda name: Algorithm(collective="reduce", name=name)
        ),
        evidence=st.sampled_from(["", CHAIN, BINOMIAL, SAME, OTHER, "late:0>0"]),
        lost=st.sampled_from(["", "hung"]),
        error=st.sampled_from(["", "no"]),
        wrong=st.sampled_from([0, 3]),
        wrong_noncommutative=st.sampled_from([0, 3]),
    )
)
def test_what_is_lost_refused_or_wrong_is_never_proved(one):
    (verdict,) = judge([one], OpenMpiSteering(), 4, 8)
    if one.lost:
        assert (verdict.status, verdict.reason) == ("quarantined", "hung")
    elif one.error:
        assert (verdict.status, verdict.reason) == ("refused", "no")
    elif one.wrong:
        assert (verdict.status, verdict.reason) == ("wrong", "3 wrong elements")
    else:
        assert verdict.status in ("proved", "unproved", "fell_back")
    assert verdict.commutative_only == (one.wrong_noncommutative > 0)


def test_wrong_with_a_noncommutative_operation_alone_is_proved_with_that_remark():
    found = verdicts(seen("chain", CHAIN, wrong_noncommutative=7))
    assert (found["chain"].status, found["chain"].commutative_only) == ("proved", True)


def test_without_any_evidence_nothing_is_proved_but_the_default():
    assert statuses(seen("default"), seen("chain")) == {"default": "proved", "chain": "unproved"}


def test_messages_that_nothing_else_sends_prove_an_algorithm_and_those_of_two_prove_neither():
    found = verdicts(seen("a", SAME), seen("b", SAME), seen("c", OTHER), steering=MpichSteering())
    assert {name: verdict.status for name, verdict in found.items()} == {
        "a": "indistinguishable",
        "b": "indistinguishable",
        "c": "proved",
    }
    assert found["a"].reason == "not proved: the evidence is the same for b"


def test_an_algorithm_that_looks_like_the_default_is_proved():
    found = statuses(
        seen("default", SAME), seen("a", SAME), seen("b", OTHER), seen("c", CHAIN), steering=MpichSteering()
    )
    assert set(found.values()) == {"proved"}


def test_the_same_functions_are_no_duplicates_where_they_take_parameters_from_the_name():
    found = statuses(seen("a", CHAIN), seen("b", CHAIN), steering=MpichSteering())
    assert set(found.values()) == {"indistinguishable"}
    one, other = f"{CHAIN}; late:0>0 1>1", f"{CHAIN}; late:0>0 1>0,1"
    assert set(statuses(seen("a", one), seen("b", other), steering=MpichSteering()).values()) == {"proved"}


def test_parameters_that_functions_do_not_show_are_said_to_be_read_back_alone():
    found = verdicts(seen("chain", CHAIN), seen("chain(fanout=2)", CHAIN))
    assert found["chain"].reason == ""
    assert "parameters were only set and read back" in found["chain(fanout=2)"].reason


@pytest.mark.parametrize("evidence", [SAME, "late:0>0 1>0,1"])
def test_a_setting_that_changes_nothing_visible_is_unproved(evidence):
    found = verdicts(
        seen("default", evidence), *(seen(name, evidence) for name in "abc"), steering=MpichSteering()
    )
    assert found["default"].status == "proved"
    assert {found[name].status for name in "abc"} == {"unproved"}
    assert "the library may ignore them" in found["a"].reason


def test_a_setting_that_makes_a_call_fail_is_obeyed():
    failed = seen("d", error="not usable", call_failed=True)
    found = statuses(*(seen(name, SAME) for name in "abc"), failed, steering=MpichSteering())
    assert found == dict.fromkeys("abc", "indistinguishable") | {"d": "refused"}


def test_a_setting_that_could_not_be_written_shows_nothing():
    refused = seen("d", error="the library has no such variable")
    found = statuses(*(seen(name, SAME) for name in "abc"), refused, steering=MpichSteering())
    assert found == {"a": "unproved", "b": "unproved", "c": "unproved", "d": "refused"}


def test_a_setting_under_which_other_messages_run_than_by_default_is_obeyed():
    found = statuses(seen("default", OTHER), *(seen(name, SAME) for name in "abc"), steering=MpichSteering())
    assert found == dict.fromkeys("abc", "indistinguishable") | {"default": "proved"}


def test_evidence_of_another_kind_does_not_hide_that_messages_are_alike():
    late = seen("d", "late:0>0")
    found = statuses(*(seen(name, SAME) for name in "abc"), late, steering=MpichSteering())
    assert {found[name] for name in "abc"} == {"unproved"}


def test_one_process_or_two_algorithms_are_too_few_to_say_that_a_setting_is_ignored():
    for names, p in (("abc", 1), ("ab", 4)):
        found = statuses(*(seen(name, SAME) for name in names), p=p, steering=MpichSteering())
        assert set(found.values()) == {"indistinguishable"}


def test_renaming_reaches_the_algorithm_its_twin_and_the_reason():
    presets = [seen(f"preset_{n}", "functions:MPIR_Reduce_intra_a") for n in (1, 2)]
    names = {("reduce", "preset_1"): "a_1", ("reduce", "preset_2"): "a_2", ("bcast", "a_1"): "x"}
    first, second = rename(judge(presets, IntelMpiSteering(), 4, 8), names)
    assert (first.algorithm, first.same_as, first.reason) == ("a_1", "", "")
    assert (second.algorithm, second.same_as) == ("a_2", "a_1")
    assert second.reason == "runs the same code as a_1"
    assert rename([first], {}) == [first]
