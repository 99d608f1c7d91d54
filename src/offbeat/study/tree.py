"""Which processes a study that is being checked asks for."""

from __future__ import annotations

from typing import Any

from offbeat.toml.tree import INVALID, items

Placement = tuple[int, int, int]
"""(p, nodes, ppn); nodes and ppn are 0 where the launcher places the processes."""


def placements(processes: Any) -> list[Placement]:
    """Every placement that a section ``[processes]`` asks for: each p, then each nodes × ppn."""
    if processes is INVALID:
        return []
    nodes_and_ppn = [
        (nodes, ppn) for _, nodes in items(processes["nodes"]) for _, ppn in items(processes["ppn"])
    ]
    launcher_places = [(p, 0, 0) for _, p in items(processes["p"])]
    return launcher_places + [(nodes * ppn, nodes, ppn) for nodes, ppn in nodes_and_ppn]
