"""The recorded answers of the five libraries to a query of their control variables.

``variables/NAME.json`` has the driver's answer to ``variables`` and the names of the algorithm functions,
``variables/algorithms.tsv`` the algorithms that each library is known to have.
"""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

import msgspec
from installation_factory import described

from offbeat.libraries.families.library import Variable
from offbeat.libraries.installations.installation import Installation
from offbeat.model.study.algorithm import Algorithm
from offbeat.model.study.collectives import COLLECTIVES

FOLDER = Path(__file__).parent / "variables"


@functools.cache
def _answer(name: str) -> dict[str, Any]:
    return json.loads((FOLDER / f"{name}.json").read_text())


def variables(name: str) -> list[Variable]:
    return msgspec.convert(_answer(name)["variables"], list[Variable])


def functions(name: str) -> list[str]:
    return list(_answer(name)["functions"])


def installation(name: str, folder: Path) -> Installation:
    """A described installation whose library file holds the names of its functions, as the real one does."""
    family, _, version = _answer(name)["library"].partition("-")
    library = folder / f"{name}.so"
    library.write_bytes(b"\x7fELF\0" + b"\0".join(word.encode() for word in functions(name)) + b"\0")
    numbers = [int(part) for part in version.split(".")]
    return msgspec.structs.replace(described(family, *numbers), library=library)


@functools.cache
def algorithm_numbers(name: str) -> dict[str, dict[str, int]]:
    """Collective → algorithm → number."""
    table: dict[str, dict[str, int]] = {}
    for line in (FOLDER / "algorithms.tsv").read_text().splitlines():
        if line.startswith(name + "\t"):
            _, collective, words = line.split("\t")
            pairs = [word.split(":") for word in words.split() if ":" in word]
            table[collective] = {word: int(number) for number, word in pairs}
    return table


def presets(name: str) -> dict[str, int]:
    """Collective → number of the last preset."""
    lines = [line.split("\t") for line in (FOLDER / "algorithms.tsv").read_text().splitlines()]
    ranges = {line[1]: line[2] for line in lines if line[0] == name}
    return {collective: int(numbers.split("-")[1]) for collective, numbers in ranges.items()}


def algorithms(steering: Any, name: str, folder: Path) -> dict[str, list[Algorithm]]:
    """Every algorithm that the steering reads from the answer, by collective."""
    here = installation(name, folder)
    return {collective: steering.algorithms(collective, variables(name), here) for collective in COLLECTIVES}
