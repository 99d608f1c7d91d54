"""The page of the platform file, with the built-in platforms."""

from __future__ import annotations

from markdown import code, table
from toml_file import code_list, page_of

from offbeat.base.units import BANDWIDTH_UNITS, SIZE_UNITS, TIME_UNITS
from offbeat.model.platform import bundled_platforms, description, machine

SOURCE = "src/offbeat/model/platform/schema.py"

HEAD = """# The platform file

A platform file describes the simulated machine. `offbeat platform init` writes one with an explanation of
every key, `offbeat platform show` prints the resulting machine and message times, and `offbeat platform
calibrate` writes one from measurements. A file with an unknown key, a wrong type or an impossible value is
rejected, and the message names the line. Editors that support JSON Schema can use
[platform.schema.json](platform.schema.json) (`offbeat platform schema` prints it). [The network
model](../explanation/network-model.md) explains the values.

Sizes are whole numbers of bytes or text with a unit: {sizes}. Times are seconds or text with a unit: {times}.
Bandwidths are bytes per second or text with a unit: {bandwidths}.

## Built-in platforms

Each is a file in `src/offbeat/model/platform/presets/`. Every option and key that expects a platform file
also accepts its name. `offbeat platform init --from NAME` writes a copy that you can change.

{presets}
"""


def page() -> str:
    """The whole page."""
    lines = [description.summary(machine.load(name)) for name in bundled_platforms.PRESETS.names()]
    rows = [(code(name), *others) for name, *others in lines]
    listed = table(("name", "nodes × cores", "joined by", "source"), rows)
    units = {
        "sizes": code_list(SIZE_UNITS),
        "times": code_list(TIME_UNITS),
        "bandwidths": code_list(BANDWIDTH_UNITS),
    }
    return page_of(HEAD.format(presets=listed, **units), machine.FORM)
