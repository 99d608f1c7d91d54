"""Checks of the sections ``[patterns]`` and ``[skew]``: patterns exist, fit p, and have a skew."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from offbeat.base.errors import BadInput
from offbeat.base.toml.faults import INVALID, Faults, Tree, check_duplicates, valid_items
from offbeat.base.toml.lines import Key
from offbeat.base.units import format_time
from offbeat.model.pattern import pattern_file, replay_file
from offbeat.model.pattern.shapes import MAX_DELAY_S, SHAPES
from offbeat.model.study.placement import communicator_sizes, communicators_of, placements
from offbeat.model.study.skew_policy import CHOICES, EXAMPLE_VALUES

REPLAY_AS_PATTERN = (
    "{} is a replay file, with a call a line, and belongs under 'replays'; 'files' takes pattern files, with"
    " a rank a line"
)
PATTERN_AS_REPLAY = (
    "{} is a pattern file, with a rank a line, and belongs under 'files'; 'replays' takes replay files, with"
    " a call a line"
)


def check_patterns(tree: Tree, base: Path, faults: Faults) -> None:
    """Add the faults of ``[patterns]``; file names are relative to the folder ``base``."""
    patterns, processes = tree["patterns"], tree["processes"]
    if patterns is INVALID:
        return
    if patterns["shapes"] == [] and patterns["files"] == [] and patterns["replays"] == []:
        faults.add(("patterns", "shapes"), "there is no pattern; name a shape, a pattern file or a replay")
    check_duplicates(patterns["shapes"], ("patterns", "shapes"), faults)
    for index, shape in valid_items(patterns["shapes"]):
        if shape == "node_delayed":
            _check_node_delayed(("patterns", "shapes", index), tree, faults)
    collective_sections: list[tuple[Key, Tree, list[int]]] = [
        (("collective", index), section, communicator_sizes(section, processes))
        for index, section in valid_items(tree["collective"])
    ]
    all_sizes = sorted(
        {p for _, _, sizes in collective_sections for p in sizes} or {p for p, _, _ in placements(processes)}
    )
    sections: list[tuple[Key, Tree, list[int]]] = [(("patterns",), patterns, all_sizes), *collective_sections]
    _check_stems([(key, section) for key, section, _ in sections], faults)
    is_scaled = bool(patterns["scale_files"])
    partitions = {
        count
        for _, section in valid_items(tree["partitioned"])
        for _, count in valid_items(section["partitions"])
    }
    for key, section, processes_of_section in sections:
        for index, name in valid_items(section["files"]):
            _check_file(
                base / name, (*key, "files", index), processes_of_section, partitions, is_scaled, faults
            )
        for index, name in valid_items(section["replays"]):
            _check_replay(base / name, (*key, "replays", index), processes_of_section, faults)
        if "skews" in section:
            _check_times(section["skews"], (*key, "skews"), faults)


def _check_node_delayed(key: Key, tree: Tree, faults: Faults) -> None:
    processes = tree["processes"]
    if any(communicators_of(section) > 1 for _, section in valid_items(tree["collective"])):
        faults.add(
            key,
            "'node_delayed' delays a node, but each of several communicators has the same delays; leave this"
            " shape out, or measure these collectives in a study of their own",
        )
    if any(nodes == 0 for _, nodes, _ in placements(processes)):
        remedy = "give nodes and ppn instead of p"
        faults.add(
            key, f"'node_delayed' must know which ranks share a node; {remedy}, or leave this shape out"
        )
    if any(nodes == 1 for _, nodes, _ in placements(processes)):
        faults.add(key, "'node_delayed' needs two nodes at least; leave it out, or take 1 out of nodes")


def _check_stems(sections: Sequence[tuple[Key, Tree]], faults: Faults) -> None:
    """Check that file names without suffix, which label patterns, differ from each other and from shapes.

    ``sections`` are those with the keys ``files`` and ``replays``. Several collectives may share a file.
    """
    owner: dict[str, str] = {}
    entries: set[tuple[Key, str]] = set()
    keys = ("files", "replays")
    file_names = [
        ((*section_key, key, index), name, section_key)
        for section_key, section in sections
        for key in keys
        for index, name in valid_items(section[key])
    ]
    for key, name, section_key in file_names:
        stem = Path(name).stem
        is_twice = (section_key, name) in entries or (("patterns",), name) in entries
        entries.add((section_key, name))
        if stem in SHAPES:
            sentence = (
                f"the file {name!r} would be called {stem!r} in tables, which is a shape; rename the file"
            )
            faults.add(key, sentence)
        elif is_twice:
            faults.add(key, f"{name!r} is listed twice; remove one")
        elif owner.get(stem, name) != name:
            sentence = f"{name!r} and {owner[stem]!r} would both be called {stem!r} in tables; rename one"
            faults.add(key, sentence)
        owner.setdefault(stem, name)


def _check_file(
    path: Path, key: Key, processes: Sequence[int], partitions: set[int], scaled: bool, faults: Faults
) -> None:
    """Check that a pattern file is readable and has a line for each process, with a delay for each partition
    of the study's messages."""
    try:
        pattern = pattern_file.read(path, partitions=None)
        if scaled and not pattern.delays_s.any():
            faults.add(
                key, f"every delay in {path} is the same; this cannot be scaled, set scale_files = false"
            )
        for p in processes:
            for count in sorted(partitions or {1}):
                delays_s = pattern_file.read(path, p, count).delays_s
                if partitions and delays_s[1:].any():
                    sentence = (
                        f"{path} delays rank 1, but only the sender, rank 0, has delays; write 0 for rank 1"
                    )
                    faults.add(key, sentence)
    except BadInput as error:
        faults.add(key, REPLAY_AS_PATTERN.format(path) if _is_replay(path) else str(error))


def _check_replay(path: Path, key: Key, processes: Sequence[int], faults: Faults) -> None:
    """Check that a replay file is readable and has these numbers of processes."""
    try:
        replay = replay_file.read(path)
        for p in processes:
            replay_file.check_processes(path, replay, p)
    except BadInput as error:
        faults.add(key, PATTERN_AS_REPLAY.format(path) if _is_pattern(path) else str(error))


def _is_replay(path: Path) -> bool:
    """Whether a file can only be a replay file: with one number in each line, it can be a pattern file."""
    try:
        replay = replay_file.read(path)
        return replay.p > 1 and "partitions" not in replay.header
    except BadInput:
        return False


def _is_pattern(path: Path) -> bool:
    try:
        pattern_file.read(path)
    except BadInput:
        return False
    return True


def check_skew(skew: Any, written: Tree, faults: Faults) -> None:
    """Add the faults of ``[skew]``; ``written`` is that section without defaults."""
    if skew is INVALID:
        return
    policy = skew["policy"]
    if policy is not INVALID:
        values_key = CHOICES[policy].values_key
        for key in EXAMPLE_VALUES:
            # Factors have a default: they count only if the file has them.
            if key != values_key and (key in written if key == "factors" else skew[key]):
                sentence = f"the policy {policy} takes no {key}; write {values_key}, or another policy"
                faults.add(("skew", key), sentence)
        if skew[values_key] == []:
            example = f"add {values_key} = {EXAMPLE_VALUES[values_key]}, for instance"
            faulty_key = values_key if values_key in written else "policy"
            faults.add(("skew", faulty_key), f"the policy {policy} needs {values_key}; {example}")
    check_duplicates(skew["factors"], ("skew", "factors"), faults)
    check_duplicates(skew["rates"], ("skew", "rates"), faults)
    _check_times(skew["times"], ("skew", "times"), faults)


def _check_times(times_s: Any, key: Key, faults: Faults) -> None:
    """Check that skews in seconds are different, and no more than a day."""
    check_duplicates(times_s, key, faults, format_time)
    for index, time_s in valid_items(times_s):
        if time_s > MAX_DELAY_S:
            sentence = (
                f"{format_time(time_s)} is more than a day; is the unit right? It must be 86400 s or less"
            )
            faults.add((*key, index), sentence)
