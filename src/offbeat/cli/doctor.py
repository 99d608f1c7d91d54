"""``offbeat doctor``: list the MPI installations and test whether they work."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from offbeat.base.errors import BadInput
from offbeat.base.units import amount, enumeration
from offbeat.cli.completion import libraries
from offbeat.cli.output import Json, echo, prints_text, stdout, write_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from offbeat.libraries.installations.diagnosis import Diagnosis, Node, TriedInstallation
    from offbeat.libraries.installations.find import Survey
    from offbeat.libraries.installations.installation import Installation
    from offbeat.measurement.legal_calls.library_check import LibraryCheck
    from offbeat.selection.user_rules.rules_check import RulesCheck


def command(
    mpi: Annotated[
        str,
        typer.Option(
            "--mpi",
            help="The installation to test: 'auto', a name from the table, or an installation's folder.",
            autocompletion=libraries,
        ),
    ] = "auto",
    hostfile: Annotated[
        Path | None,
        typer.Option(
            "--hostfile",
            help="Also check each of these nodes; in a batch job its nodes are checked without this option.",
        ),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Test every installation that is found.")] = False,
    json: Json = "",
    rules: Annotated[
        Path | None,
        typer.Option(
            "--rules",
            help="Check this rules file of Open MPI, or selection tree of MPICH, instead: what is wrong in"
            " it, what it forces, and what is never reached.",
            metavar="FILE",
        ),
    ] = None,
    algorithms: Annotated[
        bool,
        typer.Option(
            "--algorithms",
            help="List the library's algorithms of each collective instead; with --legal-calls: also try"
            " each of them.",
        ),
    ] = False,
    legal_calls: Annotated[
        bool,
        typer.Option(
            "--legal-calls",
            help="Try legal calls that are drawn at random instead, and list those that the library gets"
            " wrong.",
        ),
    ] = False,
    draws: Annotated[
        int, typer.Option("--draws", min=1, help="How many calls of each collective --legal-calls draws.")
    ] = 300,
    seed: Annotated[int, typer.Option("--seed", help="The seed with which --legal-calls draws.")] = 1,
    processes: Annotated[
        int, typer.Option("-n", "--processes", min=1, help="The number of processes of --legal-calls.")
    ] = 4,
    collectives: Annotated[
        list[str] | None,
        typer.Option("--collective", help="Only this collective with --legal-calls; can be repeated."),
    ] = None,
) -> None:
    """Find MPI installations, build the native parts, run two processes, and list limitations."""
    from offbeat.libraries.installations import find
    from offbeat.libraries.installations.diagnosis import Diagnosis, inspect_node, try_installation

    if every and mpi != "auto":
        raise BadInput(f"--all tests every installation, and --mpi {mpi} names one: give one of the two")
    if legal_calls:
        if every:
            raise BadInput("--legal-calls tries one installation: name it with --mpi instead of --all")
        _try_legal_calls(find.choose(mpi), json, collectives or [], draws, seed, processes, algorithms)
        return
    if every and algorithms:
        raise BadInput("--algorithms lists those of one installation: name it with --mpi instead of --all")
    if algorithms:
        _show_algorithms(find.choose(mpi), json)
        return
    if rules is not None:
        _show_rules_file(rules, find.choose(_family_of(rules) if mpi == "auto" else mpi), json)
        return
    survey = find.survey()
    entries = [find.choose(mpi)] if mpi != "auto" else survey.installations[: None if every else 1]
    diagnosis = Diagnosis(
        survey=survey,
        node=inspect_node(),
        examined=[try_installation(entry, echo, hostfile=hostfile) for entry in entries],
    )
    diagnosis, checks = _with_settings(diagnosis)
    if prints_text(json):
        _show(diagnosis, checks)
    write_json(json, lambda: diagnosis)
    if not entries:
        find.first_installation(survey)
    if not diagnosis.works:
        raise typer.Exit(1)


def _try_legal_calls(
    installation: Installation,
    json: str,
    collectives: list[str],
    draws: int,
    seed: int,
    processes: int,
    has_algorithms: bool,
) -> None:
    """Print the calls that the library gets wrong, in a table with a line to repeat each; status 1 if any."""
    from offbeat.measurement.engines.engine_choice import check_legal_calls
    from offbeat.model.study.collectives import CHECKED

    unknown = [name for name in collectives if name not in CHECKED]
    if unknown:
        raise BadInput(f"--collective {unknown[0]}: known are {', '.join(CHECKED)}")
    check = check_legal_calls(
        installation,
        collectives or CHECKED,
        draws=draws,
        seed=seed,
        p=processes,
        has_algorithms=has_algorithms,
        report=echo,
    )
    write_json(json, lambda: check)
    if prints_text(json):
        _show_wrong_calls(check)
    if check.wrong:
        raise typer.Exit(1)


def _show_wrong_calls(check: LibraryCheck) -> None:
    from offbeat.base.terminal_table import FittedTable

    console = stdout()
    calls = [(entry, call) for entry in check.wrong for call in entry.calls]
    if calls:
        table = FittedTable(["collective", "algorithm", "p", "wrong for", "result"], texts=(0, 1, 3, 4))
        for entry, call in calls:
            table.add_row(entry.collective, entry.algorithm, str(call.p), call.kind, call.result[:60])
        console.print(table)
        console.print("The driver's commands that repeat these calls:")
    for _, call in calls:
        console.print(f"  {call.descriptor}", markup=False)
    number = amount(check.tried, "legal call")
    kinds = f"{amount(len(calls), 'kind')} of them wrong" if calls else "none wrong"
    console.print(f"{check.library}: {number} tried on {check.p} processes, seed {check.seed}: {kinds}.")
    for line in check.unusable:
        console.print(f"Not tried, because a sum or message of doubles fails: {line}", markup=False)
    if check.misplaced:
        shortest = min(check.misplaced, key=len)
        number = amount(len(check.misplaced), "call")
        console.print(f"{number} with datatypes that MPI_Pack or MPI_Unpack get wrong, such as")
        console.print(f"  {shortest}", markup=False)


def _family_of(path: Path) -> str:
    """The family of libraries that read a file of this content: selection trees of MPICH are JSON."""
    from offbeat.base.reading import read_file

    try:
        return "mpich" if read_file(path).lstrip().startswith(b"{") else "openmpi"
    except OSError:
        return "openmpi"


def _show_rules_file(path: Path, installation: Installation, json: str) -> None:
    from offbeat.measurement.engines.engine_choice import list_algorithms
    from offbeat.selection.user_rules.rules_check import check_rules, name_of_algorithms

    algorithms = list_algorithms(installation) if installation.family == "openmpi" else {}
    check = check_rules(path, installation, name_of_algorithms(algorithms))
    if prints_text(json):
        console = stdout()
        console.print(f"{path}, as {installation.name} reads it:", markup=False)
        _show_rules(console, check)
        for sentence in check.limits or ["nothing is wrong."]:
            console.print(f"  - {sentence.removeprefix(f'{path}: ')}", markup=False)
    write_json(json, lambda: check)
    if check.fault or check.wrong:
        raise typer.Exit(1)


def _show_rules(console: Console, check: RulesCheck) -> None:
    for line in check.forces:
        console.print(f"  {line}", markup=False)


def _with_settings(diagnosis: Diagnosis) -> tuple[Diagnosis, list[RulesCheck]]:
    """The diagnosis with the user's settings that choose algorithms among the limits, and the rules files."""
    from msgspec.structs import replace

    from offbeat.measurement.engines.engine_choice import list_algorithms
    from offbeat.selection.user_rules.rules_check import check_settings

    entries, all_checks = [], []
    for entry in diagnosis.examined:
        if entry.failure:
            entries.append(entry)
            continue
        checks, sentences = check_settings(entry.installation, partial(list_algorithms, entry.installation))
        limits = [limit for check in checks for limit in check.limits]
        entries.append(replace(entry, limits=[*entry.limits, *sentences, *limits]))
        all_checks += checks
    return replace(diagnosis, examined=entries), all_checks


def _show_algorithms(installation: Installation, json: str) -> None:
    from offbeat.base.terminal_table import FittedTable
    from offbeat.measurement.engines.engine_choice import LibraryAlgorithms, list_algorithms

    by_collective = list_algorithms(installation)
    write_json(json, lambda: LibraryAlgorithms(library=installation.name, algorithms=by_collective))
    if not prints_text(json):
        return
    table = FittedTable(["collective", "algorithms by the names used in studies"], texts=(0, 1))
    for collective, entries in by_collective.items():
        table.add_row(collective, ", ".join(entry.name for entry in entries))
    stdout().print(table)
    by_nodes = {
        entry.name: None for entries in by_collective.values() for entry in entries if entry.hierarchical
    }
    if by_nodes:
        stdout().print(
            f"{', '.join(by_nodes)}: candidates on several nodes with several processes each, which"
            " [processes] states as nodes and ppn.",
            markup=False,
        )


def _show(diagnosis: Diagnosis, checks: Sequence[RulesCheck]) -> None:
    console = stdout()
    _show_survey(console, diagnosis.survey, [entry.installation for entry in diagnosis.examined])
    _show_node(console, diagnosis.node)
    for entry in diagnosis.examined:
        _show_tried(console, entry)
    for check in checks:
        console.print(f"\n{check.path} forces" + ("" if check.forces else " nothing"), markup=False)
        _show_rules(console, check)
    limits = [*diagnosis.node.limits, *(limit for entry in diagnosis.examined for limit in entry.limits)]
    failures = [entry.installation.name for entry in diagnosis.examined if entry.failure]
    if failures:
        console.print(f"\nNothing can be measured with {enumeration(failures)}: see above.")
    if limits or not diagnosis.examined:
        console.print("\nLimitations:")
    elif not failures:
        console.print("\nAll checks passed.")
    if not diagnosis.examined:
        console.print("  - Nothing can be measured: no usable MPI library was found.")
    for limit in dict.fromkeys(limits):
        console.print(f"  - {limit}", markup=False)


def _show_survey(console: Console, survey: Survey, selection: list[Installation]) -> None:
    from offbeat.base.terminal_table import FittedTable

    headings = ["", "name", "library", "prefix", "found in"]
    table = FittedTable(headings, texts=range(len(headings)), title="MPI installations")
    installations = survey.installations + [
        entry for entry in selection if entry.library not in {known.library for known in survey.installations}
    ]
    selected_libraries = {entry.library for entry in selection}
    for entry in installations:
        mark = "*" if entry.library in selected_libraries else ""
        table.add_row(mark, entry.name, entry.version_text, str(entry.prefix), entry.source)
    console.print(table)
    for rejection in survey.rejections:
        console.print(f"not usable: {rejection.where} ({rejection.source}): {rejection.reason}", markup=False)


def _show_node(console: Console, node: Node) -> None:
    cores = node.cores
    console.print("\nThis node")
    quota = "" if cores.quota is None else f", limited to {cores.quota:g} cores by the control group"
    console.print(
        f"  cores: {cores.physical}, with {cores.logical} of the machine's {cores.machine_logical} hardware"
        f" threads{quota}"
    )
    console.print(
        f"  processes: up to {cores.physical} are bound to a core each; more than {cores.logical} are"
        " oversubscribed and not bound"
    )
    console.print(
        f"  governor {cores.governor or 'unknown'}; kernel clock source: {node.kernel_clock or 'unknown'}"
    )
    job = node.allocation
    if job:
        left = "" if job.time_left_s is None else f", {job.time_left_s / 60:.0f} minutes left"
        whole, groups = job.join_groups(), len(job.groups)
        groups_text = f", in {groups} groups, of which launchers use the first" if groups > 1 else ""
        console.print(
            f"  {job.system} job {job.job}: {whole.nodes} nodes, {whole.cores} cores{groups_text}{left}"
        )
    if node.modules:
        console.print(f"  available modules (module load NAME): {', '.join(node.modules)}", markup=False)


def _show_tried(console: Console, entry: TriedInstallation) -> None:
    console.print(f"\n{entry.installation.name}: {'does not work' if entry.failure else 'works'}")
    console.print(
        f"  launcher {entry.installation.mpirun}, library {entry.installation.library}", markup=False
    )
    if entry.failure:
        console.print(f"  {entry.failure}", markup=False)
    if entry.driver:
        console.print(f"  driver {entry.driver}", markup=False)
    for node in entry.nodes:
        status = "does not answer" if node.failure else f"{amount(node.threads, 'hardware thread')}"
        console.print(f"  node {node.host}: {status}", markup=False)
    answer = entry.check
    if answer:
        accuracy = "shared by all ranks" if answer.clock_shared else f"error up to {answer.clock_bound_ns} ns"
        console.print(
            f"  {answer.p} processes on {', '.join(answer.hosts)},"
            f" bound to cores {' | '.join(answer.binding)}",
            markup=False,
        )
        console.print(
            f"  clock {answer.clock_source}: resolution {answer.clock_resolution_ns} ns, {accuracy};"
            f" maximum start error {answer.overshoot_ns / 1000:.1f} µs"
        )
