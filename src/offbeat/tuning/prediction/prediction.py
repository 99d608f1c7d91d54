"""The expected run time of a traced program with each algorithm, or with each choice of algorithms.

Expected run time = computing time of the trace + Σ of the measured d̂ over the calls: the paper's figure 9,
for any condition of :mod:`offbeat.tuning.prediction.measured_configuration`. A gain is the difference between
the predictions for an algorithm and for the one that ran; the difference between the latter and the recorded
time is the bias of the prediction, and no gain. The prediction assumes that arrivals do not depend on the
algorithm; in reality, a rank that leaves a call late arrives late at the next one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct, structs

from offbeat.base.errors import BadInput, RunFailed
from offbeat.model.study.algorithm import DEFAULT
from offbeat.selection.choices.choose import Choice, choose
from offbeat.selection.choices.delay_table import RECORDED_KINDS, DelayTable
from offbeat.selection.tuning_files.export import plan_of
from offbeat.selection.tuning_files.safe_choices import rule_key
from offbeat.tuning.prediction.measured_configuration import (
    NAMES,
    Condition,
    Estimate,
    Measurements,
    conditions,
    configuration_for,
    delay,
    total,
)
from offbeat.tuning.prediction.recorded_calls import RecordedRun, TracedCalls


class Part(Struct, frozen=True, kw_only=True, eq=False):
    """Calls, the delay table of the configuration that represents them, and its conditions by name."""

    calls: TracedCalls
    table: DelayTable
    conditions: dict[str, Condition]


class ExpectedRun(Struct, frozen=True, kw_only=True):
    """The expected run time with one algorithm, or one choice of algorithms.

    ``algorithms`` has one name per part. ``run_s`` maps the measured conditions to the expected run time,
    ``change_s`` to its difference from the prediction for the algorithms that ran (negative: a gain).
    ``barred`` is the reason why it is never selected, empty if it can be.
    """

    name: str
    algorithms: list[str]
    run_s: dict[str, Estimate]
    change_s: dict[str, Estimate] = {}
    barred: str = ""


class Prediction(Struct, frozen=True, kw_only=True, eq=False):
    """The expected run times of a recorded run; ``conditions`` are those that every part has.

    ``ran`` is the algorithm or choice of the traced run, as given by the user, or the library's own decisions
    if ``ran_is_assumed``; empty if unknown. ``expected`` is sorted by the last condition; with ``of_choices``
    it compares choices for all parts instead of the algorithms of one part.
    """

    recorded: RecordedRun
    parts: list[Part]
    conditions: list[str]
    expected: list[ExpectedRun]
    ran: str = ""
    ran_is_assumed: bool = False
    of_choices: bool = False
    notes: list[str] = []

    @property
    def main_condition(self) -> str:
        """The condition that is most similar to the arrivals of the program."""
        return self.conditions[-1]

    def change(self, one: ExpectedRun, condition: str = "") -> Estimate | None:
        """The change of the run time against ``ran``, as a share of the recorded run; None if unknown."""
        change_s = one.change_s.get(condition or self.main_condition)
        return change_s.times(1 / self.recorded.run_s) if change_s is not None else None

    @property
    def bias(self) -> dict[str, float]:
        """By condition: the relative error of the prediction for ``ran`` against the recorded time."""
        expected = next((one for one in self.expected if one.name == self.ran), None)
        times = expected.run_s if expected is not None else {}
        return {name: time.time_s / self.recorded.run_s - 1 for name, time in times.items()}

    def order(self, condition: str) -> list[ExpectedRun]:
        """The selectable entries that were measured under a condition, the fastest first."""
        there = [one for one in self.expected if not one.barred and condition in one.run_s]
        return sorted(there, key=lambda one: (one.run_s[condition].time_s, one.name))


def part_of(calls: TracedCalls, source: Measurements, scenario: str = "") -> tuple[Part, list[str]]:
    """The part of some calls, and notes. Raises :class:`BadInput` without matching measurements."""
    table, table_notes = configuration_for(calls, source)
    there, notes = conditions(table, calls, scenario)
    part = Part(calls=calls, table=table, conditions={one.name: one for one in there})
    return part, [*table_notes, *notes]


def common(parts: Sequence[Part]) -> list[str]:
    """The conditions that all parts have. Raises :class:`BadInput` without any."""
    names = [name for name in NAMES if all(name in part.conditions for part in parts)]
    if not names:
        cells = ", ".join(str(part.table.configuration) for part in parts)
        raise BadInput(f"{cells} were measured under different kinds of patterns; predict them separately")
    return names


def part_time(part: Part, algorithm: str, condition: str) -> Estimate | None:
    """The time in a part's calls; recorded if the library's own decision was not measured, else None."""
    each = delay(part.table, algorithm, part.conditions[condition])
    if each is None and algorithm == DEFAULT and DEFAULT not in part.table.algorithms:
        each = Estimate.exact(part.calls.last_delay_s)
    return each.times(part.calls.weight) if each is not None else None


def run_times(recorded: RecordedRun, parts: Sequence[Part], algorithms: Sequence[str]) -> dict[str, Estimate]:
    """The expected run time with one algorithm per part, under each common condition with measurements."""
    times = {}
    for name in common(parts):
        each = [part_time(part, one, name) for part, one in zip(parts, algorithms, strict=True)]
        measured = [one for one in each if one is not None]
        if len(measured) == len(each):
            times[name] = total(measured).plus(recorded.computing_s)
    return times


def changes(parts: Sequence[Part], algorithms: Sequence[str], ran: Sequence[str]) -> dict[str, Estimate]:
    """The expected difference of the run time between ``algorithms`` and ``ran``, one per part each.

    Parts with the same algorithm in both contribute neither a difference nor uncertainty.
    """
    gains = {}
    for name in common(parts):
        differences: list[Estimate | None] = []
        for part, one, other in zip(parts, algorithms, ran, strict=True):
            if one != other:
                new, old = part_time(part, one, name), part_time(part, other, name)
                differences.append(total([new, old.times(-1)]) if new and old else None)
        measured = [one for one in differences if one is not None]
        if len(measured) == len(differences):
            gains[name] = total(measured) if measured else Estimate.exact(0.0)
    return gains


def by_algorithm(
    recorded: RecordedRun, part: Part, *, ran: str = "", notes: Sequence[str] = ()
) -> Prediction:
    """A prediction with each algorithm of one part. Raises :class:`BadInput` for an unknown ``ran``."""
    table = part.table
    if ran and ran not in table.algorithms:
        raise BadInput(
            f"--ran {ran} was not measured for {table.configuration}; there are {', '.join(table.algorithms)}"
        )
    barred = table.exclusions | {DEFAULT: "the library's own decision"}
    algorithms = {name: [name] for name in table.algorithms}
    return _compared(recorded, [part], algorithms, barred=barred, ran=ran, notes=notes)


def by_choice(
    recorded: RecordedRun,
    parts: Sequence[Part],
    chosen: Mapping[str, Sequence[str]],
    *,
    ran: str = "",
    notes: Sequence[str] = (),
) -> Prediction:
    """A prediction with each of some choices, which map a name to the algorithm of each part.

    Raises :class:`BadInput` for a ``ran`` that is not one of them.
    """
    if ran and ran not in chosen:
        raise BadInput(f"--ran {ran} is not one of the compared choices; there are {', '.join(chosen)}")
    return _compared(recorded, parts, chosen, ran=ran, notes=notes, of_choices=True)


def choices(source: Measurements, parts: Sequence[Part], rules: Sequence[str]) -> dict[str, list[str]]:
    """The algorithm of each part by some rules of ``offbeat select``, and by the library's own decision.

    The rule ``scenario`` (``replay``) is the fastest algorithm under each part's own scenario. A part gets
    the algorithm that the tuning file of the choice sets for its calls, or the library's own decision.
    """
    algorithms = {DEFAULT: [DEFAULT] * len(parts)}
    for rule in rules:
        covering = _covering(source, chosen_for(source, parts, rule))
        algorithms[rule] = [covering(part) for part in parts]
    return algorithms


def chosen_for(source: Measurements, parts: Sequence[Part], rule: str) -> list[Choice]:
    """The choices of a rule; for a condition, in the configurations of these parts."""
    if rule not in RECORDED_KINDS:
        return choose(source.results, rule, bootstrap=0)
    patterns = {part.table.configuration: part.conditions[rule].pattern for part in parts}
    return [
        one
        for pattern in dict.fromkeys(patterns.values())
        for one in choose(source.results, f"scenario:{pattern}", bootstrap=0)
        if patterns.get(one.configuration) == pattern
    ]


def _covering(source: Measurements, chosen: Sequence[Choice]) -> Callable[[Part], str]:
    """A function from a part to the algorithm that a tuning file of some choices sets for its calls.

    Imported measurements with unknown settings have no tuning plan: then the part's own choice.
    """
    try:
        plan = plan_of(source.results, chosen)
    except RunFailed:  # every decision is left to the library
        return lambda part: DEFAULT
    except BadInput:
        algorithm_of = {one.configuration: one.algorithm for one in chosen}
        return lambda part: algorithm_of.get(part.table.configuration, DEFAULT)

    def algorithm(part: Part) -> str:
        collective, processes, _ = rule_key(part.table.configuration, plan.family)
        rule = plan.rule_for(collective, processes, part.calls.size_bytes)
        return rule.algorithm.name if rule is not None else DEFAULT

    return algorithm


def _compared(
    recorded: RecordedRun,
    parts: Sequence[Part],
    chosen: Mapping[str, Sequence[str]],
    *,
    barred: Mapping[str, str] | None = None,
    ran: str,
    of_choices: bool = False,
    notes: Sequence[str],
) -> Prediction:
    """A prediction with changes against ``ran``, by default the library's own decisions."""
    reasons = barred or {}
    expected = [
        ExpectedRun(
            name=name,
            algorithms=list(choices),
            run_s=run_times(recorded, parts, choices),
            barred=reasons.get(name, ""),
        )
        for name, choices in chosen.items()
    ]
    names = common(parts)
    last = names[-1]
    used = ran or next((DEFAULT for one in expected if one.name == DEFAULT and last in one.run_s), "")
    base = next((one for one in expected if one.name == used), None)
    if base is not None:
        expected = [
            structs.replace(one, change_s=changes(parts, one.algorithms, base.algorithms)) for one in expected
        ]

    def place(one: ExpectedRun) -> tuple[float, str]:
        return (one.run_s[last].time_s if last in one.run_s else float("inf"), one.name)

    return Prediction(
        recorded=recorded,
        parts=list(parts),
        conditions=names,
        expected=sorted(expected, key=place),
        ran=used,
        ran_is_assumed=not ran and bool(used),
        of_choices=of_choices,
        notes=list(dict.fromkeys([*recorded.notes, *notes])),
    )
