"""Commands to a driver as text, including invalid ones, and made-up answers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, get_origin

import msgspec

from offbeat.libraries.launch.driver import Driver
from offbeat.libraries.launch.driver_protocol import AnswerType, Command


def ask_raw(driver: Driver, verb: str, *arguments: str, timeout_s: float, **values: object) -> dict[str, Any]:
    """Send a verb with arguments and keys; returns the fields of the answer."""
    line = " ".join([verb, *arguments, *(f"{key}={value}" for key, value in values.items())])
    answer: dict[str, Any] = json.loads(driver.exchange(line, timeout_s=timeout_s))
    return answer


def made_answer(command: Command[AnswerType], fields: Mapping[str, object]) -> AnswerType:
    """The answer to a command with these fields. Others are 0, false or empty; fields of other answers are
    left out."""
    known = {field.name: field.type for field in msgspec.structs.fields(command.answer())}
    blank = {name: (get_origin(kind) or kind)() for name, kind in known.items()}
    own = {name: value for name, value in fields.items() if name in known}
    answer: Any = msgspec.convert(blank | own, command.answer())
    result: AnswerType = answer
    return result
