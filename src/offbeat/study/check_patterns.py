"""What the sections ``[patterns]`` and ``[skew]`` mean: patterns that exist, fit p, and have a skew."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from offbeat.errors import BadInput
from offbeat.pattern import file as pattern_file
from offbeat.pattern import replay as replay_file
from offbeat.pattern.shapes import MAX_DELAY_S
from offbeat.study.choices import choices
from offbeat.study.placement import placements
from offbeat.toml.faults import INVALID, Faults, Tree, check_duplicates, items
from offbeat.toml.text import Key
from offbeat.units import format_time

REPLAY_HERE = (
    "{} is a replay file, with a call a line, and belongs under 'replays'; 'files' takes pattern files, with"
    " a rank a line"
)
PATTERN_HERE = (
    "{} is a pattern file, with a rank a line, and belongs under 'files'; 'replays' takes replay files, with"
    " a call a line"
)


def check_patterns(tree: Tree, base: Path, faults: Faults) -> None:
    """Note the faults of ``[patterns]``; file names are relative to the folder ``base``."""
    patterns, processes = tree["patterns"], tree["processes"]
    if patterns is INVALID:
        return
    if patterns["shapes"] == [] and patterns["files"] == [] and patterns["replays"] == []:
        faults.add(("patterns", "shapes"), "there is no pattern; name a shape, a pattern file or a replay")
    check_duplicates(patterns["shapes"], ("patterns", "shapes"), faults)
    for index, shape in items(patterns["shapes"]):
        if shape == "node_delayed":
            _check_node_delayed(("patterns", "shapes", index), processes, faults)
    _check_stems([(key, patterns[key]) for key in ("files", "replays")], faults)
    for index, name in items(patterns["files"]):
        _check_file(base / name, bool(patterns["scale_files"]), index, processes, faults)
    for index, name in items(patterns["replays"]):
        _check_replay(base / name, index, processes, faults)


def _check_node_delayed(key: Key, processes: Any, faults: Faults) -> None:
    if any(nodes == 0 for _, nodes, _ in placements(processes)):
        mend = "give nodes and ppn instead of p"
        faults.add(key, f"'node_delayed' must know which ranks share a node; {mend}, or leave this shape out")
    if any(nodes == 1 for _, nodes, _ in placements(processes)):
        faults.add(key, "'node_delayed' needs two nodes at least; leave it out, or take 1 out of nodes")


def _check_stems(lists: Sequence[tuple[str, Any]], faults: Faults) -> None:
    """File names without suffix label the patterns: they must differ from each other and from the shapes.

    ``lists`` has keys of the section with the names that stand there.
    """
    owner: dict[str, str] = {}
    for section_key, index, name in [(key, *item) for key, names in lists for item in items(names)]:
        stem = Path(name).stem
        place: Key = ("patterns", section_key, index)
        if stem in choices("shape"):
            sentence = (
                f"the file {name!r} would be called {stem!r} in tables, which is a shape; rename the file"
            )
            faults.add(place, sentence)
        elif owner.get(stem) == name:
            faults.add(place, f"{name!r} stands here twice; leave one out")
        elif stem in owner:
            sentence = f"{name!r} and {owner[stem]!r} would both be called {stem!r} in tables; rename one"
            faults.add(place, sentence)
        owner.setdefault(stem, name)


def _check_file(path: Path, scaled: bool, index: int, processes: Any, faults: Faults) -> None:
    """A pattern file: readable, and with a line for each process."""
    key: Key = ("patterns", "files", index)
    try:
        pattern = pattern_file.read(path)
        if scaled and not pattern.delays_s.any():
            faults.add(
                key, f"every delay in {path} is the same; this cannot be scaled, set scale_files = false"
            )
        for p in sorted({p for p, _, _ in placements(processes)}):
            pattern_file.read(path, p)
    except BadInput as error:
        faults.add(key, REPLAY_HERE.format(path) if _is_replay(path) else str(error))


def _check_replay(path: Path, index: int, processes: Any, faults: Faults) -> None:
    """A replay file: readable, and of as many processes as the study has."""
    key: Key = ("patterns", "replays", index)
    try:
        replay = replay_file.read(path)
        for p in sorted({p for p, _, _ in placements(processes)}):
            replay_file.check_processes(path, replay, p)
    except BadInput as error:
        faults.add(key, PATTERN_HERE.format(path) if _is_pattern(path) else str(error))


def _is_replay(path: Path) -> bool:
    """Whether it can be nothing but a replay file: a single number a line is a pattern file as well."""
    try:
        return replay_file.read(path).p > 1
    except BadInput:
        return False


def _is_pattern(path: Path) -> bool:
    try:
        pattern_file.read(path)
    except BadInput:
        return False
    return True


def check_skew(skew: Any, given: Tree, faults: Faults) -> None:
    """Note the faults of ``[skew]``; ``given`` is that section as it is written, without defaults."""
    if skew is INVALID:
        return
    policy = skew["policy"]
    if policy == "fixed":
        if skew["times"] == []:
            key: Key = ("skew", "times" if "times" in given else "policy")
            faults.add(key, 'the policy fixed needs times; add times = ["100 us"], for instance')
        if "factors" in given:
            faults.add(
                ("skew", "factors"), "the policy fixed takes no factors; write times, or another policy"
            )
    elif policy is not INVALID:
        if skew["times"]:
            sentence = f'the policy {policy} takes no times; write factors, or policy = "fixed"'
            faults.add(("skew", "times"), sentence)
        if skew["factors"] == []:
            faults.add(("skew", "factors"), f"the policy {policy} needs factors; add factors = [1.5]")
    check_duplicates(skew["factors"], ("skew", "factors"), faults)
    check_duplicates(skew["times"], ("skew", "times"), faults, format_time)
    for index, time_s in items(skew["times"]):
        if time_s > MAX_DELAY_S:
            sentence = (
                f"{format_time(time_s)} is more than a day; is the unit right? It must be 86400 s or less"
            )
            faults.add(("skew", "times", index), sentence)
