"""``offbeat try``: compare a program's run time with the library's decisions and with other choices."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from offbeat.base.errors import BadInput
from offbeat.cli.output import AllNotes, Json, print_notes, prints_text, stdout, write_json
from offbeat.cli.selection_options import IncludeScenarios, Rule
from offbeat.cli.trace_run import CONTEXT as CONTEXT
from offbeat.cli.trace_run import ComparedTime, ProgramCommand, ProgramMpi

if TYPE_CHECKING:
    from rich.console import Console

    from offbeat.measurement.results.read import Results
    from offbeat.tuning.prediction.affected_calls import AffectedCalls
    from offbeat.tuning.prediction.prediction import Prediction
    from offbeat.tuning.prediction.program_prediction import TracedProgram
    from offbeat.tuning.trial.choices import TrialChoice
    from offbeat.tuning.trial.document import TrialDocument
    from offbeat.tuning.trial.trial import Settings

PICTURE = "expected-and-measured-run-time"


def command(
    arguments: ProgramCommand,
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
    time: ComparedTime = "",
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
    mpi: ProgramMpi = "auto",
    seed: Annotated[int, typer.Option(min=0, help="Seed of the order within rounds.")] = 1,
    json: Json = "",
    all_notes: AllNotes = False,
) -> None:
    """Run a program with the library's decisions, the no-delay choice and the robust choice, in turn.

    With a trace, the choice that 'offbeat predict' expects to be the fastest runs as well, and the calls of
    the program that each choice affects are printed.

    If interrupted, the same command resumes the trial and repeats no run.
    """
    from offbeat.libraries.families.inherited_settings import removal_note
    from offbeat.libraries.launch.launch_words import process_count
    from offbeat.libraries.launch.plain_command import plain_command
    from offbeat.measurement.results.read import read_study
    from offbeat.trace.recording import find_installation
    from offbeat.tuning.trial import trial, wording
    from offbeat.tuning.trial.choices import check_processes, planned_choices, write_tuning_files
    from offbeat.tuning.trial.standard_input import kept_standard_input
    from offbeat.tuning.trial.trial import TrialProgress, run_all, times

    trial.check_command(arguments)
    pattern = trial.parse_pattern(time)
    if pictures is not None and trace is None:
        raise BadInput("--pictures shows expected and measured times; give a trace with --trace")
    study_results = read_study(results or _only_results())
    installation = find_installation(mpi, arguments)
    traced_program_of_trial = _traced(trace, study_results) if trace is not None else None
    choices = planned_choices(
        study_results,
        installation,
        rule,
        include_scenarios=include_scenarios,
        predicted=traced_program_of_trial.predicted() if traced_program_of_trial is not None else None,
    )
    standard_input = kept_standard_input()
    settings = trial.Settings(
        command=arguments,
        library=f"{installation.version_text} ({installation.library})",
        folder=os.getcwd(),  # noqa: PTH109 - must not resolve symbolic links
        time=time,
        seed=seed,
        choices=[trial.Setting(name=one.name, same_as=one.same_as, rules=one.rule_texts) for one in choices],
        standard_input=standard_input.digest,
    )
    check_processes(choices, process_count(arguments))
    console = stdout()
    if prints_text(json):
        for sentence in removal_note(plain_command(arguments, installation).settings):
            console.print(f"{sentence} 'default' is the library without them.", markup=False)
        console.print(*wording.tried_lines(choices), sep="\n", markup=False)
        print_notes(console, wording.notes(choices), everything=all_notes)
    with trial.Journal(output, settings) as journal:
        choices_with_files = list(write_tuning_files(choices, installation, output / trial.TUNING))
        reaches = _reaches(choices_with_files, traced_program_of_trial)
        if prints_text(json):
            for name, reach in reaches.items():
                console.print(f"{name} {reach.sentence}", markup=False)
            if traced_program_of_trial is not None and traced_program_of_trial.why_not:
                console.print(
                    f"note: no prediction from the trace: {traced_program_of_trial.why_not}", markup=False
                )
        algorithms = {one.name: one.algorithm for one in choices_with_files}
        prediction = (
            traced_program_of_trial.expected(algorithms) if traced_program_of_trial is not None else None
        )
        with TrialProgress() as progress:
            trial_command = trial.Command(
                argv=arguments, installation=installation, standard_input=standard_input
            )
            run_all(journal, trial_command, choices_with_files, rounds, seed, pattern, progress)
        times_s = times(journal, [one.name for one in choices_with_files])
    if prints_text(json):
        without_effect = [name for name, reach in reaches.items() if not reach.acted]
        _report(
            console,
            choices,
            times_s,
            prediction,
            without_effect,
            is_wall=pattern is None,
            all_notes=all_notes,
        )
        _name_verify(console, study_results, choices_with_files, output)
    write_json(json, lambda: _document(settings, choices, times_s, prediction, reaches))
    if pictures is not None and prediction is not None:
        _draw(prediction, times_s, pictures)


def _only_results() -> Path:
    """The result directory in this folder, if there is just one. Raises :class:`BadInput`."""
    from offbeat.measurement.results.layout import CASES, PROVENANCE

    directories = sorted(
        path for path in Path().iterdir() if (path / PROVENANCE).is_file() and (path / CASES).is_file()
    )
    if len(directories) == 1:
        return directories[0]
    if not directories:
        raise BadInput("give the result directory of a study with --results; in this folder there is none")
    there = ", ".join(map(str, directories))
    raise BadInput(f"there are several result directories in this folder ({there}); give one with --results")


def _traced(trace: Path, results: Results) -> TracedProgram:
    """The traced program, with the measurements that cover its calls."""
    from offbeat.trace.files.trace_folder import open_trace
    from offbeat.trace.summary import summary_of_trace
    from offbeat.tuning.prediction.measured_configuration import measurements
    from offbeat.tuning.prediction.program_prediction import traced_program

    program_trace = open_trace(trace)
    return traced_program(
        program_trace,
        summary_of_trace(program_trace),
        measurements(results, program_trace.headers[0].library),
    )


def _reaches(
    choices_with_files: Sequence[TrialChoice], traced_program_of_trial: TracedProgram | None
) -> dict[str, AffectedCalls]:
    """The calls of the trace that each choice's files affect, by the choice's name."""
    from offbeat.tuning.prediction.affected_calls import calls_affected_by_files

    if traced_program_of_trial is None:
        return {}
    return {
        one.name: calls_affected_by_files(one.tuning, traced_program_of_trial.summary)
        for one in choices_with_files
        if one.tuning is not None
    }


def _report(
    console: Console,
    choices: Sequence[TrialChoice],
    times_s: Mapping[str, Sequence[float]],
    prediction: Prediction | None,
    without_effect: Sequence[str],
    *,
    is_wall: bool,
    all_notes: bool,
) -> None:
    from offbeat.tuning.trial import wording
    from offbeat.tuning.trial.comparison import compare

    identical_names = {one.name: one.same_as for one in choices if one.same_as}
    console.print()
    console.print(wording.time_table(times_s, identical_names).fit(console.width))
    console.print()
    console.print(
        *wording.verdict_sentences(compare(times_s), identical_names, without_effect), sep="\n", markup=False
    )
    if prediction is None:
        return
    console.print()
    print_notes(console, prediction.notes, everything=all_notes)
    console.print(wording.expectation_table(prediction, times_s).fit(console.width))
    if is_wall:
        console.print(
            "Measured times are of the whole command, including its start; expected times are from MPI_Init"
            " to the end. --time uses a time that the program prints.",
            markup=False,
        )


def _document(
    settings: Settings,
    choices: Sequence[TrialChoice],
    times_s: Mapping[str, Sequence[float]],
    prediction: Prediction | None,
    reaches: Mapping[str, AffectedCalls],
) -> TrialDocument:
    from offbeat.tuning.prediction.document import prediction_document
    from offbeat.tuning.trial import wording
    from offbeat.tuning.trial.comparison import compare
    from offbeat.tuning.trial.document import TrialDocument

    return TrialDocument(
        settings=settings,
        notes=wording.notes(choices),
        affected={name: reach.sentence for name, reach in reaches.items()},
        times_s=times_s,
        verdict=compare(times_s),
        expected=prediction_document(prediction) if prediction is not None else None,
    )


def _name_verify(
    console: Console, results: Results, choices_with_files: Sequence[TrialChoice], output: Path
) -> None:
    """Print the commands that verify the tuning files; impossible for files from simulations."""
    from offbeat.selection.tuning_files.export import is_simulated, measured_library

    if is_simulated(measured_library(results.provenance)):
        return
    console.print()
    for choice in choices_with_files:
        if choice.tuning is not None:
            folder = choice.tuning.files[0].parent
            console.print(
                f"To verify the rules of {choice.name}: offbeat verify {shlex.quote(str(results.directory))}"
                f" --tuning {shlex.quote(str(folder))}",
                markup=False,
            )


def _draw(prediction: Prediction, times_s: Mapping[str, Sequence[float]], folder: Path) -> None:
    from offbeat.presentation.drawing.picture_files import write_pictures  # importing matplotlib is slow
    from offbeat.presentation.pictures.prediction import prediction_figure
    from offbeat.tuning.prediction.measured_configuration import Estimate

    actual = {name: Estimate.of_runs(run_times_s) for name, run_times_s in times_s.items() if run_times_s}
    write_pictures(prediction_figure(prediction, actual), folder, PICTURE)
