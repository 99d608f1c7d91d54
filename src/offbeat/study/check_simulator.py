"""What the section ``[simulator]`` means: a platform that exists, and that the processes fit on."""

from __future__ import annotations

from pathlib import Path

from offbeat.errors import BadInput
from offbeat.pattern.shapes import MAX_PROCESSES
from offbeat.platform import presets
from offbeat.platform.machine import load
from offbeat.study.tree import placements
from offbeat.toml.faults import Faults
from offbeat.toml.positions import Key
from offbeat.toml.tree import INVALID, Tree

PLATFORM: Key = ("simulator", "platform")


def check_simulator(tree: Tree, base: Path, faults: Faults) -> None:
    """Note the faults of ``[simulator]``; file names are relative to the folder ``base``."""
    simulator = tree["simulator"]
    if simulator is INVALID or simulator["platform"] is INVALID:
        return
    try:
        platform = load(platform_place(simulator["platform"], base))
    except BadInput as error:
        faults.add(PLATFORM, str(error))
        return
    for p, nodes, ppn in placements(tree["processes"]):
        if p > MAX_PROCESSES:
            continue  # a fault that is told already
        try:
            platform.node_of_rank(p, nodes=nodes, ppn=ppn)
        except BadInput as error:
            faults.add(("processes", "nodes" if nodes else "p"), str(error))


def platform_place(name: str, base: Path) -> Path | str:
    """Where a platform is: the file of a name that is relative to ``base``, or the preset's name."""
    if presets.looks_like_one(name) and not (base / name).is_file():
        return name
    return base / name
