"""One run of a study: measuring blocks of cases, with the skews that depend on earlier runtimes."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Sequence as ListOf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from offbeat.base.errors import RunFailed
from offbeat.measurement.engines.engine import BatchEngine, Engine, MeasuringEngine
from offbeat.measurement.results.blocks import Samples
from offbeat.measurement.results.layout import UNFINISHED_CASE
from offbeat.measurement.results.read import read_cases
from offbeat.measurement.results.store import Store
from offbeat.measurement.runs.repetition import judge_blocks, judge_repetitions, last_delays_s, no_samples
from offbeat.model.pattern import pattern_file, replay_file
from offbeat.model.pattern.pattern_file import Pattern, recorded_from
from offbeat.model.pattern.replay_file import Replay
from offbeat.model.pattern.shapes import SHAPES
from offbeat.model.study.algorithm import Algorithm
from offbeat.model.study.case import Case
from offbeat.model.study.case_expansion import delays_s, group_of
from offbeat.model.study.skew_policy import UnknownSkew
from offbeat.model.study.study_file import LoadedStudy

MOST_FAILURES = 2
"""After this number of crashes or hangs of an algorithm in a group, its other cases in the group are not
tried."""

NOT_TRIED = "not tried again: "
NO_SKEW = "its skew is unknown: "
"""``NOT_TRIED`` and ``NO_SKEW`` are prefixes of the reasons for cases that were never launched."""


class Session:
    """One run of a study: measures blocks of cases and writes them to the result directory.

    It holds runtimes without delay, skews, crashes and hangs, also those of earlier runs.
    """

    def __init__(self, loaded_study: LoadedStudy, store: Store, engine: Engine) -> None:
        self._loaded_study = loaded_study
        self._store = store
        self._is_simulated = isinstance(engine, BatchEngine)
        earlier_cases = _earlier_cases(store) if store.has_records else []
        self._runtimes = NoDelayRuntimes(_runtimes_of(earlier_cases))
        self._failures = _failures_of(earlier_cases)
        self._skews_s = {
            case.id: row["skew_s"] for case, row in earlier_cases if row["status"] == UNFINISHED_CASE
        }
        self._files: dict[str, Pattern | Replay] = {}
        self._library = library_name(store)

    def measure(self, case: Case, engine: MeasuringEngine) -> str:
        """Measure the next block of a case and write it to disk; returns the case's status."""
        delays = np.zeros(case.p)
        verdict = self._store.verdict(case.collective, case.algorithm, case.p, case.bytes)
        try:
            if verdict is not None and verdict.status == "quarantined":
                samples = no_samples(case.processes, NOT_TRIED + verdict.reason.removeprefix(NOT_TRIED))
            else:
                delays = self.delays_s(case)
                samples = self._samples(case, delays, engine)
        except UnknownSkew as unknown:
            samples = no_samples(case.processes, f"{NO_SKEW}{unknown}")
        samples.block = len(self._store.blocks_of(case).blocks)
        return self.save([(case, delays, samples)])[0]

    def delays_s(self, case: Case) -> NDArray[np.float64]:
        """The delay of each rank in seconds, for a replay in each call; raises :class:`UnknownSkew`."""
        file = self._file(case)
        if isinstance(file, Replay):
            return file.delays_s
        if case.id not in self._skews_s:
            self._skews_s[case.id] = self._runtimes.skew_s(case)
        return delays_s(self._loaded_study, case, self._skews_s[case.id])

    def note_runtime(self, case: Case, samples: Samples) -> None:
        """Record the runtime on which the skews of other cases depend. Only the first block counts, because
        all skews are determined in the first round."""
        if samples.block == 0 and not samples.failure and samples.valid.any():
            self._runtimes.note(case, float(np.median(last_delays_s(samples))))

    def save(self, blocks: ListOf[tuple[Case, NDArray[np.float64], Samples]]) -> list[str]:
        """Write blocks of cases to disk, with the requested delays; returns the cases' statuses."""
        statuses = [self._status(case, delays, samples) for case, delays, samples in blocks]
        self._store.append_all(
            [
                (case, self._facts(case, float(delays.max(initial=0.0)), status, reason), samples)
                for (case, delays, samples), (status, reason) in zip(blocks, statuses, strict=True)
            ]
        )
        for case, _, samples in blocks:
            self.note_runtime(case, samples)
        return [status for status, _ in statuses]

    def _samples(self, case: Case, delays: NDArray[np.float64], engine: MeasuringEngine) -> Samples:
        failures = self._failures.setdefault(_algorithm_in_group(case), [])
        if len(failures) >= MOST_FAILURES:
            return no_samples(case.processes, f"{NOT_TRIED}{failures[-1]}")
        samples = engine.measure(
            algorithm_of(engine, case), case, delays, self._loaded_study.study.repetitions
        )
        if samples.failure:
            failures.append(samples.failure)
        return samples

    def _status(self, case: Case, delays: NDArray[np.float64], samples: Samples) -> tuple[str, str]:
        """The status, and the reason if it is not ``blocks``."""
        if samples.failure:
            return "quarantined", samples.failure
        blocks = self._store.blocks_of(case).with_block(samples)
        rule = self._loaded_study.study.repetitions
        calls = len(delays) if case.is_replay else 0
        if self._is_simulated:
            return judge_repetitions(blocks, 1, calls)
        return judge_blocks(blocks, rule, calls)

    def _facts(self, case: Case, skew_s: float, status: str, reason: str) -> dict[str, object]:
        verdict = self._store.verdict(case.collective, case.algorithm, case.p, case.bytes)
        file = self._file(case)
        return {
            "engine": self._loaded_study.study.engine,
            "library": self._library,
            "pattern_kind": _kind(case),
            "source": recorded_from(file.header) if file else "",
            "skew_s": skew_s,
            "status": status,
            "reason": reason,
            "proof": verdict.status if verdict else "unproved",
            "evidence": verdict.evidence if verdict else "",
        }

    def _file(self, case: Case) -> Pattern | Replay | None:
        """The pattern file or the replay of a case, read once; None for a shape."""
        if case.shape in SHAPES:
            return None
        if case.shape not in self._files:
            path = self._loaded_study.pattern_paths()[case.shape]
            is_replay = case.is_replay
            self._files[case.shape] = replay_file.read(path) if is_replay else pattern_file.read(path)
        return self._files[case.shape]


def _kind(case: Case) -> str:
    if case.shape in SHAPES:
        return "shape"
    return "replay" if case.is_replay else "scenario"


def library_name(store: Store) -> str:
    """The measured library, as the results' provenance names it."""
    library = store.provenance["library"]
    return str(library["name"]) if isinstance(library, dict) else str(library)


def algorithm_of(engine: Engine, case: Case) -> Algorithm:
    """The algorithm that a case names; raises RunFailed if the engine no longer has it."""
    algorithm = engine.find_algorithm(case.collective, case.algorithm)
    if algorithm is None:
        raise RunFailed(f"the library no longer has {case.algorithm} for {case.collective}")
    return algorithm


def _earlier_cases(store: Store) -> list[tuple[Case, dict[str, Any]]]:
    """The cases that earlier runs of the study wrote to disk, each with its complete row, in their order."""
    fields = Case.__struct_fields__
    rows = read_cases(store.directory).iter_rows(named=True)
    return [(Case(**{name: row[name] for name in fields}), row) for row in rows]


def _runtimes_of(earlier_cases: Iterable[tuple[Case, dict[str, Any]]]) -> list[tuple[Case, float]]:
    """The median d̂ of each measured case, in seconds."""
    return [
        (case, row["last_delay_s"])
        for case, row in earlier_cases
        if row["status"] != "quarantined" and row["last_delay_s"] is not None
    ]


def _failures_of(earlier_cases: Iterable[tuple[Case, dict[str, Any]]]) -> dict[tuple[str, str], list[str]]:
    """The reasons for crashes and hangs, by the keys of :func:`_algorithm_in_group`."""
    failures: dict[tuple[str, str], list[str]] = {}
    for case, row in earlier_cases:
        if row["status"] == "quarantined" and not row["reason"].startswith((NOT_TRIED, NO_SKEW)):
            failures.setdefault(_algorithm_in_group(case), []).append(row["reason"])
    return failures


def _algorithm_in_group(case: Case) -> tuple[str, str]:
    """The key under which failures are counted: the case's group and its algorithm."""
    return repr(group_of(case)), case.algorithm


class NoDelayRuntimes:
    """Median no-delay d̂ of every algorithm of every group measured so far, in seconds."""

    def __init__(self, rows: Iterable[tuple[Case, float]] = ()) -> None:
        self._runtimes: dict[str, dict[str, float]] = {}
        for case, median_s in rows:
            self.note(case, median_s)

    def note(self, case: Case, median_s: float) -> None:
        """Record the runtime of a no-delay case; cases with delays are ignored."""
        if not case.is_delayed:
            self._runtimes.setdefault(repr(group_of(case)), {})[case.algorithm] = median_s

    def skew_s(self, case: Case) -> float:
        """Returns the skew of a case, in seconds; 0 for a pattern file that is not scaled, and for a replay:
        their delays are absolute. Raises :class:`UnknownSkew`."""
        return case.skew_s(self._runtimes.get(repr(group_of(case)), {}))
