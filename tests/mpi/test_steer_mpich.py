"""Steering MPICH, with the recorded answers of versions 4.0.2 and 5.0.2."""

from __future__ import annotations

import captured
import pytest

from offbeat.libraries.families.library import Variable
from offbeat.libraries.families.mpich import MpichSteering, names_in_functions
from offbeat.model.study.algorithm import Algorithm
from offbeat.model.study.collectives import COLLECTIVES

LIBRARIES = ["mpich4", "mpich5"]
STEERING = MpichSteering()


@pytest.fixture(params=LIBRARIES)
def library(request):
    return request.param


def variable(collective):
    return f"MPIR_CVAR_{collective.upper()}_INTRA_ALGORITHM"


def numbers(library, one):
    """The arguments of ``force`` as (collective or its nonblocking variant, number)."""
    words = STEERING.force_arguments(one, captured.variables(library))
    pairs = [word.split("=") for word in words]
    return {name: int(number) for name, number in pairs}


@pytest.mark.parametrize("collective", COLLECTIVES)
def test_every_algorithm_that_the_library_lists_is_found_by_its_word(library, collective, tmp_path):
    algorithms = captured.algorithms(STEERING, library, tmp_path)[collective]
    blocking = [one.name for one in algorithms if not one.name.startswith("nb(")]
    expected = [
        word for word in captured.algorithm_numbers(library)[collective] if word not in ("auto", "nb", "ccl")
    ]
    assert blocking == expected


def test_algorithms_for_gpus_are_not_offered_for_host_memory(tmp_path):
    assert "ccl" in captured.algorithm_numbers("mpich5")["allreduce"]
    algorithms = captured.algorithms(STEERING, "mpich5", tmp_path)["allreduce"]
    assert "ccl" not in [one.name for one in algorithms]


@pytest.mark.parametrize("collective", COLLECTIVES)
def test_nb_is_offered_with_every_algorithm_of_the_nonblocking_sibling(library, collective, tmp_path):
    algorithms = captured.algorithms(STEERING, library, tmp_path)[collective]
    inner = [one.name for one in algorithms if one.name.startswith("nb(")]
    sibling = captured.algorithm_numbers(library)["i" + collective]
    assert inner == [f"nb({word})" for word in sibling if word not in ("auto", "sched_auto")]


@pytest.mark.parametrize("collective", COLLECTIVES)
def test_algorithms_are_switched_by_the_librarys_own_numbers(library, collective, tmp_path):
    known = captured.algorithm_numbers(library)
    own, sibling = variable(collective), variable("i" + collective)
    for one in captured.algorithms(STEERING, library, tmp_path)[collective]:
        if one.name.startswith("nb("):
            inner = known["i" + collective][one.name[3:-1]]
            assert numbers(library, one) == {own: known[collective]["nb"], sibling: inner}
        else:
            may_give_way = {"MPIR_CVAR_COLLECTIVE_FALLBACK": 2} if one.name == "smp" else {}
            assert numbers(library, one) == {own: known[collective][one.name]} | may_give_way


@pytest.mark.parametrize("collective", ["barrier", "bcast", "reduce", "allreduce", "scan"])
def test_smp_divides_by_nodes_and_its_parts_may_fall_back(library, collective, tmp_path):
    """The variable also forces ``smp`` on the parts; it does not apply there, and the call would fail."""
    smp = next(
        one for one in captured.algorithms(STEERING, library, tmp_path)[collective] if one.name == "smp"
    )
    assert smp.settings == {variable(collective): "smp", "MPIR_CVAR_COLLECTIVE_FALLBACK": "silent"}
    assert smp.fits(2, 2) and not smp.fits(1, 4) and not smp.fits(2, 1) and not smp.fits(0, 0)
    cap = collective.capitalize()
    assert STEERING.name_matches(smp, f"MPIR_{cap}_intra_smp")
    assert not STEERING.name_matches(smp, f"MPIR_{cap}_intra_binomial"), "it gave way"


def test_names_without_a_blank_after_the_sentence_are_split(tmp_path):
    alltoall = next(one for one in captured.variables("mpich4") if one.name == variable("alltoall"))
    assert "JSON_FILE)brucks" in alltoall.description
    names = [one.name for one in captured.algorithms(STEERING, "mpich4", tmp_path)["alltoall"]]
    assert names[0] == "brucks"
    assert not any("json" in name or "algorithm" in name for name in names)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("how to do itauto - choosebrucks - oldk_brucks - newnb - other", "auto brucks k_brucks nb"),
        ("how to do itauto - choosek_brucks - newbrucks - oldnb - other", "auto k_brucks brucks nb"),
        ("auto - choose\nmegabrucks - large\nbrucks - small\n", "auto megabrucks brucks"),
    ],
)
def test_a_word_that_ends_another_keeps_its_own_number(text, expected):
    asked = Variable(
        name=variable("alltoall"), type="int", settable=True, value="0", items=[], description=text
    )
    for number, word in enumerate(expected.split()):
        one = Algorithm(collective="alltoall", name=word, settings={variable("alltoall"): word})
        assert STEERING.force_arguments(one, [asked]) == [f"{variable('alltoall')}={number}"]


def test_a_word_that_the_library_does_not_know_needs_a_launch_of_its_own(library):
    one = Algorithm(collective="reduce", name="magic", settings={variable("reduce"): "magic"})
    assert STEERING.force_arguments(one, captured.variables(library)) is None
    assert STEERING.force_arguments(one, []) is None
    assert STEERING.launch_environment(one) == {variable("reduce"): "magic"}


def test_variables_in_the_environment_take_names(library, tmp_path):
    algorithms = {one.name: one for one in captured.algorithms(STEERING, library, tmp_path)["reduce"]}
    assert STEERING.launch_environment(algorithms["nb(tsp_tree)"]) == {
        variable("reduce"): "nb",
        variable("ireduce"): "tsp_tree",
    }


def test_names_that_the_library_does_not_list_are_passed_unchanged(tmp_path):
    """A library file without readable names, such as one without its tuning names."""
    bare = captured.installation("mpich5", tmp_path)
    bare.library.write_bytes(b"\x7fELF")
    names_in_functions.cache_clear()
    names = [one.name for one in STEERING.algorithms("reduce", captured.variables("mpich5"), bare)]
    assert {"binomial", "smp", "reduce_scatter_gather", "nb(tsp_tree)"} <= set(names)


def test_no_algorithm_takes_parameters_and_nb_is_no_parameter(library, tmp_path):
    one = captured.algorithms(STEERING, library, tmp_path)["reduce"][0]
    assert STEERING.with_parameters(one, {"k": "4"}, captured.variables(library)) is None


def test_a_forced_algorithm_that_cannot_run_says_so(library, tmp_path):
    here = captured.installation(library, tmp_path)
    assert STEERING.environment(here) == {"MPIR_CVAR_COLLECTIVE_FALLBACK": "error"}


def test_a_nonblocking_algorithm_is_named_by_its_own_function_and_not_by_what_calls_it():
    passes_on = "MPIR_Reduce_allcomm_nb"
    for inner in ("MPIR_Ireduce_intra_sched_binomial", "MPIR_TSP_Ireduce_sched_intra_tree"):
        assert STEERING.identify_executed("reduce", [passes_on, inner, "MPIR_Bcast_intra_binomial"]) == inner
        assert STEERING.functions_of("reduce", [passes_on, inner, "MPIR_Bcast_intra_binomial"]) == [
            passes_on,
            inner,
        ]
    assert STEERING.functions_of("reduce", ["MPIR_Ireduce_scatter_intra_sched_pairwise"]) == []


def test_a_library_without_symbols_gives_no_executed_algorithm():
    assert STEERING.identify_executed("reduce", []) == ""
    assert STEERING.identify_executed(
        "reduce", ["MPIR_Bcast_intra_binomial", "MPIR_Reduce_intra_binomial"]
    ) == ("MPIR_Reduce_intra_binomial")
