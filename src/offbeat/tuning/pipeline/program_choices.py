"""The choices that a trial of the program compares: where another algorithm is expected to be faster.

For each of the measured calls, the algorithm with the shortest expected time under the program's own arrivals
is compared with the library's default. Calls that a tuning file cannot tell apart, such as those on rows and
on columns of a process grid, or all sizes of a collective whose size the library does not read, get the
algorithm that takes the shortest time for all of them. An algorithm is used if the interval of the difference
excludes zero; all other calls are left to the library. ``tuned`` has all of these algorithms; ``heaviest``
that of the calls with the largest expected gain only, so that the trial shows whether choices disturb each
other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct, structs

from offbeat.base.units import format_time
from offbeat.libraries.families.libraries import LIBRARIES
from offbeat.libraries.installations.installation import Installation
from offbeat.measurement.results.read import Results
from offbeat.model.study.algorithm import DEFAULT
from offbeat.model.study.collectives import ROOTED
from offbeat.selection.choices.choose import Choice
from offbeat.selection.choices.delay_table import Configuration, configurations_in_words
from offbeat.selection.tuning_files.safe_choices import RuleKey, rule_key
from offbeat.tuning.pipeline.traced_calls import LEAST_GAIN
from offbeat.tuning.prediction.measured_configuration import Estimate, total
from offbeat.tuning.prediction.prediction import Part, changes, common, part_time
from offbeat.tuning.prediction.program_prediction import TracedProgram
from offbeat.tuning.prediction.recorded_calls import RecordedRun, TracedCalls
from offbeat.tuning.trial.choices import TrialChoice, planned

TUNED, HEAVIEST = "tuned", "heaviest"

MUCH_LONGER = 2.0
"""Calls that took this many times as long in the trace as measured alone are named."""


class ExpectedGain(Struct, frozen=True, kw_only=True):
    """What the best measured algorithm is expected to change in the calls of a rule of the tuning file.

    ``configurations`` are those in which these calls were measured: several if a tuning file cannot tell them
    apart. ``alone`` are the algorithms that would be best for each of them.
    ``change`` is the difference from the library's default as a share of the run time, summed over call sites
    (negative: a gain); None if the default was not measured. It is the measured difference, relative to the
    measured time of the default, of the time that the calls of each configuration took in the trace.
    ``run_s`` is the run time of the trace, from MPI_Init to the end, as a mean over processes.
    ``is_settable``: a tuning file of the library can set an algorithm for these calls.
    ``share_in_program`` is the share of the run time that another algorithm may save in the program itself,
    ``recorded_s`` is the time of the calls in the trace, ``measured_s`` with the measured times of the
    default; ``usable`` are the algorithms that may be chosen for all of them, the largest expected gain
    first.
    """

    configurations: list[Configuration]
    algorithm: str
    change: Estimate | None
    run_s: float
    calls: list[str]
    alone: list[str] = []
    is_settable: bool = True
    share_in_program: float = 0.0
    recorded_s: float = 0.0
    measured_s: float = 0.0
    usable: list[str] = []

    @property
    def name(self) -> str:
        """``allreduce of 8 B on p=32``; of several configurations ``scatter of 8 B and 1 KiB on p=4``."""
        return configurations_in_words(self.configurations)

    @property
    def compromise(self) -> str:
        """Why calls that differ have the same algorithm; empty if they agree."""
        if len(set(self.alone)) < 2:
            return ""
        each = ", ".join(
            f"{name} for {cell}" for cell, name in zip(self.configurations, self.alone, strict=True)
        )
        return f"; a tuning file cannot tell these calls apart: alone, the best would be {each}"

    @property
    def gap(self) -> str:
        """That the calls took much longer in the program than measured alone; empty if they did not."""
        if not 0 < self.measured_s < self.recorded_s / MUCH_LONGER:
            return ""
        return (
            f"; in the trace, these calls took {format_time(self.recorded_s)}, and measured alone they take"
            f" {format_time(self.measured_s)}: only runs of the program show what helps"
        )

    @property
    def share(self) -> float:
        """The expected change as a share of the run time; 0 if it is unknown."""
        return self.change.time_s if self.change is not None else 0.0

    @property
    def is_used(self) -> bool:
        """Whether the algorithm can be set, and is faster than the default with 95% confidence."""
        is_other = self.is_settable and self.algorithm != DEFAULT
        return is_other and self.change is not None and self.change.high_s < 0

    @property
    def sentence(self) -> str:
        """``alltoall of 32 KiB on p=64: linear, expected to save 31 ms, 3.1% of ... (2.0% to 4.2%)``."""
        of = self.name
        if not self.is_settable:
            return (
                f"{of}: the library's own decision; its tuning files belong to a number of launched"
                " processes, and these communicators do not divide the program's processes evenly"
            )
        if self.algorithm == DEFAULT or self.change is None:
            return f"{of}: the library's own decision{self.gap}"
        if not self.is_used:
            return (
                f"{of}: no algorithm is significantly faster than the library's own decision; the best is"
                f" {self.algorithm}{self.gap}"
            )
        return (
            f"{of}: {self.algorithm}, expected to save {format_time(-self.share * self.run_s)},"
            f" {-self.share:.1%} of the time after MPI_Init ({-self.change.high_s:.1%} to"
            f" {-self.change.low_s:.1%}){self.compromise}{self.gap}"
        )


def complete(predicted: Mapping[str, Sequence[Choice]]) -> list[Choice]:
    """The predicted fastest choices of configurations that are measured completely."""
    return [choice for choices in predicted.values() for choice in choices if not choice.not_measured]


def expected_gains(traced: TracedProgram, choices: Sequence[Choice], family: str) -> list[ExpectedGain]:
    """What each of the choices is expected to change in the program; the largest gain first.

    ``family`` is that of the library, whose tuning files tell some calls apart.
    """
    if traced.run is None:
        return []
    chosen = {choice.configuration: choice.algorithm for choice in choices}
    parts: dict[RuleKey, list[Part]] = {}
    for part in traced.parts:
        cell = part.table.configuration
        if cell in chosen:
            parts.setdefault(rule_key(cell, family), []).append(part)
    gains = [_gain(own, chosen, traced.run, family) for own in parts.values()]
    return sorted(gains, key=lambda one: one.share)


def _gain(
    parts: Sequence[Part], chosen: Mapping[Configuration, str], run: RecordedRun, family: str
) -> ExpectedGain:
    cells = list(dict.fromkeys(part.table.configuration for part in parts))
    alone = [chosen[cell] for cell in cells]
    condition = common(parts)[-1]
    usable = _usable(parts, condition)
    algorithm = alone[0] if len(set(alone)) == 1 else next(iter(usable), DEFAULT)
    each = [_change(part, algorithm, condition) for part in parts]
    known = [one for one in each if one is not None]
    defaults = [part_time(part, DEFAULT, condition) for part in parts]
    return ExpectedGain(
        configurations=cells,
        algorithm=algorithm,
        change=total(known).times(1 / run.run_s) if len(known) == len(parts) else None,
        run_s=run.run_s,
        calls=[part.calls.description for part in parts],
        alone=alone,
        is_settable=all(_is_settable(cell, run.processes, family) for cell in cells),
        share_in_program=sum(_share_in_program(part.calls, run) for part in parts),
        recorded_s=sum(part.calls.total_s for part in parts),
        measured_s=sum(one.time_s for one in defaults if one is not None),
        usable=usable,
    )


def _is_settable(cell: Configuration, launched: int, family: str) -> bool:
    """Whether a launch of the program finds the rule of a configuration."""
    library = LIBRARIES.get(family)
    return library is None or rule_key(cell, family)[1] == library.file_processes(cell.p, launched)


def _share_in_program(calls: TracedCalls, run: RecordedRun) -> float:
    """The share of the run time from the last arrival to the last exit.

    In collectives with a root, that of all time in the calls: with another algorithm, ranks may leave without
    waiting for late ones.
    """
    if calls.collective in ROOTED:
        return calls.spent_s / (run.run_s * run.processes)
    return calls.last_delays_s / run.run_s


def _change(part: Part, algorithm: str, condition: str) -> Estimate | None:
    """The measured difference from the default, relative to the measured time of the default, of the time
    that these calls took in the trace; None if one of them was not measured. No saving exceeds this time."""
    default, difference = part_time(part, DEFAULT, condition), changes([part], [algorithm], [DEFAULT])
    if default is None or default.time_s <= 0 or condition not in difference:
        return None
    change = difference[condition].times(part.calls.total_s / default.time_s)
    return Estimate(
        time_s=max(change.time_s, -part.calls.total_s),
        low_s=max(change.low_s, -part.calls.total_s),
        high_s=max(change.high_s, -part.calls.total_s),
    )


def _usable(parts: Sequence[Part], condition: str) -> list[str]:
    """The algorithms that may be chosen for each of the parts, that with the largest gain over all first."""
    usable = [
        {
            name
            for name, is_candidate in zip(part.table.algorithms, part.table.candidates, strict=True)
            if is_candidate
        }
        for part in parts
    ]
    gains: dict[str, float] = {}
    for name in sorted(set.intersection(*usable)):
        each = [_change(part, name, condition) for part in parts]
        if all(one is not None for one in each):
            gains[name] = sum(one.time_s for one in each if one is not None)
    return sorted(gains, key=lambda name: gains[name])


def expected_share(gains: Sequence[ExpectedGain]) -> float:
    """The share of the run time that all used algorithms together are expected to save."""
    return -sum(one.share for one in gains if one.is_used)


def compared(gains: Sequence[ExpectedGain]) -> dict[str, list[ExpectedGain]]:
    """The gains that each choice of a trial uses, by the name of the choice.

    Empty if the expected gain is below :data:`offbeat.tuning.pipeline.traced_calls.LEAST_GAIN`.
    """
    used = [one for one in gains if one.is_used]
    if expected_share(gains) < LEAST_GAIN:
        return {}
    return {TUNED: used} | ({HEAVIEST: used[:1]} if len(used) > 1 else {})


def program_choices(
    results: Results, installation: Installation, chosen: Sequence[Choice], gains: Sequence[ExpectedGain]
) -> list[TrialChoice]:
    """The library's own decisions, and those of :func:`compared` that differ from each other."""
    choices = [TrialChoice(name=DEFAULT)]
    for name, used in tuned_choices(chosen, gains).items():
        one = planned(results, installation, name, used)
        if one.rules and all(one.rules != other.rules for other in choices):
            choices.append(one)
    return choices


def tuned_choices(chosen: Sequence[Choice], gains: Sequence[ExpectedGain]) -> dict[str, list[Choice]]:
    """The choices of :func:`compared` by their names: of each configuration, its algorithm or the library's
    own decision."""
    return {name: with_algorithms(chosen, used) for name, used in compared(gains).items()}


def with_algorithms(chosen: Sequence[Choice], used: Sequence[ExpectedGain]) -> list[Choice]:
    """The choices with the algorithms of the ``used`` gains, and the library's own decision elsewhere."""
    algorithms = {cell: one.algorithm for one in used for cell in one.configurations}
    return [
        structs.replace(choice, algorithm=algorithms.get(choice.configuration, DEFAULT)) for choice in chosen
    ]
