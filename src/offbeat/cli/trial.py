"""``offbeat try``: compare a program's run time with the library's decisions and with other choices."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from offbeat.cli.output import AllNotes, Json, encoded, print_notes, prints_text, stdout, write_json
from offbeat.cli.selection_options import IncludeScenarios, Rule
from offbeat.cli.trace_options import summary_of_trace
from offbeat.cli.trace_run import CONTEXT as CONTEXT
from offbeat.errors import BadInput

if TYPE_CHECKING:
    from rich.console import Console

    from offbeat.predict.affected_calls import AffectedCalls
    from offbeat.predict.predict import TracedProgram
    from offbeat.predict.prediction import Prediction
    from offbeat.results.read import Results
    from offbeat.trial.choices import PlannedChoice, TriedChoice
    from offbeat.trial.journal import Settings

PICTURE = "expected-and-measured-run-time"


def command(
    arguments: Annotated[
        list[str],
        typer.Argument(help="The command, such as 'mpirun -n 64 ./app', after --.", metavar="-- COMMAND..."),
    ],
    results: Annotated[
        Path | None,
        typer.Option(
            help="The result directory of a study. [default: the only one in this folder]", metavar="DIR"
        ),
    ] = None,
    rule: Rule = "average",
    include_scenarios: IncludeScenarios = False,
    rounds: Annotated[
        int, typer.Option(min=1, max=10_000, help="Number of runs of each choice; more can be added later.")
    ] = 5,
    time: Annotated[
        str,
        typer.Option(
            help="Compare, instead of the wall time, the last number that this regular expression matches in"
            " the output: its first group, or the whole match.",
            metavar="REGEX",
        ),
    ] = "",
    trace: Annotated[
        Path | None,
        typer.Option(help="A trace of this program: expected run times are compared.", metavar="DIR"),
    ] = None,
    pictures: Annotated[
        Path | None,
        typer.Option(help="Folder for a picture of expected and measured times; needs --trace."),
    ] = None,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The folder for runs and tuning files.", metavar="DIR")
    ] = Path("offbeat-try"),
    mpi: Annotated[
        str,
        typer.Option("--mpi", help="The program's MPI library. [default: that of the launcher]"),
    ] = "auto",
    seed: Annotated[int, typer.Option(min=0, help="Seed of the order within rounds.")] = 1,
    json: Json = "",
    all_notes: AllNotes = False,
) -> None:
    """Run a program with the library's decisions, the no-delay choice and the robust choice, in turn.

    With a trace, the choice that 'offbeat predict' expects to be the fastest runs as well, and the calls of
    the program that each choice affects are printed.

    If interrupted, the same command resumes the trial and repeats no run.
    """
    from offbeat.mpi.environment import process_count
    from offbeat.results.read import read_study
    from offbeat.trace.run import find_installation
    from offbeat.trial import journal, launch, wording
    from offbeat.trial.choices import check_processes, planned_choices, write_tuning_files
    from offbeat.trial.trial import TrialProgress, run_all, times

    launch.check_command(arguments)
    pattern = launch.parse_pattern(time)
    if pictures is not None and trace is None:
        raise BadInput("--pictures shows expected and measured times; give a trace with --trace")
    measured = read_study(results or _only_results())
    installation = find_installation(mpi, arguments)
    traced = _traced(trace, measured) if trace is not None else None
    choices = planned_choices(
        measured,
        installation,
        rule,
        include_scenarios=include_scenarios,
        predicted=traced.predicted() if traced is not None else None,
    )
    settings = journal.Settings(
        command=arguments,
        library=f"{installation.version_text} ({installation.library})",
        folder=journal.working_directory(),
        time=time,
        seed=seed,
        choices=[
            journal.Setting(name=one.name, same_as=one.same_as, rules=one.rule_texts) for one in choices
        ],
    )
    check_processes(choices, process_count(arguments))
    console = stdout()
    if prints_text(json):
        for line in wording.tried_lines(choices):
            console.print(line, markup=False)
        print_notes(console, wording.notes(choices), everything=all_notes)
    with journal.Journal(output, settings) as trial_journal:
        tried = list(write_tuning_files(choices, installation, output / journal.TUNING))
        reaches = _reaches(tried, traced)
        if prints_text(json):
            _say_reaches(console, reaches, traced)
        algorithms = {one.name: one.algorithm for one in tried}
        expected = traced.expected(algorithms) if traced is not None else None
        names = [one.name for one in tried]
        with TrialProgress() as progress:
            used = launch.Command(argv=arguments, installation=installation)
            run_all(trial_journal, used, tried, rounds, seed, pattern, progress)
        times_s = times(trial_journal, names)
    if prints_text(json):
        without_effect = [name for name, reach in reaches.items() if not reach.acted]
        _report(
            console, choices, times_s, expected, without_effect, is_wall=pattern is None, all_notes=all_notes
        )
        _name_verify(console, measured, tried, output)
    write_json(json, lambda: encoded(_document(settings, choices, times_s, expected, reaches)))
    if pictures is not None and expected is not None:
        _draw(expected, times_s, pictures)


def _only_results() -> Path:
    """The result directory in this folder, if there is just one. Raises :class:`BadInput`."""
    from offbeat.results.layout import CASES, PROVENANCE

    times_s = sorted(
        path for path in Path().iterdir() if (path / PROVENANCE).is_file() and (path / CASES).is_file()
    )
    if len(times_s) == 1:
        return times_s[0]
    there = ", ".join(map(str, times_s)) or "none"
    raise BadInput(
        f"give the result directory of a study with --results; in this folder there is {there}"
        if not times_s
        else f"there are several result directories in this folder ({there}); give one with --results"
    )


def _traced(trace: Path, results: Results) -> TracedProgram:
    """The traced program, with the measurements that cover its calls."""
    from offbeat.predict.measured_configuration import measurements
    from offbeat.predict.predict import traced_program
    from offbeat.trace.read import open_trace

    opened = open_trace(trace)
    return traced_program(opened, summary_of_trace(opened), measurements(results, opened.headers[0].library))


def _reaches(tried: Sequence[TriedChoice], traced: TracedProgram | None) -> dict[str, AffectedCalls]:
    """The calls of the trace that each choice's files affect, by the choice's name."""
    from offbeat.predict.affected_calls import calls_affected_by_files

    if traced is None:
        return {}
    return {
        one.name: calls_affected_by_files(one.tuning, traced.summary)
        for one in tried
        if one.tuning is not None
    }


def _say_reaches(
    console: Console, reaches: Mapping[str, AffectedCalls], traced: TracedProgram | None
) -> None:
    for name, reach in reaches.items():
        console.print(f"{name} {reach.sentence}", markup=False)
    if traced is not None and traced.why_not:
        console.print(f"note: no prediction from the trace: {traced.why_not}", markup=False)


def _report(
    console: Console,
    choices: Sequence[PlannedChoice],
    times_s: Mapping[str, Sequence[float]],
    expected: Prediction | None,
    without_effect: Sequence[str],
    *,
    is_wall: bool,
    all_notes: bool,
) -> None:
    from offbeat.table import FittedTable
    from offbeat.trial import wording
    from offbeat.trial.comparison import compare

    same = {one.name: one.same_as for one in choices if one.same_as}
    console.print()
    headings = ["choice", "runs", "mean", "fastest – slowest", "against\ndefault"]
    console.print(FittedTable(headings, wording.rows(times_s, same)))
    console.print()
    for sentence in wording.verdict_sentences(compare(times_s), same, without_effect):
        console.print(sentence, markup=False)
    if expected is None:
        return
    console.print()
    print_notes(console, expected.notes, everything=all_notes)
    console.print(
        FittedTable(wording.expectation_headings(expected), wording.expectation_rows(expected, times_s))
    )
    if is_wall:
        console.print(
            "Measured times are of the whole command, including its start; expected times are from MPI_Init"
            " to the end. --time uses a time that the program prints.",
            markup=False,
        )


def _document(
    settings: Settings,
    choices: Sequence[PlannedChoice],
    times_s: Mapping[str, Sequence[float]],
    expected: Prediction | None,
    reaches: Mapping[str, AffectedCalls],
) -> dict[str, Any]:
    """The trial as JSON: run times in seconds, one per round and choice, and the verdict."""
    from offbeat.predict.document import document
    from offbeat.trial import wording
    from offbeat.trial.comparison import compare

    return {
        "schema_version": 1,
        "settings": settings,
        "notes": wording.notes(choices),
        "reaches": {name: reach.sentence for name, reach in reaches.items()},
        "times_s": times_s,
        "verdict": compare(times_s),
        "expected": document(expected) if expected is not None else None,
    }


def _name_verify(console: Console, results: Results, tried: Sequence[TriedChoice], output: Path) -> None:
    """Print the commands that verify the tuning files; impossible for files from simulations."""
    from offbeat.tuning.write import is_simulated, measured_library

    if is_simulated(measured_library(results.provenance)):
        return
    console.print()
    for one in tried:
        if one.tuning is not None:
            place = one.tuning.files[0].parent
            console.print(
                f"To verify the rules of {one.name}: offbeat verify {shlex.quote(str(results.directory))}"
                f" --tuning {shlex.quote(str(place))}",
                markup=False,
            )


def _draw(expected: Prediction, times_s: Mapping[str, Sequence[float]], folder: Path) -> None:
    from offbeat.drawing.pictures import write_pictures  # importing matplotlib is slow
    from offbeat.predict.conditions import Estimate
    from offbeat.predict.draw import prediction_figure
    from offbeat.trial.comparison import mean_interval, mean_s

    actual = {}
    for name, own in times_s.items():
        if own:
            low, high = mean_interval(own)
            actual[name] = Estimate(time_s=mean_s(own), low_s=low, high_s=high)
    write_pictures(prediction_figure(expected, actual), folder, PICTURE)
