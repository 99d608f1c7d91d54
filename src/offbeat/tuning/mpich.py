"""Tuning files for MPICH 4 and 5: the JSON selection trees that its control variables name.

Two trees decide. The general one picks the algorithm of a collective. Before it, the device may split a
collective into a part inside nodes and one between them (a composition), and then the general tree sees only
the parts; on one node of a later version it is not asked at all. So for collectives that the device splits
there is a second file, which passes exactly the tuned cells on to the general tree and leaves the device's
own way everywhere else.

Both are made from the trees inside the user's library (:mod:`offbeat.tuning.mpich_library`), because a file
must name every collective: where one is missing, or the file itself, the program stops. A file therefore
belongs to the version that it was made from.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from offbeat.errors import RunFailed
from offbeat.mpi.installation import Installation
from offbeat.study.units import format_size
from offbeat.tuning import knobs, ranges
from offbeat.tuning.files import TuningFiles, write_file
from offbeat.tuning.mpich_algorithms import (
    PARAMETERS,
    SIZE_CONDITION,
    InexpressibleError,
    Named,
    named,
    variable,
)
from offbeat.tuning.mpich_library import Embedded, Tree, read
from offbeat.tuning.mpich_tree import LARGEST, Branch, Leaf, SizedLeaf, faults, leaves, tuned
from offbeat.tuning.plan import Rule, TuningPlan

GENERAL_FILE = "mpich-algorithms.json"
COMPOSITION_FILE = "mpich-compositions.json"

GENERAL_VARIABLE = "MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE"
COMPOSITION_VARIABLE = "MPIR_CVAR_CH4_COLL_SELECTION_TUNING_JSON_FILE"

UNDIVIDED = {
    "allreduce": "MPIDI_Allreduce_intra_composition_beta",
    "barrier": "MPIDI_Barrier_intra_composition_beta",
    "bcast": "MPIDI_Bcast_intra_composition_gamma",
    "reduce": "MPIDI_Reduce_intra_composition_gamma",
    "scan": "MPIDI_Scan_intra_composition_beta",
}
"""The composition of each collective that passes it on undivided; the other collectives have only such."""

WHY_ONE = "MPICH cannot look at the message size here"


class Found(Struct, frozen=True, kw_only=True):
    """A rule and what it needs in the trees."""

    rule: Rule
    named: Named


def write(plan: TuningPlan, installation: Installation, directory: Path) -> TuningFiles:
    """Write the selection trees of ``plan`` for ``installation`` into ``directory``.

    Raises :class:`BadInput` when the installation's library holds no default trees to start from.
    """
    embedded = read(installation.library)
    found, notes = _expressible(plan, embedded)
    found, variables, more = _settled(found)
    trees = dict(embedded.general)
    compositions = dict(embedded.compositions or {})
    switches: dict[str, str] = {}
    for collective, own in found.items():
        notes += _tune(trees, f"collective={collective}", own, [f.named.leaf for f in own], collective)
        nonblocking = [f for f in own if f.named.nonblocking]
        if nonblocking:
            inner = [f.named.nonblocking for f in nonblocking if f.named.nonblocking]
            notes += _tune(trees, f"collective=i{collective}", nonblocking, inner, f"i{collective}")
            notes.append(_nonblocking_note(collective, nonblocking))
        switches |= _pass_on(compositions, embedded, collective, own)
    files = [_write_tree(directory, GENERAL_FILE, trees, embedded)]
    environment = {GENERAL_VARIABLE: str(files[0]), **variables, **switches}
    if embedded.compositions is not None and compositions != embedded.compositions:
        files.append(_write_tree(directory, COMPOSITION_FILE, compositions, embedded))
        environment[COMPOSITION_VARIABLE] = str(files[1])
    return TuningFiles(
        files=files,
        environment=environment,
        launch_options=[word for name, value in environment.items() for word in ("-genv", name, value)],
        usage=_usage(environment),
        notes=[*plan.notes, *list(dict.fromkeys(notes + more)), *_notes(installation, switches)],
    )


def _usage(environment: dict[str, str]) -> list[str]:
    options = [word for name, value in environment.items() for word in ("-genv", name, value)]
    return [
        f"mpiexec {shlex.join(options)} -n P ./application",
        *(f"export {name}={shlex.quote(value)}" for name, value in environment.items()),
    ]


def _expressible(plan: TuningPlan, embedded: Embedded) -> tuple[dict[str, list[Found]], list[str]]:
    """The rules that trees can hold, and a sentence for each that they cannot."""
    found: dict[str, list[Found]] = {}
    notes = []
    for collective, rules in plan.rules.items():
        for rule in rules:
            try:
                if f"collective={collective}" not in embedded.general:
                    raise InexpressibleError(
                        "belongs to a collective that this library's default selection does not name"
                    )
                found.setdefault(collective, []).append(Found(rule=rule, named=named(rule, embedded.names)))
            except InexpressibleError as reason:
                notes.append(
                    f"{collective} of {format_size(rule.bytes)} on p={rule.p} is left to the library's"
                    f" default: {rule.algorithm.name} {reason}."
                )
    return found, notes


def _settled(found: dict[str, list[Found]]) -> tuple[dict[str, list[Found]], dict[str, str], list[str]]:
    """Leave out rules whose further control variables contradict others'; returns those variables too."""
    every = [entry.rule for own in found.values() for entry in own]
    kept, variables, notes = knobs.settle(every, _knobs_of)
    left = {collective: [entry for entry in own if entry.rule in kept] for collective, own in found.items()}
    return {collective: own for collective, own in left.items() if own}, variables, notes


def _knobs_of(rule: Rule) -> dict[str, str]:
    """Settings that are not in the tree: they act on the whole launch."""
    placed = set()
    for collective in (rule.collective, f"i{rule.collective}"):
        algorithm = rule.algorithm.settings.get(variable(collective), "")
        placed |= {variable(collective)}
        placed |= {f"MPIR_CVAR_{own}" for own, _ in PARAMETERS.get((collective, algorithm), {}).values()}
    return {name: value for name, value in rule.algorithm.settings.items() if name not in placed}


def _tune(
    trees: Tree, key: str, found: Sequence[Found], wanted: Sequence[Leaf], collective: str
) -> list[str]:
    """Put ``wanted``, a leaf for each of ``found``, into the tree of one collective; sentences on what was
    lost.
    """
    leaf_of = {id(entry.rule): leaf for entry, leaf in zip(found, wanted, strict=True)}
    branches, notes = _branches([entry.rule for entry in found], leaf_of, collective)
    trees[key] = tuned(trees[key], branches, SIZE_CONDITION.get(collective, ""))
    return notes


def _branches(
    rules: Sequence[Rule], leaf_of: dict[int, Leaf], collective: str
) -> tuple[list[Branch], list[str]]:
    """The rules as branches of a tree, and sentences on what the tree cannot tell apart."""

    def same(rule: Rule) -> Leaf:
        return leaf_of[id(rule)]

    condition = SIZE_CONDITION.get(collective, "")
    branches, notes = [], []
    for row in ranges.process_rows(rules):
        if not condition:
            kept = ranges.one_rule(row.rules, same)
            notes.append(ranges.one_rule_note(row, kept, WHY_ONE, same))
            branches.append(Branch(row.p_low, row.p_high, [SizedLeaf(0, LARGEST, same(kept))]))
            continue
        groups = ranges.steps(row) if condition == "total_msg_size" else [(row.p_low, row.p_high)]
        for low, high in groups:
            scale = (low, high) if condition == "total_msg_size" else (1, 1)
            sized = ranges.segments(row.rules, same, *scale)
            branches.append(Branch(low, high, [SizedLeaf(s.low, s.high, same(s.rule)) for s in sized]))
    return branches, [note for note in notes if note]


def _pass_on(
    compositions: Tree, embedded: Embedded, collective: str, found: Sequence[Found]
) -> dict[str, str]:
    """Make the device pass the tuned cells of a collective on undivided.

    Returns the control variables that must do it where the device's tree cannot; none otherwise.
    """
    key = f"collective={collective}"
    if key not in compositions or len(leaves(compositions[key])) == 1:
        return {}
    undivided = UNDIVIDED.get(collective, "")
    if undivided not in embedded.names:
        return {f"MPIR_CVAR_{collective.upper()}_DEVICE_COLLECTIVE": "0"}
    wanted = [Leaf(f"composition={undivided}", (), entry.named.leaf.guards) for entry in found]
    _tune(compositions, key, found, wanted, collective)
    return {}


def _write_tree(directory: Path, name: str, tree: Tree, embedded: Embedded) -> Path:
    """Write a tree, read it back and check it: the library would stop programs for a mistake in it."""
    path = write_file(
        directory, name, msgspec.json.format(msgspec.json.encode(tree), indent=1).decode() + "\n"
    )
    again = msgspec.json.decode(path.read_bytes(), type=dict[str, dict])
    wrong = [f"{key}: {fault}" for key, below in again.items() for fault in faults(below, embedded.names)]
    if msgspec.json.encode(again) != msgspec.json.encode(tree):
        wrong.append("it does not read back as it was written")
    if wrong:
        path.unlink()
        raise RunFailed(
            f"the selection tree {path} would stop MPICH, so it was not kept: {'; '.join(wrong)}; please"
            " report this together with the study's directory"
        )
    return path


def _nonblocking_note(collective: str, found: Sequence[Found]) -> str:
    names = ", ".join(sorted({entry.rule.algorithm.name for entry in found}))
    return (
        f"{names} runs the nonblocking collective inside: MPI_I{collective} itself uses the same algorithm in"
        " these cells."
    )


def _notes(installation: Installation, switches: dict[str, str]) -> list[str]:
    notes = [
        f"The files are made from the default selection inside {installation.library} and belong to MPICH"
        f" {installation.version_text}: another version may stop programs that use them. Keep them where they"
        " are, as MPICH stops programs when a file is missing."
    ]
    if switches:
        notes.append(
            f"{', '.join(switches)} turn the device's own collectives off for every size, because this"
            " library's device cannot be told to pass only the tuned ones on."
        )
    return notes
