"""The platform file that ``offbeat platform init`` writes, and the JSON Schema of platform files."""

from __future__ import annotations

from typing import Any

from offbeat.platform.machine import FORM
from offbeat.platform.topologies import TOPOLOGIES
from offbeat.toml import json_schema
from offbeat.toml.template import Template

HEAD = (
    "A platform for offbeat's simulator: a machine and what messages cost on it. 'offbeat platform show FILE'"
    " shows its properties, 'offbeat platform calibrate' measures one. Lines that begin with '#' and a key"
    " show a default or an example; remove the '#' to change it. Sizes are bytes or text such as"
    ' "64 KiB", times seconds or text such as "1 us", bandwidths bytes per second or text such as'
    ' "10 Gbit/s".'
)

WRITTEN: dict[str, Any] = {
    "name": "my-cluster",
    "topology": "single_switch",
    "nodes": 32,
    "cores": 32,
    "link.bandwidth": "100 Gbit/s",
    "link.latency": "1 us",
    "inside.bandwidth": "10 GB/s",
    "inside.latency": "500 ns",
}
"""Keys that the template sets; all others are written as comments."""

EXAMPLES: dict[str, Any] = {
    "source": "measured by hand",
    "flop_rate": 2e10,
    "memory.domains": 4,
    "memory.bandwidth": "80 GB/s",
    "memory.core_bandwidth": "13 GB/s",
    "memory.message_bandwidth": "7 GB/s",
    "memory.message_traffic": 2.0,
    "inside.from_sizes": [0, "4 KiB"],
    "inside.latency_factors": [1.0, 1.5],
    "inside.bandwidth_factors": [0.7, 1.0],
    "messages.from_sizes": [0, "8 KiB"],
    "messages.latency_factors": [1.0, 2.0],
    "messages.bandwidth_factors": [0.5, 1.0],
    "messages.flow_bandwidth": "8 GB/s",
    "messages.reduce_bandwidth": "10 GB/s",
    "messages.copy_bandwidth": "10 GB/s",
    "ranks.nodes": [0, 0, 1, 1],
    "partitioned.approach": "single",
    "partitioned.latency": ["1 us", "0.9 us", "1.1 us"],
}
"""Examples for commented keys whose default is empty or not informative; those of a topology's section are in
its record."""


def template() -> str:
    """The text of the template."""
    sections = {name: topology.examples for name, topology in TOPOLOGIES.items() if topology.check}
    examples = {f"{name}.{key}": value for name, keys in sections.items() for key, value in keys.items()}
    text = Template(form=FORM, head=HEAD, written=WRITTEN, examples=EXAMPLES | examples).text()
    for name in sections:  # a section of another topology than the template's: its header is a comment, too
        text = text.replace(f"\n[{name}]\n", f"\n#[{name}]\n")
    return text


TITLE = "offbeat platform"


def schema_text() -> str:
    """The text of the published schema file."""
    return json_schema.schema_text(FORM, TITLE)
