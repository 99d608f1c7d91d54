"""Algorithms that are compared in the program itself.

Ranks leave a collective at different times, and successive calls overlap: an algorithm from which most ranks
are released early, or in which each is busy for a short time, can be faster in a program than one with a
shorter last delay. No measurement of single calls shows this. So the program runs with each algorithm of its
heaviest calls, and the fastest ones join the trial.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf

from msgspec import structs

from offbeat.base.errors import RunFailed
from offbeat.base.units import amount, format_time
from offbeat.measurement.results.read import Results
from offbeat.measurement.results.statistics import geometric_mean
from offbeat.model.study.algorithm import DEFAULT
from offbeat.selection.choices.choose import Choice
from offbeat.tuning.pipeline import directory
from offbeat.tuning.pipeline.context import Tuning
from offbeat.tuning.pipeline.directory import Stage
from offbeat.tuning.pipeline.program_choices import TUNED, ExpectedGain, compared, with_algorithms
from offbeat.tuning.pipeline.traced_calls import LEAST_GAIN
from offbeat.tuning.pipeline.trial_runs import FEWEST_ROUNDS, digest_of, run_in_turn
from offbeat.tuning.trial.choices import TrialChoice, planned, write_tuning_files

IN_PROGRAM = "in_program"
"""The name of the choice with the algorithms that were the fastest in the program."""

LEAST_IN_PROGRAM = 0.02
"""The least share of the run time that another algorithm may save of calls that are compared."""

MOST_ALGORITHMS = 16
"""The most algorithms of one kind of calls that are compared."""

PASSES = 2
"""How often the calls are compared at most: an algorithm can be faster with others of the other calls."""

MOST_CHOICES = 4
"""Of the trial: the library's own decisions, tuned, heaviest, and the fastest in the program."""

MOST_FINALISTS, FINAL_ROUNDS = 3, 2
"""After one run of each algorithm, the fastest ones run again. Only these runs decide, because the fastest of
many single runs are partly those that were lucky."""

RunTimes = Callable[[ExpectedGain, Sequence[str], Sequence[list[ExpectedGain]]], Sequence[float]]
"""The run times in seconds with several settings: of some calls, the algorithms of each setting, and the
settings as the gains that each uses. Infinite where a setting cannot be run."""


def compared_in_program(gains: Sequence[ExpectedGain]) -> list[ExpectedGain]:
    """The calls whose algorithms are compared in the program, the largest share of the run time first."""
    heavy = [one for one in gains if one.is_settable and one.share_in_program >= LEAST_IN_PROGRAM]
    return sorted(heavy, key=lambda one: -one.share_in_program)


def fastest_in_program(gains: Sequence[ExpectedGain], run_times: RunTimes) -> list[ExpectedGain]:
    """The gains of the setting that is the fastest in the program; those of ``tuned`` if none is faster.

    The calls are treated one after the other, each with the fastest algorithms of the others so far, and a
    second time if the first changed anything. Another algorithm is used if it saves
    :data:`offbeat.tuning.pipeline.traced_calls.LEAST_GAIN` of the run time.
    """
    used, changed = compared(gains).get(TUNED, []), ""
    for calls in compared_in_program(gains) * PASSES:
        if calls.name == changed:  # nothing has changed since these calls were compared
            break
        better = _fastest(calls, used, run_times)
        if better is not None or not changed:
            changed = calls.name
        used = better if better is not None else used
    return used


def _fastest(
    calls: ExpectedGain, used: Sequence[ExpectedGain], run_times: RunTimes
) -> list[ExpectedGain] | None:
    """The setting with the fastest algorithm of some calls; None if that of ``used`` is."""
    now = next((one.algorithm for one in used if one.name == calls.name), DEFAULT)
    names = list(dict.fromkeys([now, DEFAULT, *calls.usable]))[:MOST_ALGORITHMS]
    settings = [_with(used, calls, name) for name in names]
    first_s, *others_s = run_times(calls, names, settings)
    fastest_s = min(others_s, default=first_s)
    if fastest_s >= first_s * (1 - LEAST_GAIN):
        return None
    return settings[1 + list(others_s).index(fastest_s)]


def _with(used: Sequence[ExpectedGain], calls: ExpectedGain, algorithm: str) -> list[ExpectedGain]:
    """The gains with another algorithm for some calls, whose change is not known."""
    others = [one for one in used if one.name != calls.name]
    if algorithm == DEFAULT:
        return others
    return [*others, structs.replace(calls, algorithm=algorithm, change=None)]


class InProgram:
    """The comparison in runs of a program, which is resumed after a kill."""

    def __init__(self, tuning: Tuning, results: Results, chosen: Sequence[Choice]) -> None:
        self._tuning, self._results, self._chosen = tuning, results, chosen
        self._is_compared = False

    def fastest(self, gains: Sequence[ExpectedGain], choices: Sequence[TrialChoice]) -> list[TrialChoice]:
        """The choice that was the fastest in the program; empty if it is one of ``choices``."""
        if not compared_in_program(gains):
            self._tuning.listener.say(
                "no algorithms are compared in the program: no kind of calls of which a tuning file can set"
                f" the algorithm takes {LEAST_IN_PROGRAM:.0%} of the run time"
            )
            return []
        used = fastest_in_program(gains, self._run_times)
        if self._is_compared:
            algorithms = {one.name: one.algorithm for one in used}
            self._tuning.listener.say(
                "the fastest in the program: "
                + "; ".join(
                    f"{one.name}: {algorithms.get(one.name, DEFAULT)}" for one in compared_in_program(gains)
                )
            )
        found = self._planned(IN_PROGRAM, used)
        return [found] if found.rules and all(found.rules != one.rules for one in choices) else []

    def _planned(self, name: str, used: Sequence[ExpectedGain]) -> TrialChoice:
        """The choice, also of algorithms that are slower than the default in single calls: they can be faster
        in the program."""
        chosen = with_algorithms(self._chosen, used)
        return planned(self._results, self._tuning.installation, name, chosen, keep_slower=True)

    def _run_times(
        self, calls: ExpectedGain, names: Sequence[str], settings: Sequence[list[ExpectedGain]]
    ) -> list[float]:
        """The mean run times; infinite for settings that are no finalists, and for all if a run failed."""
        tuning = self._tuning
        kept = self._within_budget(calls, names)
        setting = dict(zip(names, settings, strict=True))
        by_name = {name: self._planned(name, setting[name]) for name in kept}
        others = [name for name in kept[1:] if by_name[name].rules != by_name[kept[0]].rules]
        if not others:
            reason = "the budget leaves time for the trial only"
            if len(kept) == len(names):
                reason = "no tuning file can hold another algorithm for them"
            tuning.listener.say(f"the algorithms of {calls.name} are not compared in the program: {reason}")
            return [inf] * len(names)
        self._is_compared = True
        tuning.listener.begin(
            "compare", f"{calls.name}: {amount(len(others) + 1, 'algorithm')} in the program itself"
        )
        try:
            first_s = self._means_s([by_name[name] for name in (kept[0], *others)], 1)
            finalists = sorted(others, key=lambda name: first_s[name])[:MOST_FINALISTS]
            means_s = self._means_s([by_name[name] for name in (kept[0], *finalists)], FINAL_ROUNDS)
        except RunFailed as reason:
            tuning.listener.say(f"the comparison ends here: {reason}")
            return [inf] * len(names)
        fastest = min(means_s, key=lambda name: means_s[name])
        used = "" if fastest == kept[0] else f"; {kept[0]} takes {format_time(means_s[kept[0]], 4)}"
        tuning.listener.note(f"the fastest is {fastest}: {format_time(means_s[fastest], 4)}{used}")
        return [means_s.get(name, inf) for name in names]

    def _means_s(self, choices: Sequence[TrialChoice], rounds: int) -> dict[str, float]:
        tuning = self._tuning
        folder = tuning.path(directory.TUNING) / directory.COMPARE
        written = list(write_tuning_files(choices, tuning.installation, folder))
        times_s = run_in_turn(tuning, written, rounds, directory.COMPARE, "compared")
        return {name: geometric_mean(each) for name, each in times_s.items()}

    def _within_budget(self, calls: ExpectedGain, names: Sequence[str]) -> list[str]:
        """The first algorithms for which the time before the trial suffices; after a kill, as recorded."""
        tuning = self._tuning
        key = digest_of([calls.name, *names])
        for stage in tuning.opened.records:
            if (stage.name, stage.choice) == ("compare", key):
                return stage.rules
        trial_s = FEWEST_ROUNDS * MOST_CHOICES * tuning.run_s
        runs = int((tuning.left_s() - trial_s) / max(tuning.run_s, 1e-9))
        runs -= FINAL_ROUNDS * (1 + MOST_FINALISTS)
        kept = list(names[: max(runs, 1)])
        tuning.opened.append(Stage(name="compare", choice=key, wall_s=0.0, rules=kept))
        return kept
