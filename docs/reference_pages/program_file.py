"""The page of the program file, with the programs that come with offbeat."""

from __future__ import annotations

from markdown import code, table
from toml_file import code_list, page_of

from offbeat.base.units import SIZE_UNITS, TIME_UNITS
from offbeat.programs.description.description import summary
from offbeat.programs.description.program_file import FORM, PRESETS, load

SOURCE = "src/offbeat/programs/description/schema.py"

HEAD = """# The program file

A program file describes what every rank of a program does in an iteration: phases of work, exchanges of
messages and collectives, and which ranks are delayed. `offbeat program init` writes one with an explanation
of every key, `offbeat program show` prints its phases, `offbeat program simulate` simulates it, and `offbeat
program run` executes it with MPI. A file with an unknown key, a wrong type or an impossible value is
rejected, and the message names the line. Editors that support JSON Schema can use
[program.schema.json](program.schema.json) (`offbeat program schema` prints it). [Programs of many
iterations](../howto/programs.md) shows how to write one.

Sizes are whole numbers of bytes or text with a unit: {sizes}. Times are seconds or text with a unit: {times}.

## Programs that come with offbeat

Each is a file in `src/offbeat/programs/description/presets/`. Every command that expects a program file also
accepts its name. `offbeat program init --from NAME` writes a copy that you can change.

{presets}
"""


def page() -> str:
    """The whole page."""
    rows = [(code(name), *summary(load(name))) for name in PRESETS.names()]
    listed = table(("name", "title", "ranks", "source"), rows)
    units = {"sizes": code_list(SIZE_UNITS), "times": code_list(TIME_UNITS)}
    return page_of(HEAD.format(presets=listed, **units), FORM)
