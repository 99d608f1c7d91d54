"""Names of algorithms, with and without parameters."""

from __future__ import annotations

import captured
import pytest
from hypothesis import given
from hypothesis import strategies as st

from offbeat.libraries.families.intelmpi import IntelMpiSteering
from offbeat.libraries.families.library import Steering
from offbeat.libraries.families.mpich import MpichSteering
from offbeat.libraries.families.openmpi import OpenMpiSteering
from offbeat.model.study.algorithm import DEFAULT, Algorithm, listed_name, split_name

WORD = st.from_regex(r"[a-z][a-z0-9_]{0,8}", fullmatch=True)


@given(WORD, st.dictionaries(WORD, st.integers(0, 10**6).map(str), min_size=1, max_size=4))
def test_a_name_with_parameters_is_parsed_with_any_blanks(name, parameters):
    tight = f"{name}({','.join(f'{key}={value}' for key, value in parameters.items())})"
    wide = f"{name} ( {' , '.join(f'{key} = {value}' for key, value in parameters.items())} )"
    assert split_name(tight) == split_name(wide) == (name, parameters)


@pytest.mark.parametrize(
    "name",
    [
        "binomial",
        "nb(tsp_tree)",
        "chain()",
        "chain(fanout)",
        "chain(fanout=)",
        "chain(=4)",
        "chain(fanout=4,)",
        "chain(fanout=4, segment)",
        "chain(fanout=4, fanout=8)",
        "chain(fanout=4",
        "chain fanout=4)",
        "chain(fanout=4)(segment=8)",
        "chain(f(x)=4)",
        "",
    ],
)
def test_any_other_name_is_not_parsed(name):
    assert split_name(name) == (name, {})


LIBRARIES = {
    "openmpi4": OpenMpiSteering,
    "openmpi5": OpenMpiSteering,
    "mpich4": MpichSteering,
    "mpich5": MpichSteering,
    "intelmpi": IntelMpiSteering,
}


@pytest.mark.parametrize("name", LIBRARIES)
def test_no_algorithm_of_any_library_has_the_name_of_the_librarys_own_decision(name, tmp_path):
    for algorithms in captured.algorithms(LIBRARIES[name](), name, tmp_path).values():
        names = [one.name for one in algorithms]
        assert DEFAULT not in names
        assert len(set(names)) == len(names)


@given(st.lists(WORD | st.just(DEFAULT), max_size=5, unique=True))
def test_an_algorithm_that_its_library_calls_default_is_named_by_its_number(words):
    class Library(Steering):
        def listed_algorithms(self, collective, variables, installation):
            return [Algorithm(collective=collective, name=word, settings={"x": word}) for word in words]

    names = [one.name for one in Library().algorithms("allgatherv", [], None)]
    assert DEFAULT not in names
    assert [listed_name(name) for name in names] == words


def test_the_algorithm_default_of_open_mpi_is_recognised_by_its_function():
    algorithm = Algorithm(collective="allgatherv", name="default_1", settings={"coll_tuned_x": "1"})
    assert OpenMpiSteering().name_matches(algorithm, "ompi_coll_base_allgatherv_intra_basic_default")
    assert not OpenMpiSteering().name_matches(algorithm, "ompi_coll_base_allgatherv_intra_ring")
