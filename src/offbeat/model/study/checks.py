"""Checks of a study's values against each other: everything that can be known before a launch.

Works on the tree of :mod:`offbeat.base.toml.structure`: plain values with every default filled in.
"""

from __future__ import annotations

import math
import os
import re
from pathlib import Path
from typing import Any

from offbeat.base.errors import BadInput
from offbeat.base.toml.bundled_files import is_name
from offbeat.base.toml.faults import INVALID, Faults, Tree, valid_items
from offbeat.base.toml.lines import Key
from offbeat.model.pattern.shapes import MAX_PROCESSES
from offbeat.model.platform.machine import load
from offbeat.model.study.algorithm import split_file_and_function
from offbeat.model.study.check_collectives import check_collectives, check_process_memory, check_processes
from offbeat.model.study.check_partitioned import check_partitioned
from offbeat.model.study.check_patterns import check_patterns, check_skew
from offbeat.model.study.placement import placements
from offbeat.model.study.schema import SIMULATING
from offbeat.model.study.skew_policy import CHOICES

CASE_LIMIT = "OFFBEAT_CASE_LIMIT"

MAX_CASES = 100_000
"""Default limit on the cases of each algorithm: all cases of a study are in memory, about 1 kB each."""


def check_values(tree: Tree, raw: Tree, base: Path, faults: Faults, *, other_machine: bool = False) -> None:
    """Add every fault in the meaning of values to ``faults``.

    ``raw`` is the file without defaults, ``base`` the folder that file names are relative to.
    ``other_machine`` skips the checks of this machine's memory, as simulating engines do.
    """
    is_simulated = tree["engine"] in SIMULATING
    other_machine = other_machine or is_simulated
    _check_name(tree, faults)
    if _check_count(tree, faults):
        return  # checking each size and placement would take too long
    check_processes(tree["processes"], faults)
    check_collectives(tree, faults, other_machine=other_machine)
    check_own_algorithms(tree, base, faults)
    check_partitioned(tree, faults)
    if not other_machine:
        check_process_memory(tree, faults)
    check_patterns(tree, base, faults)
    skew_keys = raw.get("skew")
    check_skew(tree["skew"], skew_keys if isinstance(skew_keys, dict) else {}, faults)
    _check_repetitions(tree["repetitions"], faults)
    if is_simulated:
        check_simulator(tree, base, faults)
    else:
        _check_mpi(tree["mpi"], base, faults)


def _check_name(tree: Tree, faults: Faults) -> None:
    name = tree["name"]
    if name is not INVALID and not (name.strip() and name.isprintable()):
        faults.add(("name",), f"{name!r} cannot be shown in a table; write printable text")


def _check_count(tree: Tree, faults: Faults) -> bool:
    """Add a fault if the study has more cases than the limit; returns whether it has.

    Only the cases of one algorithm are counted, as only the library knows the number of algorithms.
    """
    configurations = len(placements(tree["processes"])) * (
        _count_of(tree["collective"], "names", "sizes")
        + _count_of(tree["partitioned"], "sizes", "partitions", "threads")
    )
    count = configurations * _count_patterns(tree)
    limit = _case_limit()
    if count <= limit:
        return False
    faults.add(
        (),
        f"the study has {count:,} cases for each algorithm, more than the limit of {limit:,}; take fewer"
        f" sizes, processes, shapes or skews, or set the environment variable {CASE_LIMIT} to more",
    )
    return True


def _count_of(sections: Any, *keys: str) -> int:
    """How many combinations of the values of some keys the sections have."""
    return sum(
        math.prod(len(list(valid_items(section[key]))) for key in keys)
        for _, section in valid_items(sections)
    )


def _count_patterns(tree: Tree) -> int:
    """The maximum number of pattern rows of a study."""
    patterns, skew = tree["patterns"], tree["skew"]
    if INVALID in (patterns, skew):
        return 1
    shapes, files, replays = (len(list(valid_items(patterns[key]))) for key in ("shapes", "files", "replays"))
    policy = CHOICES.get(skew["policy"])
    skews = len(list(valid_items(skew[policy.values_key]))) if policy else 1
    scaled_count = shapes + (files if patterns["scale_files"] is True else 0)
    return 1 + scaled_count * skews + files + replays


def _case_limit() -> int:
    """The limit on cases. Raises :class:`BadInput` if the variable is not a whole number above 0."""
    text = os.environ.get(CASE_LIMIT, str(MAX_CASES))
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
    for index, option in valid_items(mpi["options"]):
        if re.match(r"-\S*\s", option):
            split = ", ".join(f'"{part}"' for part in option.split())
            sentence = f"{option!r} must be several arguments of the launcher; write {split}"
            faults.add(("mpi", "options", index), sentence)
    if mpi["environment"] is not INVALID:
        for name in mpi["environment"]:
            if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
                faults.add(("mpi", "environment", name), f"{name!r} is not a name of an environment variable")


PLATFORM: Key = ("simulator", "platform")


def check_own_algorithms(tree: Tree, base: Path, faults: Faults) -> None:
    """Add a fault for each FILE.py:FUNCTION whose file is missing, or that the engine cannot run."""
    for index, section in valid_items(tree["collective"]):
        for position, name in valid_items(section["algorithms"]):
            source = split_file_and_function(name)
            key = ("collective", index, "algorithms", position)
            if source is not None and tree["engine"] in ("mpi", "smpi"):
                sentence = f"{name!r} is an algorithm of yours, which only the engine sim can simulate"
                faults.add(key, f'{sentence}; write engine = "sim", or leave it out')
            elif source is not None and not (base / source[0]).is_file():
                faults.add(key, f"{base / source[0]} is not a file; it should be relative to the study file")


def check_simulator(tree: Tree, base: Path, faults: Faults) -> None:
    """Add the faults of ``[simulator]``; file names are relative to the folder ``base``."""
    simulator = tree["simulator"]
    if simulator is INVALID or simulator["platform"] is INVALID:
        return
    try:
        platform = load(platform_source(simulator["platform"], base))
    except BadInput as error:
        faults.add(PLATFORM, str(error))
        return
    for p, nodes, ppn in placements(tree["processes"]):
        if p > MAX_PROCESSES:
            continue  # reported by check_processes
        try:
            platform.node_of_rank(p, nodes=nodes, ppn=ppn)
        except BadInput as error:
            faults.add(("processes", "nodes" if nodes else "p"), str(error))


def platform_source(name: str, base: Path) -> Path | str:
    """The file of a platform, relative to ``base``, or the name of a built-in platform."""
    if is_name(name) and not (base / name).is_file():
        return name
    return base / name
