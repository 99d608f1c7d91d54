"""Which legal calls are tried, and the verdicts on their outcomes."""

from __future__ import annotations

from collections import Counter
from typing import Any

import fake_launches
import pytest
import scripted_library
from fake_launches import SOUND, FakeLaunches
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scripted_library import case, number_of, observed

from offbeat.engines.launches import LaunchSpec
from offbeat.engines.legal_calls import ELEMENTS, TABLE, LegalCall, legal_calls, smaller_sizes
from offbeat.engines.legal_checks import NOT_TRIED, try_calls, wrong_calls
from offbeat.mpi.driver import HUNG, DriverLost
from offbeat.mpi.protocol import Check
from offbeat.study.algorithm import KINDS
from offbeat.study.collectives import COLLECTIVES, REDUCING

SIZES = st.lists(st.integers(1, 1 << 20), min_size=1, max_size=3)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=50)
@given(st.sampled_from(COLLECTIVES), st.integers(1, 70), SIZES)
def test_the_driver_accepts_every_legal_call(collective: str, p: int, sizes: list[int]) -> None:
    legal = legal_calls(collective, p, [0] if collective == "barrier" else sizes)
    assert len({call.command.line() for call in legal}) == len(legal)
    for call in legal:
        arguments: dict[str, Any] = call.command.values()
        ranks = arguments["members"]
        assert len(set(ranks)) == len(ranks) == call.p and max(ranks) < p
        assert 0 <= arguments["root"] < call.p
        extent = ELEMENTS[arguments["datatype"]][0]
        size = arguments["bytes"]
        assert size == 0 if collective == "barrier" else size >= extent and size % extent == 0
        assert ("op" in arguments) == (collective in REDUCING)
        assert set(call.kinds) <= set(KINDS)


def test_the_table_has_every_kind_and_communicators_every_small_size() -> None:
    assert {kind for row in TABLE for kind in row.kinds} | {"communicators"} == set(KINDS)
    assert smaller_sizes(8) == [1, 2, 3, 4, 5, 6, 7]
    assert smaller_sizes(40) == [1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 17, 32, 33, 39]
    sizes = Counter(call.p for call in legal_calls("gather", 4, [64]))
    assert set(sizes) == {1, 2, 3, 4}
    at_ends = legal_calls("gather", 40, [64], more_processes=[20, 41])
    assert {call.p for call in at_ends} >= {20} and 41 not in {call.p for call in at_ends}


def one(*kinds: str, p: int = 4, text: str = "a call") -> LegalCall:
    return LegalCall(kinds=kinds, p=p, text=text, command=Check(collective="reduce", root=len(text)))


def test_a_call_of_two_kinds_counts_as_the_one_that_is_wrong_by_itself() -> None:
    calls = [one("noncommutative"), one("in-place", "noncommutative"), one("in-place", "roots")]
    wrong = wrong_calls(calls, ["bad", "bad", ""], ["", "", ""])
    assert [call.kind for call in wrong] == ["noncommutative"]
    wrong = wrong_calls(calls, ["", "bad", ""], ["", "", ""])
    assert [call.kind for call in wrong] == ["in-place"]


def test_calls_that_the_default_gets_wrong_do_not_count_against_algorithms() -> None:
    assert wrong_calls([one("roots")], ["bad"], ["it hangs"]) == []
    assert wrong_calls([one("roots")], [f"{NOT_TRIED}it hangs"], [""]) == []


@pytest.fixture
def launches(tmp_path):
    """Launches whose library hangs for some commands; ``hangs`` counts the hangs for each root."""
    library = scripted_library.engine(tmp_path, "openmpi", lambda *_: SOUND).launches
    assert isinstance(library, FakeLaunches)
    return library


def test_a_loss_counts_if_it_is_repeated_and_calls_of_its_kind_are_then_skipped(launches) -> None:
    tries: Counter[int] = Counter()

    def answer(where, forced, verb, values):
        tries[values.get("root", -1)] += 1
        if values.get("root") == 2 or (values.get("root") == 1 and tries[1] == 1):
            raise DriverLost(f"{HUNG}no answer within 5 s")
        return SOUND

    launches.answer = answer
    calls = [
        one("roots", text="."),
        one("in-place", text=".."),
        one("in-place", text="..."),
        one(text="...."),
    ]
    outcomes = try_calls(launches, LaunchSpec(p=4, nodes=0, ppn=0), [], calls, 5.0)
    assert outcomes[0] == "" and outcomes[1] == "it hangs (no answer within 5 s)"
    assert outcomes[2].startswith(NOT_TRIED) and outcomes[3] == ""
    assert (tries[1], tries[2], tries[3], tries[4]) == (2, 2, 0, 1)


def prove(engine):
    requests = [(algorithm, case()) for algorithm in engine.algorithms("reduce")]
    (proved,) = engine.prove(requests)
    return {verdict.algorithm: verdict for verdict in proved.verdicts}


@pytest.mark.parametrize("odd", [SOUND | {"wrong": 3}, SOUND | {"error": "no"}, None])
def test_a_verdict_names_the_legal_calls_of_which_its_algorithm_is_wrong(tmp_path, odd) -> None:
    def answer(where, forced, verb, values):
        if verb == "observe":
            name = {"1": "basic_linear", "2": "chain"}.get(number_of(forced), "binomial")
            return observed(f"ompi_coll_base_reduce_intra_{name}")
        if verb == "check" and values.get("in_place") and number_of(forced) == "2":
            return odd or fake_launches.driver_lost()
        return SOUND

    verdicts = prove(scripted_library.engine(tmp_path, "openmpi", answer))
    assert [call.kind for call in verdicts["chain"].wrong_calls][:1] == ["in-place"]
    assert {call.kind for call in verdicts["chain"].wrong_calls} == {"in-place"}
    assert verdicts["chain"].status == "proved"
    assert verdicts["linear"].wrong_calls == [] and verdicts["linear"].legal_calls > 40


def test_algorithms_that_run_the_same_code_are_tested_once(tmp_path) -> None:
    def answer(where, forced, verb, values):
        return observed("MPIR_Reduce_intra_ring") if verb == "observe" else SOUND

    engine = scripted_library.engine(tmp_path, "intelmpi", answer)
    prove(engine)
    tried = {where for where, _, verb, values in engine.launches.asked if "members" in values}
    assert len(tried) == 2  # the library's own choice, and one of the presets
