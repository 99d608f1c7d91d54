"""The rules file of Open MPI's ``han``, which decides on communicators that span several nodes.

``han`` divides a collective into parts inside nodes and between them, and ``tuned`` is then called only for
the parts. Its rules file states, by communicator size and message size, which component runs a whole
collective: ``tuned`` if the rules file of ``tuned`` has a rule; ``han`` with the number of one of its
algorithms (``han @2``) if that was chosen; otherwise ``han``, as without a file. The blank before ``@`` is
required. Both lists begin at their smallest value. A file with an error is ignored as a whole, silently
(coll_han_dynamic_file.c). The message size is in bytes per process for all collectives (coll_han_dynamic.c).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from offbeat.base.errors import BadInput
from offbeat.libraries.families.openmpi import algorithm_of_han_variable, is_of_han
from offbeat.selection.tuning_files import rule_layout
from offbeat.selection.tuning_files.tuning_plan import Rule

FILE_NAME = "openmpi-han.rules"

DECIDED_BY_HAN = ("allgather", "allgatherv", "allreduce", "barrier", "bcast", "gather", "reduce", "scatter")
"""The collectives that ``han`` has; ``tuned`` gets the others on several nodes, too."""

WHOLE_COLLECTIVE = 2
"""The number of the level ``global_communicator``; 0 and 1 are the parts inside and between nodes."""

SizeSteps = list[tuple[int, str]]
"""First size and component, in ascending order."""


def is_file_needed(rules: Mapping[str, Sequence[Rule]], several_nodes: bool) -> bool:
    """Whether ``han`` needs a rules file: for rules with its own algorithms and, on several nodes, for rules
    of a collective that it would not pass to ``tuned``."""
    of_han = any(is_of_han(rule.settings) for its_rules in rules.values() for rule in its_rules)
    return of_han or (several_nodes and any(rules.get(collective) for collective in DECIDED_BY_HAN))


def rules_of_tuned(rules: Mapping[str, Sequence[Rule]]) -> dict[str, list[Rule]]:
    """The rules for the rules file of ``tuned``: all but those for algorithms of ``han``."""
    remaining_rules = {
        collective: [rule for rule in its_rules if not is_of_han(rule.settings)]
        for collective, its_rules in rules.items()
    }
    return {collective: its_rules for collective, its_rules in remaining_rules.items() if its_rules}


def rules_text(rules: Mapping[str, Sequence[Rule]], origin: str) -> str:
    """The file's text."""
    collectives = [collective for collective in DECIDED_BY_HAN if rules.get(collective)]
    lines = [
        f"# Written by offbeat from {origin}; used together with openmpi.rules if that exists.",
        "# Each size line: message size, component that gets the whole collective, number of its algorithm.",
        f"{len(collectives)} # collectives",
    ]
    for collective in collectives:
        rows = _rows(rules[collective])
        lines += ["", collective, "1 # level", f"{WHOLE_COLLECTIVE} # whole collective"]
        lines.append(f"{len(rows)} # communicator sizes")
        for p_low, sizes in rows:
            lines += [f"{p_low} # processes and more", f"{len(sizes)} # message sizes"]
            lines += [f"{size} {component}" for size, component in sizes]
    return "\n".join(lines) + "\n"


def _rows(rules: Sequence[Rule]) -> list[tuple[int, SizeSteps]]:
    """First number of processes and the sizes from there on, in ascending order."""
    ranges = ((row.p_low, row.p_high, row.rules) for row in rule_layout.process_rows(rules))
    return [(p_low, _sizes(row_rules or [])) for p_low, _, row_rules in rule_layout.with_gaps(ranges, 1)]


def _sizes(rules: Sequence[Rule]) -> SizeSteps:
    """The component of each range of sizes: ``han`` where no rule holds."""
    segments = rule_layout.segments(rules, _component)
    return [(low, _component(rule) if rule else "han") for low, _, rule in rule_layout.with_gaps(segments)]


def _component(rule: Rule) -> str:
    """The component, with the number of han's own algorithm; raises :class:`BadInput` without one."""
    if not is_of_han(rule.settings):
        return "tuned"
    number = rule.settings.get(algorithm_of_han_variable(rule.collective), "")
    if not number.isdecimal():
        raise BadInput(
            f"the settings of {rule.collective}'s algorithm {rule.algorithm.name} have no number under"
            f" {algorithm_of_han_variable(rule.collective)} that {FILE_NAME} could hold:"
            f" {dict(rule.settings)}"
        )
    return f"han @{int(number)} # {rule.algorithm.name}"
