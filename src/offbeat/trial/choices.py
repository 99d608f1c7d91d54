"""What is tried: the library's own decisions, and what selection rules choose, as tuning files."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from offbeat.errors import BadInput, RunFailed
from offbeat.mpi.installation import Installation
from offbeat.predict.recorded import Calls
from offbeat.results.read import Results
from offbeat.select.choose import Choice, choose
from offbeat.study.algorithm import DEFAULT
from offbeat.study.cases import NO_DELAY
from offbeat.tuning.files import TuningFiles, write_manifest
from offbeat.tuning.plan import Rule, TuningPlan
from offbeat.tuning.write import plan_for, write
from offbeat.units import format_size


class Planned(Struct, frozen=True, kw_only=True):
    """One choice: its plan, none where all is left to the library.

    ``same_as`` names an earlier choice that says the same; then it is not run. ``notes`` are sentences.
    """

    name: str
    plan: TuningPlan | None = None
    same_as: str = ""
    notes: list[str] = []

    @property
    def rules(self) -> list[Rule]:
        """What it changes."""
        return [rule for own in self.plan.rules.values() for rule in own] if self.plan else []

    @property
    def words(self) -> list[str]:
        """Each rule in words: ``alltoall of 32 KiB on p=4: pairwise``."""
        return [
            f"{rule.collective} of {format_size(rule.bytes)} on p={rule.p}: {rule.algorithm.name}"
            for rule in self.rules
        ]


class Tried(Struct, frozen=True, kw_only=True):
    """A choice that is run: its tuning files, none for the library's own decisions."""

    name: str
    tuning: TuningFiles | None = None
    notes: list[str] = []

    def algorithm(self, calls: Calls, launched: int) -> str:
        """What its files make of some calls of a program that was ``launched`` with so many processes."""
        if self.tuning is None:
            return DEFAULT
        found = self.tuning.rule_for(
            calls.collective, calls.processes, calls.size_bytes, launched, in_place=calls.in_place
        )
        return found.algorithm.name if found is not None else DEFAULT

    def variables(self, p: int | None) -> Mapping[str, str]:
        """The variables that make a launch of p processes use it.

        Raises :class:`BadInput` where they depend on p and nobody knows it.
        """
        if self.tuning is None:
            return {}
        if self.tuning.by_processes and p is None:
            raise BadInput(
                f"the variables of {self.name} depend on the number of processes, which the command does not"
                " tell; start it with -n"
            )
        return self.tuning.environment_for(p or 0)


def planned(
    results: Results,
    installation: Installation,
    rule: str = "average",
    *,
    include_scenarios: bool = False,
    predicted: Mapping[str, Sequence[Choice]] | None = None,
) -> list[Planned]:
    """The library's own decisions, what was ``predicted`` to be the fastest, the no-delay choice, and that of
    ``rule``.

    ``predicted`` maps the condition of a prediction to what is chosen under it. Raises :class:`BadInput` for
    results from which nothing can be chosen for this installation.
    """
    made = [Planned(name=DEFAULT)]
    chosen = dict(predicted or {})
    for name in dict.fromkeys((NO_DELAY, rule)):
        if name not in chosen:
            chosen[name] = choose(
                results, name, bootstrap=0, include_scenarios=include_scenarios and name != NO_DELAY
            )
    for name, choices in chosen.items():
        own = _plan(results, installation, name, choices)
        same = next((one.name for one in made if not one.same_as and one.rules == own.rules), "")
        made.append(msgspec.structs.replace(own, same_as=same))
    return made


def written(choices: Sequence[Planned], installation: Installation, folder: Path) -> Iterator[Tried]:
    """Every choice that is run, with its tuning files in ``folder``."""
    for one in choices:
        if one.same_as:
            continue
        if one.plan is None:
            yield Tried(name=one.name, notes=one.notes)
            continue
        place = folder / file_name(one.name)
        files = write(one.plan, installation, place)
        write_manifest(files, one.name, installation, place)
        yield Tried(name=one.name, tuning=files, notes=files.notes)


def check_processes(choices: Sequence[Planned], p: int | None) -> None:
    """Raise :class:`BadInput` where no choice says anything of p processes, as far as p is known."""
    rules = [rule for one in choices for rule in one.rules]
    if p is None or not rules or any(rule.p_low <= p for rule in rules):
        return
    there = ", ".join(str(measured) for measured in sorted({rule.p for rule in rules}))
    raise BadInput(
        f"the command starts {p} processes, and what the results choose is for p = {there}: no choice would"
        f" change anything; start as many, or give results of p = {p}"
    )


def file_name(choice: str) -> str:
    """A choice's name in paths: ``scenario-mine`` for ``scenario:mine``."""
    return re.sub(r"[^\w.-]+", "-", choice)


def _plan(results: Results, installation: Installation, rule: str, chosen: Sequence[Choice]) -> Planned:
    """The choice of one rule; without a plan where all of it is left to the library."""
    if not chosen:
        raise BadInput(
            f"nothing can be selected by {rule} from {results.directory}; 'offbeat select {results.directory}"
            f" --rule {rule}' says why"
        )
    try:
        plan, _ = plan_for(results, chosen, str(installation.mpirun))
    except RunFailed as reason:  # there is nothing to write: the library's own decisions are the best
        return Planned(name=rule, notes=[str(reason)])
    return Planned(name=rule, plan=plan, notes=plan.notes)
