"""Program files with values that no computation can use: each number of the file, with hostile values."""

from __future__ import annotations

import re

import numpy as np
import pytest
from program_texts import platform

from offbeat.base.errors import BadInput
from offbeat.programs.description.program_file import loads
from offbeat.programs.simulation.simulate import prepare

SECTIONS: list[tuple[str, dict[str, str]]] = [
    ("", {"ranks": "8", "iterations": "3", "seed": "1"}),
    (
        "[[phase]]",
        {"kind": '"work"', "every": "1", "time": "1e-3", "memory": "1000", "flops": "1e6", "weights": "[1]"},
    ),
    (
        "[[phase]]",
        {"kind": '"exchange"', "neighbours": '"grid"', "grid": "[8]", "bytes": "[8]"},
    ),
    ("[[phase]]", {"kind": '"exchange"', "neighbours": '"offsets"', "offsets": "[-1, 1]", "bytes": "[8]"}),
    ("[[phase]]", {"kind": '"exchange"', "neighbours": '"list"', "messages": "[[0, 1, 8]]"}),
    (
        "[[phase]]",
        {
            **{"kind": '"collective"', "collective": '"bcast"', "algorithm": '"binomial"', "bytes": "[8]"},
            **{"root": "0", "communicators": "1", "stride": "1"},
        },
    ),
    (
        "[[noise]]",
        {"phase": '"work 1"', "time": "1e-3", "count": "1", "every": "1", "first": "1", "last": "3"},
    ),
]
NUMBERS = [
    (place, key)
    for place, (_, keys) in enumerate(SECTIONS)
    for key, value in keys.items()
    if not value.startswith('"')
]
VALUES = [
    *("1e308", "-1e308", "nan", "inf", "-inf", "-1", "0", "1e-320", "1000000000000", "2000000000"),
    *("99999999999999999999", '"1e308 s"', '"1e300 GB"', "true", "[]"),
]


def text(place: int, key: str, value: str) -> str:
    """The program with another number in a section. In lists of lists, the number is the last one."""
    lines = []
    for number, (heading, keys) in enumerate(SECTIONS):
        lines.append(heading)
        for name, usual in keys.items():
            changed = re.sub(r"-?[0-9][0-9e-]*(\]*)$", lambda end: value + end[1], usual)
            lines.append(f"{name} = {changed if (number, name) == (place, key) else usual}")
    return "\n".join(lines)


@pytest.mark.parametrize(("place", "key"), NUMBERS, ids=lambda part: str(part))
def test_a_value_is_refused_with_its_line_or_the_times_are_finite(place: int, key: str) -> None:
    for value in VALUES:
        try:
            run = prepare(loads(text(place, key, value), "drawn.toml"), platform()).simulate()
        except BadInput as refusal:
            assert re.match(r"drawn\.toml:[0-9]+: ", str(refusal)), f"{key} = {value}: {refusal}"
        else:
            assert np.isfinite(run.iteration_end_s).all(), f"{key} = {value}"


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("ranks = 1000000000000", "drawn.toml:1: ranks: 1000000000000 is too large"),
        ("iterations = 100000000", "drawn.toml:1: iterations: 64 ranks × 100000000 iterations are more than"),
    ],
)
def test_sizes_that_cannot_be_recorded_are_refused(line: str, sentence: str) -> None:
    with pytest.raises(BadInput, match=re.escape(sentence)):
        prepare(loads(f'{line}\n[[phase]]\nkind = "work"\ntime = 1\n', "drawn.toml"), platform())
