"""Tuning files for MPICH 4 and 5: the JSON selection trees that its control variables name.

Two trees decide. The general one selects the algorithm of a collective. Before it, the device may split a
collective into a part inside nodes and one between them (a composition), and the general tree is then used
only for the parts; on one node, later versions do not use it at all. So for collectives that the device
splits there is a second file, which passes only the tuned configurations to the general tree and leaves all
others to the device.

Both are derived from the trees in the user's library (:mod:`offbeat.selection.tuning_files.mpich_tree`),
because a file must contain every collective: if one is missing, or the file itself, the program aborts. A
file therefore belongs to the version from which it was derived.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import msgspec
from msgspec import Struct

from offbeat.base.errors import RunFailed
from offbeat.base.reading import decode_json, read_file
from offbeat.base.units import format_size
from offbeat.libraries.families.mpich import FALLBACK_VARIABLE
from offbeat.libraries.installations.installation import Installation
from offbeat.selection.tuning_files import rule_layout
from offbeat.selection.tuning_files.manifest import TuningFiles, usage_lines, write_file
from offbeat.selection.tuning_files.mpich_algorithms import (
    NOT_IN_PLACE,
    PARAMETERS,
    SIZE_CONDITION,
    InexpressibleError,
    TreeLeaves,
    tree_leaves,
    variable,
)
from offbeat.selection.tuning_files.mpich_tree import (
    Branch,
    EmbeddedTrees,
    Leaf,
    SizedLeaf,
    Tree,
    faults,
    leaves,
    read,
    tuned_tree,
)
from offbeat.selection.tuning_files.tuning_plan import Rule, TuningPlan

GENERAL_FILE = "mpich-algorithms.json"
COMPOSITION_FILE = "mpich-compositions.json"

GENERAL_VARIABLE = "MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE"
COMPOSITION_VARIABLE = "MPIR_CVAR_CH4_COLL_SELECTION_TUNING_JSON_FILE"

UNDIVIDED_COMPOSITIONS = {
    "allreduce": "MPIDI_Allreduce_intra_composition_beta",
    "barrier": "MPIDI_Barrier_intra_composition_beta",
    "bcast": "MPIDI_Bcast_intra_composition_gamma",
    "reduce": "MPIDI_Reduce_intra_composition_gamma",
    "scan": "MPIDI_Scan_intra_composition_beta",
}
"""The composition of each collective that passes it on undivided; the other collectives have only such
compositions."""


class TreeRule(Struct, frozen=True, kw_only=True):
    """A rule and its leaves in the trees."""

    rule: Rule
    leaves: TreeLeaves


def write(plan: TuningPlan, installation: Installation, directory: Path) -> TuningFiles:
    """Write the trees of a plan. Raises :class:`BadInput` if the library contains no default trees."""
    defaults = read(installation.library)
    tree_rules, notes = _expressible(plan, defaults)
    tree_rules, variables, more = _compatible(tree_rules)
    general = dict(defaults.general)
    compositions = dict(defaults.compositions or {})
    for collective, entries in tree_rules.items():
        _tune(general, collective, [(entry.rule, entry.leaves.leaf) for entry in entries])
        notes += _tune_nonblocking(general, collective, entries)
        variables |= _pass_undivided(compositions, defaults, collective, entries)
    files = [_write_tree(directory, GENERAL_FILE, general, defaults)]
    environment = {GENERAL_VARIABLE: str(files[0]), **variables}
    if compositions != (defaults.compositions or {}):
        files.append(_write_tree(directory, COMPOSITION_FILE, compositions, defaults))
        environment[COMPOSITION_VARIABLE] = str(files[1])
    options = [word for name, value in environment.items() for word in ("-genv", name, value)]
    return TuningFiles(
        files=files,
        environment=environment,
        launch_options=options,
        usage=usage_lines("mpiexec", options, environment),
        notes=[*plan.notes, *dict.fromkeys(notes + more), *_notes(installation, variables)],
        rules=[entry.rule for entries in tree_rules.values() for entry in entries],
        not_in_place=[
            collective
            for collective, entries in tree_rules.items()
            if all(NOT_IN_PLACE in entry.leaves.leaf.guards for entry in entries)
        ],
    )


def _expressible(plan: TuningPlan, defaults: EmbeddedTrees) -> tuple[dict[str, list[TreeRule]], list[str]]:
    """The rules that trees can hold, and sentences on the others."""
    tree_rules: dict[str, list[TreeRule]] = {}
    notes: list[str] = []
    for collective, rules in plan.rules.items():
        for rule in rules:
            try:
                tree_rules.setdefault(collective, []).append(_tree_rule(rule, defaults))
            except InexpressibleError as reason:
                notes.append(
                    f"{collective} of {format_size(rule.bytes)} on p={rule.p} is left to the library's"
                    f" default: {rule.algorithm.name} {reason}."
                )
    return tree_rules, notes


def _tree_rule(rule: Rule, defaults: EmbeddedTrees) -> TreeRule:
    """A rule with its leaves; raises :class:`InexpressibleError`."""
    entry = TreeRule(rule=rule, leaves=tree_leaves(rule, defaults.names))
    conditions = [rule.collective, *([f"i{rule.collective}"] if entry.leaves.nonblocking_leaf else [])]
    if any(f"collective={collective}" not in defaults.general for collective in conditions):
        raise InexpressibleError(
            "belongs to a collective that this library's default selection does not contain"
        )
    return entry


def _compatible(
    tree_rules: dict[str, list[TreeRule]],
) -> tuple[dict[str, list[TreeRule]], dict[str, str], list[str]]:
    """The rules whose control variables are compatible, those variables, and sentences on the other rules.

    A variable of a nonblocking collective overrides its tree, so if one rule needs it, all rules use it.
    """
    by_variable = {
        name for name, entries in tree_rules.items() if any(entry.leaves.by_variable for entry in entries)
    }
    all_rules = [entry.rule for entries in tree_rules.values() for entry in entries]
    compatible, variables, notes = rule_layout.compatible_rules(
        all_rules, partial(_launch_parameters, by_variable=by_variable)
    )
    remaining_rules: dict[str, list[TreeRule]] = {}
    for collective, entries in tree_rules.items():
        for entry in entries:
            if entry.rule in compatible:
                used_leaves = (
                    TreeLeaves(leaf=entry.leaves.leaf, by_variable=True)
                    if collective in by_variable
                    else entry.leaves
                )
                remaining_rules.setdefault(collective, []).append(
                    TreeRule(rule=entry.rule, leaves=used_leaves)
                )
    return remaining_rules, variables, notes


def _launch_parameters(rule: Rule, by_variable: set[str]) -> dict[str, str]:
    """Settings that the trees cannot hold: they apply to the whole launch."""
    collectives = (
        [rule.collective] if rule.collective in by_variable else [rule.collective, f"i{rule.collective}"]
    )
    settings = rule.settings
    tree_variables = {FALLBACK_VARIABLE, *(variable(collective) for collective in collectives)}
    for collective in collectives:
        parameters = PARAMETERS.get((collective, settings.get(variable(collective), "")), {})
        tree_variables |= {f"MPIR_CVAR_{variable_name}" for variable_name, _ in parameters.values()}
    return {name: value for name, value in settings.items() if name not in tree_variables}


def _tune(trees: Tree, collective: str, rule_leaves: Sequence[tuple[Rule, Leaf]]) -> None:
    key = f"collective={collective}"
    trees[key] = tuned_tree(
        trees[key], _branches(rule_leaves, collective), SIZE_CONDITION.get(collective, "")
    )


def _tune_nonblocking(trees: Tree, collective: str, tree_rules: Sequence[TreeRule]) -> list[str]:
    """Add the nonblocking collectives that rules call internally; returns sentences for the user."""
    nested_leaves = [(entry.rule, entry.leaves.nonblocking_leaf) for entry in tree_rules]
    rule_leaves = [(rule, leaf) for rule, leaf in nested_leaves if leaf is not None]
    forced_names = sorted(
        {
            entry.rule.algorithm.name
            for entry in tree_rules
            if entry.leaves.by_variable and entry.rule.settings.get(variable(collective)) == "nb"
        }
    )
    notes = []
    if rule_leaves:
        _tune(trees, f"i{collective}", rule_leaves)
        names = ", ".join(sorted({rule.algorithm.name for rule, _ in rule_leaves}))
        notes.append(
            f"{collective} by {names} calls the nonblocking collective internally: MPI_I{collective} uses"
            " the same algorithm in these configurations."
        )
    if forced_names:
        notes.append(
            f"{collective} by {', '.join(forced_names)} calls a nonblocking collective whose algorithm can"
            " only be"
            f" set for the whole launch: MPI_I{collective} uses it for every size and number of processes."
        )
    return notes


def _branches(rule_leaves: Sequence[tuple[Rule, Leaf]], collective: str) -> list[Branch]:
    leaf_of = {id(rule): leaf for rule, leaf in rule_leaves}
    by_total = SIZE_CONDITION.get(collective) == "total_msg_size"
    branches = []
    for row in rule_layout.process_rows([rule for rule, _ in rule_leaves]):
        for low, high in rule_layout.steps(row) if by_total else [(row.p_low, row.p_high)]:
            scale = (low, high) if by_total else (1, 1)
            segments = rule_layout.segments(row.rules, lambda rule: leaf_of[id(rule)], *scale)
            branches.append(
                Branch(low, high, [SizedLeaf(s.low, s.high, leaf_of[id(s.rule)]) for s in segments])
            )
    return branches


def _pass_undivided(
    compositions: Tree, defaults: EmbeddedTrees, collective: str, tree_rules: Sequence[TreeRule]
) -> dict[str, str]:
    """Make the device pass the tuned configurations of a collective on undivided.

    Returns the control variables that do it if the device's tree cannot; none otherwise.
    """
    key = f"collective={collective}"
    if key not in compositions or len(leaves(compositions[key])) == 1:
        return {}
    composition = UNDIVIDED_COMPOSITIONS.get(collective, "")
    if composition not in defaults.names:
        return {f"MPIR_CVAR_{collective.upper()}_DEVICE_COLLECTIVE": "0"}
    rule_guards = [(entry.rule, entry.leaves.leaf.guards) for entry in tree_rules]
    _tune(
        compositions,
        collective,
        [(rule, Leaf(f"composition={composition}", (), guards)) for rule, guards in rule_guards],
    )
    return {}


def _write_tree(directory: Path, name: str, tree: Tree, defaults: EmbeddedTrees) -> Path:
    """Write a tree, read it back and check it: an error in it would abort programs."""
    path = write_file(
        directory, name, msgspec.json.format(msgspec.json.encode(tree), indent=1).decode() + "\n"
    )
    again = decode_json(read_file(path), dict[str, dict])
    wrong = [f"{key}: {fault}" for key, below in again.items() for fault in faults(below, defaults.names)]
    if msgspec.json.encode(again) != msgspec.json.encode(tree):
        wrong.append("the file differs from the tree that was written")
    if wrong:
        path.unlink()
        raise RunFailed(
            f"the selection tree {path} would make MPICH abort, so it was deleted: {'; '.join(wrong)}; please"
            " report this together with the study's directory"
        )
    return path


def _notes(installation: Installation, variables: dict[str, str]) -> list[str]:
    switches = [name for name in variables if name.endswith("_DEVICE_COLLECTIVE")]
    notes = [
        f"The files are derived from the default selection inside {installation.library} and belong to"
        f" {installation.name}: another version may abort programs that use them. Do not move them:"
        " MPICH aborts programs if a file is missing."
    ]
    if switches:
        notes.append(
            f"{', '.join(switches)} turn the device's own collectives off for every size, because this"
            " library's device cannot pass on only the tuned ones."
        )
    return notes
