"""Steering Open MPI, with the recorded answers of versions 4.1.4 and 5.0.11."""

from __future__ import annotations

import captured
import pytest
from hypothesis import given
from hypothesis import strategies as st

from offbeat.libraries.families.openmpi import PARAMETER_VARIABLES, PARAMETERS_OF, OpenMpiSteering
from offbeat.model.study.algorithm import Algorithm, distinct_from_default
from offbeat.model.study.collectives import COLLECTIVES

LIBRARIES = ["openmpi4", "openmpi5"]
STEERING = OpenMpiSteering()


@pytest.fixture(params=LIBRARIES)
def library(request):
    return request.param


IN_HAN = ("allgather", "allgatherv", "allreduce", "barrier", "bcast", "gather", "reduce", "scatter")
TUNED, OF_HAN = "3", "6"
"""The numbers by which 5.0.11's ``han`` calls the components."""


def given_to(component, library, collective):
    """The setting that assigns a whole collective to a component on several nodes."""
    has_han = library == "openmpi5" and collective in IN_HAN
    return {f"coll_han_{collective}_dynamic_global_communicator_module": component} if has_han else {}


def of_tuned(algorithms):
    return [one for one in algorithms if not one.hierarchical]


def plain(library, collective, name, tmp_path):
    here = captured.algorithms(STEERING, library, tmp_path)[collective]
    return next(one for one in here if one.name == name)


@pytest.mark.parametrize("collective", COLLECTIVES)
def test_every_algorithm_that_the_library_lists_is_found_with_its_number(library, collective, tmp_path):
    algorithms = of_tuned(captured.algorithms(STEERING, library, tmp_path)[collective])
    variable = f"coll_tuned_{collective}_algorithm"
    expected = {
        distinct_from_default(word.replace("-", "_"), number): {variable: str(number)}
        | given_to(TUNED, library, collective)
        for word, number in captured.algorithm_numbers(library)[collective].items()
        if word != "ignore"
    }
    assert {one.name: one.settings for one in algorithms} == expected
    assert all(one.collective == collective for one in algorithms)


@pytest.mark.parametrize(
    ("collective", "names"),
    [
        ("allgather", ["intra", "simple"]),
        ("allreduce", ["intra", "simple", "reproducible"]),
        ("barrier", ["simple"]),
        ("gather", ["intra", "simple"]),
        ("allgatherv", []),
        ("alltoall", []),
    ],
)
def test_algorithms_of_han_are_candidates_where_it_can_divide_by_nodes(collective, names, tmp_path):
    algorithms = [
        one for one in captured.algorithms(STEERING, "openmpi5", tmp_path)[collective] if one.hierarchical
    ]
    assert [(one.name, one.settings) for one in algorithms] == [
        (
            f"han_{name}",
            {f"coll_han_use_{collective}_algorithm": str(number)} | given_to(OF_HAN, "openmpi5", collective),
        )
        for number, name in enumerate(names, 1)
    ]
    assert all(one.fits(2, 2) and one.fits(4, 64) for one in algorithms)
    assert not any(one.fits(nodes, ppn) for one in algorithms for nodes, ppn in [(1, 8), (2, 1), (0, 0)])


def test_open_mpi_4_offers_no_algorithms_of_han(tmp_path):
    """Its ``han`` has the lowest priority, and no variable for its algorithms; its others are constant."""
    listed_algorithms = captured.algorithms(STEERING, "openmpi4", tmp_path)
    assert not any(one.hierarchical for algorithms in listed_algorithms.values() for one in algorithms)


def test_algorithms_of_han_are_switched_while_running(tmp_path):
    simple = plain("openmpi5", "reduce", "han_simple", tmp_path)
    words = STEERING.force_arguments(simple, captured.variables("openmpi5"))
    assert sorted(words) == [
        "coll_han_reduce_dynamic_global_communicator_module=6",
        "coll_han_use_reduce_algorithm=2",
    ]


@pytest.mark.parametrize("collective", ["bcast", "reduce", "allreduce"])
def test_the_segments_of_han_are_its_own_parameter(collective, tmp_path):
    intra = plain("openmpi5", collective, "han_intra", tmp_path)
    variables = captured.variables("openmpi5")
    one = STEERING.with_parameters(intra, {"segment": "8192"}, variables)
    assert (one.name, one.hierarchical) == ("han_intra(segment=8192)", True)
    assert one.settings == intra.settings | {f"coll_han_{collective}_segsize": "8192"}
    assert f"coll_han_{collective}_segsize=8192" in STEERING.force_arguments(one, variables)
    assert STEERING.name_matches(one, f"mca_coll_han_{collective}_intra")
    simple = plain("openmpi5", collective, "han_simple", tmp_path)
    assert STEERING.with_parameters(simple, {"segment": "8192"}, variables) is None


def test_a_collective_that_han_divides_ran_by_han():
    entered = [
        "mca_coll_han_reduce_intra_simple",
        "ompi_coll_base_reduce_intra_basic_linear",
        "ompi_coll_base_reduce_intra_binomial",
    ]
    assert STEERING.identify_executed("reduce", entered) == entered[0]
    assert STEERING.functions_of("reduce", entered) == entered[:1]


def test_if_han_passes_a_collective_on_another_component_ran(tmp_path):
    simple = plain("openmpi5", "reduce", "han_simple", tmp_path)
    ran = STEERING.identify_executed("reduce", ["ompi_coll_base_reduce_intra_basic_linear"])
    assert not STEERING.name_matches(simple, ran)


def test_algorithms_of_han_and_tuned_are_distinguished():
    tuned = Algorithm(collective="reduce", name="simple", settings={"coll_tuned_reduce_algorithm": "1"})
    assert not STEERING.name_matches(tuned, "mca_coll_han_reduce_intra_simple")
    han = Algorithm(collective="reduce", name="han_linear", settings={"coll_han_use_reduce_algorithm": "9"})
    assert not STEERING.name_matches(han, "ompi_coll_base_reduce_intra_linear")


def test_a_collective_that_the_library_does_not_tune_has_no_algorithms(tmp_path):
    assert STEERING.algorithms("reduce", [], captured.installation("openmpi5", tmp_path)) == []


@pytest.mark.parametrize("collective", COLLECTIVES)
def test_each_algorithm_is_recognised_by_exactly_one_of_the_librarys_functions(library, collective, tmp_path):
    owners = {
        one.name: [name for name in captured.functions(library) if STEERING.name_matches(one, name)]
        for one in captured.algorithms(STEERING, library, tmp_path)[collective]
    }
    assert {name: len(functions) for name, functions in owners.items()} == dict.fromkeys(owners, 1)
    assert len({functions[0] for functions in owners.values()}) == len(owners)
    assert all(
        functions[0].startswith("mca_coll_han_" if name.startswith("han_") else "ompi_coll_base_")
        for name, functions in owners.items()
    )


def test_an_algorithm_with_parameters_is_recognised_by_the_same_function():
    one = Algorithm(collective="reduce", name="chain(fanout=4, segment=65536)")
    assert STEERING.name_matches(one, "ompi_coll_base_reduce_intra_chain")
    assert not STEERING.name_matches(one, "ompi_coll_base_reduce_intra_pipeline")
    assert not STEERING.name_matches(one, "ompi_coll_base_bcast_intra_chain")
    assert not STEERING.name_matches(one, "")


def test_the_executed_algorithm_is_the_last_function_of_the_collective_itself():
    entered = [
        "ompi_coll_base_allreduce_intra_ring",
        "ompi_coll_base_allreduce_intra_recursivedoubling",
        "ompi_coll_base_reduce_intra_binomial",
    ]
    assert (
        STEERING.identify_executed("allreduce", entered) == "ompi_coll_base_allreduce_intra_recursivedoubling"
    )
    assert STEERING.identify_executed("bcast", entered) == ""


def test_reduce_is_distinguished_from_reduce_scatter_and_alltoall_from_alltoallv():
    block = "ompi_coll_base_reduce_scatter_block_basic_linear"
    assert STEERING.identify_executed("reduce_scatter_block", [block]) == block
    assert STEERING.identify_executed("reduce_scatter", [block]) == ""
    assert STEERING.identify_executed("reduce", [block]) == ""
    assert STEERING.identify_executed("alltoall", ["ompi_coll_base_alltoallv_intra_pairwise"]) == ""


def test_algorithms_are_switched_while_running_except_those_of_allgatherv(library, tmp_path):
    variables = captured.variables(library)
    for collective, algorithms in captured.algorithms(STEERING, library, tmp_path).items():
        for one in of_tuned(algorithms):
            number = one.settings[f"coll_tuned_{collective}_algorithm"]
            words = STEERING.force_arguments(one, variables)
            constant = collective == "allgatherv"
            assert (words is None) == constant
            assert constant or f"coll_tuned_{collective}_algorithm={number}" in words


def test_settings_in_the_environment_are_mca_parameters(library, tmp_path):
    one = plain(library, "allgatherv", "ring", tmp_path)
    past_han = {f"OMPI_MCA_{key}": value for key, value in given_to(TUNED, library, "allgatherv").items()}
    expected = {"OMPI_MCA_coll_tuned_allgatherv_algorithm": "3"} | past_han
    assert STEERING.launch_environment(one) == expected


def test_the_default_is_switched_by_setting_nothing(library):
    default = Algorithm(collective="reduce", name="default")
    assert STEERING.force_arguments(default, captured.variables(library)) == []
    assert STEERING.launch_environment(default) == {}


def test_parameters_become_settings_and_the_name_lists_them_in_order(library, tmp_path):
    chain = plain(library, "reduce", "chain", tmp_path)
    expected = {"segment": "65536", "fanout": "4"}
    one = STEERING.with_parameters(chain, expected, captured.variables(library))
    assert one.name == "chain(fanout=4, segment=65536)"
    assert one.settings == {
        "coll_tuned_reduce_algorithm": "2",
        "coll_tuned_reduce_algorithm_segmentsize": "65536",
        "coll_tuned_reduce_algorithm_chain_fanout": "4",
        "coll_tuned_reduce_algorithm_tree_fanout": "4",
    } | given_to(TUNED, library, "reduce")
    words = STEERING.force_arguments(one, captured.variables(library))
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
    assert len(one.settings) == len(base.settings) + len(parameters)
    for parameter, value in parameters.items():
        assert one.settings[f"coll_tuned_{collective}_algorithm{PARAMETER_VARIABLES[parameter][0]}"] == value


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


@pytest.mark.parametrize("collective", PARAMETERS_OF)
def test_every_parameter_that_is_offered_is_one_of_a_known_algorithm_and_variable(
    library, collective, tmp_path
):
    names = {one.name for one in captured.algorithms(STEERING, library, tmp_path)[collective]}
    variables = {one.name for one in captured.variables(library)}
    for name, parameters in PARAMETERS_OF[collective].items():
        if library == "openmpi4" and name.startswith("han_"):
            continue
        assert name in names
        for parameter in parameters:
            tuned = [
                f"coll_tuned_{collective}_algorithm{ending}" for ending in PARAMETER_VARIABLES[parameter]
            ]
            expected = [f"coll_han_{collective}_segsize"] if name.startswith("han_") else tuned
            assert not variables.isdisjoint(expected)


def test_forced_algorithms_act_only_with_dynamic_rules(library, tmp_path):
    here = captured.installation(library, tmp_path)
    assert STEERING.environment(here) == {"OMPI_MCA_coll_tuned_use_dynamic_rules": "1"}
