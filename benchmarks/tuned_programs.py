"""How often 'offbeat tune' finds the fastest setting of a program, simulated on 32 nodes of 32 ranks.

    python benchmarks/tuned_programs.py [PROGRAMS [SEED [FILE]]] [--side 32] [--workers 1]

Random programs of one to four collectives with work in between, on the platform 'paper' with the algorithms
of MPICH. Each is simulated with the default algorithms, its trace is written, and the functions of 'offbeat
tune' select its calls, measure them on the engine 'sim', choose an algorithm for each, and compare those of
the heaviest calls in the program itself. As at the end of 'offbeat tune', the program is tried with these
choices and without them, and the fastest is recommended.

Then the program is simulated with many settings to find the fastest. A setting has one algorithm, or the
default, for each collective, number of processes and size, as a tuning file can state it. All settings are
tried where they are few. Otherwise one algorithm after the other is changed as long as that helps (coordinate
descent), from the setting that was chosen and from the default.

The default are the thresholds that were published for MPICH (simulated_library.py).

Prints a line for each program and a summary. The targets: in 95% of the programs, the recommended setting is
the best one or within 2% of it, and none is slower than the default by more than 1%. The summary has the same
numbers of what was chosen from measurements of single calls. The file FILE keeps each result; the same
command continues after an interruption.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from functools import partial
from itertools import product
from math import inf, prod
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from msgspec import Struct, structs
from random_programs import platform_of, random_program
from recorded_programs import OfProgram, arguments, generator_of, results
from rich.console import Console
from simulated_library import (
    FAMILY,
    MOST_MESSAGES,
    Library,
    key_of,
    one_worker,
    published_default,
    with_algorithm,
)

from offbeat.base.errors import BadInput, RunFailed
from offbeat.base.units import format_size, format_time
from offbeat.libraries.launch.user_command import user_command
from offbeat.measurement.results.read import Results, read_study
from offbeat.measurement.runs import resume
from offbeat.measurement.runs.run import run
from offbeat.measurement.runs.run_progress import RunProgress
from offbeat.measurement.runs.study_run import RunOptions
from offbeat.model.platform.machine import Platform
from offbeat.model.study.algorithm import DEFAULT
from offbeat.model.study.collectives import ROOTED
from offbeat.programs.description.alternatives import times_alone
from offbeat.programs.description.program_file import Program
from offbeat.programs.description.schema import PhaseSection
from offbeat.programs.simulation import simulated_trace
from offbeat.programs.simulation.simulate import prepare
from offbeat.selection.choices.choose import Choice
from offbeat.selection.tuning_files.export import plan_of
from offbeat.selection.tuning_files.tuning_plan import TuningPlan
from offbeat.trace.files.trace_folder import open_trace
from offbeat.trace.summary import summarise
from offbeat.tuning.pipeline.conclusion import conclude
from offbeat.tuning.pipeline.program_choices import (
    TUNED,
    ExpectedGain,
    complete,
    expected_gains,
    tuned_choices,
    with_algorithms,
)
from offbeat.tuning.pipeline.program_comparison import IN_PROGRAM, fastest_in_program
from offbeat.tuning.pipeline.traced_calls import Selected, select_calls
from offbeat.tuning.pipeline.traced_study import Launch, write_patterns, write_study
from offbeat.tuning.pipeline.trial_runs import FEWEST_ROUNDS
from offbeat.tuning.prediction.measured_configuration import measurements
from offbeat.tuning.prediction.program_prediction import traced_program

PROGRAMS, SIDE = 100, 32
SHARE = 0.95
"""Of the time that another algorithm can change, in the calls that are measured: the default of 'tune'."""

WITHIN, TARGET, SLOWER = 0.02, 0.95, 0.01

FAR_SLOWER = 5
"""An algorithm that takes this many times as long as the fastest one when all ranks call it together is not
tried, unless the collective has a root, so that most ranks may leave it early."""

FEW_SETTINGS = 128
"""Up to this number of settings, all are tried."""

Setting = tuple[str, ...]
"""An algorithm, or the default, for each key of a program."""


def _candidates(calls: Sequence[PhaseSection], ranks: int, platform: Platform) -> list[str]:
    """The names of the algorithms that may be the fastest for calls of one key."""
    names: list[set[str]] = []
    fast: set[str] = set()
    for call in calls:
        alone_s = times_alone(call, ranks, platform, most_messages=MOST_MESSAGES)
        names.append({one.name for _, one in alone_s})
        longest_s = inf if call.collective in ROOTED else FAR_SLOWER * alone_s[0][0]
        fast |= {one.name for time_s, one in alone_s if time_s <= longest_s}
    return sorted(set.intersection(*names) & fast)


class Settings:
    """The settings of a program, and the run time with each of them in seconds."""

    def __init__(self, program: Program, platform: Platform) -> None:
        self.program, self._platform = program, platform
        ranks = program.file.ranks
        calls = [phase for phase in program.file.phase if phase.kind == "collective"]
        self.keys = list(dict.fromkeys(key_of(call, ranks) for call in calls))
        self._times_s: dict[Setting, float] = {}
        self.candidates = [
            _candidates([call for call in calls if key_of(call, ranks) == key], ranks, platform)
            for key in self.keys
        ]

    @property
    def default(self) -> Setting:
        """The default everywhere."""
        return (DEFAULT,) * len(self.keys)

    def of(self, plan: TuningPlan | None) -> Setting:
        """What the rules of a plan set; without a plan, the default."""
        rules = [plan.rule_for(*key) if plan is not None else None for key in self.keys]
        return tuple(rule.algorithm.name if rule is not None else DEFAULT for rule in rules)

    @property
    def simulated(self) -> int:
        """How many settings were simulated."""
        return len(self._times_s)

    def time_s(self, setting: Setting) -> float:
        """The time from the beginning to the end of the last rank."""
        ran = tuple(
            published_default(*key) if name == DEFAULT else name
            for key, name in zip(self.keys, setting, strict=True)
        )
        if ran not in self._times_s:
            simulated = prepare(self._with(ran), self._platform).simulate()
            self._times_s[ran] = float(simulated.iteration_end_s[-1].max())
        return self._times_s[ran]

    def _with(self, setting: Setting) -> Program:
        file, by_key = self.program.file, dict(zip(self.keys, setting, strict=True))
        phases = [
            with_algorithm(phase, file.ranks, by_key[key_of(phase, file.ranks)])
            if phase.kind == "collective"
            else phase
            for phase in file.phase
        ]
        return structs.replace(self.program, file=structs.replace(file, phase=phases))

    def best(self, starts: Sequence[Setting]) -> Setting:
        """The fastest of all settings if they are few, else of those that are found from ``starts``."""
        if prod(map(len, self.candidates)) <= FEW_SETTINGS:
            return min([*starts, *product(*self.candidates)], key=self.time_s)
        return min(map(self._descended, starts), key=self.time_s)

    def _descended(self, start: Setting) -> Setting:
        """Change one algorithm after the other, each to the fastest, until none is faster."""
        best, unchanged, place = start, 0, 0
        while unchanged < len(self.keys):
            tried = [(*best[:place], name, *best[place + 1 :]) for name in self.candidates[place]]
            found = min([best, *tried], key=self.time_s)
            unchanged = 1 if self.time_s(found) < self.time_s(best) else unchanged + 1
            best, place = found, (place + 1) % len(self.keys)
        return best


class Tries(Struct, frozen=True, kw_only=True):
    """What 'offbeat tune' tries in its trial beside the default: none if nothing is expected to be faster."""

    selected: Selected
    plans: dict[str, TuningPlan | None] = {}


def tries(settings: Settings, platform: Platform, folder: Path) -> Tries:
    """All stages of 'offbeat tune' up to its trial."""
    program = settings.program
    prepared = prepare(program, platform)
    simulated_trace.simulate_traced(prepared, simulated_trace.plan(prepared, folder / "trace"))
    trace = open_trace(folder / "trace")
    summary = summarise(trace)
    selected = select_calls(trace, summary, SHARE)
    if not selected.calls:
        return Tries(selected=selected)
    sections = write_patterns(trace, summary, selected.calls, folder / "study")
    launch = Launch(mpi="auto", command=user_command(["mpirun", "-n", str(program.file.ranks), "program"]))
    study = folder / "study" / "study.toml"
    write_study(sections, program.name, launch, study)
    measured = simulated_study(study, platform, folder / "results")
    traced = traced_program(trace, summary, measurements(measured, trace.headers[0].library))
    chosen = complete(traced.predicted())
    gains = expected_gains(traced, chosen, FAMILY)

    def plan(used: Sequence[Choice]) -> TuningPlan | None:
        try:
            return plan_of(measured, used)
        except RunFailed:  # every decision is left to the library
            return None

    def run_times(
        calls: ExpectedGain, names: Sequence[str], tried: Sequence[list[ExpectedGain]]
    ) -> list[float]:
        return [settings.time_s(settings.of(plan(with_algorithms(chosen, used)))) for used in tried]

    choices = tuned_choices(chosen, gains)
    choices[IN_PROGRAM] = with_algorithms(chosen, fastest_in_program(gains, run_times))
    return Tries(selected=selected, plans={name: plan(used) for name, used in choices.items()})


def simulated_study(study: Path, platform: Platform, directory: Path) -> Results:
    """The results of a study on the simulated library."""
    loaded = RunOptions(engine="sim", family=FAMILY).load(study)
    engine = Library(platform, FAMILY, one_worker, loaded.base)
    try:
        with resume.open_store(loaded, directory) as store:
            run(loaded, store, engine, RunProgress(Console(quiet=True)))
    finally:
        engine.close()
    return read_study(directory)


class Tuned(OfProgram, frozen=True, kw_only=True):
    """A program: the setting that is chosen from measurements of single calls, the one that is recommended
    after the trial, the best one, and the run time with each.

    ``settings`` is how many were simulated, ``cpu_s`` the CPU time of the whole program.
    """

    calls: list[str]
    default_s: float
    chosen_s: float
    recommended_s: float
    best_s: float
    chosen: list[str]
    recommended: list[str]
    best: list[str]
    settings: int
    cpu_s: float

    def excess(self, time_s: float) -> float:
        """How much longer a time is than that of the best setting, as a share."""
        return time_s / self.best_s - 1

    def change(self, time_s: float) -> float:
        """The change against the default, as a share: negative if the program is faster."""
        return time_s / self.default_s - 1


def tune(number: int, seed: int, side: int) -> Tuned:
    """Tune a program, and find out which setting is the best."""
    began_s = time.process_time()
    platform = platform_of(side)
    settings = Settings(random_program(generator_of(seed, number), number, platform, side), platform)
    with TemporaryDirectory() as folder:
        tried = tries(settings, platform, Path(folder))
    plans: dict[str, TuningPlan | None] = {DEFAULT: None, **tried.plans}
    by_name = {name: settings.of(plan) for name, plan in plans.items()}
    times_s = {name: [settings.time_s(one)] * FEWEST_ROUNDS for name, one in by_name.items()}
    chosen = by_name.get(TUNED, settings.default)
    recommended = by_name[conclude(times_s, tried.selected).choice or DEFAULT]
    best = settings.best(list(dict.fromkeys([chosen, recommended, settings.default])))
    return Tuned(
        seed=seed,
        number=number,
        calls=[_text(phase) for phase in settings.program.file.phase if phase.kind == "collective"],
        default_s=settings.time_s(settings.default),
        chosen_s=settings.time_s(chosen),
        recommended_s=settings.time_s(recommended),
        best_s=settings.time_s(best),
        chosen=list(chosen),
        recommended=list(recommended),
        best=list(best),
        settings=settings.simulated,
        cpu_s=time.process_time() - began_s,
    )


def _text(call: PhaseSection) -> str:
    size = [format_size(size) for size in call.bytes]
    where = [] if call.communicators == 1 else ["rows" if call.stride == 1 else "columns"]
    return " ".join([call.collective, *size, *where])


def main() -> int:
    """Tune all programs; 0 if the targets are met, else 1."""
    parser = arguments(__doc__, PROGRAMS)
    parser.add_argument("--side", type=int, default=SIDE, help="nodes, and ranks of each node")
    given = parser.parse_args()
    if not 2 <= given.side <= SIDE:
        raise BadInput(f"--side {given.side}: write a number from 2 to {SIDE}")
    print(f"program{'default':>11}{'tuned':>11}{'best':>11}  {'change':>7}  {'above best':>10}  calls")
    work = partial(tune, seed=given.seed, side=given.side)
    return report(results(given, Tuned, work, show, "tune random programs"))


def show(one: Tuned) -> None:
    """Print the line of a program, and its settings where one is not within the targets."""
    tuned_s = one.recommended_s
    times = "".join(f"{format_time(time_s, 4):>11}" for time_s in (one.default_s, tuned_s, one.best_s))
    shares = f"{one.change(tuned_s):>+7.1%}  {one.excess(tuned_s):>10.1%}"
    print(f"{one.number:>7}{times}  {shares}  {'; '.join(one.calls)}")
    if max(one.excess(tuned_s), one.excess(one.chosen_s)) > WITHIN or one.change(one.chosen_s) > SLOWER:
        print(f"        chosen: {', '.join(one.chosen)} ({one.change(one.chosen_s):+.1%})")
        print(f"        best: {', '.join(one.best)} ({one.change(one.best_s):+.1%})")
    sys.stdout.flush()


def report(tuned: Sequence[Tuned]) -> int:
    """Print the summary; 0 if the targets are met, else 1."""
    target = TARGET * len(tuned)
    counts = {}
    for what, times_s in (
        ("", [one.recommended_s for one in tuned]),
        ("from single calls alone: ", [one.chosen_s for one in tuned]),
    ):
        near = sum(one.excess(time_s) <= WITHIN for one, time_s in zip(tuned, times_s, strict=True))
        slower = sum(one.change(time_s) > SLOWER for one, time_s in zip(tuned, times_s, strict=True))
        counts[what] = near, slower
        print(
            f"{what}best or within {WITHIN:.0%}: {near} of {len(tuned)} (target {target:g}); worse than the"
            f" default by more than {SLOWER:.0%}: {slower} (target 0)"
        )
    gains = [-one.change(one.recommended_s) for one in tuned]
    print(
        f"faster than the default: {sum(gain > 0 for gain in gains)} of {len(tuned)}; median gain"
        f" {median(gains):.1%}, at most {max(gains):.1%}; with the best settings, median"
        f" {-median(one.change(one.best_s) for one in tuned):.1%}"
    )
    print(
        f"without tuning, best or within {WITHIN:.0%}:"
        f" {sum(one.excess(one.default_s) <= WITHIN for one in tuned)} of {len(tuned)}"
    )
    print(f"CPU time: {sum(one.cpu_s for one in tuned) / len(tuned):.1f} s a program")
    near, slower = counts[""]
    return 0 if near >= target and not slower else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (BadInput, RunFailed) as error:
        sys.exit(f"tuned_programs: {error}")
