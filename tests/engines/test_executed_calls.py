"""Launches are compared by what ran in them, and by the variables that the library itself reports."""

from __future__ import annotations

from executed_calls import ExecutedCall, execution_differences, observe_executed, variable_differences
from fake_launches import SOUND
from raw_commands import made_answer
from scripted_library import case, observed

from offbeat.libraries.families.mpich import MpichSteering

FLAT = ExecutedCall(
    functions=["MPIR_Reduce_intra_binomial"], messages="messages:aa", variables={"NOLOCAL": "0"}
)


class OneDriver:
    """A driver that answers the two questions."""

    def __init__(self, messages):
        self.messages = messages

    def ask(self, command, *, timeout_s):
        return made_answer(command, self._answer(command.verb))

    def _answer(self, verb):
        if verb == "variables":
            one = {"name": "NOLOCAL", "type": "int", "settable": True, "value": "0", "items": []}
            return SOUND | {"variables": [one | {"description": ""}]}
        return observed("MPIR_Reduce_intra_binomial", self.messages)


def test_executed_calls_have_functions_messages_and_variables():
    ran = observe_executed(OneDriver([[1, 0, 8]]), case(), MpichSteering(), 1.0)
    assert (ran.functions, ran.variables) == (FLAT.functions, FLAT.variables)
    assert ran.messages.startswith("messages:") and " " not in ran.messages
    assert observe_executed(OneDriver(None), case(), MpichSteering(), 1.0).messages == ""


def test_equal_calls_have_no_difference_and_each_difference_is_a_sentence():
    assert execution_differences(FLAT, FLAT) == variable_differences(FLAT, FLAT) == []
    other = ExecutedCall(
        functions=["MPIR_Reduce_intra_smp"], messages="messages:bb", variables={"NOLOCAL": "1"}
    )
    functions, messages = execution_differences(FLAT, other)
    assert "MPIR_Reduce_intra_binomial here, MPIR_Reduce_intra_smp there" in functions
    assert "messages:aa here, messages:bb there" in messages
    assert variable_differences(FLAT, other) == ["NOLOCAL: 0 here, 1 there"]


def test_messages_that_only_one_launch_shows_are_no_difference():
    unseen = ExecutedCall(functions=FLAT.functions, messages="", variables=FLAT.variables)
    assert execution_differences(FLAT, unseen) == []
