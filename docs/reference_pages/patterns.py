"""The page of shapes and pattern files, from the shapes themselves."""

from __future__ import annotations

import numpy as np
from markdown import code, prose, sentence, table

from offbeat.pattern import file, shapes
from offbeat.pattern import replay as replay_file

SOURCE = "src/offbeat/pattern"

HEAD = """# Arrival patterns

An arrival pattern is one delay a rank (of a partitioned send, one a rank and partition). The smallest is 0;
the largest is the skew. A shape says how a pattern is drawn, the skew scales it.

"""

FILE = """
## Pattern files

{form}

```text
{example}```

`offbeat pattern make SHAPE --p P --skew TIME --output FILE` writes one, `offbeat pattern check FILE` checks
one, and a study uses it by `patterns.files`. Delays are seconds unless the header's `unit` names another:
{units}. The file must have a line for each process. Where the smallest delay is not 0, it is
subtracted from all, since only differences between ranks matter.
"""

REPLAY = """
## Replay files

{form}

```text
{example}```

`offbeat trace pattern DIR --what calls --output FILE.replay` writes one, `offbeat pattern show FILE.replay`
draws one, and a study uses it by `patterns.replays`. `unit` is as for pattern files, and a call whose
smallest delay is not 0 is shifted by it.
"""


def page() -> str:
    """The whole page."""
    rows = [(code(name), sentence(prose(shapes.describe(name)))) for name in shapes.SHAPES]
    example = file.text(file.shape_pattern("last_delayed", 4, 1e-4))
    units = ", ".join(code(unit) for unit in file.UNITS_S)
    form = prose(file.__doc__).split("\n\n", 1)[1]
    calls = np.array([[0.0, 1e-5, 4e-5], [2e-5, 0.0, 3e-5]])
    replay = replay_file.text(replay_file.Replay(name="alltoall", delays_s=calls))
    return (
        HEAD
        + table(("shape", "who is late"), rows)
        + FILE.format(form=form, example=example, units=units)
        + REPLAY.format(form=prose(replay_file.__doc__).split("\n\n", 1)[1], example=replay)
    )
