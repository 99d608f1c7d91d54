"""From a study to its configurations (groups), and from each group to its cases.

A group is one collective at one placement, message size, operation, datatype and root. Its cases are all
algorithms under all arrival patterns, which are compared with each other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from offbeat.model.pattern import pattern_file, replay_file, shapes
from offbeat.model.study.case import CONFIGURATION, PARTITIONED_SEND, Case, configuration_key
from offbeat.model.study.case import Group as Group
from offbeat.model.study.collectives import REDUCING, ROOTED
from offbeat.model.study.placement import Placement, placements
from offbeat.model.study.schema import CollectiveSection, Study
from offbeat.model.study.skew_policy import FILE, FIXED, POLICIES, REPLAY, ZERO_SKEW, SkewPolicy
from offbeat.model.study.study_file import LoadedStudy

SENDER = 0
"""The rank that sends a partitioned message; the other one receives it."""

NO_DELAY = "no_delay"
"""The pattern without delays: the reference of most skew policies, and of robustness."""


class PatternRow(Struct, frozen=True, kw_only=True):
    """One arrival pattern of a study with one skew: a row of every table.

    ``label`` names it in tables, ``shape`` is the shape's name or the file's name without suffix; ``factor``
    multiplies the reference of the policy (``none``: 0; ``file`` and ``replay``: 1).
    """

    label: str
    shape: str
    policy: SkewPolicy
    factor: float


def groups(study: Study) -> list[Group]:
    """Every group of a study, in the order of the file: placement, collective, size."""
    return [
        group
        for placement in placements(msgspec.structs.asdict(study.processes))
        for group in (*_collectives(study, placement), *_partitioned_sends(study, placement))
    ]


def _collectives(study: Study, placement: Placement) -> Iterator[Group]:
    for section in study.collective:
        if section.p and placement[0] not in section.p:
            continue
        for name in section.names:
            for size in [0] if name == "barrier" else section.sizes:
                yield _group(section, name, size, placement)


def _partitioned_sends(study: Study, placement: Placement) -> Iterator[Group]:
    p, nodes, ppn = placement
    for section in study.partitioned:
        for size, partitions, threads in product(section.sizes, section.partitions, section.threads):
            if threads <= partitions:
                yield Group(
                    collective=PARTITIONED_SEND,
                    bytes=size,
                    p=p,
                    nodes=nodes,
                    ppn=ppn,
                    op="",
                    datatype="",
                    root=0,
                    algorithms=list(section.approaches),
                    partitions=partitions,
                    threads=threads,
                )


def pattern_rows(study: Study, group: Group) -> list[PatternRow]:
    """Every pattern of a group of the study with every skew.

    no_delay comes first, once, if it is among the shapes or if the skew policy multiplies run times that are
    measured without delay.
    """
    patterns = study.patterns
    policy = FIXED if group.skews_s else POLICIES[study.skew.policy]
    skews: list[float] = group.skews_s or getattr(study.skew, policy.values_key)
    rows = []
    if NO_DELAY in patterns.shapes or policy.needs_runtimes:
        rows.append(PatternRow(label=NO_DELAY, shape=NO_DELAY, policy=ZERO_SKEW, factor=0.0))
    for shape in patterns.shapes:
        if shape != NO_DELAY:
            rows += _scaled(shape, policy, skews)
    for name in [*patterns.files, *group.files]:
        stem = Path(name).stem
        if patterns.scale_files:
            rows += _scaled(stem, policy, skews)
        else:
            rows.append(PatternRow(label=stem, shape=stem, policy=FILE, factor=1.0))
    for name in [*patterns.replays, *group.replays]:
        stem = Path(name).stem
        rows.append(PatternRow(label=stem, shape=stem, policy=REPLAY, factor=1.0))
    return rows


GROWING = (
    *("collective", "partitioned", "processes.", "skew."),
    *(f"patterns.{key}" for key in ("shapes", "files", "replays", "scale_files")),
)
"""Beginnings of the keys of a study whose change :func:`contains` can judge. Others change cases that look
the same: the seed of random shapes changes their delays."""


def contains(larger: Study, smaller: Study) -> bool:
    """Whether a study has all cases of another one, each with the same skew.

    The skew of most policies depends on the algorithms of a group: then these must be the same.
    """
    groups_there = {configuration_key(group): group for group in groups(larger)}
    for group in groups(smaller):
        there, rows = groups_there.get(configuration_key(group)), pattern_rows(smaller, group)
        if there is None or not set(rows) <= set(pattern_rows(larger, there)):
            return False
        if not _has_algorithms(there, group, rows):
            return False
    return True


def _has_algorithms(larger: Group, smaller: Group, rows: Sequence[PatternRow]) -> bool:
    if any(row.policy.depends_on_others for row in rows):
        return set(larger.algorithms) == set(smaller.algorithms)
    return larger.algorithms == ["all"] or set(smaller.algorithms) <= set(larger.algorithms)


def cases(group: Group, algorithm_names: Sequence[str], study: Study) -> list[Case]:
    """The cases of a group of the study: these algorithms under all its patterns."""
    return [
        Case(
            algorithm=algorithm,
            pattern=row.label,
            shape=row.shape,
            skew_policy=row.policy.key,
            skew_factor=row.factor,
            **_configuration(group),
        )
        for algorithm in algorithm_names
        for row in pattern_rows(study, group)
    ]


def group_of(case: Case) -> Group:
    """The group that a case belongs to; its ``algorithms`` are empty."""
    return Group(algorithms=[], **_configuration(case))


def _configuration(item: Case | Group) -> dict[str, Any]:
    return dict(zip(CONFIGURATION, configuration_key(item), strict=True))


def order(cases: Sequence[Case], seed: int, round_number: int = 0) -> list[Case]:
    """The cases in the order in which they are measured in one round through the study.

    Placements are ordered by p, as each needs its own launch. Within a placement the groups are shuffled,
    within a group the algorithms, and within an algorithm its patterns. In the first round, number 0, all
    no-delay cases of a group precede the others, whose skew may depend on them. The order depends on the set
    of cases, the seed and the round alone, on every platform and numpy version.
    """
    by_id = sorted(cases, key=lambda case: case.id)
    entropy = [seed, round_number] if round_number else seed
    draws = [int(draw) for draw in np.random.PCG64(entropy).random_raw(2 * len(by_id))]
    rank: dict[tuple[object, ...], int] = {}
    for case, draw in zip(by_id, draws, strict=False):
        rank.setdefault(configuration_key(case), draw)
        rank.setdefault((*configuration_key(case), case.algorithm), draw)
    sort_entries = [
        (
            case.launch_placement,
            rank[configuration_key(case)],
            configuration_key(case),
            round_number == 0 and case.is_delayed,
            rank[*configuration_key(case), case.algorithm],
            case.algorithm,
            draw,
            case.id,
            case,
        )
        for case, draw in zip(by_id, draws[len(by_id) :], strict=True)
    ]
    return [entry[-1] for entry in sorted(sort_entries, key=lambda entry: entry[:-1])]


def delays_s(loaded: LoadedStudy, case: Case, skew_s: float) -> NDArray[np.float64]:
    """The delay of each rank under a case's pattern, (p,), in seconds; the smallest is 0.

    With several communicators, they are the delays of the ranks of each communicator.
    For a partitioned send, the delay of each rank and partition, (p, partitions): from a pattern file, or of
    the sender's partitions by a shape. For a replay, the delays of all calls: (calls, p). ``skew_s`` is the
    largest delay in seconds by the skew policy of the case; unscaled pattern files keep their own, and
    no_delay has none. Raises :class:`BadInput` when a pattern file or a replay can no longer be read.
    """
    paths = loaded.pattern_paths()
    if case.is_replay:
        return replay_file.read(paths[case.shape], case.p).delays_s
    if case.shape in paths:
        delays = pattern_file.read(paths[case.shape], case.p, case.partitions).delays_s
        return delays / delays.max() * skew_s if case.policy.is_scaled else delays
    seed = loaded.study.patterns.seed
    if case.collective != PARTITIONED_SEND:
        return shapes.delays(case.shape, case.p, skew_s, seed=seed, ppn=case.ppn)
    delays = np.zeros((case.p, case.partitions))
    delays[SENDER] = shapes.delays(case.shape, case.partitions, skew_s, seed=seed)
    return delays if case.partitions > 1 else delays[:, 0]


def _group(section: CollectiveSection, name: str, size_bytes: int, placement: Placement) -> Group:
    processes, nodes, ppn = placement
    return Group(
        collective=name,
        bytes=size_bytes,
        p=processes // section.communicators,
        nodes=nodes,
        ppn=ppn,
        op=section.op if name in REDUCING else "",
        datatype=section.datatype if name != "barrier" else "",
        root=section.root if name in ROOTED else 0,
        algorithms=list(section.algorithms),
        files=list(section.files),
        replays=list(section.replays),
        skews_s=list(section.skews),
        communicators=section.communicators,
        stride=section.stride if section.communicators > 1 else 1,
    )


def _scaled(shape: str, policy: SkewPolicy, skews: Sequence[float]) -> list[PatternRow]:
    """A shape with each skew; the label includes the skew if there are several."""
    return [
        PatternRow(
            label=shape if len(skews) == 1 else f"{shape}×{policy.factor_label(skew)}",
            shape=shape,
            policy=policy,
            factor=skew,
        )
        for skew in skews
    ]
