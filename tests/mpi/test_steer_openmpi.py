"""Steering Open MPI by what versions 4.1.4 and 5.0.11 answer about themselves."""

from __future__ import annotations

import captured
import pytest
from hypothesis import given
from hypothesis import strategies as st

from offbeat.mpi.steer_openmpi import KNOBS, KNOBS_OF, OpenMpiSteering
from offbeat.study.algorithm import Algorithm
from offbeat.study.case import COLLECTIVES

LIBRARIES = ["openmpi4", "openmpi5"]
STEERING = OpenMpiSteering()


@pytest.fixture(params=LIBRARIES)
def library(request):
    return request.param


def plain(library, collective, name, tmp_path):
    here = captured.found(STEERING, library, tmp_path)[collective]
    return next(one for one in here if one.name == name)


@pytest.mark.parametrize("collective", COLLECTIVES)
def test_every_algorithm_that_the_library_lists_is_found_with_its_number(library, collective, tmp_path):
    found = captured.found(STEERING, library, tmp_path)[collective]
    variable = f"coll_tuned_{collective}_algorithm"
    wanted = {
        word.replace("-", "_"): {variable: str(number)}
        for word, number in captured.known(library)[collective].items()
        if word != "ignore"
    }
    assert {one.name: one.settings for one in found} == wanted
    assert all(one.collective == collective for one in found)


def test_a_collective_that_the_library_does_not_tune_has_no_algorithms(tmp_path):
    assert STEERING.algorithms("reduce", [], captured.installation("openmpi5", tmp_path)) == []


@pytest.mark.parametrize("collective", COLLECTIVES)
def test_each_algorithm_is_recognised_by_exactly_one_of_the_librarys_functions(library, collective, tmp_path):
    owners = {
        one.name: [name for name in captured.functions(library) if STEERING.is_by_name(one, name)]
        for one in captured.found(STEERING, library, tmp_path)[collective]
    }
    assert {name: len(functions) for name, functions in owners.items()} == dict.fromkeys(owners, 1)
    assert len({functions[0] for functions in owners.values()}) == len(owners)
    assert all(functions[0].startswith("ompi_coll_base_") for functions in owners.values())


def test_an_algorithm_with_parameters_is_recognised_by_the_same_function():
    one = Algorithm(collective="reduce", name="chain(fanout=4, segment=65536)")
    assert STEERING.is_by_name(one, "ompi_coll_base_reduce_intra_chain")
    assert not STEERING.is_by_name(one, "ompi_coll_base_reduce_intra_pipeline")
    assert not STEERING.is_by_name(one, "ompi_coll_base_bcast_intra_chain")
    assert not STEERING.is_by_name(one, "")


def test_what_ran_is_the_last_function_of_the_collective_itself():
    entered = [
        "ompi_coll_base_allreduce_intra_ring",
        "ompi_coll_base_allreduce_intra_recursivedoubling",
        "ompi_coll_base_reduce_intra_binomial",
    ]
    assert STEERING.what_ran("allreduce", entered) == "ompi_coll_base_allreduce_intra_recursivedoubling"
    assert STEERING.what_ran("bcast", entered) == ""


def test_reduce_is_not_taken_for_reduce_scatter_nor_alltoall_for_alltoallv():
    block = "ompi_coll_base_reduce_scatter_block_basic_linear"
    assert STEERING.what_ran("reduce_scatter_block", [block]) == block
    assert STEERING.what_ran("reduce_scatter", [block]) == ""
    assert STEERING.what_ran("reduce", [block]) == ""
    assert STEERING.what_ran("alltoall", ["ompi_coll_base_alltoallv_intra_pairwise"]) == ""


def test_algorithms_are_switched_while_running_except_those_of_allgatherv(library, tmp_path):
    variables = captured.variables(library)
    for collective, algorithms in captured.found(STEERING, library, tmp_path).items():
        for one in algorithms:
            number = next(iter(one.settings.values()))
            words = STEERING.switch(one, variables)
            constant = collective == "allgatherv"
            assert words == (None if constant else [f"coll_tuned_{collective}_algorithm={number}"])


def test_in_the_environment_settings_are_mca_parameters(library, tmp_path):
    one = plain(library, "allgatherv", "ring", tmp_path)
    assert STEERING.launch_environment(one) == {"OMPI_MCA_coll_tuned_allgatherv_algorithm": "3"}


def test_the_default_is_switched_by_setting_nothing(library):
    default = Algorithm(collective="reduce", name="default")
    assert STEERING.switch(default, captured.variables(library)) == []
    assert STEERING.launch_environment(default) == {}


def test_parameters_become_settings_and_the_name_lists_them_in_order(library, tmp_path):
    chain = plain(library, "reduce", "chain", tmp_path)
    wanted = {"segment": "65536", "fanout": "4"}
    one = STEERING.with_parameters(chain, wanted, captured.variables(library))
    assert one.name == "chain(fanout=4, segment=65536)"
    assert one.settings == {
        "coll_tuned_reduce_algorithm": "2",
        "coll_tuned_reduce_algorithm_segmentsize": "65536",
        "coll_tuned_reduce_algorithm_chain_fanout": "4",
        "coll_tuned_reduce_algorithm_tree_fanout": "4",
    }
    words = STEERING.switch(one, captured.variables(library))
    assert sorted(words) == sorted(f"{name}={value}" for name, value in one.settings.items())


@pytest.mark.parametrize(
    ("collective", "name", "parameters"),
    [
        ("bcast", "knomial", {"radix": "4", "segment": "8192"}),
        ("alltoall", "linear_sync", {"requests": "8"}),
        ("scatter", "linear_nb", {"requests": "8"}),
        ("gather", "linear_sync", {"segment": "1024"}),
        ("allreduce", "segmented_ring", {"segment": "1024"}),
    ],
)
def test_each_kind_of_parameter_reaches_its_variable(library, collective, name, parameters, tmp_path):
    base = plain(library, collective, name, tmp_path)
    one = STEERING.with_parameters(base, parameters, captured.variables(library))
    assert len(one.settings) == 1 + len(parameters)
    for parameter, value in parameters.items():
        assert one.settings[f"coll_tuned_{collective}_algorithm{KNOBS[parameter][0]}"] == value


@pytest.mark.parametrize(
    ("collective", "name", "parameters"),
    [
        ("reduce", "chain", {"fan": "4"}),
        ("reduce", "linear", {"segment": "1024"}),
        ("gather", "binomial", {"segment": "1024"}),
        ("reduce", "chain", {"fanout": "four"}),
        ("reduce", "chain", {"fanout": "-4"}),
        ("reduce", "chain", {"fanout": "4.0"}),
        ("reduce", "chain", {"fanout": ""}),
        ("reduce", "chain", {"fanout": "٤"}),
        ("reduce", "chain", {"segment": "99999999999"}),
        ("reduce", "chain", {"fanout": "4", "colour": "1"}),
    ],
)
def test_a_parameter_that_would_have_no_effect_or_has_no_number_is_refused(
    library, collective, name, parameters, tmp_path
):
    base = plain(library, collective, name, tmp_path)
    assert STEERING.with_parameters(base, parameters, captured.variables(library)) is None


def test_a_parameter_whose_variable_this_version_lacks_is_refused(library, tmp_path):
    base = plain(library, "reduce", "chain", tmp_path)
    only = [one for one in captured.variables(library) if not one.name.endswith("fanout")]
    assert STEERING.with_parameters(base, {"fanout": "4"}, only) is None


@given(st.integers(0, 999_999_999), st.integers(0, 3))
def test_one_number_has_one_name(value, zeros):
    base = Algorithm(collective="reduce", name="pipeline", settings={"coll_tuned_reduce_algorithm": "3"})
    written = ("0" * zeros + str(value))[-9:]
    one = STEERING.with_parameters(base, {"segment": written}, captured.variables("openmpi5"))
    assert one.name == f"pipeline(segment={int(written)})"


@pytest.mark.parametrize("collective", KNOBS_OF)
def test_every_parameter_that_is_offered_is_one_of_a_known_algorithm_and_variable(
    library, collective, tmp_path
):
    names = {one.name for one in captured.found(STEERING, library, tmp_path)[collective]}
    variables = {one.name for one in captured.variables(library)}
    for name, parameters in KNOBS_OF[collective].items():
        assert name in names
        for parameter in parameters:
            endings = KNOBS[parameter]
            assert any(f"coll_tuned_{collective}_algorithm{ending}" in variables for ending in endings)


def test_forced_algorithms_act_only_with_dynamic_rules(library, tmp_path):
    here = captured.installation(library, tmp_path)
    assert STEERING.environment(here) == {"OMPI_MCA_coll_tuned_use_dynamic_rules": "1"}
