"""Checks of a study's values against each other: everything that can be known before a launch.

Works on the tree of :mod:`offbeat.toml.structure`: plain values with every default filled in.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from offbeat.errors import BadInput
from offbeat.pattern.shapes import MAX_PROCESSES
from offbeat.platform import presets
from offbeat.platform.machine import load
from offbeat.study.check_collectives import check_collectives, check_processes, check_room
from offbeat.study.check_patterns import check_patterns, check_skew
from offbeat.study.placement import placements
from offbeat.study.schema import SIMULATING
from offbeat.toml.faults import INVALID, Faults, Tree, items
from offbeat.toml.text import Key

CASE_LIMIT = "OFFBEAT_CASE_LIMIT"

MOST_CASES = 100_000
"""A study may have so many cases for each algorithm where CASE_LIMIT does not say otherwise: all cases of a
study are in memory, about 1 kB each."""


def check(tree: Tree, raw: Tree, base: Path, faults: Faults, *, elsewhere: bool = False) -> None:
    """Note every fault of meaning.

    ``raw`` is the file as it was written (it shows which keys are given), ``base`` the folder that file names
    are relative to. ``elsewhere`` leaves out what depends on this machine: its memory. Engines that simulate
    don't need it, either.
    """
    simulating = tree["engine"] in SIMULATING
    elsewhere = elsewhere or simulating
    _check_name(tree, faults)
    if _check_count(tree, faults):
        return  # to look at each size and placement of so many would take as long
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


def _check_count(tree: Tree, faults: Faults) -> bool:
    """Note a study of more cases than the limit; whether it has.

    Counted are the cases of one algorithm, as only the library knows how many there are.
    """
    cells = len(placements(tree["processes"])) * sum(
        len(list(items(section["names"]))) * len(list(items(section["sizes"])))
        for _, section in items(tree["collective"])
    )
    count = cells * _count_patterns(tree)
    limit = _case_limit()
    if count <= limit:
        return False
    faults.add(
        (),
        f"the study has {count:,} cases for each algorithm, more than the limit of {limit:,}; take fewer"
        f" sizes, processes, shapes or skews, or set the environment variable {CASE_LIMIT} to more",
    )
    return True


def _count_patterns(tree: Tree) -> int:
    """How many rows of patterns a study has at most."""
    patterns, skew = tree["patterns"], tree["skew"]
    if INVALID in (patterns, skew):
        return 1
    shapes, files, replays = (len(list(items(patterns[key]))) for key in ("shapes", "files", "replays"))
    skews = len(list(items(skew["times" if skew["policy"] == "fixed" else "factors"])))
    scaled = shapes + (files if patterns["scale_files"] is True else 0)
    return 1 + scaled * skews + files + replays


def _case_limit() -> int:
    """The limit that holds. Raises :class:`BadInput` for a value that is no whole number above 0."""
    text = os.environ.get(CASE_LIMIT, str(MOST_CASES))
    if not (text.isascii() and text.isdecimal() and int(text[:15]) > 0):
        raise BadInput(
            f"the environment variable {CASE_LIMIT} is {text!r}; it should be a whole number above 0"
        )
    return int(text[:15])


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
