"""The expected run time of a traced program with each algorithm, or with each choice of algorithms.

Expected run time = computing time of the trace + Σ over the calls of d̂ as measured: the paper's figure 9,
with any of :mod:`offbeat.predict.conditions` in place of its two. A gain is the difference between two such
predictions, that of an algorithm and that of what the traced run used; the difference between the latter and
the recorded time is the prediction's bias, and no gain. The prediction takes for granted that ranks arrive as
they did in the trace whatever algorithm runs; in truth, who leaves a call late arrives late at the next.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct, structs

from offbeat.errors import BadInput, RunFailed
from offbeat.predict.cells import Found, Source, cell_for
from offbeat.predict.conditions import NAMES, Condition, Estimate, conditions, delay, total
from offbeat.predict.recorded import Calls, Recorded
from offbeat.select.choose import Choice, choose
from offbeat.select.table import DelayTable
from offbeat.study.algorithm import DEFAULT
from offbeat.tuning.write import plan_of


class Part(Struct, frozen=True, kw_only=True, eq=False):
    """Calls, the table of the cell that stands for them, and its conditions by name."""

    calls: Calls
    table: DelayTable
    conditions: dict[str, Condition]


class Expected(Struct, frozen=True, kw_only=True):
    """What one algorithm, or one choice of them, would give.

    ``algorithms`` has one name a part. ``run_s`` maps conditions to the expected run time, without those that
    were not measured. ``change_s`` maps them to how much longer it is than the prediction for what the traced
    run used (negative: a gain). ``barred`` says why it is never selected, and is empty for what can be.
    """

    name: str
    algorithms: list[str]
    run_s: dict[str, Estimate]
    change_s: dict[str, Estimate] = {}
    barred: str = ""


class Prediction(Struct, frozen=True, kw_only=True, eq=False):
    """The expected run times of a recorded run; ``conditions`` are those that every part has.

    ``ran`` is what the trace ran with: as somebody said, or the library's own decisions if
    ``ran_is_assumed``; empty where nobody said and these were not measured, and then no change is known.
    ``expected`` is sorted by the last condition; ``of_choices`` says that it compares choices for all parts,
    and not the algorithms of one.
    """

    recorded: Recorded
    parts: list[Part]
    conditions: list[str]
    expected: list[Expected]
    ran: str = ""
    ran_is_assumed: bool = False
    of_choices: bool = False
    notes: list[str] = []

    @property
    def telling(self) -> str:
        """The condition that knows most of how the ranks arrive."""
        return self.conditions[-1]

    def change(self, one: Expected, condition: str = "") -> Estimate | None:
        """The change of the run time against what ran, as a share of the recorded run; None if not known."""
        change_s = one.change_s.get(condition or self.telling)
        return change_s.times(1 / self.recorded.run_s) if change_s is not None else None

    @property
    def bias(self) -> dict[str, float]:
        """By condition: how far the prediction for what ran is off the recorded time, as a share of it."""
        found = next((one for one in self.expected if one.name == self.ran), None)
        times = found.run_s if found is not None else {}
        return {name: time.time_s / self.recorded.run_s - 1 for name, time in times.items()}

    def order(self, condition: str) -> list[Expected]:
        """What can be selected and was measured under a condition, the fastest first."""
        there = [one for one in self.expected if not one.barred and condition in one.run_s]
        return sorted(there, key=lambda one: (one.run_s[condition].time_s, one.name))


def part_of(calls: Calls, source: Source, scenario: str = "") -> tuple[Part, list[str]]:
    """The part of some calls, and what must be said of it. Raises :class:`BadInput` as its parts do."""
    found: Found = cell_for(calls, source)
    there, notes = conditions(found.table, calls, scenario)
    part = Part(calls=calls, table=found.table, conditions={one.name: one for one in there})
    return part, [*found.notes, *notes]


def common(parts: Sequence[Part]) -> list[str]:
    """The conditions that all parts have. Raises :class:`BadInput` where there is none."""
    names = [name for name in NAMES if all(name in part.conditions for part in parts)]
    if not names:
        cells = ", ".join(str(part.table.configuration) for part in parts)
        raise BadInput(f"{cells} were measured under different kinds of patterns; predict them one by one")
    return names


def part_time(part: Part, algorithm: str, condition: str) -> Estimate | None:
    """The time in the calls of a part with an algorithm; None where it was not measured.

    Where the library's own decision was not measured, its time is the recorded one.
    """
    each = delay(part.table, algorithm, part.conditions[condition])
    if each is None and algorithm == DEFAULT and DEFAULT not in part.table.algorithms:
        recorded_s = part.calls.last_delay_s
        each = Estimate(time_s=recorded_s, low_s=recorded_s, high_s=recorded_s)
    return each.times(part.calls.number * part.calls.share) if each is not None else None


def run_times(recorded: Recorded, parts: Sequence[Part], algorithms: Sequence[str]) -> dict[str, Estimate]:
    """The expected run time under each common condition, with one algorithm a part, where it is known."""
    times = {}
    for name in common(parts):
        each = [part_time(part, one, name) for part, one in zip(parts, algorithms, strict=True)]
        measured = [one for one in each if one is not None]
        if len(measured) == len(each):
            times[name] = total(measured).after(recorded.computing_s)
    return times


def changes(parts: Sequence[Part], algorithms: Sequence[str], ran: Sequence[str]) -> dict[str, Estimate]:
    """How much longer the run is expected to take than with what ``ran``, with one algorithm a part each.

    Parts in which both are the same change nothing, however uncertain their times are.
    """
    found = {}
    for name in common(parts):
        differences: list[Estimate | None] = []
        for part, one, other in zip(parts, algorithms, ran, strict=True):
            if one != other:
                new, old = part_time(part, one, name), part_time(part, other, name)
                differences.append(total([new, old.times(-1)]) if new and old else None)
        known = [one for one in differences if one is not None]
        if len(known) == len(differences):
            found[name] = total(known) if known else Estimate(time_s=0.0, low_s=0.0, high_s=0.0)
    return found


def by_algorithm(recorded: Recorded, part: Part, *, ran: str = "", notes: Sequence[str] = ()) -> Prediction:
    """One part: a bar for each of its algorithms. Raises :class:`BadInput` for a ``ran`` that is none."""
    table = part.table
    if ran and ran not in table.algorithms:
        raise BadInput(
            f"--ran {ran} was not measured for {table.configuration}; there are {', '.join(table.algorithms)}"
        )
    expected = [
        Expected(
            name=name,
            algorithms=[name],
            run_s=run_times(recorded, [part], [name]),
            barred="the library's own decision" if name == DEFAULT else table.excluded.get(name, ""),
        )
        for name in table.algorithms
    ]
    return _compared(recorded, [part], expected, ran=ran, notes=notes)


def by_choice(
    recorded: Recorded,
    parts: Sequence[Part],
    chosen: Mapping[str, Sequence[str]],
    *,
    ran: str = "",
    notes: Sequence[str] = (),
) -> Prediction:
    """Several parts together: a bar for each of some choices, by name: the algorithm of each part.

    Raises :class:`BadInput` for a ``ran`` that is none of them.
    """
    if ran and ran not in chosen:
        raise BadInput(f"--ran {ran} is no choice that is compared; there are {', '.join(chosen)}")
    expected = [
        Expected(name=name, algorithms=list(own), run_s=run_times(recorded, parts, own))
        for name, own in chosen.items()
    ]
    return _compared(recorded, parts, expected, ran=ran, notes=notes, of_choices=True)


def choices(source: Source, parts: Sequence[Part], rules: Sequence[str]) -> dict[str, list[str]]:
    """The algorithm of each part that some rules of ``offbeat select`` choose, and the library's own
    decision.

    The condition ``scenario`` (``replay``) stands for the fastest in each part's own. A part is credited with
    what a tuning file of the choice makes of it: where the file leaves its calls to the library, so does
    this.
    """
    made = {DEFAULT: [DEFAULT] * len(parts)}
    for rule in rules:
        covering = _covering(source, chosen_for(source, parts, rule))
        made[rule] = [covering(part) for part in parts]
    return made


def chosen_for(source: Source, parts: Sequence[Part], rule: str) -> list[Choice]:
    """What a rule, or a condition of some parts, chooses: for a condition, in the cells of these parts."""
    if rule not in ("scenario", "replay"):
        return choose(source.results, rule, bootstrap=0)
    patterns = {part.table.configuration: part.conditions[rule].pattern for part in parts}
    return [
        one
        for pattern in dict.fromkeys(patterns.values())
        for one in choose(source.results, f"scenario:{pattern}", bootstrap=0)
        if patterns.get(one.configuration) == pattern
    ]


def _covering(source: Source, chosen: Sequence[Choice]) -> Callable[[Part], str]:
    """What a tuning file of some choices uses for the calls of a part.

    Without a plan (measurements made elsewhere, whose settings nobody knows), what is chosen in the cell that
    answers for the calls.
    """
    try:
        rules = plan_of(source.results, chosen).rules
    except RunFailed:  # all is left to the library
        return lambda part: DEFAULT
    except BadInput:
        algorithm_of = {one.configuration: one.algorithm for one in chosen}
        return lambda part: algorithm_of.get(part.table.configuration, DEFAULT)

    def algorithm(part: Part) -> str:
        calls = part.calls
        for rule in rules.get(calls.collective, []):
            if (
                rule.p_low <= calls.processes <= rule.p_high
                and rule.bytes_low <= calls.size_bytes <= rule.bytes_high
            ):
                return rule.algorithm.name
        return DEFAULT

    return algorithm


def _compared(
    recorded: Recorded,
    parts: Sequence[Part],
    expected: Sequence[Expected],
    *,
    ran: str = "",
    of_choices: bool = False,
    notes: Sequence[str] = (),
) -> Prediction:
    """A prediction whose changes are against what ran: the library's own decisions, if nobody says."""
    names = common(parts)
    last = names[-1]
    default = next((one for one in expected if one.name == DEFAULT and last in one.run_s), None)
    used = ran or (DEFAULT if default is not None else "")
    base = next((one for one in expected if one.name == used), None)
    if base is not None:
        expected = [
            structs.replace(one, change_s=changes(parts, one.algorithms, base.algorithms)) for one in expected
        ]

    def place(one: Expected) -> tuple[float, str]:
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
