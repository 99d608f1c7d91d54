"""The stages of tuning a program: trace, measure, choose, verify, try.

Each stage continues where it was interrupted: a finished one is recorded in the directory, measurements and
runs of the trial are recorded one by one.
"""

from __future__ import annotations

import math
import shlex
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from msgspec import Struct, structs

from offbeat.base.campaign.directory import OtherSettings
from offbeat.base.errors import BadInput, RunFailed
from offbeat.base.units import amount, enumeration, format_time
from offbeat.libraries.families.inherited_settings import overridden, removal_note
from offbeat.libraries.launch.launch_words import is_launcher, process_count
from offbeat.libraries.launch.plain_command import plain_command
from offbeat.libraries.launch.user_command import following_environment, with_variables
from offbeat.measurement.results import layout
from offbeat.measurement.results.read import Results, read_study, read_study_toml
from offbeat.measurement.runs.resume import finish_early, has_results
from offbeat.measurement.runs.run import time_limit
from offbeat.measurement.runs.run_progress import RunProgress
from offbeat.measurement.runs.study_run import run_study
from offbeat.model.study.algorithm import DEFAULT
from offbeat.model.study.duration_estimate import estimate
from offbeat.model.study.job_script import STOP_BEFORE_LIMIT_MIN
from offbeat.model.study.schema import Study
from offbeat.model.study.study_file import LoadedStudy, from_structure, read_resolved
from offbeat.selection.tuning_files.manifest import TuningFiles, export_line
from offbeat.selection.tuning_files.same_bits import SAME_BITS, bits_notes, cases_with_same_bits
from offbeat.selection.verification.proofs import failed_rules
from offbeat.selection.verification.proofs import summary as summary_of
from offbeat.selection.verification.verification import verify_folder
from offbeat.trace.calls.arrivals import Arrivals
from offbeat.trace.files.trace_folder import ReadProgress, Trace, open_trace
from offbeat.trace.recording import tracer_library, variables_for, why_untraced
from offbeat.trace.summary import Summary, summary_of_trace
from offbeat.tuning.pipeline import directory
from offbeat.tuning.pipeline.conclusion import (
    AS_STARTED,
    Conclusion,
    conclude,
    disturbance_note,
    nothing,
    selected_lines,
    selected_sentence,
    uncertainty_note,
    unmeasured_note,
    why_no_calls,
    why_no_choice,
)
from offbeat.tuning.pipeline.context import Tuning
from offbeat.tuning.pipeline.directory import Stage
from offbeat.tuning.pipeline.program_choices import ExpectedGain, complete, expected_gains, program_choices
from offbeat.tuning.pipeline.program_comparison import (
    FINAL_ROUNDS,
    MOST_ALGORITHMS,
    MOST_CHOICES,
    MOST_FINALISTS,
    InProgram,
)
from offbeat.tuning.pipeline.traced_calls import Selected, SelectedCalls, select_calls
from offbeat.tuning.pipeline.traced_study import Section, launch_of, write_patterns, write_study
from offbeat.tuning.pipeline.trial_runs import FEWEST_ROUNDS, tried
from offbeat.tuning.prediction.measured_configuration import measurements
from offbeat.tuning.prediction.prediction import Prediction
from offbeat.tuning.prediction.program_prediction import traced_program
from offbeat.tuning.trial import trial
from offbeat.tuning.trial.choices import TrialChoice, write_tuning_files

VERIFY_SHARE = 0.1
"""The share of the remaining budget that is reserved for verifying tuning files."""


def sufficient_s(study: Study, run_s: float) -> float:
    """A budget in seconds that suffices for a study of the heaviest calls, for comparing their algorithms in
    the program, and for verification and the trial; the study takes its longest estimate, with as many
    algorithms as are compared in the program at most."""
    counts = {name: MOST_ALGORITHMS for section in study.collective for name in section.names}
    runs = MOST_ALGORITHMS + FINAL_ROUNDS * (1 + MOST_FINALISTS) + FEWEST_ROUNDS * MOST_CHOICES
    launches = MOST_ALGORITHMS * len(counts)
    return (estimate(study, counts, launches=launches).high_s + runs * run_s) / (1 - VERIFY_SHARE)


class Outcome(Struct, frozen=True, kw_only=True, eq=False):
    """What was found: the selected calls, the expected gains, run times by choice, and the verdict.

    ``files`` are the recommended ones, None without, and ``usage`` lines that enable them: the user's command
    with them, and the variables. ``expected`` are the expected run times of the choices, ``arrivals`` samples
    of the selected calls. ``unmeasured`` are selected calls for which the budget did not suffice, ``blocks``
    those of each case if it did not suffice for all of them, else 0.
    """

    conclusion: Conclusion
    trace: Trace
    summary: Summary
    selected: Selected
    gains: list[ExpectedGain] = []
    times_s: dict[str, list[float]] = {}
    files: TuningFiles | None = None
    usage: list[str] = []
    expected: Prediction | None = None
    arrivals: list[Arrivals] = []
    unmeasured: list[SelectedCalls] = []
    blocks: int = 0

    @property
    def cautions(self) -> list[str]:
        """Sentences that limit the verdict."""
        rules = self.files.rules if self.files is not None else []
        notes = (
            *bits_notes(rule.collective for rule in rules if rule.changes_bits),
            unmeasured_note(self.unmeasured, len(self.selected.calls)),
            uncertainty_note(self.blocks),
            disturbance_note(self.times_s),
        )
        return list(filter(None, notes))

    @property
    def measured_share(self) -> float:
        """The measured part of the time that another algorithm can change."""
        if not self.selected.tunable_share:
            return 0.0
        left = sum(one.share for one in self.unmeasured)
        return max(self.selected.covered - left / self.selected.tunable_share, 0.0)


def tune(tuning: Tuning) -> Outcome:
    """All stages. Raises :class:`BadInput` and :class:`RunFailed` as they do."""
    settings = plain_command(tuning.argv, tuning.installation).settings
    for sentence in removal_note(settings):
        tuning.listener.say(f"{sentence} 'default' is the library without them.")
    trace = traced_run(tuning)
    if trace.size == 1:
        raise BadInput(
            "the command started one process, which has no other to communicate with; begin it with the"
            " launcher, as in 'offbeat tune -- mpirun -n 2 ./app'"
        )
    summary = summary_of_trace(trace)
    traced_stage = tuning.opened.stage("trace")
    tuning.run_s = traced_stage.wall_s if traced_stage else summary.mean_run_s
    selected = select_calls(trace, summary, tuning.opened.head.share)
    tuning.listener.say(selected_sentence(selected))
    for line in selected_lines(selected):
        tuning.listener.note(line)
    found = partial(Outcome, trace=trace, summary=summary, selected=selected)
    if not selected.calls:
        return found(conclusion=nothing(why_no_calls(selected), selected))
    sections = with_patterns(tuning, trace, summary, selected)
    found = partial(found, arrivals=[one.arrivals for one in sections if one.arrivals is not None])
    count, blocks = measured(tuning, summary, sections)
    found = partial(found, unmeasured=selected.calls[count:], blocks=blocks)
    results = read_study(tuning.path(directory.RESULTS))
    if tuning.opened.head.same_bits:
        results = results_with_same_bits(tuning, results)
    traced = traced_program(trace, summary, measurements(results, trace.headers[0].library))
    predicted = traced.predicted()
    chosen = complete(predicted)
    gains = expected_gains(traced, chosen, tuning.installation.family)
    tuning.listener.begin("choose", "which algorithms make the program faster, by its recorded arrivals")
    for gain in gains:
        tuning.listener.say(gain.sentence)
    choices = program_choices(results, tuning.installation, chosen, gains)
    choices += InProgram(tuning, results, chosen).fastest(gains, choices)
    verified = list(verified_choices(tuning, results, choices)) if len(choices) > 1 else choices
    if settings:
        verified = [*verified, TrialChoice(name=AS_STARTED, keeps_settings=True)]
    if len(verified) < 2:
        reason = why_no_choice(
            traced.why_not, gains, knows_arrivals=bool(predicted), is_disobeyed=len(choices) > 1
        )
        return found(conclusion=nothing(reason, selected), gains=gains)
    times_s = tried(tuning, verified)
    conclusion = conclude(times_s, selected)
    files = next((one.tuning for one in verified if one.name == conclusion.choice), None)
    return found(
        conclusion=conclusion,
        gains=gains,
        times_s=times_s,
        files=files,
        usage=_usage(tuning, conclusion, files, summary.processes),
        expected=traced.expected({one.name: one.algorithm for one in verified if not one.keeps_settings}),
    )


def _usage(tuning: Tuning, conclusion: Conclusion, files: TuningFiles | None, p: int) -> list[str]:
    """Lines that enable the recommended choice: tuning files, or the library without the user's settings."""
    if files is not None:
        return own_usage(tuning, files.environment_for(p))
    return own_usage(tuning, {}) if conclusion.choice == DEFAULT else []


def own_usage(tuning: Tuning, variables: Mapping[str, str]) -> list[str]:
    """Ways to run the user's command with variables for all processes: a launcher with options for them, and
    exports for the environment, with the command itself where its own settings would override them.

    The variables also take back the user's own settings that choose algorithms.
    """
    plain = plain_command(tuning.argv, tuning.installation)
    variables = overridden(tuning.installation, plain.settings) | dict(variables)
    ways = []
    if is_launcher(tuning.argv):
        ways.append(shlex.join(with_variables(plain.argv, variables, tuning.installation)[0]))
    command = following_environment(plain.argv, variables)
    if command is not None:
        before = [] if command == tuning.argv else [shlex.join(command)]
        ways.append("; ".join([export_line(variables), *before]))
    return ways


def traced_run(tuning: Tuning) -> Trace:
    """The trace of the program: a given one, that of an earlier run of the stage, or that of a new run."""
    given = tuning.opened.head.trace
    if given:
        return matching_trace(Path(given), tuning.argv)
    folder = tuning.path(directory.TRACE)
    if tuning.opened.stage("trace") is None:
        library = tracer_library(tuning.installation, tuning.listener.say)
        tuning.listener.begin("trace", "the program runs once with the tracer")
        shutil.rmtree(folder, ignore_errors=True)  # what an interrupted run left
        folder.mkdir()
        with tuning.recorded("trace"):
            _run_traced(tuning, folder, library)
    return open_trace(folder)


def matching_trace(folder: Path, argv: Sequence[str]) -> Trace:
    """A trace that exists. Raises :class:`BadInput` if the command starts another number of processes."""
    trace, p = open_trace(folder), process_count(argv)
    if p is not None and p != trace.size:
        raise BadInput(
            f"--trace {folder}: this trace is of {trace.size} processes, and the command starts {p}; give a"
            " trace of the same launch, or leave out --trace"
        )
    return trace


def _run_traced(tuning: Tuning, folder: Path, library: Path) -> None:
    variables = variables_for(folder, {}, library)
    output = tuning.path(directory.TRACE_OUTPUT)
    status, wall_s = trial.run(tuning.program, variables, output)
    trial.check_status(status, output)
    if not list(folder.glob("*.trace")):
        raise RunFailed(f"the program wrote no trace: {why_untraced(output, tuning.installation)}")
    tuning.listener.note(f"it took {format_time(wall_s)}")


def with_patterns(tuning: Tuning, trace: Trace, summary: Summary, selected: Selected) -> list[Section]:
    """The sections of the study of the selected calls; reads the trace for their arrivals."""
    folder = tuning.path(directory.STUDY)
    with ReadProgress("reading arrivals") as progress:
        return write_patterns(
            trace, summary, selected.calls, folder, on_progress=progress.show_records, keep=True
        )


def results_with_same_bits(tuning: Tuning, results: Results) -> Results:
    """The results without algorithms that can change the bits of results; a sentence names these."""
    cases = cases_with_same_bits(results.cases, results.verdicts)
    algorithms, remaining = (
        set(table.select("collective", "algorithm").iter_rows()) for table in (results.cases, cases)
    )
    names = [f"{algorithm} of {collective}" for collective, algorithm in sorted(algorithms - remaining)]
    if names:
        tuning.listener.say(f"{SAME_BITS} leaves out {enumeration(names)}")
    return structs.replace(results, cases=cases)


def measured(tuning: Tuning, summary: Summary, sections: Sequence[Section]) -> tuple[int, int]:
    """Measure the calls of the study: the heaviest first, as many as the budget allows.

    Returns how many, and the number of blocks of each case if the budget did not suffice for all blocks: the
    choices then rest on wider intervals.

    Raises :class:`BadInput` if the budget leaves no time beside the trial, :class:`RunFailed` if it ends
    before the first calls are measured.
    """
    folder, results = tuning.path(directory.STUDY), tuning.path(directory.RESULTS)
    left_s, reserved_s = tuning.left_s(), _reserved_s(tuning)
    launch = launch_of(tuning.command, tuning.installation)
    total = len(sections)
    for count in range(max(_sections_of(results), 1), total + 1):
        newest = sections[count - 1].calls
        tuning.listener.begin(
            "measure",
            f"{newest.name}, {newest.share:.1%} of the run time ({count} of {total})",
        )
        path = folder / "study.toml"
        study = from_structure(write_study(sections[:count], summary.program, launch, path), path)
        if _measure(tuning, study, results):
            continue
        if blocks := finish_early(study, results):
            tuning.listener.say(
                f"measuring ends here with {blocks} blocks of each case: the budget is used up"
            )
            return count, blocks
        if count == 1:
            raise _nothing_measured(tuning, study, left_s, reserved_s)
        kept_text = format_time(_reserved_s(tuning))
        tuning.listener.say(
            f"measuring ends here, because verification and the trial need {kept_text}:"
            f" {count - 1} of {amount(total, 'kind')} of calls are measured"
        )
        return count - 1, 0
    return total, 0


def _nothing_measured(
    tuning: Tuning, study: LoadedStudy, left_s: float, reserved_s: float
) -> BadInput | RunFailed:
    """What is said if no calls are measured: the budget is too small, or the same command continues."""
    needed_min = math.ceil(sufficient_s(study.study, tuning.run_s) / 60)
    if reserved_s < left_s:
        return RunFailed(
            "the time ended before the heaviest calls were measured; what is measured is kept, and the same"
            f" command continues, for longer with a larger --budget, such as {needed_min}min"
        )
    return BadInput(
        f"--budget: a run of the program takes {format_time(tuning.run_s)}, so that verification and a trial"
        f" of {FEWEST_ROUNDS} rounds need {format_time(reserved_s)}, and only {format_time(max(left_s, 0.0))}"
        f" are left; --budget {needed_min}min suffices, or tune a shorter program run. The trace is kept"
    )


def _sections_of(results: Path) -> int:
    """How many kinds of calls the study of an interrupted run has; 0 without results."""
    if not has_results(results):
        return 0
    return len(read_resolved(read_study_toml(results / layout.STUDY)).collective)


def _measure(tuning: Tuning, study: LoadedStudy, results: Path) -> bool:
    """Run the study as far as the budget allows; returns whether it is complete."""
    try:
        outcome = run_study(study, results, RunProgress(), out_of_time=_out_of_time(tuning))
    except OtherSettings as error:
        raise BadInput(
            f"{results} was measured with another study than the one that this version of offbeat writes for"
            f" the program ({'; '.join(error.changes)}); continue with the version that began it, or begin"
            " again in another directory with --output"
        ) from error
    return not outcome.is_stopped


def _out_of_time(tuning: Tuning) -> Callable[[float], bool]:
    """Whether a block of a given duration leaves too little time for verification and the trial, in the
    budget or in the batch job.
    """
    reserved_s = _reserved_s(tuning)
    job_ends = time_limit(STOP_BEFORE_LIMIT_MIN)
    return lambda longest_s: tuning.left_s() - longest_s < reserved_s or job_ends(longest_s + reserved_s)


def _reserved_s(tuning: Tuning) -> float:
    """The time that verification and the trial need."""
    return VERIFY_SHARE * tuning.left_s() + FEWEST_ROUNDS * 2 * tuning.run_s


def verified_choices(
    tuning: Tuning, results: Results, choices: Sequence[TrialChoice]
) -> Iterator[TrialChoice]:
    """The choices with their tuning files, without those that the library does not obey."""
    for one in write_tuning_files(choices, tuning.installation, tuning.path(directory.TUNING)):
        if one.tuning is None:
            yield one
            continue
        rules = tuple(one.rule_texts)
        stage = tuning.opened.stage("verify", one.name, rules)
        if stage is None:
            tuning.listener.begin("verify", f"that the library obeys the files of {one.name}")
            began = time.monotonic()
            why_not = _why_not_obeyed(results, tuning.path(directory.TUNING) / one.name)
            stage = Stage(
                name="verify",
                choice=one.name,
                rules=list(rules),
                wall_s=time.monotonic() - began,
                why_not=why_not,
            )
            tuning.opened.append(stage)
        if stage.why_not:
            tuning.listener.say(stage.why_not)
        else:
            tuning.listener.note(f"{one.name}: {'; '.join(rules)}: obeyed")
        if not stage.why_not:
            yield one


def _why_not_obeyed(results: Results, folder: Path) -> str:
    """Why the files of a choice are not used; empty if the library obeys them and no legal call breaks."""
    verification = verify_folder(lambda: results, folder)
    if not verification.proofs.is_obeyed:
        why = failed_rules(verification.proofs) or [summary_of(verification.proofs)]
        return f"{folder.name} is not used: {' '.join(why)}"
    if broken := verification.legal_calls.broken_calls:
        return f"{folder.name} is not used: it breaks {amount(len(broken), 'legal call')}"
    return ""
