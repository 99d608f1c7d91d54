"""The page of the platform file, with the presets."""

from __future__ import annotations

from markdown import code, table
from toml_file import page_of, words

from offbeat.platform import machine, presets, show
from offbeat.units import BANDWIDTH_UNITS, SIZE_UNITS, TIME_UNITS

SOURCE = "src/offbeat/platform/schema.py"

HEAD = """# The platform file

A platform file describes the machine that is simulated. `offbeat platform init` writes one with every key
explained, `offbeat platform show` says what a file comes to, `offbeat platform calibrate` measures one. A
file with an unknown key, a wrong type or an impossible value is refused whole, with the line. Editors that
understand JSON Schema can use [platform.schema.json](platform.schema.json) (`offbeat platform schema` prints
it). What the figures mean is said in [the network model](../explanation/network-model.md).

Sizes are whole numbers of bytes or text with a unit: {sizes}. Times are seconds or text with a unit: {times}.
Bandwidths are bytes per second or text with a unit: {bandwidths}.

## Platforms that come with offbeat

Each is a file in `src/offbeat/platform/presets/`; wherever a platform file is asked for, its name will do.
`offbeat platform init --from NAME` writes a copy to change.

{presets}
"""


def page() -> str:
    """The whole page."""
    lines = [show.summary(machine.load(name)) for name in presets.names()]
    rows = [(code(line.name), line.machine, line.joined, line.source) for line in lines]
    listed = table(("name", "nodes × cores", "joined by", "source"), rows)
    units = {"sizes": words(SIZE_UNITS), "times": words(TIME_UNITS), "bandwidths": words(BANDWIDTH_UNITS)}
    return page_of(HEAD.format(presets=listed, **units), machine.FORM)
