"""The study file that ``offbeat init`` writes, and the JSON Schema of study files; both follow the schema."""

from __future__ import annotations

from typing import Any

from offbeat.base.toml import json_schema
from offbeat.base.toml.template import Template
from offbeat.model.study.schema import DEFAULT_SHAPES
from offbeat.model.study.study_file import FORM

HEAD = (
    "A study for offbeat: what is measured, and how. 'offbeat run FILE' runs it, 'offbeat run FILE --dry-run'"
    " shows what would be run. Lines that begin with '#' and a key show a default or an example; remove the"
    " '#' to change it."
    ' Sizes are bytes or text such as "64 KiB", times seconds or text such as "100 us".'
)

WRITTEN: dict[str, Any] = {
    "name": "study",
    "collective.names": ["reduce", "allreduce", "alltoall"],
    "collective.sizes": ["8 B", "1 KiB", "64 KiB"],
    "collective.algorithms": ["all"],
    "processes.p": [4],
    "patterns.shapes": list(DEFAULT_SHAPES),
    "skew.policy": "mean",
    "skew.factors": [1.5],
    "repetitions.minimum": 10,
    "repetitions.maximum": 100,
}
"""Keys that the template sets; all others are written as comments."""

EXAMPLES: dict[str, Any] = {
    "partitioned.sizes": ["64 KiB", "4 MiB"],
    "partitioned.partitions": [4, 32],
    "collective.p": [4],
    "collective.files": ["reduce.txt"],
    "collective.replays": ["reduce-calls.replay"],
    "collective.skews": ["100 us"],
    "processes.nodes": [2, 4],
    "processes.ppn": [32],
    "patterns.files": ["application.txt"],
    "patterns.replays": ["calls.replay"],
    "skew.times": ["100 us", "1 ms"],
    "skew.rates": [100, 1000],
    "mpi.hostfile": "hosts.txt",
    "mpi.options": ["--bind-to", "core"],
    "mpi.environment": {"OMP_NUM_THREADS": "1"},
}
"""Examples for commented keys whose default is empty."""


TEMPLATE = Template(form=FORM, head=HEAD, settings=WRITTEN, examples=EXAMPLES).text()
"""The commented study file that ``offbeat init`` writes."""


def schema_text() -> str:
    """The text of the published schema file."""
    return json_schema.schema_text(FORM, "offbeat study")
