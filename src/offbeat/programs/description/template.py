"""The program file that ``offbeat program init`` writes, and the JSON Schema of program files."""

from __future__ import annotations

from typing import Any

from offbeat.base.toml import json_schema
from offbeat.base.toml.template import Template
from offbeat.programs.description.program_file import FORM

HEAD = (
    "A program for offbeat: what every rank does in an iteration, phase after phase, and which ranks are"
    " delayed. 'offbeat program show FILE' shows its phases, 'offbeat program simulate FILE' simulates it,"
    " 'offbeat program run FILE' runs it with MPI."
    " Lines that begin with '#' and a key show a default or an example; remove the '#' to change it. Sizes"
    ' are bytes or text such as "64 KiB", times seconds or text such as "1 ms".'
)

WRITTEN: dict[str, Any] = {
    "name": "my-program",
    "ranks": 64,
    "iterations": 1000,
    "phase.kind": "work",
    "phase.memory": "100 MB",
}

EXAMPLES: dict[str, Any] = {
    "source": "measured by hand",
    "phase.name": "triad",
    "phase.flops": 1e8,
    "phase.time": "1 ms",
    "phase.weights": [1.0, 1.2],
    "phase.offsets": [-8, -1, 1, 8],
    "phase.grid": [8, 8],
    "phase.bytes": ["1 MB"],
    "phase.edge_bytes": "8 KiB",
    "phase.corner_bytes": "8 B",
    "phase.collective": "allreduce",
    "phase.algorithm": "recursive_doubling",
    "noise.phase": "work 1",
    "noise.time": "20 ms",
    "noise.ranks": [0, 17],
}
"""Examples for commented keys whose default is empty or not informative."""

EXCHANGE = """
# A second phase: messages to both neighbours on a ring.
[[phase]]
kind = "exchange"
neighbours = "ring"
bytes = ["1 MB"]
"""


def template() -> str:
    """The text of the template."""
    text = Template(form=FORM, head=HEAD, settings=WRITTEN, examples=EXAMPLES).text()
    noise = text.index("\n\n", text.index("[[phase]]"))
    return text[:noise] + "\n" + EXCHANGE.rstrip() + text[noise:]


TITLE = "offbeat program"


def schema_text() -> str:
    """The text of the published schema file."""
    return json_schema.schema_text(FORM, TITLE)
