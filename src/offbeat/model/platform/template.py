"""The platform file that ``offbeat platform init`` writes, and the JSON Schema of platform files."""

from __future__ import annotations

from typing import Any

from offbeat.base.toml import json_schema
from offbeat.base.toml.template import Template
from offbeat.model.platform.machine import FORM
from offbeat.model.platform.topologies import TOPOLOGIES

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
    "flop_noise": 0.02,
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
    "partitioned.source": "offbeat partitioned fit, MPICH 5.0.2 on node1",
    "partitioned.date": "2026-01-31",
    "partitioned.latency": ["1 us", "0.9 us", "1.1 us"],
    "partitioned.message": ["300 ns", "250 ns", "350 ns"],
    "partitioned.partition": ["40 ns", "30 ns", "50 ns"],
    "partitioned.contention": [0.5, 0.4, 0.6],
    "partitioned.eager_below": "8 KiB",
    "partitioned.eager_bandwidth": ["4 GB/s", "3.8 GB/s", "4.2 GB/s"],
    "partitioned.rendezvous_latency": ["1.5 us", "1.4 us", "1.6 us"],
    "partitioned.rendezvous_message": ["600 ns", "500 ns", "700 ns"],
    "partitioned.rendezvous_bandwidth": ["9 GB/s", "8.8 GB/s", "9.2 GB/s"],
    "partitioned.eager_progress": [0.95, 0.9, 0.98],
    "partitioned.rendezvous_progress": [0.9, 0.85, 0.95],
    "partitioned.noise": ["500 ns", "100 ns"],
    "partitioned.error": 0.05,
    "partitioned.sizes": ["1 KiB", "4 MiB"],
    "partitioned.partitions": [4, 64],
    "partitioned.threads": [1, 4],
    "partitioned.delays": [0, "2 ms"],
}
"""Examples for commented keys whose default is empty or not informative; those of a topology's section are in
its record."""


def template() -> str:
    """The text of the template."""
    sections = {name: topology.examples for name, topology in TOPOLOGIES.items() if topology.check}
    examples = {f"{name}.{key}": value for name, keys in sections.items() for key, value in keys.items()}
    text = Template(form=FORM, head=HEAD, settings=WRITTEN, examples=EXAMPLES | examples).text()
    for name in sections:  # a section of another topology than the template's: its header is a comment, too
        text = text.replace(f"\n[{name}]\n", f"\n#[{name}]\n")
    return text


TITLE = "offbeat platform"


def schema_text() -> str:
    """The text of the published schema file."""
    return json_schema.schema_text(FORM, TITLE)
