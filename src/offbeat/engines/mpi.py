"""The engine ``mpi``: this machine's MPI library, measured by the driver."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import groupby
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from offbeat.engines.base import Proved
from offbeat.engines.launches import Launches, Where
from offbeat.engines.legal_study import with_legal_calls
from offbeat.engines.prove import call_of, fingerprint, observe
from offbeat.engines.repeat import ROUNDS, block_rule, repeat
from offbeat.engines.verdicts import Observation, judge, look_alikes, rename
from offbeat.errors import RunFailed
from offbeat.mpi import launch
from offbeat.mpi.allocation import current
from offbeat.mpi.driver import DriverLost, Refused
from offbeat.mpi.installation import Installation
from offbeat.mpi.libraries import library_of
from offbeat.mpi.library import Steering, Variable, decode, default_algorithm
from offbeat.results.repetitions import Samples
from offbeat.study.algorithm import DEFAULT, Algorithm, Verdict, split_name
from offbeat.study.case import Case
from offbeat.study.cases import REPLAY, Group, group_of
from offbeat.study.evidence import functions, is_fingerprint, with_fingerprint
from offbeat.study.schema import MpiSection, RepetitionsSection, StartSection

START_TOLERANCE_S = 2e-6
CROWDED_START_TOLERANCE_S = 200e-6
"""With more processes than cores, a process may have to wait for one when its start comes."""

TOLERANCE_OF_SKEW = 0.05

TOLERANCE_OF_BOUND = 3
"""Clocks are synchronised anew when their bound has doubled: less would refuse starts that are as good as the
clocks allow."""

UNRECORDED = 2
"""So many repetitions come first in a block and do not count: caches, branch predictors and the paths of
messages are cold after another algorithm, and the first repetition took 27% longer."""

LOSSES_BEFORE_GIVING_UP = 2
"""An algorithm that crashed or hung at so many sizes is not tried at the others."""


NEW_LAUNCHES = 3
"""So many new launches are made for proofs that show nothing; more once one of them has helped."""


class MpiEngine:
    """See :class:`offbeat.engines.base.Engine`.

    ``hang_after_s`` is how long the driver may stay silent. Raises :class:`RunFailed` when the library cannot
    be asked for its algorithms at all.
    """

    deterministic = False

    def __init__(
        self,
        installation: Installation,
        launches: Launches,
        section: MpiSection,
        start: StartSection,
        hang_after_s: float,
    ) -> None:
        self.installation = installation
        self.launches = launches
        self.steering: Steering = library_of(installation).steering()
        self._section = section
        self._start = start
        self._hang_after_s = hang_after_s
        self._variables: list[Variable] | None = None
        self._algorithms: dict[str, list[Algorithm]] = {}
        self._renamed: dict[tuple[str, str], str] = {}
        self._losses: dict[tuple[object, ...], list[str]] = {}
        self._new_launches_left = NEW_LAUNCHES

    def describe(self) -> dict[str, object]:
        """Facts for the provenance."""
        facts = msgspec.to_builtins(self.installation, str_keys=True, enc_hook=str)
        return {"library": facts, "launcher_options": self._section.options, "isolate": self._section.isolate}

    def algorithms(self, collective: str) -> list[Algorithm]:
        """Every algorithm, ``default`` first."""
        if collective not in self._algorithms:
            found = self.steering.algorithms(collective, self.variables(), self.installation)
            self._algorithms[collective] = [default_algorithm(collective), *found]
        return self._algorithms[collective]

    def named(self, collective: str, name: str) -> Algorithm | None:
        """The algorithm of a name, parameters included; None if the library has none of that name.

        A name that was given up for what was seen to run is understood still.
        """
        name = self._renamed.get((collective, name), name)
        plain_name, parameters = split_name(name)
        known = {algorithm.name: algorithm for algorithm in self.algorithms(collective)}
        if name in known:
            return known[name]
        plain = known.get(plain_name)
        return (
            self.steering.with_parameters(plain, parameters, self.variables())
            if plain and parameters
            else None
        )

    def variables(self) -> list[Variable]:
        """The library's control variables that choose algorithms."""
        if self._variables is None:
            try:
                answer = self.launches.variables(
                    self.steering.variables_regex, self._environment(), self._hang_after_s
                )
            except (DriverLost, Refused) as error:
                raise RunFailed(
                    f"{self.installation.name} could not be asked for its algorithms: {error}. "
                    "'offbeat doctor' shows what works here."
                ) from None
            self._variables = decode(answer)
        return self._variables

    def place(self, group: Group) -> Group:
        """As it is: the launcher places the processes."""
        return group

    def adopt(self, algorithms: Iterable[Algorithm]) -> None:
        """Take over the names that an earlier run of the study gave to its algorithms."""
        for algorithm in algorithms:
            self._rename(algorithm)

    def prove(
        self, requests: Iterable[tuple[Algorithm, Case]], told: Callable[[str], None] = lambda _: None
    ) -> Iterator[Proved]:
        """Judge all algorithms of one collective at one p, for all its sizes, then those of the next."""
        for _, chunk in groupby(requests, key=lambda request: (request[1].collective, request[1].p)):
            yield self._prove(list(chunk), told)

    def measure(
        self, algorithm: Algorithm, case: Case, delays_s: NDArray[np.float64], rule: RepetitionsSection
    ) -> Samples:
        """Measure one block of a case; a launch that dies or hangs ends it with what was measured before.

        Raises RunFailed where it is not the algorithm's fault: nothing can be launched, or no samples arrive.
        """
        where = self._where(algorithm, case)
        calls = len(delays_s) if case.skew_policy == REPLAY else 0
        part = block_rule(rule)
        call = call_of(case) | {
            "unrecorded": UNRECORDED,
            "duration_ns": int(max(part.time_cap, 0.1) * 1e9),
            "tolerance_ns": int(self.tolerance_s(where, delays_s) * 1e9),
            "tolerance_bounds": TOLERANCE_OF_BOUND if self._start.tolerance == "auto" else 0,
            **self._delays(delays_s, calls),
        }

        def batch(repetitions: int, attempts: int) -> str:
            try:
                driver = self.launches.get(where)
                self.launches.force(driver, self._words(algorithm), self._hang_after_s)
                limits = {"repetitions": repetitions, "attempts": attempts}
                patience_s = self._hang_after_s + part.time_cap
                answer = driver.ask("measure", timeout_s=patience_s, **limits, **call)
            except DriverLost as lost:
                self.launches.drop()
                self._require_launches(case)
                return str(lost)
            except Refused as refusal:
                self.launches.check_reason(str(refusal))
                return str(refusal)
            self.launches.check_samples(int(str(answer["tried"])), case.p)
            call["unrecorded"] = 0  # the next batch follows at once
            if calls:
                self.launches.check_sequence(answer["calls"], delays_s)
                call["call"] = answer["next"]
            return ""

        rounds = ROUNDS if rule.planned_blocks == 1 else 1
        return repeat(batch, self.launches.samples, case.p, part, calls=calls, rounds=rounds)

    def _delays(self, delays_s: NDArray[np.float64], calls: int) -> dict[str, object]:
        """The words that tell a launch the delays of each process, in every call of a replay."""
        if calls:
            return {"sequence": self.launches.sequence(delays_s), "call": 0}
        return {"delays": ",".join(str(round(delay * 1e9)) for delay in delays_s)}

    def tolerance_s(self, where: Where, delays_s: NDArray[np.float64]) -> float:
        """How far from its plan a process may start: the study's own word, or by rule.

        2 µs, or 200 µs where processes share cores, or 5% of the pattern's skew if that is more; of a replay,
        5% of its calls' mean skew: as much of the mean that counts. By rule the driver also allows
        ``TOLERANCE_OF_BOUND`` times the error bound of the shared clock if that is more.
        """
        if isinstance(self._start.tolerance, float | int):
            return float(self._start.tolerance)
        crowded = self.launches.command(where).oversubscribed
        floor = CROWDED_START_TOLERANCE_S if crowded else START_TOLERANCE_S
        return max(floor, TOLERANCE_OF_SKEW * float(delays_s.max(axis=-1).mean()))

    def begin_round(self, number: int) -> None:
        """Launch anew: what differs between launches then differs between the blocks of a case."""
        if number:
            self.launches.close()

    def group_key(self, algorithm: Algorithm, case: Case) -> tuple[object, ...]:
        """Cases that share a launch."""
        where = self._where(algorithm, case)
        return (case.p, case.nodes, case.ppn, where.steerable, *where.environment)

    def launch_line(self, algorithm: Algorithm, case: Case) -> str:
        """The command that a case is measured with, to copy into a shell."""
        return launch.shell_line(self.launches.command(self._where(algorithm, case)))

    def warnings(self, case: Case) -> list[str]:
        """What the launcher's side has to say, for instance that processes share cores."""
        return self.launches.command(Where(p=case.p, nodes=case.nodes, ppn=case.ppn)).warnings

    def inspect(self, case: Case) -> dict[str, object]:
        """How the processes of a case's launch run: the command, where each runs, and how well they start."""
        where = self._where(default_algorithm(case.collective), case)
        facts: dict[str, object] = {"p": case.p, "nodes": case.nodes, "ppn": case.ppn}
        facts["command"] = launch.shell_line(self.launches.command(where))
        try:
            answer = self.launches.get(where).ask("hello", timeout_s=self._hang_after_s)
        except DriverLost as lost:
            self.launches.drop()
            return facts | {"failure": str(lost)}
        except Refused as refusal:
            return facts | {"failure": str(refusal)}
        return facts | {name: value for name, value in answer.items() if name not in ("ok", "p")}

    def close(self) -> None:
        """End the running launch and remove its scratch folder."""
        self.launches.close()
        shutil.rmtree(self.launches.samples.parent, ignore_errors=True)

    def _prove(self, requests: list[tuple[Algorithm, Case]], told: Callable[[str], None]) -> Proved:
        """Observe every algorithm in the very launches that will measure it."""
        requests = [(self._present(algorithm), case) for algorithm, case in requests]
        requests.sort(key=lambda request: self._launch_order(*request))
        seen: list[tuple[Observation, Case]] = []
        for algorithm, case in requests:
            told(f"proving {case.collective} {algorithm.name}, {case.bytes} B")
            seen.append((self._observe(algorithm, case, told), case))
        compared: dict[str, list[tuple[Observation, Case]]] = {}
        for one, case in seen:
            compared.setdefault(repr(group_of(case)), []).append((one, case))
        verdicts: list[Verdict] = []
        for group in compared.values():
            observations = sorted((one for one, _ in group), key=lambda one: self._place(one.algorithm))
            self._tell_apart(observations, group[0][1], told)
            verdicts += judge(observations, self.steering, group[0][1].p, group[0][1].bytes)
        verdicts = with_legal_calls(verdicts, seen, self.launches, self._as_tuned, self._hang_after_s, told)
        return self._named_by_proof([algorithm for algorithm, _ in requests], verdicts)

    def _launch_order(self, algorithm: Algorithm, case: Case) -> tuple[object, ...]:
        where = self._where(algorithm, case)
        return where.nodes, where.ppn, where.environment, where.steerable

    def _tell_apart(self, observations: list[Observation], case: Case, told: Callable[[str], None]) -> None:
        """Add who leaves late to the evidence of algorithms that enter the same functions.

        Two processes would tell nothing: either waits for the other, or does not, in any algorithm.
        """
        alike = look_alikes(observations, self.steering)
        for one in observations:
            name = one.algorithm.name
            if case.p <= 2 or name not in alike or not functions(one.evidence):
                continue
            told(f"telling {case.collective} {name}, {case.bytes} B, from {', '.join(alike[name])}")
            try:
                driver = self.launches.get(self._where(one.algorithm, case))
                self.launches.force(driver, self._words(one.algorithm), self._hang_after_s)
                late = fingerprint(driver, call_of(case), case.p, self._hang_after_s)
            except DriverLost:
                self.launches.drop()
                continue
            except Refused:
                continue
            one.evidence = with_fingerprint(one.evidence, late)

    def _observe(self, algorithm: Algorithm, case: Case, told: Callable[[str], None]) -> Observation:
        """Observe; where neither functions nor messages are seen, once more in a new launch.

        A library of which new launches show nothing either is not asked again and again: only the first
        ``NEW_LAUNCHES`` of such looks are taken.
        """
        seen = self._observe_once(algorithm, case)
        if case.p == 1 or algorithm.name == DEFAULT or not seen.is_sound or _is_seen(seen):
            return seen
        if self._new_launches_left == 0:
            return seen
        self._new_launches_left -= 1
        told(f"nothing was seen of {case.collective} {algorithm.name}: looking again in a new launch")
        self.launches.close()
        again = self._observe_once(algorithm, case)
        if _is_seen(again):
            self._new_launches_left = NEW_LAUNCHES
            again.looks += seen.looks
        return again

    def _as_tuned(self, algorithm: Algorithm, case: Case) -> tuple[Where, list[str]]:
        """The launch that treats a forced algorithm as it treats one from a tuning file, and what to force in
        it."""
        return self._where(algorithm, case, self.steering.fallback_environment()), self._words(algorithm)

    def _observe_once(self, algorithm: Algorithm, case: Case) -> Observation:
        losses = self._losses.setdefault((algorithm.collective, algorithm.name, case.p), [])
        if len(losses) >= LOSSES_BEFORE_GIVING_UP:
            return Observation(algorithm=algorithm, lost=f"not tried again: {losses[-1]}")
        seen = observe(
            self.launches,
            self._where(algorithm, case),
            self._words(algorithm),
            algorithm,
            case,
            self._hang_after_s,
        )
        if seen.lost:
            losses.append(seen.lost)
            self._require_launches(case)
        if seen.call_failed:
            # some processes may have begun the call: MPICH leaves their messages and receives behind
            self.launches.close()
        return seen

    def _require_launches(self, case: Case) -> None:
        """Raise RunFailed where a launch that forces nothing fails too: no algorithm is to blame for that."""
        environment = tuple(sorted(self._environment().items()))
        where = Where(p=case.p, nodes=case.nodes, ppn=case.ppn, environment=environment)
        why = self.launches.failure(where, self._hang_after_s)
        if why:
            raise RunFailed(
                f"{self.installation.name} cannot be launched with {case.p} processes: {why}. Nothing is"
                " quarantined for that; mend it and run the study again. 'offbeat doctor' shows what works"
                " here, and 'offbeat run --dry-run' the exact commands"
            )

    def _present(self, algorithm: Algorithm) -> Algorithm:
        """The algorithm by the name that proofs at another p have given it."""
        known = self.algorithms(algorithm.collective)
        return next((one for one in known if one.settings == algorithm.settings), algorithm)

    def _place(self, algorithm: Algorithm) -> int:
        """The algorithm's place in the library's own order; those with parameters come last."""
        known = [one.settings for one in self.algorithms(algorithm.collective)]
        return known.index(algorithm.settings) if algorithm.settings in known else len(known)

    def _named_by_proof(self, algorithms: Iterable[Algorithm], verdicts: list[Verdict]) -> Proved:
        """Give algorithms that the library only numbers the name of what ran at the largest size that ran."""
        ran = {
            verdict.algorithm: self.steering.identify_executed(
                verdict.collective, functions(verdict.evidence)
            )
            for verdict in sorted(verdicts, key=lambda verdict: verdict.bytes)
            if verdict.evidence
        }
        renamed: dict[tuple[str, str], str] = {}
        final: list[Algorithm] = []
        for algorithm in {one.name: one for one in algorithms}.values():
            named = self.steering.named_by_function(algorithm, ran.get(algorithm.name, ""))
            renamed[algorithm.collective, algorithm.name] = named.name
            self._rename(named)
            final.append(named)
        return Proved(algorithms=final, verdicts=rename(verdicts, renamed))

    def _rename(self, named: Algorithm) -> None:
        known = self.algorithms(named.collective)
        for place, algorithm in enumerate(known):
            if algorithm.settings == named.settings and algorithm.name != named.name:
                known[place] = named
                self._renamed[algorithm.collective, algorithm.name] = named.name

    def _switches(self, algorithm: Algorithm) -> list[str] | None:
        return self.steering.force_arguments(algorithm, self.variables())

    def _words(self, algorithm: Algorithm) -> list[str]:
        """What to force in the running launch; nothing where the launch itself forces it."""
        return self._switches(algorithm) or []

    def _where(self, algorithm: Algorithm, case: Case, more: Mapping[str, str] | None = None) -> Where:
        environment = self._environment() | dict(more or {})
        if self._switches(algorithm) is None:
            environment |= self.steering.launch_environment(algorithm)
        elif self._section.isolate:
            # the variable changes nothing; it makes the launch this algorithm's own
            environment |= {"OFFBEAT_ALGORITHM": f"{algorithm.collective}:{algorithm.name}".replace(" ", "")}
        where = Where(
            p=case.p, nodes=case.nodes, ppn=case.ppn, environment=tuple(sorted(environment.items()))
        )
        return self._as_shipped(where) if algorithm.name == DEFAULT else where

    def _as_shipped(self, where: Where) -> Where:
        """For the library's own choice: the launch of its users, where that is not the steerable one."""
        free = msgspec.structs.replace(where, steerable=False)
        same = self.launches.command(free).changes == self.launches.command(where).changes
        return (
            where if same and self.launches.command(free).argv == self.launches.command(where).argv else free
        )

    def _environment(self) -> dict[str, str]:
        return self.steering.environment(self.installation)


def _is_seen(seen: Observation) -> bool:
    """Whether functions or messages were seen."""
    return bool(seen.evidence) and not is_fingerprint(seen.evidence)


def open_engine(
    installation: Installation,
    driver: Path,
    section: MpiSection,
    start: StartSection,
    hang_after_s: float,
    base: Path,
    *,
    logs: Path,
    scratch: Path,
) -> MpiEngine:
    """An engine for an installation and its driver; ``base`` is the folder that the study's relative paths
    refer to."""
    launches = Launches(installation, driver, section, base, logs=logs, scratch=scratch, allocation=current())
    return MpiEngine(installation, launches, section, start, hang_after_s)
