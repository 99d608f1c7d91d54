"""The page of shapes and pattern files, from the shapes themselves."""

from __future__ import annotations

import numpy as np
from markdown import code, prose, sentence, table

from offbeat.model.pattern import pattern_file, replay_file, shapes

SOURCE = "src/offbeat/model/pattern"

HEAD = """# Arrival patterns

An arrival pattern has one delay per rank, and of a partitioned send one per rank and partition. The smallest
delay is 0; the largest is the skew. A shape is a rule that generates a pattern; the skew scales the pattern.

"""

FILE = """
## Pattern files

{form}

```text
{example}```

`offbeat pattern make SHAPE --p P --skew TIME --output FILE` writes a pattern file, `offbeat pattern check
FILE` checks one, and the key `patterns.files` of a study names them. Delays are in seconds unless the
header's `unit` names another unit: {units}. The file must have a line for each process. If the smallest
delay is not 0, it is subtracted from all delays, because only differences between ranks matter.
"""

REPLAY = """
## Replay files

{form}

```text
{example}```

`offbeat trace pattern DIR --what calls --output FILE.replay` writes a replay file, `offbeat pattern show
FILE.replay` draws one, and the key `patterns.replays` of a study names them. `unit` has the same meaning as
in pattern files. If the smallest delay of a call is not 0, it is subtracted from all delays of the call.
"""


def page() -> str:
    """The whole page."""
    rows = [(code(name), sentence(prose(shapes.describe(name)))) for name in shapes.SHAPES]
    example = pattern_file.text(pattern_file.shape_pattern("last_delayed", 4, 1e-4))
    units = ", ".join(code(unit) for unit in pattern_file.UNITS_S)
    form = prose(pattern_file.__doc__).split("\n\n", 1)[1]
    calls = np.array([[0.0, 1e-5, 4e-5], [2e-5, 0.0, 3e-5]])
    replay = replay_file.text(replay_file.Replay(name="alltoall", delays_s=calls))
    return (
        HEAD
        + table(("shape", "who is late"), rows)
        + FILE.format(form=form, example=example, units=units)
        + REPLAY.format(form=prose(replay_file.__doc__).split("\n\n", 1)[1], example=replay)
    )
