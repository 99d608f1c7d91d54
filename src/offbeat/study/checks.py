"""What the values of a study mean together: everything that can be known before a launch.

Works on the tree of :mod:`offbeat.toml.structure`: plain values with every default filled in.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from offbeat.study.check_collectives import check_collectives, check_processes, check_room
from offbeat.study.check_patterns import check_patterns, check_skew
from offbeat.study.check_simulator import check_simulator
from offbeat.study.schema import SIMULATING
from offbeat.toml.faults import Faults
from offbeat.toml.tree import INVALID, Tree, items


def check(tree: Tree, raw: Tree, base: Path, faults: Faults, *, elsewhere: bool = False) -> None:
    """Note every fault of meaning.

    ``raw`` is the file as it was written (it shows which keys are given), ``base`` the folder that file names
    are relative to. ``elsewhere`` leaves out what depends on this machine: its memory. Engines that simulate
    don't need it, either.
    """
    simulating = tree["engine"] in SIMULATING
    elsewhere = elsewhere or simulating
    _check_name(tree, faults)
    check_processes(tree["processes"], faults)
    check_collectives(tree, faults, elsewhere=elsewhere)
    if not elsewhere:
        check_room(tree, faults)
    check_patterns(tree, base, faults)
    check_skew(tree["skew"], _given(raw, "skew"), faults)
    _check_repetitions(tree["repetitions"], faults)
    if simulating:
        check_simulator(tree, base, faults)
    else:
        _check_mpi(tree["mpi"], base, faults)


def _given(raw: Tree, section: str) -> Tree:
    """The keys of a section that the file writes out."""
    written = raw.get(section)
    return written if isinstance(written, dict) else {}


def _check_name(tree: Tree, faults: Faults) -> None:
    name = tree["name"]
    if name is not INVALID and not (name.strip() and name.isprintable()):
        faults.add(("name",), f"{name!r} is no word for a table; write printable text")


def _check_repetitions(repetitions: Any, faults: Faults) -> None:
    if repetitions is INVALID or INVALID in (repetitions["minimum"], repetitions["maximum"]):
        return
    if repetitions["minimum"] > repetitions["maximum"]:
        sentence = f"minimum {repetitions['minimum']} is more than maximum {repetitions['maximum']}"
        faults.add(("repetitions", "minimum"), f"{sentence}; exchange them, or raise the maximum")


def _check_mpi(mpi: Any, base: Path, faults: Faults) -> None:
    if mpi is INVALID:
        return
    if mpi["prefix"] is not INVALID and not mpi["prefix"].strip():
        faults.add(
            ("mpi", "prefix"), "the prefix is empty; write 'auto', a folder, or a name of 'offbeat doctor'"
        )
    if mpi["hostfile"] and not (base / mpi["hostfile"]).is_file():
        faults.add(
            ("mpi", "hostfile"), f"there is no file {base / mpi['hostfile']}; paths begin at the study file"
        )
    for index, word in items(mpi["options"]):
        if re.match(r"-\S*\s", word):
            split = ", ".join(f'"{part}"' for part in word.split())
            sentence = f"{word!r} is two words to the launcher; write {split}"
            faults.add(("mpi", "options", index), sentence)
    if mpi["environment"] is not INVALID:
        for name in mpi["environment"]:
            if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
                faults.add(("mpi", "environment", name), f"{name!r} is no name of an environment variable")
