"""Which warnings hold for a study: what was seen, why it matters, and what mends it.

Every warning is judged from the results themselves: the cases, the verdicts, the choices, the facts about the
machine. The limits stand at the top of the file, and the sentences name them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import polars as pl
from msgspec import Struct

from offbeat.report import labels
from offbeat.report.cells import CellView
from offbeat.report.measured import threads_of
from offbeat.report.use import Use
from offbeat.select import wording
from offbeat.select.partial import unfinished
from offbeat.select.precision import asked_width, is_wide
from offbeat.study.algorithm import DEFAULT
from offbeat.study.schema import SIMULATING
from offbeat.units import format_time

if TYPE_CHECKING:
    from offbeat.results.read import Results

FEW_REPETITIONS = 10
"""Fewer valid repetitions than this make a median, and its interval, rough."""

INVALID_SHARE = 0.1
"""A larger share of repetitions in which a process missed its start is high."""

BOUND_SHARE = 0.1
"""A clock bound or start error above this share of what is measured blurs it."""

SURE = 0.9
"""A choice that fewer resamples than this repeat is unsure."""


class Notice(Struct, frozen=True, kw_only=True):
    """One warning: ``what`` was seen, ``why`` it matters, what would ``mend`` it; ``details`` say where it
    holds.
    """

    what: str
    why: str
    mend: str = ""
    details: list[str] = []


class Evidence(Struct, frozen=True, kw_only=True):
    """What warnings are judged from; ``measured`` are the cases that have a time."""

    results: Results
    views: Sequence[CellView]
    measured: pl.DataFrame
    written: Use | None = None

    def of_measured(self, rows: pl.DataFrame) -> str:
        """How many of the measured cases some rows are: ``3 of 84 cases``."""
        return f"{rows.height} of {labels.count(self.measured.height, 'case')}"


def warnings(results: Results, views: Sequence[CellView], written: Use | None = None) -> list[Notice]:
    """Every warning that holds, the gravest first; ``written`` are the tuning files."""
    has_time = pl.col("status").is_in(["measured", "incomplete"])
    evidence = Evidence(
        results=results, views=views, measured=results.cases.filter(has_time), written=written
    )
    found = [judge(evidence) for judge in _JUDGES]
    return [notice for notice in found if notice is not None]


def nothing_measured(evidence: Evidence) -> Notice | None:
    """No case has a time."""
    if evidence.measured.height:
        return None
    return Notice(
        what="Nothing has been measured yet.",
        why="There is no time to compare, so nothing can be selected.",
        mend="Run the study, or go on with it: ‘offbeat run’. ‘offbeat status’ says how far it is.",
    )


def not_finished(evidence: Evidence) -> Notice | None:
    """Cases of the study that are still to be measured."""
    study = unfinished(evidence.results)
    if study is None:
        return None
    return Notice(
        what=study.sentence,
        why="A choice among some of the algorithms, or under some of the patterns, may change once all are"
        " measured. Tuning files leave partial cells out.",
        mend="Go on with the study: ‘offbeat run’.",
    )


def oversubscribed(evidence: Evidence) -> Notice | None:
    """More processes than cores."""
    threads = threads_of(evidence.results.provenance)
    if threads is None:
        return None
    nodes = pl.col("nodes").replace(0, 1)
    rows = evidence.measured.filter((pl.col("engine") == "mpi") & (pl.col("p") > nodes * threads))
    if not rows.height:
        return None
    return Notice(
        what=f"Up to {_largest(rows['p']):.0f} processes shared {labels.count(threads, 'hardware thread')}:"
        f" the machine was oversubscribed in {evidence.of_measured(rows)}.",
        why="Processes waited for a core as well as for each other, so the times tell how the operating"
        " system shares cores as much as how the algorithm communicates. Use them to try things out,"
        " not to tune.",
        mend="Measure with no more processes than the machine has cores ([processes]), or on more nodes.",
    )


def wrong_results(evidence: Evidence) -> Notice | None:
    """Algorithms that computed something wrong."""
    bad = [verdict for verdict in evidence.results.verdicts if verdict.status == "wrong"]
    if not bad:
        return None
    names = list(dict.fromkeys(f"{verdict.collective} {verdict.algorithm}" for verdict in bad))
    return Notice(
        what=f"{labels.count(len(names), 'algorithm')} computed a wrong result.",
        why="What came out was compared with a result computed locally."
        " These algorithms were not measured and are never selected.",
        mend="Report it to the library’s authors; a newer version of the library may have mended it.",
        details=names,
    )


def clock_bound(evidence: Evidence) -> Notice | None:
    """A shared clock that is less sure than the skews or the delays are long."""
    above = ((pl.col("skew_s") > 0) & (pl.col("clock_bound_s") > pl.col("skew_s"))).fill_null(False)
    blurred = (pl.col("clock_bound_s") > BOUND_SHARE * pl.col("last_delay_s")).fill_null(False)
    rows = evidence.measured.filter(above | blurred)
    if not rows.height:
        return None
    beyond = rows.filter(above).height
    return Notice(
        what=f"The shared clock’s error bound (up to {format_time(_largest(rows['clock_bound_s']))}) is above"
        f" {labels.percent(BOUND_SHARE)} of the last delay in {evidence.of_measured(rows)}"
        + (f", and above the skew in {beyond} of them." if beyond else "."),
        why="Arrival and exit times of different processes are compared on that clock:"
        " what is smaller than its bound cannot be seen.",
        mend="Ask for larger skews ([skew] factors or times) or larger messages,"
        " and keep the cores free of other work.",
    )


def late_starts(evidence: Evidence) -> Notice | None:
    """Start errors that are large against the skew."""
    late = (pl.col("skew_s") > 0) & (pl.col("overshoot_s") > BOUND_SHARE * pl.col("skew_s"))
    rows = evidence.measured.filter(late.fill_null(False))
    if not rows.height:
        return None
    return Notice(
        what=f"In {evidence.of_measured(rows)} a process started later than planned by more than"
        f" {labels.percent(BOUND_SHARE)} of the skew (up to {format_time(_largest(rows['overshoot_s']))}).",
        why="The pattern that was applied is then not quite the one asked for.",
        mend="Lower tolerance in [start], ask for a larger skew, or use fewer processes than cores.",
    )


def invalid_share(evidence: Evidence) -> Notice | None:
    """Many repetitions in which a process missed its start."""
    valid, invalid = (int(evidence.measured[name].sum() or 0) for name in ("repetitions", "invalid"))
    share = invalid / (valid + invalid) if invalid else 0.0
    if share <= INVALID_SHARE:
        return None
    return Notice(
        what=f"{labels.percent(share)} of the repetitions were invalid: a process missed its start.",
        why="They were repeated and do not count, but they show that something disturbs the processes.",
        mend="Use fewer processes than cores, bind them, or raise tolerance in [start].",
    )


def few_repetitions(evidence: Evidence) -> Notice | None:
    """Cases with few valid repetitions."""
    rows = evidence.measured.filter((pl.col("engine") == "mpi") & (pl.col("repetitions") < FEW_REPETITIONS))
    if not rows.height:
        return None
    return Notice(
        what=f"{evidence.of_measured(rows)} rest on fewer than {FEW_REPETITIONS} valid repetitions"
        f" (the fewest: {min(rows['repetitions'])}).",
        why="The median of so few is easily moved by one disturbance, and its interval is hardly known.",
        mend="Raise minimum and time_cap in [repetitions].",
    )


def wide_intervals(evidence: Evidence) -> Notice | None:
    """Cases that ran out of repetitions or time before their median was known well enough."""
    asked = asked_width(evidence.results.study)
    if asked is None:
        return None
    ends = pl.col("last_delay_low_s"), pl.col("last_delay_high_s")
    rows = evidence.measured.filter(is_wide(*ends, pl.col("last_delay_s"), asked).fill_null(False))
    if not rows.height:
        return None
    mean = ", or the mean over a replay’s calls," if "replay" in rows["pattern_kind"].to_list() else ""
    return Notice(
        what=f"In {evidence.of_measured(rows)} the median{mean} is known less well than the"
        f" ±{wording.share_label(asked)} asked for.",
        why="Their repetitions or their time ran out first."
        " Differences that are smaller than the intervals may be none.",
        mend="Raise maximum and time_cap in [repetitions], or measure on a quieter machine.",
    )


def governor(evidence: Evidence) -> Notice | None:
    """A frequency governor that lets the processors' clock rate drift."""
    frequency = evidence.results.provenance.get("frequency")
    governors = frequency.get("governors") if isinstance(frequency, dict) else None
    if not governors or set(governors) == {"performance"} or evidence.results.is_deterministic:
        return None
    return Notice(
        what=f"The processors’ frequency governor was {', '.join(governors)}.",
        why="The clock rate follows the load, so the same work takes longer or shorter from case to case.",
        mend="Ask for the governor ‘performance’ (‘cpupower frequency-set -g performance’,"
        " or the batch system’s option for it).",
    )


def quarantined(evidence: Evidence) -> Notice | None:
    """Cases that crashed, hung or aborted the job."""
    cases = evidence.results.cases
    lost = cases.filter(pl.col("status") == "quarantined")
    if not lost.height:
        return None
    reasons = lost.group_by("collective", "algorithm", "reason", maintain_order=True).len()
    return Notice(
        what=f"{lost.height} of {labels.count(cases.height, 'case')} were quarantined.",
        why="They crashed, hung or aborted the job, and were set aside so that the study could go on.",
        mend="Leave the algorithm out ([[collective]] algorithms);"
        " if it is only slow, raise hang_after in [repetitions].",
        details=[
            f"{collective} {algorithm}, {labels.count(number, 'case')}: {reason or 'no reason on record'}"
            for collective, algorithm, reason, number in reasons.iter_rows()
        ],
    )


def unproved(evidence: Evidence) -> Notice | None:
    """Measured algorithms of which nothing shows that they ran."""
    rows = evidence.measured.filter((pl.col("proof") == "unproved") & (pl.col("algorithm") != DEFAULT))
    names = rows.select("collective", "algorithm").unique(maintain_order=True).rows()
    if not names:
        return None
    return Notice(
        what=f"{labels.count(len(names), 'algorithm')} could not be proved to have run.",
        why="The library may have run something else without saying so. They are shown, and never selected.",
        mend="‘offbeat doctor’ says what can be proved with this library, and why something cannot.",
        details=[f"{collective} {algorithm}" for collective, algorithm in names],
    )


def disobeyed(evidence: Evidence) -> Notice | None:
    """Tuning files that the library was not shown to obey."""
    if evidence.written is None or not evidence.written.disobeyed:
        return None
    lines = evidence.written.disobeyed
    return Notice(
        what=f"In {labels.count(len(lines), 'cell')} the library was not shown to obey its tuning files.",
        why="‘offbeat verify’ launched it with the files and saw something else, or could not see what ran.",
        mend="The lines name what was seen; ‘What the files say’ below has the rule that should hold.",
        details=lines,
    )


def default_is_better(evidence: Evidence) -> Notice | None:
    """Cells in which the library's own choice beats the selected algorithm."""
    better = [
        f"{view.title}: {labels.percent(-cost)} better than {view.choice.algorithm}"
        for view in evidence.views
        if view.choice is not None and (cost := view.choice.cost_of_default or 0.0) < 0
    ]
    if not better:
        return None
    return Notice(
        what=f"In {labels.count(len(better), 'cell')} the library’s own choice does better than the selected"
        " algorithm.",
        why="Its default can use algorithms, or parameters of them, that were not measured by name;"
        " or the difference is noise.",
        mend='Measure all algorithms ([[collective]] algorithms = ["all"]), or keep the default there.',
        details=better,
    )


def unsure_choices(evidence: Evidence) -> Notice | None:
    """Choices that resampling often changes."""
    unsure = [
        f"{view.title}: {view.choice.algorithm} in {labels.percent(sure)} of the resamples"
        for view in evidence.views
        if view.choice is not None and (sure := view.choice.certainty) is not None and sure < SURE
    ]
    if not unsure:
        return None
    return Notice(
        what=f"{labels.count(len(unsure), 'choice')} could have gone to another algorithm.",
        why=f"With the repetitions drawn anew, less than {labels.percent(SURE)} of the draws choose the same:"
        " the best algorithms are close together, so little is lost either way.",
        mend="Raise minimum and maximum in [repetitions] if it matters which of them it is.",
        details=unsure,
    )


def left_out(evidence: Evidence) -> Notice | None:
    """Cells in which nothing could be selected."""
    cells = [f"{view.title}: {view.left_out}" for view in evidence.views if view.left_out]
    if not cells or not evidence.measured.height:
        return None
    return Notice(
        what=f"For {labels.count(len(cells), 'cell')} nothing could be selected.",
        why="The library’s default stays there.",
        mend="Measure there what the reasons name.",
        details=cells,
    )


def cautions(evidence: Evidence) -> Notice | None:
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


def remarks(evidence: Evidence) -> Notice | None:
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


def _largest(values: pl.Series) -> float:
    largest = values.max()
    return float(largest) if isinstance(largest, int | float) else 0.0


def simulated(evidence: Evidence) -> Notice | None:
    """Numbers of a model."""
    rows = evidence.measured.filter(pl.col("engine").is_in(list(SIMULATING)))
    if not rows.height:
        return None
    names = ", ".join(dict.fromkeys(rows["library"]))
    return Notice(
        what=f"{evidence.of_measured(rows)} are simulated: {names}.",
        why="They are as good as the platform’s description. A model has no noise, and knows nothing of what"
        " a library does beside its algorithm.",
        mend="Calibrate the platform (‘offbeat platform calibrate’),"
        " and measure what matters on the machine.",
    )


_JUDGES: tuple[Callable[[Evidence], Notice | None], ...] = (
    nothing_measured,
    not_finished,
    simulated,
    oversubscribed,
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
    unsure_choices,
    left_out,
    cautions,
    remarks,
)
