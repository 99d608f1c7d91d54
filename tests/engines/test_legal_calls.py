"""Which legal calls are drawn and tried, how failures are named, and the verdicts on their outcomes."""

from __future__ import annotations

from collections import Counter
from itertools import islice

import fake_launches
import pytest
import scripted_library
from fake_launches import SOUND, FakeLaunches
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scripted_library import case, number_of, observed

from offbeat.libraries.launch.driver import HUNG, DriverLost
from offbeat.measurement.engines.driver_launches import LaunchSpec
from offbeat.measurement.legal_calls.algorithm_checks import (
    DRAWS,
    PROOF_SEED,
    Reference,
    Setup,
    calls_to_try,
    trials,
)
from offbeat.measurement.legal_calls.call_kinds import (
    is_legal,
    isolate_kinds,
    kinds_of_call,
    layouts,
    remove_kind,
)
from offbeat.measurement.legal_calls.corpus import corpus_calls, read_call
from offbeat.measurement.legal_calls.datatypes import BASICS, OPERATIONS, parse
from offbeat.measurement.legal_calls.drawn_calls import (
    LegalCall,
    communicators,
    drawn_calls,
    legal_call,
    smaller_sizes,
)
from offbeat.model.study.algorithm import DEFAULT, KINDS, Algorithm
from offbeat.model.study.collectives import CHECKED, PROPERTIES

SIZES = st.lists(st.integers(1, 1 << 20), min_size=1, max_size=3)


@settings(suppress_health_check=[HealthCheck.too_slow], max_examples=60)
@given(st.sampled_from(CHECKED), st.integers(1, 70), SIZES, st.integers(0, 1 << 30))
def test_every_drawn_call_is_legal_and_repeated_by_its_seed(
    collective: str, p: int, sizes: list[int], seed: int
) -> None:
    calls = list(islice(drawn_calls(collective, p, sizes, seed), 6))
    assert calls == list(islice(drawn_calls(collective, p, sizes, seed), 6))
    for call in calls:
        command = call.command
        assert is_legal(command), command.line()
        assert read_call(command.line()) == command
        for group in (command.members, command.next or command.members):
            assert len(set(group)) == len(group) and max(group) < p
        assert len(command.members) == call.p and (command.root or 0) < call.p
        types = [one for one in layouts(command) if "](vector[" not in one.text]  # of which some interleave
        assert all(one.may_repeat for one in types)
        assert set(call.kinds) <= set(KINDS)


@settings(max_examples=40)
@given(st.sampled_from(CHECKED), st.integers(1, 9), st.integers(0, 1 << 30))
def test_a_call_without_a_kind_is_legal_and_has_the_kind_no_longer(
    collective: str, p: int, seed: int
) -> None:
    (call,) = islice(drawn_calls(collective, p, [64, 4096], seed), 1)
    for kind in call.kinds:
        simpler = remove_kind(call.command, kind)
        assert simpler is None or is_legal(simpler), (kind, simpler.line())
    for kind, simplest in isolate_kinds(call.command):
        assert is_legal(simplest) and kind in kinds_of_call(simplest), (kind, simplest.line())


def test_draws_have_every_kind_every_basic_type_and_every_operation() -> None:
    drawn = [call for name in CHECKED for call in islice(drawn_calls(name, 5, [64, 16384], 1), 100)]
    kinds = Counter(kind for call in drawn for kind in call.kinds)
    assert set(kinds) == set(KINDS) - {"sizes"}
    assert min(kinds.values()) > 8, kinds
    names = {name for call in drawn for one in layouts(call.command) for name in one.unit}
    assert names == set(BASICS)
    pairs = {(c.command.op, c.command.send) for c in drawn if PROPERTIES[c.command.collective].reduces}
    assert {op for op, _ in pairs} == {*OPERATIONS, "affine", "user_sum"}
    large = {
        call.command.collective
        for call in drawn
        for one in layouts(call.command)
        if one.count > 100 and 0 < max(call.command.elements) <= 3 * one.count
    }
    assert large >= {"allreduce", "reduce"}, "messages of a few large elements"
    roots = {
        (call.p, call.command.root or 0) for call in drawn if PROPERTIES[call.command.collective].is_rooted
    }
    assert {root for p, root in roots if p == 5} == set(range(5))


def test_communicators_have_every_small_size() -> None:
    assert smaller_sizes(8) == [1, 2, 3, 4, 5, 6, 7]
    assert smaller_sizes(40) == [1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 17, 32, 33, 39]
    assert {len(group) for group in communicators(4)} == {1, 2, 3, 4}
    assert {len(group) for group in communicators(40, [20, 41])} >= {20}


@pytest.mark.parametrize(
    ("text", "bounds"),
    [
        ("vector[2,3,5](int)", (6, 0, 32, 0, 32)),
        ("vector[2,1,-3](double)", (2, -24, 8, -24, 8)),
        ("indexed[1,3,2,0](short)", (3, 0, 8, 0, 8)),
        ("struct[1,8,1,0](double,char)", (2, 0, 16, 0, 16)),
        ("resized[-4,40](hindexed[2,8](int))", (2, 8, 16, -4, 36)),
        ("contiguous[0](int)", (0, 0, 0, 0, 0)),
        ("bottom(contiguous[3](2int))", (3, 0, 24, 0, 24)),
    ],
)
def test_the_layout_of_a_datatype_is_that_of_the_standard(text: str, bounds: tuple[int, ...]) -> None:
    layout = parse(text)
    assert (layout.count, layout.low, layout.high, layout.lower_bound, layout.upper_bound) == bounds


def test_the_corpus_is_tried_first() -> None:
    corpus = [call for name in CHECKED for call in corpus_calls(name, 8)]
    assert len(corpus) > 4 and all(is_legal(call.command) for call in corpus)
    calls = calls_to_try("bcast", 8, [64], PROOF_SEED, 5)
    known = corpus_calls("bcast", 8)
    assert calls[: len(known)] == known and len(calls) == len(known) + 5


def rooted(root: int, **other: object) -> LegalCall:
    line = f"call collective=reduce members=0,1,2,3 send=double elements=64 root={root}"
    return legal_call(read_call(" ".join([line, *(f"{key}={value}" for key, value in other.items())])))


FORCED = Setup(LaunchSpec(p=4, nodes=0, ppn=0), ("a=1",))
DEFAULTS = Setup(LaunchSpec(p=4, nodes=0, ppn=0))


def right_default() -> Reference:
    return Reference(DEFAULTS, [], {})


@pytest.fixture
def launches(tmp_path):
    """Launches whose library is the function ``answer``."""
    library = scripted_library.engine(tmp_path, "openmpi", lambda *_: SOUND).launches
    assert isinstance(library, FakeLaunches)
    return library


def test_a_failure_counts_if_it_is_repeated_alone_in_a_new_launch(launches) -> None:
    tries: Counter[int] = Counter()

    def answer(where, forced, verb, values):
        root = values.get("root", -1)
        if not forced:
            return SOUND
        tries[root] += 1
        if root == 2 or (root == 1 and tries[1] == 1):
            raise DriverLost(f"{HUNG}no answer within 5 s")
        return SOUND

    launches.answer = answer
    calls = [rooted(1), rooted(2), rooted(2, in_place=1), rooted(3)]
    found = trials(launches, FORCED, calls, 5.0, right_default()).failures
    assert [(one.kind, one.outcome) for one in found] == [("roots", "it hangs (no answer within 5 s)")]
    assert tries[1] == 2  # the second time without an error
    assert tries[3] == 0  # of a kind that was found, no call is tried again


def test_a_call_that_the_default_gets_wrong_in_a_new_launch_does_not_count_against_an_algorithm(
    launches,
) -> None:
    """A read outside a buffer may hit memory that earlier calls of the launch left behind."""
    made: list[str] = []

    def answer(where, forced, verb, values):
        is_first = made[-1:] != ["call"]
        made.append(verb)
        if values.get("root") == 2 and (forced or is_first):
            raise DriverLost("the launch was killed by signal 11")
        return SOUND

    launches.answer = answer
    calls = [rooted(1), rooted(2), rooted(3)]
    by_default = trials(launches, DEFAULTS, calls, 5.0)
    assert by_default.failures == []
    assert trials(launches, FORCED, calls, 5.0, by_default.as_reference(DEFAULTS)).failures == []


def test_a_call_whose_datatypes_the_library_misplaces_in_memory_does_not_count(launches) -> None:
    launches.answer = lambda where, forced, verb, values: (
        SOUND | {"wrong": 3, "misplaced": 1} if values.get("root") == 2 else SOUND
    )
    calls = [rooted(1), rooted(2), rooted(3)]
    result = trials(launches, DEFAULTS, calls, 5.0)
    assert result.failures == [] and result.right == calls and result.misplaced_calls == [rooted(2)]
    assert len(launches.started) == 1


@pytest.mark.parametrize("losses", [1, 2])
def test_a_launch_that_is_lost_before_any_call_is_repeated_once(launches, losses: int) -> None:
    greetings: Counter[str] = Counter()

    def answer(where, forced, verb, values):
        greetings[verb] += 1
        if verb == "hello" and greetings[verb] <= losses:
            raise DriverLost("the launch was killed by signal 9")
        return SOUND

    launches.answer = answer
    result = trials(launches, FORCED, [rooted(1), rooted(2)], 5.0, right_default())
    assert result.failures == [] and result.call_count == 2
    assert greetings["hello"] == (
        2 if losses == 1 else 4
    )  # a launch lost twice casts doubt on the first call


def test_calls_with_all_that_is_special_about_a_failure_are_not_made_again(launches) -> None:
    def is_wrong(values):
        return values.get("op") == "max" and values.get("in_place")

    launches.answer = lambda where, forced, verb, values: SOUND | {"wrong": 5} if is_wrong(values) else SOUND
    calls = [
        rooted(1, op="max", in_place=1),
        *(rooted(root, op="max", in_place=1) for root in (2, 3)),
        rooted(2),
    ]
    result = trials(launches, DEFAULTS, calls, 5.0)
    assert [one.kind for one in result.failures] == ["in-place"] and result.call_count == 2
    made = [values for _, _, verb, values in launches.asked if verb == "call" and values.get("root") == 3]
    assert made == []
    # an algorithm that shares the fault is not tried with them either, and is not wrong
    shared = trials(launches, FORCED, calls, 5.0, result.as_reference(DEFAULTS))
    assert shared.failures == [] and shared.right == [rooted(2)]


def test_a_failure_is_named_by_the_kind_that_suffices(launches) -> None:
    launches.answer = lambda where, forced, verb, values: (
        SOUND | {"wrong": 5} if forced and values.get("nulls") else SOUND
    )
    calls = [rooted(1), rooted(1, in_place=1, nulls=1)]
    (found,) = trials(launches, FORCED, calls, 5.0, right_default()).failures
    assert found.kind == "null-arguments" and found.outcome == "5 elements of the result are wrong"
    assert found.simplest.kinds == ("null-arguments",)


def test_a_failure_for_which_two_kinds_are_needed_is_made_as_simple_as_possible(launches) -> None:
    launches.answer = lambda where, forced, verb, values: (
        SOUND | {"guards": 1} if forced and values.get("nulls") and values.get("in_place") else SOUND
    )
    (found,) = trials(launches, FORCED, [rooted(1, in_place=1, nulls=1)], 5.0, right_default()).failures
    assert found.simplest.kinds == ("in-place", "null-arguments") and found.kind == "in-place"
    assert found.outcome == "it overwrites 1 byte that it must not touch"


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
        if verb == "call" and values.get("in_place") and number_of(forced) == "2":
            return odd or fake_launches.driver_lost()
        return SOUND

    verdicts = prove(scripted_library.engine(tmp_path, "openmpi", answer))
    assert {call.kind for call in verdicts["chain"].wrong_calls} == {"in-place"}
    assert read_call(verdicts["chain"].wrong_calls[0].descriptor).in_place == 1
    assert verdicts["chain"].status == "proved"
    assert verdicts["linear"].wrong_calls == [] and verdicts["linear"].legal_calls >= DRAWS
    assert verdicts["linear"].legal_seed == PROOF_SEED


def test_calls_that_the_default_gets_wrong_do_not_count_against_algorithms(tmp_path) -> None:
    def answer(where, forced, verb, values):
        if verb == "observe":
            name = {"1": "basic_linear", "2": "chain"}.get(number_of(forced), "binomial")
            return observed(f"ompi_coll_base_reduce_intra_{name}")
        return SOUND | {"wrong": 1} if verb == "call" and values.get("in_place") else SOUND

    engine = scripted_library.engine(tmp_path, "openmpi", answer)
    default = Algorithm(collective="reduce", name=DEFAULT)
    requests = [(one, case()) for one in (default, *engine.algorithms("reduce"))]
    (proved,) = engine.prove(requests)
    kinds = {one.algorithm: {call.kind for call in one.wrong_calls} for one in proved.verdicts}
    assert kinds == {"default": {"in-place"}, "linear": set(), "chain": set()}


def test_algorithms_that_run_the_same_code_are_tested_once(tmp_path) -> None:
    def answer(where, forced, verb, values):
        return observed("MPIR_Reduce_intra_ring") if verb == "observe" else SOUND

    engine = scripted_library.engine(tmp_path, "intelmpi", answer)
    prove(engine)
    tried = {where for where, _, verb, values in engine.launches.asked if verb == "call"}
    assert len(tried) == 2  # the library's own choice, and one of the presets
