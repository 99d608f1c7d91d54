"""The expected run time of a traced program with each algorithm, or with each choice of algorithms.

Expected run time = computing time of the trace + Σ over the calls of d̂ as measured: the paper's figure 9,
with any of :mod:`offbeat.predict.conditions` in place of its two. It takes for granted that ranks arrive as
they did in the trace whatever algorithm runs; in truth, who leaves a call late arrives late at the next.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from offbeat.errors import BadInput
from offbeat.predict.cells import Found, Source, cell_for
from offbeat.predict.conditions import NAMES, Condition, Estimate, conditions, delay, total
from offbeat.predict.recorded import Calls, Recorded
from offbeat.select.choose import choose
from offbeat.select.table import Cell, DelayTable
from offbeat.study.algorithm import DEFAULT


class Part(Struct, frozen=True, kw_only=True, eq=False):
    """Calls, the table of the cell that stands for them, and its conditions by name."""

    calls: Calls
    table: DelayTable
    conditions: dict[str, Condition]


class Expected(Struct, frozen=True, kw_only=True):
    """What one algorithm, or one choice of them, would give.

    ``algorithms`` has one name a part. ``run_s`` maps conditions to the expected run time, without those that
    were not measured. ``barred`` says why it is never selected, and is empty for what can be.
    """

    name: str
    algorithms: list[str]
    run_s: dict[str, Estimate]
    barred: str = ""


class Prediction(Struct, frozen=True, kw_only=True, eq=False):
    """The expected run times of a recorded run; ``conditions`` are those that every part has.

    ``ran`` is what the trace ran with, empty where nobody said. ``expected`` is sorted by the last condition;
    ``of_choices`` says that it compares choices for all parts, and not the algorithms of one.
    """

    recorded: Recorded
    parts: list[Part]
    conditions: list[str]
    expected: list[Expected]
    ran: str = ""
    of_choices: bool = False
    notes: list[str] = []

    @property
    def telling(self) -> str:
        """The condition that knows most of how the ranks arrive."""
        return self.conditions[-1]

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
        cells = ", ".join(str(part.table.cell) for part in parts)
        raise BadInput(f"{cells} were measured under different kinds of patterns; predict them one by one")
    return names


def run_times(recorded: Recorded, parts: Sequence[Part], algorithms: Sequence[str]) -> dict[str, Estimate]:
    """The expected run time under each common condition, with one algorithm a part, where it is known."""
    times = {}
    for name in common(parts):
        each = [
            delay(part.table, algorithm, part.conditions[name])
            for part, algorithm in zip(parts, algorithms, strict=True)
        ]
        measured = [one for one in each if one is not None]
        if len(measured) == len(each):
            scaled = [
                one.times(part.calls.number * part.calls.share)
                for one, part in zip(measured, parts, strict=True)
            ]
            times[name] = total(scaled).after(recorded.computing_s)
    return times


def by_algorithm(recorded: Recorded, part: Part, *, ran: str = "", notes: Sequence[str] = ()) -> Prediction:
    """One part: a bar for each of its algorithms. Raises :class:`BadInput` for a ``ran`` that is none."""
    table = part.table
    if ran and ran not in table.algorithms:
        raise BadInput(
            f"--ran {ran} was not measured for {table.cell}; there are {', '.join(table.algorithms)}"
        )
    expected = [
        Expected(
            name=name,
            algorithms=[name],
            run_s=run_times(recorded, [part], [name]),
            barred="the library's own decision" if name == DEFAULT else table.barred.get(name, ""),
        )
        for name in table.algorithms
    ]
    return _sorted(recorded, [part], expected, ran=ran, notes=notes)


def by_choice(
    recorded: Recorded,
    parts: Sequence[Part],
    chosen: Mapping[str, Mapping[Cell, str]],
    *,
    notes: Sequence[str] = (),
) -> Prediction:
    """Several parts together: a bar for each of some choices, by name: cell → algorithm.

    A choice that says nothing of a cell leaves it to the library.
    """
    expected = []
    for name, algorithm_of in chosen.items():
        algorithms = [algorithm_of.get(part.table.cell, DEFAULT) for part in parts]
        expected.append(
            Expected(name=name, algorithms=algorithms, run_s=run_times(recorded, parts, algorithms))
        )
    return _sorted(recorded, parts, expected, notes=notes, of_choices=True)


def choices(source: Source, parts: Sequence[Part], rules: Sequence[str]) -> dict[str, dict[Cell, str]]:
    """What some rules of ``offbeat select`` choose for the cells of parts, and the library's own decision.

    The condition ``scenario`` (``replay``) stands for the fastest in each part's own.
    """
    made: dict[str, dict[Cell, str]] = {DEFAULT: {}}
    for rule in rules:
        if rule in ("scenario", "replay"):
            made[rule] = {part.table.cell: _fastest(part, rule) for part in parts}
        else:
            made[rule] = {one.cell: one.algorithm for one in choose(source.results, rule, bootstrap=0)}
    return made


def _fastest(part: Part, condition: str) -> str:
    table = part.table
    times = {
        name: found.time_s
        for name, candidate in zip(table.algorithms, table.candidates, strict=True)
        if candidate and (found := delay(table, name, part.conditions[condition])) is not None
    }
    return min(times, key=lambda name: (times[name], name)) if times else DEFAULT


def _sorted(
    recorded: Recorded,
    parts: Sequence[Part],
    expected: Sequence[Expected],
    *,
    ran: str = "",
    of_choices: bool = False,
    notes: Sequence[str] = (),
) -> Prediction:
    names = common(parts)
    last = names[-1]

    def place(one: Expected) -> tuple[float, str]:
        return (one.run_s[last].time_s if last in one.run_s else float("inf"), one.name)

    return Prediction(
        recorded=recorded,
        parts=list(parts),
        conditions=names,
        expected=sorted(expected, key=place),
        ran=ran,
        of_choices=of_choices,
        notes=list(dict.fromkeys([*recorded.notes, *notes])),
    )
