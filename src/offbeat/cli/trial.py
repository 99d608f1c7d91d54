"""``offbeat try``: a program with the library's decisions and with two choices, in turn."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from offbeat.cli.output import AllNotes, Json, encoded, print_notes, prints_text, stdout, write_json
from offbeat.cli.selection_options import IncludeScenarios, Rule
from offbeat.cli.trace_options import summed_up
from offbeat.cli.trace_run import CONTEXT as CONTEXT
from offbeat.errors import BadInput

if TYPE_CHECKING:
    from rich.console import Console

    from offbeat.predict.prediction import Prediction
    from offbeat.predict.reach import Reach
    from offbeat.predict.traced_program import TracedProgram
    from offbeat.results.read import Results
    from offbeat.trial.choices import Planned, Tried
    from offbeat.trial.journal import Settings

PICTURE = "expected-and-measured-run-time"


def command(
    words: Annotated[
        list[str],
        typer.Argument(help="The command, such as 'mpirun -n 64 ./app', behind --.", metavar="-- COMMAND..."),
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
        int, typer.Option(min=1, max=10_000, help="How often each choice runs; more can be added later.")
    ] = 5,
    time: Annotated[
        str,
        typer.Option(
            help="Not the wall time of the command counts, but the last number that this regular expression"
            " finds in its output: its first group, or all of it.",
            metavar="REGEX",
        ),
    ] = "",
    trace: Annotated[
        Path | None,
        typer.Option(help="A trace of this program: what it lets expect is compared.", metavar="DIR"),
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
    """Run a program with the library's decisions, the no-delay choice and the robust one, in turn.

    With a trace, what 'offbeat predict' names the fastest as the ranks arrive runs as well, and it is checked
    which calls of the program each choice acts on.

    Stopped at any moment, the same command goes on where it stood and runs nothing twice.
    """
    from offbeat.mpi.hand_on import processes
    from offbeat.results.read import read_study
    from offbeat.trace.run import find_installation
    from offbeat.trial import journal, launch, wording
    from offbeat.trial.choices import check_processes, planned, written
    from offbeat.trial.progress import TrialProgress
    from offbeat.trial.trial import missing, run_all, times

    launch.check_words(words)
    pattern = launch.parse_pattern(time)
    if pictures is not None and trace is None:
        raise BadInput("--pictures shows expectations beside what was measured; name a trace with --trace")
    measured = read_study(results or _only_results())
    installation = find_installation(mpi, words)
    traced = _traced(trace, measured) if trace is not None else None
    choices = planned(
        measured,
        installation,
        rule,
        include_scenarios=include_scenarios,
        predicted=traced.predicted() if traced is not None else None,
    )
    settings = journal.Settings(
        command=words,
        library=f"{installation.version_text} ({installation.library})",
        folder=journal.here(),
        time=time,
        seed=seed,
        choices=[journal.Setting(name=one.name, same_as=one.same_as, rules=one.words) for one in choices],
    )
    check_processes(choices, processes(words))
    said = stdout()
    if prints_text(json):
        for line in wording.tried_lines(choices):
            said.print(line, markup=False)
        print_notes(said, wording.notes(choices), everything=all_notes)
    journal.prepare(output)
    with journal.opened(output, settings) as kept:
        tried = list(written(choices, installation, output / journal.TUNING))
        reaches = _reaches(tried, traced)
        if prints_text(json):
            _say_reaches(said, reaches, traced)
        algorithms = {one.name: one.algorithm for one in tried}
        expected = traced.expected(algorithms) if traced is not None else None
        names = [one.name for one in tried]
        left = len(list(missing(kept, names, rounds, seed)))
        with TrialProgress(rounds * len(names) - left, rounds * len(names)) as progress:
            used = launch.Command(words=words, installation=installation)
            run_all(kept, used, tried, rounds, seed, pattern, progress.told)
        found = times(kept, names)
    if prints_text(json):
        without_effect = [name for name, reach in reaches.items() if not reach.acted]
        _report(said, choices, found, expected, without_effect, is_wall=pattern is None, all_notes=all_notes)
        _name_verify(said, measured, tried, output)
    write_json(json, lambda: encoded(_document(settings, choices, found, expected, reaches)))
    if pictures is not None and expected is not None:
        _draw(expected, found, pictures)


def _only_results() -> Path:
    """The result directory in this folder, if there is just one. Raises :class:`BadInput`."""
    from offbeat.results.layout import CASES, PROVENANCE

    found = sorted(
        path for path in Path().iterdir() if (path / PROVENANCE).is_file() and (path / CASES).is_file()
    )
    if len(found) == 1:
        return found[0]
    there = ", ".join(map(str, found)) or "none"
    raise BadInput(
        f"name the result directory of a study with --results; in this folder there is {there}"
        if not found
        else f"there are several result directories in this folder ({there}); name one with --results"
    )


def _traced(trace: Path, results: Results) -> TracedProgram:
    """What a trace tells of the program, with the measurements that answer for its calls."""
    from offbeat.predict.cells import source
    from offbeat.predict.traced_program import traced_program
    from offbeat.trace.read import open_trace

    opened = open_trace(trace)
    return traced_program(opened, summed_up(opened), source(results, opened.headers[0].library))


def _reaches(tried: Sequence[Tried], traced: TracedProgram | None) -> dict[str, Reach]:
    """Which calls of the trace each choice's files act on, by the choice's name."""
    from offbeat.predict.reach import reach_of_files

    if traced is None:
        return {}
    return {one.name: reach_of_files(one.tuning, traced.summary) for one in tried if one.tuning is not None}


def _say_reaches(said: Console, reaches: Mapping[str, Reach], traced: TracedProgram | None) -> None:
    for name, reach in reaches.items():
        said.print(f"{name} {reach.words}", markup=False)
    if traced is not None and traced.why_not:
        said.print(f"note: nothing can be expected from the trace: {traced.why_not}", markup=False)


def _report(
    said: Console,
    choices: Sequence[Planned],
    found: Mapping[str, Sequence[float]],
    expected: Prediction | None,
    without_effect: Sequence[str],
    *,
    is_wall: bool,
    all_notes: bool,
) -> None:
    from offbeat.table import Fitted
    from offbeat.trial import wording
    from offbeat.trial.judge import judge

    same = {one.name: one.same_as for one in choices if one.same_as}
    said.print()
    headings = ["choice", "runs", "mean", "fastest – slowest", "against\ndefault"]
    said.print(Fitted(headings, wording.rows(found, same)))
    said.print()
    for sentence in wording.verdict_sentences(judge(found), same, without_effect):
        said.print(sentence, markup=False)
    if expected is None:
        return
    said.print()
    print_notes(said, expected.notes, everything=all_notes)
    said.print(Fitted(wording.expectation_headings(expected), wording.expectation_rows(expected, found)))
    if is_wall:
        said.print(
            "Measured times are those of the command, starting it included; expected ones are from MPI_Init"
            " to the end. --time takes the program's own.",
            markup=False,
        )


def _document(
    settings: Settings,
    choices: Sequence[Planned],
    found: Mapping[str, Sequence[float]],
    expected: Prediction | None,
    reaches: Mapping[str, Reach],
) -> dict[str, Any]:
    """The trial for programs: run times in seconds, one a round for each choice, and the verdict on them."""
    from offbeat.predict.document import document
    from offbeat.trial import wording
    from offbeat.trial.judge import judge

    return {
        "schema_version": 1,
        "settings": settings,
        "notes": wording.notes(choices),
        "reaches": {name: reach.words for name, reach in reaches.items()},
        "times_s": found,
        "verdict": judge(found),
        "expected": document(expected) if expected is not None else None,
    }


def _name_verify(said: Console, results: Results, tried: Sequence[Tried], output: Path) -> None:
    """How to prove that the library obeyed; simulations do not tell by what it could be seen."""
    from offbeat.tuning.write import is_simulated, measured_library

    if is_simulated(measured_library(results.provenance)):
        return
    said.print()
    for one in tried:
        if one.tuning is not None:
            place = one.tuning.files[0].parent
            said.print(
                f"Whether the library obeys {one.name}: offbeat verify {shlex.quote(str(results.directory))}"
                f" --tuning {shlex.quote(str(place))}",
                markup=False,
            )


def _draw(expected: Prediction, found: Mapping[str, Sequence[float]], folder: Path) -> None:
    from offbeat.predict.conditions import Estimate
    from offbeat.predict.draw import prediction_figure  # loading matplotlib takes its time
    from offbeat.report.pictures import write
    from offbeat.trial.judge import mean_interval, mean_s

    actual = {}
    for name, own in found.items():
        if own:
            low, high = mean_interval(own)
            actual[name] = Estimate(time_s=mean_s(own), low_s=low, high_s=high)
    write(prediction_figure(expected, actual), folder, PICTURE)
