"""Steering Intel MPI, with the recorded answers of version 2021."""

from __future__ import annotations

import captured
import pytest

from offbeat.libraries.families.intelmpi import IntelMpiSteering
from offbeat.libraries.families.library import Variable
from offbeat.model.study.algorithm import DEFAULT, Algorithm
from offbeat.model.study.collectives import COLLECTIVES

STEERING = IntelMpiSteering()


@pytest.mark.parametrize("collective", COLLECTIVES)
def test_every_preset_that_the_library_states_is_found(collective, tmp_path):
    algorithms = captured.algorithms(STEERING, "intelmpi", tmp_path)[collective]
    last = captured.presets("intelmpi")[collective]
    adjust = f"I_MPI_ADJUST_{collective.upper()}"
    assert [(one.name, one.settings) for one in algorithms] == [
        (f"preset_{number}", {adjust: str(number)}) for number in range(1, last + 1)
    ]


def test_a_preset_needs_a_launch_of_its_own_and_the_default_does_not(tmp_path):
    one = captured.algorithms(STEERING, "intelmpi", tmp_path)["reduce"][4]
    assert STEERING.force_arguments(one, captured.variables("intelmpi")) is None
    assert STEERING.launch_environment(one) == {"I_MPI_ADJUST_REDUCE": "5"}
    default = Algorithm(collective="reduce", name=DEFAULT)
    assert STEERING.force_arguments(default, captured.variables("intelmpi")) == []


@pytest.mark.parametrize("description", ["", "range: 0-5", "@Alias:# I_MPI_ADJUST_REDUCE"])
def test_a_variable_that_does_not_say_its_presets_has_none(description, tmp_path):
    odd = Variable(
        name="MPIR_CVAR_USE_REDUCE",
        type="text",
        settable=True,
        value="",
        items=[],
        description=description,
    )
    assert STEERING.algorithms("reduce", [odd], captured.installation("intelmpi", tmp_path)) == []


@pytest.mark.parametrize(
    ("function", "name"),
    [
        ("MPIR_Reduce_intra_binomial", "binomial_5"),
        ("MPIR_Reduce_allcomm_nb", "nb_5"),
        ("MPIDI_POSIX_Reduce_intra_shm_tiny", "shm_tiny_5"),
        ("MPIR_Reduce_intra_knomial_impl", "knomial_5"),
        ("", "preset_5"),
    ],
)
def test_a_preset_is_named_after_the_observed_function(function, name):
    one = Algorithm(collective="reduce", name="preset_5", settings={"I_MPI_ADJUST_REDUCE": "5"})
    named = STEERING.named_by_function(one, function)
    assert (named.name, named.settings, named.collective) == (name, one.settings, "reduce")


def test_a_given_name_stays():
    one = Algorithm(collective="reduce", name="binomial_5", settings={"I_MPI_ADJUST_REDUCE": "5"})
    assert STEERING.named_by_function(one, "MPIR_Reduce_intra_knomial") == one
    default = Algorithm(collective="reduce", name=DEFAULT)
    assert STEERING.named_by_function(default, "MPIR_Reduce_intra_knomial") == default


def test_the_executed_algorithm_is_the_first_function_of_the_collective_itself():
    entered = ["MPIR_Gather_intra_binomial", "MPIR_Reduce_intra_knomial", "MPIR_Reduce_intra_tree"]
    assert STEERING.identify_executed("reduce", entered) == "MPIR_Reduce_intra_knomial"
    assert STEERING.identify_executed("bcast", entered) == ""
    assert STEERING.identify_executed("reduce", ["MPIR_Reduce_scatter_intra_pairwise"]) == ""
