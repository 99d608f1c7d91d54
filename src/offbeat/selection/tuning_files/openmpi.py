"""Tuning files for Open MPI 4.1 and 5.0: the rules file of its ``tuned`` component.

The file nests three lists: collectives (by number), communicator sizes, message sizes. The library uses the
last entry that is not larger than the value it looks up, and the first one for anything smaller; algorithm 0
means its own decision. So every list begins with an entry of algorithm 0, and every range is closed by one. A
file with any error is ignored as a whole, silently.

What the message size is depends on the collective (coll_tuned_decision_dynamic.c): see :data:`COLLECTIVES`.
In gather and scatter each process computes it from arguments that are insignificant on some processes; if a
choice depended on it, the program would hang or compute wrong results.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from offbeat.base.errors import BadInput
from offbeat.base.units import format_size
from offbeat.libraries.families.openmpi import algorithm_of_han_variable, is_of_han, whole_collective_variable
from offbeat.libraries.installations.installation import Installation
from offbeat.selection.tuning_files import openmpi_han, rule_layout
from offbeat.selection.tuning_files.manifest import TuningFiles, usage_lines, write_file
from offbeat.selection.tuning_files.same_bits import bits_notes
from offbeat.selection.tuning_files.tuning_plan import Rule, TuningPlan


class RulesFileCollective(Struct, frozen=True, kw_only=True):
    """A collective in the rules file: the number that names it, and what Open MPI compares with a rule's
    message size.

    ``size`` is ``per process`` (bytes; allgatherv: their mean), ``total`` (bytes of all processes),
    ``ignored``, or ``unsafe``: a value on which processes may disagree, so that a choice by size hangs or
    computes wrong results in programs that use MPI_IN_PLACE.
    """

    number: int
    size: str


COLLECTIVES = {
    "allgather": RulesFileCollective(number=0, size="total"),
    "allgatherv": RulesFileCollective(number=1, size="per process"),
    "allreduce": RulesFileCollective(number=2, size="per process"),
    "alltoall": RulesFileCollective(number=3, size="total"),
    "alltoallv": RulesFileCollective(number=4, size="ignored"),
    "barrier": RulesFileCollective(number=6, size="ignored"),
    "bcast": RulesFileCollective(number=7, size="per process"),
    "exscan": RulesFileCollective(number=8, size="ignored"),
    "gather": RulesFileCollective(number=9, size="unsafe"),
    "reduce": RulesFileCollective(number=11, size="per process"),
    "reduce_scatter": RulesFileCollective(number=12, size="total"),
    "reduce_scatter_block": RulesFileCollective(number=13, size="total"),
    "scan": RulesFileCollective(number=14, size="ignored"),
    "scatter": RulesFileCollective(number=15, size="unsafe"),
}
"""The collectives that the rules file can name."""

SIZE_OF_SENT = ("allgather", "alltoall")
"""Collectives whose size Open MPI takes from the send arguments, which MPI_IN_PLACE makes meaningless."""

FIRST_WITH_VERSION_2 = (5, 0, 7)
"""Earlier versions ignore a version 2 file silently."""

DEFAULT_FANOUT = 4
"""coll_tuned_X_algorithm_tree_fanout and _chain_fanout where nothing else is set (4.1.4, 5.0.11)."""

CHAIN_FANOUT = ("bcast", "reduce")
"""Collectives whose forced fan-out is the chain's; a rules file has one fan-out for both kinds."""

FILE_NAME = "openmpi.rules"


class TunedEntry(Struct, frozen=True, kw_only=True):
    """The parameters of an algorithm in a rules file; ``requests`` are those at once."""

    number: int
    fanout: int
    segment_bytes: int
    requests: int


BY_LIBRARY = TunedEntry(number=0, fanout=0, segment_bytes=0, requests=0)
"""Algorithm 0: the library's default."""


def write(
    plan: TuningPlan, installation: Installation, directory: Path, format_version: int = 1
) -> TuningFiles:
    """Write the rules file of ``plan`` into ``directory``.

    ``format_version`` 2 also holds the number of requests at once, which version 1 cannot; it needs Open MPI
    5.0.7 or later. Raises :class:`BadInput` when the installation is older.
    """
    _refuse_old(plan, installation, format_version)
    rules, variables, notes = _expressible(plan, format_version)
    files, mca = list[Path](), dict[str, str]()
    by_han = installation.is_at_least(5) and openmpi_han.is_file_needed(rules, plan.several_nodes)
    rules_of_tuned = openmpi_han.rules_of_tuned(rules)
    if rules_of_tuned or not by_han:
        files.append(write_file(directory, FILE_NAME, rules_text(plan, rules_of_tuned, format_version)))
        mca |= {"coll_tuned_use_dynamic_rules": "1", "coll_tuned_dynamic_rules_filename": str(files[-1])}
    if by_han:
        han = openmpi_han.rules_text(rules, plan.origin)
        files.append(write_file(directory, openmpi_han.FILE_NAME, han))
        mca |= {"coll_han_use_dynamic_file_rules": "1", "coll_han_dynamic_rules_filename": str(files[-1])}
    mca |= variables
    environment = {f"OMPI_MCA_{name}": value for name, value in mca.items()}
    options = [word for name, value in mca.items() for word in ("--mca", name, value)]
    return TuningFiles(
        files=files,
        environment=environment,
        launch_options=options,
        usage=usage_lines("mpirun", options, environment),
        notes=[
            *plan.notes,
            *notes,
            *_notes(plan, installation, rules_of_tuned, by_han),
            *_whole_launch(variables),
        ],
        rules=[rule for rules_of_one in rules.values() for rule in rules_of_one],
        not_in_place=[collective for collective in rules_of_tuned if collective in SIZE_OF_SENT],
    )


def _refuse_old(plan: TuningPlan, installation: Installation, format_version: int) -> None:
    by_han = [
        rule for rules_of_one in plan.rules.values() for rule in rules_of_one if is_of_han(rule.settings)
    ]
    if by_han and not installation.is_at_least(5):
        raise BadInput(
            f"{by_han[0].algorithm.name}, chosen for {by_han[0].collective}, is an algorithm of Open MPI's"
            f" component han, which {installation.name} never uses; it decides from Open MPI 5 on"
        )
    if format_version == 1:
        return
    if format_version != 2:
        raise BadInput(f"--format {format_version}: Open MPI's rules file has the formats 1 and 2")
    if not installation.is_at_least(*FIRST_WITH_VERSION_2):
        raise BadInput(
            f"--format 2: {installation.name} would ignore the file silently; it is understood from 5.0.7 on."
            " Use --format 1"
        )


def entry_of_tuned(rule: Rule) -> TunedEntry:
    """Read the settings of a rule's algorithm. Raises :class:`BadInput` for one without a number."""
    settings = rule.settings
    main = f"coll_tuned_{rule.collective}_algorithm"
    fanout = f"{main}_chain_fanout" if rule.collective in CHAIN_FANOUT else f"{main}_tree_fanout"
    try:
        return TunedEntry(
            number=int(settings[main]),
            fanout=int(settings.get(fanout, DEFAULT_FANOUT)),
            segment_bytes=int(settings.get(f"{main}_segmentsize", 0)),
            requests=int(settings.get(f"{main}_max_requests", 0)),
        )
    except (KeyError, ValueError):
        raise BadInput(
            f"the settings of {rule.collective}'s algorithm {rule.algorithm.name} have no number under {main}"
            f" that a rules file could hold: {dict(settings)}"
        ) from None


def _launch_parameters(rule: Rule) -> dict[str, str]:
    """Settings that a rules file cannot hold."""
    main = f"coll_tuned_{rule.collective}_algorithm"
    file_parameters = {
        main,
        whole_collective_variable(rule.collective),
        algorithm_of_han_variable(rule.collective),
        *(f"{main}_{knob}" for knob in ("tree_fanout", "chain_fanout", "segmentsize", "max_requests")),
    }
    return {name: value for name, value in rule.settings.items() if name not in file_parameters}


def _expressible(
    plan: TuningPlan, format_version: int
) -> tuple[dict[str, list[Rule]], dict[str, str], list[str]]:
    """The rules that the file can hold, the variables for the launch, and sentences on the omitted rules."""
    fitting_rules: dict[str, list[Rule]] = {}
    variables: dict[str, str] = {}
    notes: list[str] = []
    for collective, rules in plan.rules.items():
        if collective not in COLLECTIVES:
            raise BadInput(f"Open MPI's rules file has no number for {collective}; it cannot be exported")
        rules_of_tuned = [rule for rule in rules if not is_of_han(rule.settings)]
        rules_with_limits = [
            rule for rule in rules_of_tuned if format_version == 1 and entry_of_tuned(rule).requests
        ]
        notes += [_limited_note(rule) for rule in rules_with_limits]
        compatible, settings, more = rule_layout.compatible_rules(
            [rule for rule in rules if rule not in rules_with_limits], _launch_parameters
        )
        variables |= settings
        notes += more
        if compatible:
            fitting_rules[collective] = compatible
    return fitting_rules, variables, notes


def _limited_note(rule: Rule) -> str:
    return (
        f"{rule.collective} of {format_size(rule.bytes)} on p={rule.p} is left to the library's default:"
        f" {rule.algorithm.name} limits concurrent requests, which only --format 2 (Open MPI 5.0.7 and"
        " later) supports."
    )


def rules_text(plan: TuningPlan, rules: dict[str, list[Rule]], format_version: int) -> str:
    """The file's text."""
    lines = ["rule-file-version-2"] if format_version == 2 else []
    lines += [
        f"# Written by offbeat from {plan.origin}.",
        f"# {plan.extent}",
        *([f"# {plan.partial}"] if plan.partial else []),
        "# Each size line: message size, algorithm (0: the library's default), fan-in/out, segment size"
        + (", requests." if format_version == 2 else "."),
        *(
            f"# {sentence}"
            for sentence in (
                *plan.wrong_result_warnings,
                *bits_notes(name for name, some in rules.items() if any(rule.changes_bits for rule in some)),
            )
        ),
        f"{len(rules)} # collectives",
    ]
    for collective, rules_of_one in sorted(rules.items(), key=lambda item: COLLECTIVES[item[0]].number):
        blocks = _blocks(collective, rules_of_one, format_version)
        lines += [
            "",
            f"{COLLECTIVES[collective].number} # {collective}",
            f"{len(blocks)} # communicator sizes",
        ]
        lines += [line for block in blocks for line in block]
    return "\n".join(lines) + "\n"


def _blocks(collective: str, rules: list[Rule], format_version: int) -> list[list[str]]:
    """One block of lines for each communicator size of a collective, guards included."""
    kind = COLLECTIVES[collective].size
    blocks: list[list[str]] = []
    rows = ((row.p_low, row.p_high, row) for row in rule_layout.process_rows(rules))
    for p_low, p_high, row in rule_layout.with_gaps(rows):
        if row is None:
            blocks.append(_closing_block(p_low, format_version))
            continue
        for low, high in rule_layout.steps(row) if kind == "total" else [(p_low, p_high)]:
            scale = (low, high) if kind == "total" else (1, 1)
            segments = rule_layout.segments(row.rules, entry_of_tuned, *scale)
            blocks.append(_block(low, high, segments, format_version))
    return blocks


def _closing_block(p_low: int, format_version: int) -> list[str]:
    """The lines that leave communicators of ``p_low`` processes and more to the library's default."""
    return [f"{p_low} # processes and more: the library's decision", "1", _line(0, None, format_version)]


def _block(
    p_low: int, p_high: int, segments: Sequence[rule_layout.Segment], format_version: int
) -> list[str]:
    ranges = rule_layout.with_gaps(segments)
    lines = [_line(low, rule, format_version) for low, _, rule in ranges]
    processes = f"{p_low}" if p_low == p_high else f"{p_low} to {p_high}"
    return [f"{p_low} # for {processes} processes", f"{len(lines)} # message sizes", *lines]


def _line(size: int, rule: Rule | None, format_version: int) -> str:
    """The line from a size on; without a rule, the library's default."""
    entry = entry_of_tuned(rule) if rule else BY_LIBRARY
    fields = [size, entry.number, entry.fanout, entry.segment_bytes]
    fields += [entry.requests] if format_version == 2 else []
    return " ".join(map(str, fields)) + (f" # {rule.algorithm.name}" if rule else "")


def _notes(
    plan: TuningPlan, installation: Installation, rules: dict[str, list[Rule]], by_han: bool
) -> list[str]:
    """Caveats for the user of the files; ``rules`` are those in the rules file of ``tuned``."""
    notes = []
    if any(collective in rules for collective in SIZE_OF_SENT):
        notes.append(
            "Open MPI takes the size of allgather and alltoall from the send arguments: calls with"
            " MPI_IN_PLACE, where these are ignored, mostly use the library's default."
        )
    if by_han:
        notes.append(
            "With processes on several nodes, Open MPI 5 lets its component han decide:"
            f" {openmpi_han.FILE_NAME} lists the calls that go to the component tuned instead, and the"
            " algorithms that han uses itself; all others are decided as without a file."
        )
    elif installation.is_at_least(5) and not plan.several_nodes:
        notes.append(
            "With processes on several nodes, Open MPI 5 lets its component han decide: the file applies only"
            " to communicators inside one node."
        )
    return notes


def _whole_launch(variables: dict[str, str]) -> list[str]:
    """A sentence on variables that change what ``han`` does in calls without a rule."""
    of_han = sorted(name for name in variables if name.startswith("coll_han_"))
    if not of_han:
        return []
    assignments = " and ".join(f"{name}={variables[name]}" for name in of_han)
    return [
        f"{assignments} appl{'ies' if len(of_han) == 1 else 'y'} to all calls that han divides, at every"
        " size."
    ]
