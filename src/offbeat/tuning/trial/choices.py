"""The choices of a trial: the library's own decisions, and those of selection rules as tuning files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec import field

from offbeat.base.errors import BadInput, RunFailed
from offbeat.base.units import format_size
from offbeat.libraries.installations.installation import Installation
from offbeat.measurement.results.read import Results
from offbeat.model.study.algorithm import DEFAULT
from offbeat.model.study.case_expansion import NO_DELAY
from offbeat.selection.choices.choose import Choice, choose
from offbeat.selection.tuning_files.export import plan_for, write
from offbeat.selection.tuning_files.manifest import TuningFiles, write_manifest
from offbeat.selection.tuning_files.tuning_plan import Rule, TuningPlan
from offbeat.tuning.prediction.recorded_calls import TracedCalls
from offbeat.tuning.trial.variant import Variant, file_name


class TrialChoice(Variant, frozen=True, kw_only=True):
    """A choice and its tuning plan, None if all decisions are left to the library.

    ``same_as`` names an earlier choice with the same rules, which is run in its place. ``tuning`` are the
    files of the plan once they are written.
    """

    plan: TuningPlan | None = None
    same_as: str = ""
    notes: list[str] = field(default_factory=list)
    tuning: TuningFiles | None = None

    @property
    def rules(self) -> list[Rule]:
        """The tuning rules of the choice; none for the library's own decisions."""
        return (
            [rule for rules_of_one in self.plan.rules.values() for rule in rules_of_one] if self.plan else []
        )

    @property
    def rule_texts(self) -> list[str]:
        """Each rule as text: ``alltoall of 32 KiB on p=4: pairwise``."""
        return [
            f"{rule.collective} of {format_size(rule.bytes)} on p={rule.p}: {rule.name}"
            for rule in self.rules
        ]

    def algorithm(self, calls: TracedCalls, launched: int) -> str:
        """The algorithm that its files set for some calls of a program with ``launched`` processes."""
        if self.tuning is None:
            return DEFAULT
        rule = self.tuning.rule_for(
            calls.collective, calls.processes, calls.size_bytes, launched, in_place=calls.in_place
        )
        return rule.algorithm.name if rule is not None else DEFAULT

    def variables(self, p: int | None) -> Mapping[str, str]:
        """Variables that enable the tuning files for p processes. Raises :class:`BadInput` if p is needed."""
        if self.tuning is None:
            return {}
        if self.tuning.by_processes and p is None:
            raise BadInput(
                f"the variables of {self.name} depend on the number of processes, which is unknown for this"
                " command; start it with -n"
            )
        return self.tuning.environment_for(p or 0)


def planned_choices(
    results: Results,
    installation: Installation,
    rule: str = "average",
    *,
    include_scenarios: bool = False,
    predicted: Mapping[str, Sequence[Choice]] | None = None,
) -> list[TrialChoice]:
    """The library's own decisions, the predicted fastest choices by their condition, the no-delay choice, and
    that of ``rule``. Raises :class:`BadInput` for results without selectable algorithms.
    """
    all_choices = [TrialChoice(name=DEFAULT)]
    chosen = dict(predicted or {})
    for name in dict.fromkeys((NO_DELAY, rule)):
        if name not in chosen:
            chosen[name] = choose(
                results, name, bootstrap=0, include_scenarios=include_scenarios and name != NO_DELAY
            )
    for name, choices in chosen.items():
        planned_choice = planned(results, installation, name, choices)
        equal_choice = next(
            (one.name for one in all_choices if not one.same_as and one.rules == planned_choice.rules), ""
        )
        all_choices.append(msgspec.structs.replace(planned_choice, same_as=equal_choice))
    return all_choices


def write_tuning_files(
    choices: Sequence[TrialChoice], installation: Installation, folder: Path
) -> Iterator[TrialChoice]:
    """Write the tuning files of every choice that is run to ``folder``."""
    for one in choices:
        if one.same_as:
            continue
        if one.plan is None:
            yield one
            continue
        place = folder / file_name(one.name)
        files = write(one.plan, installation, place)
        write_manifest(files, one.name, installation, place)
        yield msgspec.structs.replace(one, tuning=files)


def check_processes(choices: Sequence[TrialChoice], p: int | None) -> None:
    """Raise :class:`BadInput` if p is known and no choice has rules for p processes."""
    rules = [rule for one in choices for rule in one.rules]
    if p is None or not rules or any(rule.p_low <= p for rule in rules):
        return
    measured = ", ".join(str(one) for one in sorted({rule.p for rule in rules}))
    raise BadInput(
        f"the command starts {p} processes, and the rules of all choices are for p = {measured}: none would"
        f" have an effect; start as many processes, or give results of p = {p}"
    )


def planned(
    results: Results,
    installation: Installation,
    rule: str,
    chosen: Sequence[Choice],
    *,
    keep_slower: bool = False,
) -> TrialChoice:
    """The choice of one rule; without a plan if all decisions are left to the library. Algorithms that are
    slower than the library's default in single calls are left out unless ``keep_slower``.

    Raises :class:`BadInput` if nothing was chosen.
    """
    if not chosen:
        raise BadInput(
            f"no algorithm can be selected by {rule} from {results.directory}; see 'offbeat select"
            f" {results.directory} --rule {rule}'"
        )
    try:
        plan, _ = plan_for(results, chosen, str(installation.mpirun), keep_slower=keep_slower)
    except RunFailed as reason:  # the library's own decisions are the best: there are no rules
        return TrialChoice(name=rule, notes=[str(reason)])
    return TrialChoice(name=rule, plan=plan, notes=plan.notes)
