"""The page of shapes and pattern files, from the shapes themselves."""

from __future__ import annotations

from markdown import code, prose, sentence, table

from offbeat.pattern import file, make, shapes

SOURCE = "src/offbeat/pattern"

HEAD = """# Arrival patterns

An arrival pattern is one delay a rank. The smallest is 0; the largest is the skew. A shape says how a pattern
is drawn, the skew scales it.

"""

FILE = """
## Pattern files

{form}

```text
{example}```

`offbeat pattern make SHAPE --p P --skew TIME --output FILE` writes one, `offbeat pattern check FILE` checks
one, and a study uses it by `patterns.files`. Delays are seconds unless the header's `unit` names another:
{units}. The file must hold as many delays as there are processes. Where the smallest delay is not 0, it is
subtracted from all, since only differences between ranks matter.
"""


def page() -> str:
    """The whole page."""
    rows = [(code(name), sentence(prose(shapes.describe(name)))) for name in shapes.SHAPES]
    example = file.text(make.make("last_delayed", 4, 1e-4))
    units = ", ".join(code(unit) for unit in file.UNITS_S)
    form = prose(file.__doc__).split("\n\n", 1)[1]
    return HEAD + table(("shape", "who is late"), rows) + FILE.format(form=form, example=example, units=units)
