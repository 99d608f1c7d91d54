"""Which warnings hold for a study: what was seen, why it matters, and what mends it.

Every warning is judged from the results themselves: the cases, the verdicts, the choices, the facts about the
machine. The limits stand at the top of the file, and the sentences name them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import polars as pl

from offbeat.report import labels
from offbeat.report.configurations import ConfigurationView
from offbeat.report.use import Use
from offbeat.select import wording
from offbeat.select.reliability import (
    Evidence,
    Notice,
    busy,
    clock_bound,
    evidence_of,
    few_repetitions,
    invalid_share,
    late_starts,
    oversubscribed,
    quarantined,
    wide_intervals,
)
from offbeat.select.restrictions import unfinished
from offbeat.study.algorithm import DEFAULT
from offbeat.study.schema import SIMULATING

if TYPE_CHECKING:
    from offbeat.results.read import Results

SURE = 0.95
"""A choice that loses no more than the tolerance in fewer repeated studies than this is uncertain."""


class ReportEvidence(Evidence, frozen=True, kw_only=True):
    """What the report's warnings are judged from, beside what was measured."""

    views: Sequence[ConfigurationView]
    written: Use | None = None


def warnings(
    results: Results, views: Sequence[ConfigurationView], written: Use | None = None
) -> list[Notice]:
    """Every warning that holds, the gravest first; ``written`` are the tuning files."""
    evidence = ReportEvidence(
        results=results, views=views, measured=evidence_of(results).measured, written=written
    )
    found = [judge(evidence) for judge in _JUDGES]
    return [notice for notice in found if notice is not None]


def nothing_measured(evidence: ReportEvidence) -> Notice | None:
    """No case has a time."""
    if evidence.measured.height:
        return None
    return Notice(
        what="Nothing has been measured yet.",
        why="There is no time to compare, so nothing can be selected.",
        remedy="Run the study, or go on with it: ‘offbeat run’. ‘offbeat status’ says how far it is.",
    )


def not_finished(evidence: ReportEvidence) -> Notice | None:
    """Cases of the study that are still to be measured."""
    study = unfinished(evidence.results)
    if study is None:
        return None
    return Notice(
        what=study.sentence,
        why="A choice among some of the algorithms, or under some of the patterns, may change once all are"
        " measured. Tuning files leave partial configurations out.",
        remedy="Go on with the study: ‘offbeat run’.",
    )


def wrong_results(evidence: ReportEvidence) -> Notice | None:
    """Algorithms that computed something wrong."""
    bad = [verdict for verdict in evidence.results.verdicts if verdict.status == "wrong"]
    if not bad:
        return None
    names = list(dict.fromkeys(f"{verdict.collective} {verdict.algorithm}" for verdict in bad))
    return Notice(
        what=f"{labels.count(len(names), 'algorithm')} computed a wrong result.",
        why="What came out was compared with a result computed locally."
        " These algorithms were not measured and are never selected.",
        remedy="Report it to the library’s authors; a newer version of the library may have mended it.",
        details=names,
    )


def governor(evidence: ReportEvidence) -> Notice | None:
    """A frequency governor that lets the processors' clock rate drift."""
    frequency = evidence.results.provenance.get("frequency")
    governors = frequency.get("governors") if isinstance(frequency, dict) else None
    if not governors or set(governors) == {"performance"} or evidence.results.is_deterministic:
        return None
    return Notice(
        what=f"The processors’ frequency governor was {', '.join(governors)}.",
        why="The clock rate follows the load, so the same work takes longer or shorter from case to case.",
        remedy="Ask for the governor ‘performance’ (‘cpupower frequency-set -g performance’,"
        " or the batch system’s option for it).",
    )


def unproved(evidence: ReportEvidence) -> Notice | None:
    """Measured algorithms of which nothing shows that they ran."""
    rows = evidence.measured.filter((pl.col("proof") == "unproved") & (pl.col("algorithm") != DEFAULT))
    names = rows.select("collective", "algorithm").unique(maintain_order=True).rows()
    if not names:
        return None
    return Notice(
        what=f"{labels.count(len(names), 'algorithm')} could not be proved to have run.",
        why="The library may have run something else without saying so. They are shown, and never selected.",
        remedy="‘offbeat doctor’ says what can be proved with this library, and why something cannot.",
        details=[f"{collective} {algorithm}" for collective, algorithm in names],
    )


def disobeyed(evidence: ReportEvidence) -> Notice | None:
    """Tuning files that the library was not shown to obey."""
    if evidence.written is None or not evidence.written.disobeyed:
        return None
    lines = evidence.written.disobeyed
    return Notice(
        what=f"{labels.count(len(lines), 'probe')} did not show that the library obeys its tuning files.",
        why="‘offbeat verify’ launched it with the files and saw something else, or could not see what ran.",
        remedy="The lines name what was seen; ‘What the files say’ below has the rule that should hold.",
        details=lines,
    )


def default_is_better(evidence: ReportEvidence) -> Notice | None:
    """Configurations in which the library's own choice beats the selected algorithm."""
    better = [
        f"{view.title}: {wording.percent(-cost)} better than {view.choice.algorithm}"
        for view in evidence.views
        if view.choice is not None and (cost := view.choice.cost_of_default or 0.0) < 0
    ]
    if not better:
        return None
    return Notice(
        what=f"In {labels.count(len(better), 'configuration')} the library’s default is faster than the selected"
        " algorithm.",
        why="Its default can use algorithms, or parameters of them, that were not measured by name;"
        " or the difference is noise.",
        remedy='Measure all algorithms ([[collective]] algorithms = ["all"]), or keep the default there.',
        details=better,
    )


def uncertain_choices(evidence: ReportEvidence) -> Notice | None:
    """Choices that a repeated study may find to lose more than is tolerated."""
    uncertain = [
        f"{view.title}: {view.choice.algorithm}, {wording.percent(one.within_tolerance)} within the"
        f" tolerance, loss up to {wording.percent(one.plausible_loss)}"
        for view in evidence.views
        if view.choice is not None and (one := view.choice.certainty) and one.within_tolerance < SURE
    ]
    if not uncertain:
        return None
    return Notice(
        what=f"{labels.count(len(uncertain), 'choice')} could lose more than is tolerated.",
        why=f"If the study were repeated, the choice would be as good as the best in fewer than"
        f" {wording.percent(SURE)} of the repetitions: what differs between launches is as large as what"
        " differs between algorithms.",
        remedy="Raise blocks and maximum in [repetitions], or measure on a quieter machine.",
        details=uncertain,
    )


def left_out(evidence: ReportEvidence) -> Notice | None:
    """Configurations in which nothing could be selected."""
    configurations = [f"{view.title}: {view.left_out}" for view in evidence.views if view.left_out]
    if not configurations or not evidence.measured.height:
        return None
    return Notice(
        what=f"For {labels.count(len(configurations), 'configuration')} nothing could be selected.",
        why="The library’s default stays there.",
        remedy="Measure there what the reasons name.",
        details=configurations,
    )


def cautions(evidence: ReportEvidence) -> Notice | None:
    """What the selection says about single choices."""
    sentences = [
        f"{view.title}: {sentence}"
        for view in evidence.views
        if view.choice
        for sentence in view.choice.warnings
    ]
    if not sentences:
        return None
    return Notice(
        what=f"{labels.count(len(sentences), 'remark')} on single choices.",
        why="They say what was not compared, what ties, and where a choice must not be used.",
        details=sentences,
    )


def remarks(evidence: ReportEvidence) -> Notice | None:
    """What was said while the study ran, and while its results were read."""
    said = evidence.results.provenance.get("warnings")
    sentences = [*evidence.results.notes, *(map(str, said) if isinstance(said, list) else [])]
    if not sentences:
        return None
    return Notice(
        what=f"{labels.count(len(sentences), 'remark')} on the run and its results.",
        why="They were made when processes were launched, or when the results were read.",
        details=sentences,
    )


def simulated(evidence: ReportEvidence) -> Notice | None:
    """Numbers of a model."""
    rows = evidence.measured.filter(pl.col("engine").is_in(list(SIMULATING)))
    if not rows.height:
        return None
    names = ", ".join(dict.fromkeys(rows["library"]))
    return Notice(
        what=f"{evidence.count_of(rows)} are simulated: {names}.",
        why="They are as good as the platform’s description. A model has no noise, and knows nothing of what"
        " a library does beside its algorithm.",
        remedy="Calibrate the platform (‘offbeat platform calibrate’),"
        " and measure what matters on the machine.",
    )


_JUDGES: tuple[Callable[[ReportEvidence], Notice | None], ...] = (
    nothing_measured,
    not_finished,
    simulated,
    oversubscribed,
    busy,
    wrong_results,
    clock_bound,
    late_starts,
    invalid_share,
    few_repetitions,
    wide_intervals,
    governor,
    quarantined,
    unproved,
    disobeyed,
    default_is_better,
    uncertain_choices,
    left_out,
    cautions,
    remarks,
)
