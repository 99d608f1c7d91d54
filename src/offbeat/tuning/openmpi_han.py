"""The rules file of Open MPI's ``han``, which decides on communicators that span several nodes.

``han`` divides a collective into parts inside nodes and between them, and ``tuned`` then sees only the parts.
Its rules file says, by communicator size and message size, which component gets a whole collective:
``tuned`` where the rules file of ``tuned`` has something to say, and ``han`` everywhere else, as without a
file. Both lists begin at their smallest value, else the file is ignored (coll_han_dynamic_file.c); the
message size is in bytes per process for all collectives (coll_han_dynamic.c).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from offbeat.tuning import ranges
from offbeat.tuning.plan import Rule

FILE_NAME = "openmpi-han.rules"

DECIDED_BY_HAN = ("allgather", "allgatherv", "allreduce", "barrier", "bcast", "gather", "reduce", "scatter")
"""The collectives that ``han`` has; ``tuned`` gets the others on several nodes, too."""

WHOLE_COLLECTIVE = 2
"""The number of the level ``global_communicator``; 0 and 1 are the parts inside and between nodes."""

Steps = list[tuple[int, str]]
"""First size and component, in rising order."""


def needed(rules: Mapping[str, Sequence[Rule]]) -> bool:
    """Whether any of the rules is for a collective that ``han`` would keep from ``tuned``."""
    return any(rules.get(collective) for collective in DECIDED_BY_HAN)


def rules_text(rules: Mapping[str, Sequence[Rule]], every_size: Sequence[str], origin: str) -> str:
    """The file's text. ``every_size`` names the collectives whose rules hold whatever the size."""
    own = [collective for collective in DECIDED_BY_HAN if rules.get(collective)]
    lines = [
        f"# Written by offbeat from {origin}; belongs to the rules file of 'tuned' beside it.",
        "# Each size line: message size, component that gets the whole collective.",
        f"{len(own)} # collectives",
    ]
    for collective in own:
        rows = _rows(rules[collective], collective in every_size)
        lines += ["", collective, "1 # level", f"{WHOLE_COLLECTIVE} # whole collective"]
        lines.append(f"{len(rows)} # communicator sizes")
        for p_low, sizes in rows:
            lines += [f"{p_low} # processes and more", f"{len(sizes)} # message sizes"]
            lines += [f"{size} {component}" for size, component in sizes]
    return "\n".join(lines) + "\n"


def _rows(rules: Sequence[Rule], every_size: bool) -> list[tuple[int, Steps]]:
    """First number of processes, and what holds from there on, in rising order."""
    made: list[tuple[int, Steps]] = []
    free_from = 1
    for row in ranges.process_rows(rules):
        if row.p_low > free_from:
            made.append((free_from, [(0, "han")]))
        made.append((row.p_low, [(0, "tuned")] if every_size else _sizes(row.rules)))
        free_from = row.p_high + 1
    return [*made, (free_from, [(0, "han")])]


def _sizes(rules: Sequence[Rule]) -> Steps:
    """``tuned`` where a rule holds, ``han`` before, between and behind them."""
    made: Steps = []
    free_from = 0
    for segment in ranges.segments(rules, lambda rule: "tuned"):
        if segment.low > free_from:
            made.append((free_from, "han"))
        made.append((segment.low, "tuned"))
        free_from = segment.high + 1
    return [*made, (free_from, "han")]
