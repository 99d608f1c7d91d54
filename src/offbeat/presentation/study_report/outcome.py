"""The outcome in the report: the verdict in a sentence, penalties, and warnings.

Every warning is derived from the results themselves: the cases, the verdicts, the choices, the facts about
the machine. The limits are constants, and the sentences state them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import polars as pl

from offbeat.base.units import amount
from offbeat.measurement.results.read import Results
from offbeat.model.study.algorithm import DEFAULT
from offbeat.model.study.schema import SIMULATING
from offbeat.presentation.study_report.configurations import ConfigurationView
from offbeat.presentation.study_report.figures import Penalty
from offbeat.presentation.study_report.tuning_status import TuningStatus
from offbeat.selection.choices import reliability, wording
from offbeat.selection.choices.outcome import NEGLIGIBLE_SHARE, outcome
from offbeat.selection.choices.reliability import Evidence, Notice, notices
from offbeat.selection.choices.restrictions import study_progress


def verdict(selected: Sequence[ConfigurationView], all_views: Sequence[ConfigurationView]) -> str:
    """The outcome in one to three sentences; ``selected`` are the configurations with a choice."""
    if not any(view.table for view in all_views):
        return "Nothing can be selected: no case has been measured."
    if not selected:
        return (
            "Nothing can be selected: in no configuration was an algorithm both proved to run and measured"
            " under every pattern that the rule uses."
        )
    sentences = [outcome([view.choice for view in selected if view.choice])]
    if missing := len(all_views) - len(selected):
        sentences.append(f"In {amount(missing, 'further configuration')} nothing can be selected.")
    return " ".join(sentences)


def slowdown(view: ConfigurationView) -> float | None:
    """The share by which the no-delay winner scores worse than the choice; None if unknown."""
    return view.choice.cost_of_no_delay_winner if view.choice else None


def penalties(selected: Sequence[ConfigurationView]) -> dict[str, list[Penalty]]:
    """The penalties in each collective's configurations; collectives without any difference are omitted."""
    by_collective: dict[str, list[Penalty]] = {}
    for view in selected:
        choice, share = view.choice, slowdown(view)
        if choice is not None and share is not None and choice.no_delay_winner is not None:
            line = Penalty(
                configuration=view.label,
                selected=choice.algorithm,
                no_delay_winner=choice.no_delay_winner,
                share=share,
            )
            by_collective.setdefault(view.configuration.collective, []).append(line)
    return {
        name: lines
        for name, lines in by_collective.items()
        if any(line.share > NEGLIGIBLE_SHARE for line in lines)
    }


CERTAIN = 0.95
"""A choice is uncertain if it is within the tolerance in a smaller share of resampled studies."""


class ReportEvidence(Evidence, frozen=True, kw_only=True):
    """The input of the report's warnings."""

    views: Sequence[ConfigurationView]
    written: TuningStatus | None = None


def warnings(
    results: Results, views: Sequence[ConfigurationView], written: TuningStatus | None = None
) -> list[Notice]:
    """Every warning that applies, the most important first; ``written`` is the status of the tuning files."""
    return notices(_CHECKS, ReportEvidence(results=results, views=views, written=written))


def _listing(details: list[str], what: str, why: str, remedy: str = "") -> Notice | None:
    """A notice with its details; None if there are none."""
    return Notice(observation=what, why=why, remedy=remedy, details=details) if details else None


def nothing_measured(evidence: ReportEvidence) -> Notice | None:
    """No case has a time."""
    if evidence.measured_cases.height:
        return None
    return Notice(
        observation="Nothing has been measured yet.",
        why="There are no times to compare, so nothing can be selected.",
        remedy="Run or resume the study with ‘offbeat run’; ‘offbeat status’ shows its progress.",
    )


def not_finished(evidence: ReportEvidence) -> Notice | None:
    """Cases of the study that remain to be measured."""
    study = study_progress(evidence.results)
    if study is None:
        return None
    return Notice(
        observation=study.sentence,
        why="A choice among some of the algorithms, or under some of the patterns, may change once all are"
        " measured. Tuning files omit partial configurations.",
        remedy="Resume the study with ‘offbeat run’.",
    )


def wrong_results(evidence: ReportEvidence) -> Notice | None:
    """Algorithms that computed a wrong result."""
    wrong = [verdict for verdict in evidence.results.verdicts if verdict.status == "wrong"]
    names = list(dict.fromkeys(f"{verdict.collective} {verdict.algorithm}" for verdict in wrong))
    return _listing(
        names,
        what=f"{amount(len(names), 'algorithm')} computed a wrong result.",
        why="Results are compared with a result computed locally."
        " These algorithms were not measured and are never selected.",
        remedy="Report it to the library’s authors; a newer version of the library may have fixed it.",
    )


def governor(evidence: ReportEvidence) -> Notice | None:
    """A frequency governor that lets the processors' clock rate drift."""
    frequency = evidence.results.provenance.get("frequency")
    governors = frequency.get("governors") if isinstance(frequency, dict) else None
    if not governors or set(governors) == {"performance"} or evidence.results.is_deterministic:
        return None
    return Notice(
        observation=f"The processors’ frequency governor was {', '.join(governors)}.",
        why="The clock rate depends on the load, so run times vary between cases.",
        remedy="Use the governor ‘performance’ (‘cpupower frequency-set -g performance’,"
        " or the batch system’s option for it).",
    )


def unproved(evidence: ReportEvidence) -> Notice | None:
    """Measured algorithms that were not proved to have run."""
    rows = evidence.measured_cases.filter((pl.col("proof") == "unproved") & (pl.col("algorithm") != DEFAULT))
    names = rows.select("collective", "algorithm").unique(maintain_order=True).rows()
    return _listing(
        [f"{collective} {algorithm}" for collective, algorithm in names],
        what=f"{amount(len(names), 'algorithm')} could not be proved to have run.",
        why="The library may have run another algorithm silently. They are shown, and never selected.",
        remedy="‘offbeat doctor’ shows what can be proved with this library, and why not.",
    )


def disobeyed(evidence: ReportEvidence) -> Notice | None:
    """Tuning files that the library was not proved to obey."""
    lines = evidence.written.failed if evidence.written else []
    return _listing(
        lines,
        what=f"The library was not proved to obey its tuning files: {amount(len(lines), 'probe')} failed.",
        why="‘offbeat verify’ launched it with the files and observed another algorithm, or none.",
        remedy="The lines name what was observed; ‘Rules’ below lists the expected algorithms.",
    )


def default_is_better(evidence: ReportEvidence) -> Notice | None:
    """Configurations in which the library's default beats the selected algorithm."""
    better = [
        f"{view.title}: {wording.percent(-cost)} better than {view.choice.algorithm}"
        for view in evidence.views
        if view.choice is not None and (cost := view.choice.cost_of_default or 0.0) < 0
    ]
    return _listing(
        better,
        what=f"In {amount(len(better), 'configuration')} the library’s default scores better than the"
        " selected algorithm.",
        why="The default can use algorithms or parameters that were not measured by name;"
        " or the difference is noise.",
        remedy='Measure all algorithms ([[collective]] algorithms = ["all"]), or keep the default there.',
    )


def uncertain_choices(evidence: ReportEvidence) -> Notice | None:
    """Choices whose loss in resampled studies often exceeds the tolerance."""
    uncertain = [
        f"{view.title}: {view.choice.algorithm}, {wording.percent(one.within_tolerance)} within the"
        f" tolerance, loss up to {wording.percent(one.plausible_loss)}"
        for view in evidence.views
        if view.choice is not None and (one := view.choice.certainty) and one.within_tolerance < CERTAIN
    ]
    return _listing(
        uncertain,
        what=f"{amount(len(uncertain), 'choice')} may lose more than the tolerance.",
        why=f"If the study were repeated, the choice would be within the tolerance in fewer than"
        f" {wording.percent(CERTAIN)} of the repetitions: launches differ by as much as algorithms do.",
        remedy="Raise blocks and maximum in [repetitions], or measure on a quieter machine.",
    )


def left_out(evidence: ReportEvidence) -> Notice | None:
    """Configurations in which nothing could be selected."""
    configurations = [f"{view.title}: {view.left_out}" for view in evidence.views if view.left_out]
    return _listing(
        configurations if evidence.measured_cases.height else [],
        what=f"For {amount(len(configurations), 'configuration')} nothing could be selected.",
        why="They are left to the library’s default.",
        remedy="Measure what the reasons name.",
    )


def caveats(evidence: ReportEvidence) -> Notice | None:
    """The caveats of single choices."""
    sentences = [
        f"{view.title}: {sentence}"
        for view in evidence.views
        if view.choice
        for sentence in view.choice.warnings
    ]
    return _listing(
        sentences,
        what=f"{amount(len(sentences), 'caveat')} on single choices.",
        why="They list algorithms that were not compared, ties, and restrictions of the choice.",
    )


def remarks(evidence: ReportEvidence) -> Notice | None:
    """Warnings issued while the study ran, and notes from reading its results."""
    warned = evidence.results.provenance.get("warnings")
    sentences = [*evidence.results.notes, *(map(str, warned) if isinstance(warned, list) else [])]
    return _listing(
        sentences,
        what=f"{amount(len(sentences), 'remark')} on the run and its results.",
        why="They were issued when processes were launched, or when the results were read.",
    )


def simulated(evidence: ReportEvidence) -> Notice | None:
    """Simulated cases."""
    rows = evidence.measured_cases.filter(pl.col("engine").is_in(list(SIMULATING)))
    if not rows.height:
        return None
    names = ", ".join(dict.fromkeys(rows["library"]))
    return Notice(
        observation=f"{evidence.count_of(rows)} are simulated: {names}.",
        why="They are as accurate as the platform’s description. The model has no noise and does not include"
        " the library’s software overhead.",
        remedy="Calibrate the platform (‘offbeat platform calibrate’),"
        " and measure the important configurations on the machine.",
    )


_CHECKS: tuple[Callable[[ReportEvidence], Notice | None], ...] = (
    nothing_measured,
    not_finished,
    simulated,
    reliability.oversubscription,
    reliability.busy,
    wrong_results,
    reliability.clock_bound,
    reliability.late_starts,
    reliability.invalid_share,
    reliability.few_repetitions,
    reliability.wide_intervals,
    governor,
    reliability.quarantined_cases,
    unproved,
    disobeyed,
    default_is_better,
    uncertain_choices,
    left_out,
    caveats,
    remarks,
)
