"""Both sides of the protocol have the same verbs and keys, and violations give a sentence."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from types import ModuleType
from typing import Any, get_args

import msgspec
import pytest
from msgspec import UnsetType

from offbeat.base.errors import RunFailed
from offbeat.libraries.families.library import Variable
from offbeat.libraries.installations import build
from offbeat.libraries.installations.installation import Installation
from offbeat.libraries.launch import driver_protocol, launch_command
from offbeat.libraries.launch.driver import Driver
from offbeat.libraries.launch.driver_protocol import (
    Check,
    CheckAnswer,
    Force,
    Hello,
    Measure,
    PingPong,
    decode,
)
from offbeat.measurement.engines import smpi_commands
from offbeat.measurement.engines.smpi_commands import SmpiRun
from offbeat.programs.execution import plan_lines

TYPES: dict[str, tuple[Any, ...]] = {
    "number": (int,),
    "numbers": (list[int],),
    "time": (float,),
    "times": (list[float],),
    "text": (str, list[str]),
    "texts": (list[str],),
    "flag": (bool,),
    "rows": (list[list[int] | None],),
    "variables": (list[Variable],),
}
"""The driver's names of types → types of fields."""


COMMANDS = driver_protocol.Command.__subclasses__()


def commands_of(module: ModuleType) -> list[type[driver_protocol.Command[Any]]]:
    return [one for one in COMMANDS if one.__module__ == module.__name__]


PROGRAMS = [
    ("driver", commands_of(driver_protocol)),
    ("smpi", [*commands_of(smpi_commands), driver_protocol.Quit]),
    ("executor", commands_of(plan_lines)),
]


def verb_of(command: type[driver_protocol.Command[Any]]) -> Any:
    return command.__struct_config__.tag


@pytest.fixture(scope="module")
def printed(some_mpi_installation: Installation, own_cache: Path) -> dict[str, Any]:
    driver = build.build_native(some_mpi_installation)
    done = subprocess.run([driver, "--protocol"], capture_output=True, text=True, check=True, timeout=60)
    read: dict[str, Any] = json.loads(done.stdout)
    return read


def type_of(field: msgspec.structs.FieldInfo) -> Any:
    """The type of a field that may be unset."""
    if UnsetType not in get_args(field.type):
        return field.type
    (kind,) = [one for one in get_args(field.type) if one is not UnsetType]
    return kind


@pytest.mark.parametrize(("program", "commands"), PROGRAMS)
def test_the_front_end_and_the_driver_have_the_same_verbs_and_keys(
    printed: dict[str, Any], program: str, commands: list[type[driver_protocol.Command[Any]]]
) -> None:
    assert printed["version"] == driver_protocol.VERSION
    verbs = {verb["name"]: verb for verb in printed["verbs"] if verb["program"] == program}
    assert {verb_of(command) for command in commands} == set(verbs)
    for command in commands:
        verb = verbs[verb_of(command)]
        fields = {field.encode_name: field for field in msgspec.structs.fields(command)}
        assert verb["settings"] == (command is Force)
        if command is not Force:
            assert set(fields) == {key["name"] for key in verb["keys"]}, verb_of(command)
        for key in verb["keys"]:
            assert type_of(fields[key["name"]]) in TYPES[key["type"]], (verb_of(command), key["name"])
            is_required = key["default"] is None and key["if_missing"] is None
            assert fields[key["name"]].required == is_required


def test_the_front_end_expects_the_answers_that_the_driver_gives(printed: dict[str, Any]) -> None:
    for program, commands in PROGRAMS:
        verbs = {verb["name"]: verb for verb in printed["verbs"] if verb["program"] == program}
        for command in commands:
            fields = {field.encode_name: field for field in msgspec.structs.fields(command.answer())}
            keys = {key["name"]: key for key in verbs[verb_of(command)]["answers"]}
            assert set(fields) == set(keys), verb_of(command)
            for name, key in keys.items():
                assert fields[name].type in TYPES[key["type"]], (verb_of(command), name)
                assert fields[name].required != key["optional"]


def test_only_keys_that_are_set_are_sent() -> None:
    assert Measure(collective="reduce", delays=[0, 1500]).line() == "measure collective=reduce delays=0,1500"
    assert PingPong(sender=1, receiver=0).line() == "pingpong from=1 to=0"
    assert SmpiRun(collective="scan", delays=[0.0, 1.5e-6]).line() == "run collective=scan delays=0.0,1.5e-06"
    assert Force(settings=("a=1", "b=2")).line() == "force a=1 b=2"
    assert Hello().line() == "hello"


@pytest.mark.parametrize("value", ["two words", "line\nbreak", "naïve"])
def test_a_value_that_does_not_fit_on_a_line_gives_a_sentence(value: str) -> None:
    with pytest.raises(RunFailed, match="must be ASCII and must not have blanks"):
        Check(collective=value).line()


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        ({"ok": True, "wrong": 0}, "answer to 'check' is not that of this offbeat: .*missing.*`error`"),
        ({"ok": True, "wrong": 0, "error": "", "why": ""}, "unknown field `why`"),
        ({"ok": True, "wrong": "0", "error": ""}, r"Expected `int`, got `str` - at `\$.wrong`"),
    ],
)
def test_an_answer_that_is_not_of_the_protocol_is_a_sentence(
    answer: dict[str, object], sentence: str
) -> None:
    with pytest.raises(RunFailed, match=sentence):
        decode(Check(collective="reduce"), json.dumps(answer).encode())
    good = {"ok": True, "wrong": 2, "error": ""}
    assert decode(Check(collective="reduce"), json.dumps(good).encode()) == CheckAnswer(wrong=2, error="")


def test_another_version_of_the_protocol_is_a_sentence() -> None:
    hello = {"ok": True, "protocol": 99, "simgrid": "3.32", "p": 1}
    with pytest.raises(RunFailed, match="speaks version 99 of the protocol, this offbeat version"):
        decode(smpi_commands.SmpiHello(), json.dumps(hello).encode())


def test_the_driver_names_the_fault_and_its_line(
    some_mpi_installation: Installation, own_cache: Path
) -> None:
    launch = launch_command.command(
        some_mpi_installation, [str(build.build_native(some_mpi_installation))], 1
    )
    worklist = "dance\nmeasure\nlocal byte=8\nlocal bytes=8k\nlocal bytes=8\nquit\n"
    done = subprocess.run(
        launch.argv, env=launch.environment, input=worklist, capture_output=True, text=True, timeout=60
    )
    answers = [json.loads(line.removeprefix("@offbeat ")) for line in done.stdout.splitlines()]
    assert [answer["ok"] for answer in answers] == [False, False, False, False, True]
    assert [answer["why"].split(";")[0] for answer in answers[:4]] == [
        "line 1: unknown command 'dance'",
        "line 2: measure needs the key collective",
        "line 3: local has no key 'byte'",
        "line 4: local: bytes must be a whole number from 0 to 2147483647, not '8k'",
    ]
    assert done.returncode == 0


def test_a_typed_command_gets_its_typed_answer(
    some_mpi_installation: Installation, own_cache: Path, tmp_path: Path
) -> None:
    launch = launch_command.command(
        some_mpi_installation, [str(build.build_native(some_mpi_installation))], 2
    )
    driver = Driver(launch.argv, launch.environment, tmp_path / "log")
    assert driver.ask(Check(collective="reduce", bytes=8), timeout_s=60) == CheckAnswer(wrong=0, error="")
    assert driver.ask(Hello(), timeout_s=60).p == 2
    driver.close()
