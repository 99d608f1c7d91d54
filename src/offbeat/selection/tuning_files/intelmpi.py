"""Tuning files for Intel MPI 2021: I_MPI_ADJUST_X variables, a shell file for each measured number of
processes.

How the library reads such a variable, as observed in a debugger with 2021.18 (its manual promises more):

- An entry ``preset:low-high`` applies up to ``high``; its lower end is ignored, and the last entry applies to
  everything above. So the entries must ascend without a gap.
- Conditions on sizes and on processes (``@low-high``) exclude each other: of several sizes for the same
  processes only the last is used. So there is a file for each number of processes.
- Preset 0 is the library's built-in decision: the closest to "not set" that a part of a variable can express.
  Without the variable the library reads its tuning file for the machine, which can choose otherwise.

Sizes are bytes per process, but the sum over all processes for reduce_scatter; alltoallv and barrier use the
last entry for every size. The presets of scan and exscan all run the same code.
"""

from __future__ import annotations

import shlex
from pathlib import Path

from offbeat.base.errors import BadInput
from offbeat.base.reading import read_text
from offbeat.libraries.installations.installation import Installation
from offbeat.model.study.collectives import COLLECTIVES
from offbeat.selection.tuning_files import rule_layout
from offbeat.selection.tuning_files.manifest import ProcessEnvironment, TuningFiles, write_file
from offbeat.selection.tuning_files.same_bits import bits_notes
from offbeat.selection.tuning_files.tuning_plan import Rule, TuningPlan

DEFAULT_PRESET = "0"
"""The preset that leaves the decision to the library."""

LARGEST = 2**31 - 1
"""The end of the last entry, which applies to larger messages as well."""

BY_TOTAL = ("reduce_scatter",)
"""Collectives whose message size is the sum over all processes."""


def write(plan: TuningPlan, installation: Installation, directory: Path) -> TuningFiles:
    """Write the files of ``plan`` into ``directory``: a shell file to source for each range of processes."""
    rules, variables, notes = _compatible(plan)
    entries, files, usage = [], [], []
    for row in rule_layout.process_rows(rules):
        row_variables = _environment(row)
        text = _text(plan, row_variables | variables, row)
        files.append(write_file(directory, f"intelmpi-p{_span(row, '-')}.env", text))
        entries.append(ProcessEnvironment(p_low=row.p_low, p_high=row.p_high, environment=row_variables))
        usage += _usage(row_variables | variables, files[-1], row)
    return TuningFiles(
        files=files,
        environment=variables,
        launch_options=[],
        usage=usage,
        notes=[*plan.notes, *notes, *_notes(entries)],
        rules=rules,
        exact_default=False,
        by_processes=entries,
    )


def _compatible(plan: TuningPlan) -> tuple[list[Rule], dict[str, str], list[str]]:
    """The compatible rules, variables other than I_MPI_ADJUST_X, and sentences on the other rules."""
    rules = [rule for collective in COLLECTIVES for rule in plan.rules.get(collective, [])]
    return rule_layout.compatible_rules(
        rules, lambda rule: {name: value for name, value in rule.settings.items() if name != _variable(rule)}
    )


def _variable(rule: Rule) -> str:
    return f"I_MPI_ADJUST_{rule.collective.upper()}"


def preset_of(rule: Rule) -> str:
    """The preset number of a rule's algorithm; raises :class:`BadInput` when its settings hold none."""
    preset = rule.settings.get(_variable(rule), "")
    if not preset.isdigit():
        raise BadInput(
            f"the settings of {rule.collective}'s algorithm {rule.algorithm.name} have no preset number under"
            f" {_variable(rule)}: {dict(rule.settings)}"
        )
    return preset


def _environment(row: rule_layout.ProcessRow) -> dict[str, str]:
    environment: dict[str, str] = {}
    for collective in COLLECTIVES:
        rules = [rule for rule in row.rules if rule.collective == collective]
        if not rules:
            continue
        if rules[0].is_sizeless:
            environment[_variable(rules[0])] = preset_of(rules[0])
        else:
            scale = _communicator(row) if collective in BY_TOTAL else 1
            environment[_variable(rules[0])] = entries_text(
                rule_layout.segments(rules, preset_of, scale, scale)
            )
    return environment


def _measured_p(row: rule_layout.ProcessRow) -> int:
    """The number of processes of a launch: the measured one if it is in the row."""
    return next((rule.measured_p for rule in _measured_rules(row)), row.p_low)


def _communicator(row: rule_layout.ProcessRow) -> int:
    """The number of processes by which sizes are multiplied: that of the measured communicator."""
    return next((rule.p for rule in _measured_rules(row)), row.p_low)


def _measured_rules(row: rule_layout.ProcessRow) -> list[Rule]:
    return [rule for rule in row.rules if row.p_low <= rule.measured_p <= row.p_high]


def exported_variables(path: Path) -> dict[str, str]:
    """The variables that sourcing one of the files sets; raises :class:`BadInput` for other lines."""
    variables: dict[str, str] = {}
    try:
        lines = read_text(path).splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"cannot read the tuning file {path}: {error}") from None
    for number, line in enumerate(lines, start=1):
        try:
            arguments = shlex.split(line, comments=True)
        except ValueError as error:
            raise BadInput(f"{path}:{number}: {error}; write the file again with 'offbeat export'") from None
        if not arguments:
            continue
        if arguments[0] != "export" or not all("=" in word for word in arguments[1:]):
            raise BadInput(
                f"{path}:{number} is no 'export NAME=VALUE', so the variables that the file sets are"
                " unknown; write the file again with 'offbeat export'"
            )
        variables |= dict(word.split("=", 1) for word in arguments[1:])
    return variables


def entries_text(segments: list[rule_layout.Segment]) -> str:
    """The value of a variable: ascending entries without a gap, preset 0 wherever no rule holds."""
    ranges = rule_layout.with_gaps(segments)
    return ";".join(
        f"{preset_of(rule) if rule else DEFAULT_PRESET}:{low}-{min(high, LARGEST)}"
        for low, high, rule in ranges
        if low <= LARGEST
    )


def _span(row: rule_layout.ProcessRow, separator: str) -> str:
    return f"{row.p_low}" if row.p_low == row.p_high else f"{row.p_low}{separator}{row.p_high}"


def _text(plan: TuningPlan, environment: dict[str, str], row: rule_layout.ProcessRow) -> str:
    lines = [
        f"# Written by offbeat from measurements with {plan.library}.",
        f"# {plan.extent}",
        f"# Source it before launching {_span(row, ' to ')} processes:  . intelmpi-p{_span(row, '-')}.env",
        "# Preset 0 is the library's built-in decision.",
        *(f"# {sentence}" for sentence in plan.wrong_result_warnings),
        *(
            f"# {sentence}"
            for sentence in bits_notes(rule.collective for rule in row.rules if rule.changes_bits)
        ),
        *(f"export {name}={shlex.quote(value)}" for name, value in environment.items()),
    ]
    return "\n".join(lines) + "\n"


def _usage(environment: dict[str, str], path: Path, row: rule_layout.ProcessRow) -> list[str]:
    options = [word for name, value in environment.items() for word in ("-genv", name, value)]
    return [
        f"# {_span(row, ' to ')} processes",
        f". {shlex.quote(str(path))} && mpiexec -n {_measured_p(row)} ./application",
        f"mpiexec {shlex.join(options)} -n {_measured_p(row)} ./application",
    ]


def _notes(entries: list[ProcessEnvironment]) -> list[str]:
    notes = [
        "A variable of Intel MPI cannot depend on both the number of processes and the message size: use the"
        " file for the launch's number of processes. It applies to smaller communicators of the program as"
        " well.",
        "Rules name presets by their number: a preset may run another algorithm on other numbers of processes"
        " than the measured one.",
    ]
    if any(f"{DEFAULT_PRESET}:" in value for entry in entries for value in entry.environment.values()):
        notes.append(
            "Sizes outside the measured ones get preset 0, the library's built-in decision; once a"
            " collective's variable is set, Intel MPI no longer reads its own tuning file for that"
            " collective."
        )
    return notes
