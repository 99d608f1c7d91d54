"""Running a study with an engine: prove algorithms, then measure the remaining cases, one block at a time."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from itertools import count

import msgspec

from offbeat.base.errors import BadInput, RunFailed
from offbeat.libraries.launch.batch_job import current
from offbeat.measurement.engines.batches import measure_in_batches
from offbeat.measurement.engines.engine import BatchEngine, Engine, MeasuringEngine
from offbeat.measurement.results.read import read_cases
from offbeat.measurement.results.store import Store
from offbeat.measurement.runs.resume import check_library, seed_of
from offbeat.measurement.runs.run_progress import Outcome, ProgressListener
from offbeat.measurement.runs.session import Session, algorithm_of
from offbeat.model.study.algorithm import DEFAULT, MEASURED, Algorithm, Verdict, proof_lines
from offbeat.model.study.case import Case, operation_label
from offbeat.model.study.case_expansion import Group, cases, groups, order
from offbeat.model.study.job_script import job_end_s
from offbeat.model.study.study_file import LoadedStudy, check_algorithms, requested_names


def run(
    loaded_study: LoadedStudy,
    store: Store,
    engine: Engine,
    listener: ProgressListener,
    out_of_time: Callable[[float], bool] = lambda _: False,
) -> Outcome:
    """Measure the cases of a study that are not done yet.

    ``out_of_time`` is called before each block with the time of the slowest block so far in seconds; true
    ends the run early. Raises BadInput for algorithms that the library does not have, and RunFailed if
    nothing can be measured.
    """
    check_library(store, engine)
    if not isinstance(engine, BatchEngine):
        engine.restore_names(store.algorithms)
    check_algorithm_names(loaded_study, engine)
    _warn(loaded_study, store, engine, listener)
    prove(loaded_study, store, engine, listener)
    all_cases = plan(loaded_study, store, engine)
    store.set_plan(all_cases)
    if not any(_was_proved(store, case) for case in all_cases):
        raise RunFailed("no algorithm could be measured; 'offbeat status' shows the verdict on each")
    earlier_count = len(store.done.intersection(case.id for case in all_cases))
    blocks = sum(map(store.block_count, all_cases))
    session = Session(loaded_study, store, engine)
    if isinstance(engine, BatchEngine):
        listener.begin(earlier_count, len(all_cases))
        measure_in_batches(all_cases, store.done, session, engine, listener, out_of_time)
    else:
        _measure_in_rounds(all_cases, Rounds(loaded_study, store, engine), session, listener, out_of_time)
    now = len(store.done.intersection(case.id for case in all_cases))
    planned_ids = {case.id for case in all_cases}
    return Outcome(
        finished_cases=now,
        total=len(all_cases),
        measured_now=now - earlier_count,
        is_stopped=now < len(all_cases),
        statuses=Counter(status for case, status in store.statuses.items() if case in planned_ids),
        has_times=bool(read_cases(store.directory)["last_delay_s"].is_finite().any()),
        has_new_blocks=sum(map(store.block_count, all_cases)) > blocks,
        unproved_collectives=unproved_collectives(loaded_study, store, engine),
        proofs=proof_lines(store.verdicts),
    )


class Rounds:
    """The remaining blocks of a study and their order.

    Each round measures one block of every case of the study that needs one, in a random order and in launches
    of its own. So the blocks of a case are spread over the study's duration.
    """

    def __init__(self, loaded_study: LoadedStudy, store: Store, engine: MeasuringEngine) -> None:
        self.engine = engine
        self.store = store
        self._seed = seed_of(store)
        self.planned_blocks = loaded_study.study.repetitions.planned_blocks

    def blocks_left(self, case: Case) -> int:
        """The number of further blocks that a case needs, as far as known before they are measured."""
        if case.id in self.store.done:
            return 0
        return max(self.planned_blocks - self.store.block_count(case), 1)

    def due(self, all_cases: Sequence[Case], number: int) -> list[Case]:
        """The cases that need a block in round ``number``, counted from 0, in their order.

        The whole study is ordered before finished cases are removed, so a resumed study keeps its order.
        """
        scheduled_cases = schedule(all_cases, self._seed, self._launch_of, number)
        return [
            case
            for case in scheduled_cases
            if case.id not in self.store.done and self.store.block_count(case) <= number
        ]

    def _launch_of(self, case: Case) -> tuple[object, ...]:
        return self.engine.group_key(algorithm_of(self.engine, case), case)


def _measure_in_rounds(
    all_cases: Sequence[Case],
    rounds: Rounds,
    session: Session,
    listener: ProgressListener,
    out_of_time: Callable[[float], bool],
) -> None:
    """Measure the remaining blocks, round after round, until time runs out."""
    left = sum(map(rounds.blocks_left, all_cases))
    block_count = sum(map(rounds.store.block_count, all_cases))
    listener.begin(block_count, block_count + left, "cases" if rounds.planned_blocks == 1 else "blocks")
    longest_s = 0.0
    for number in count():
        if not left:
            return
        due = rounds.due(all_cases, number)
        if due:
            rounds.engine.begin_round(number)
        for case in due:
            if out_of_time(longest_s):
                return
            began, blocks_left = time.monotonic(), rounds.blocks_left(case)
            listener.say(f"{operation_label(case)} {case.bytes} B {case.algorithm} {case.pattern}")
            status = session.measure(case, rounds.engine)
            left += rounds.blocks_left(case) - blocks_left
            longest_s = max(longest_s, time.monotonic() - began)
            listener.report_case(case, status, left)


def _warn(loaded_study: LoadedStudy, store: Store, engine: Engine, listener: ProgressListener) -> None:
    """Report the warnings about this machine, and record them with the results."""
    sentences = dict.fromkeys(
        sentence
        for group in placed_groups(loaded_study, engine)
        for sentence in engine.warnings(cases(group, [DEFAULT], loaded_study.study)[0])
    )
    store.update_provenance({"warnings": list(sentences), "launches": _launch_facts(loaded_study, engine)})
    for sentence in sentences:
        listener.warn(sentence)


def _launch_facts(loaded_study: LoadedStudy, engine: Engine) -> list[dict[str, object]]:
    placements = {group.launch_placement: group for group in placed_groups(loaded_study, engine)}
    return [engine.inspect(cases(group, [DEFAULT], loaded_study.study)[0]) for group in placements.values()]


def check_algorithm_names(loaded_study: LoadedStudy, engine: Engine) -> None:
    """Raise BadInput, with the study's lines, for algorithms that the library does not have, and for
    hierarchical algorithms that suit none of the study's placements."""
    requests = list(requested_names(loaded_study.study))
    names_of_collective = {
        name: [one.name for one in engine.algorithms(name)] for _, names, _ in requests for name in names
    }
    placements = {
        group.layout.placement(group.nodes, group.ppn) for group in placed_groups(loaded_study, engine)
    }
    unsuitable: dict[str, list[str]] = {}
    for key, names, algorithms in requests:
        for name in names:
            for position, name_in_study in enumerate(algorithms):
                try:
                    algorithm = engine.find_algorithm(name, name_in_study)
                except BadInput as error:  # in a file of the user
                    raise BadInput(f"{loaded_study.where((*key, position))} {error}") from None
                if algorithm is not None and name_in_study not in names_of_collective[name]:
                    names_of_collective[name].append(name_in_study)
                if algorithm is not None and not any(algorithm.fits(*place) for place in placements):
                    unsuitable.setdefault(name, []).append(name_in_study)
    check_algorithms(loaded_study, names_of_collective, unsuitable)


def prove(loaded_study: LoadedStudy, store: Store, engine: Engine, listener: ProgressListener) -> None:
    """Judge all algorithms of every collective and p for which a verdict is missing.

    Verdicts come from comparing algorithms, so if one verdict is missing all are determined again.
    """
    requests: dict[tuple[int, str], list[tuple[Algorithm, Case]]] = {}
    incomplete: set[tuple[int, str]] = set()
    for group in placed_groups(loaded_study, engine):
        for algorithm in requested_algorithms(group, engine):
            case = cases(group, [algorithm.name], loaded_study.study)[0]
            key = (group.p, group.collective)
            requests.setdefault(key, []).append((algorithm, case))
            if store.verdict(group.collective, algorithm.name, group.p, group.bytes) is None:
                incomplete.add(key)
    all_requests = [request for key in sorted(incomplete) for request in requests[key]]
    for proof in engine.prove(all_requests, listener.say):
        store.add_algorithms(proof.algorithms)
        store.add_verdicts(worst_verdicts(proof.verdicts))


def unproved_collectives(loaded_study: LoadedStudy, store: Store, engine: Engine) -> list[str]:
    """Collectives with requested algorithms of which none is proved at any p and size."""
    has_proof: dict[str, bool] = {}
    for group in placed_groups(loaded_study, engine):
        for algorithm in requested_algorithms(group, engine):
            if algorithm.name == DEFAULT:
                continue
            verdict = store.verdict(group.collective, algorithm.name, group.p, group.bytes)
            is_proved = verdict is not None and verdict.status == "proved"
            has_proof[group.collective] = has_proof.get(group.collective, False) or is_proved
    return [collective for collective, is_proved in has_proof.items() if not is_proved]


def worst_verdicts(verdicts: Iterable[Verdict]) -> list[Verdict]:
    """One verdict on each algorithm at each p and size: the worst over operations, roots and placements."""
    worst: dict[tuple[object, ...], Verdict] = {}
    for verdict in verdicts:
        key = (verdict.collective, verdict.algorithm, verdict.p, verdict.bytes)
        worst_so_far = worst.setdefault(key, verdict)
        worst[key] = msgspec.structs.replace(
            verdict if _severity(verdict) > _severity(worst_so_far) else worst_so_far,
            commutative_only=worst_so_far.commutative_only or verdict.commutative_only,
            bits=_joined_bits(worst_so_far.bits, verdict.bits),
            wrong_calls=worst_so_far.wrong_calls or verdict.wrong_calls,
            legal_calls=max(worst_so_far.legal_calls, verdict.legal_calls),
        )
    return list(worst.values())


def _joined_bits(first: str, second: str) -> str:
    """Digests of several calls as one text; unknown if one of them is."""
    return " ".join(sorted({*first.split(), *second.split()})) if first and second else ""


def _severity(verdict: Verdict) -> int:
    return MEASURED.index(verdict.status) if verdict.status in MEASURED else len(MEASURED)


def plan(loaded_study: LoadedStudy, store: Store, engine: Engine) -> list[Case]:
    """The cases of the study: the algorithms that may be measured, under every pattern.

    Cases of algorithms that were lost while they were proved are among them: they are asked for, and recorded
    as quarantined, so that they do not disappear from the study.
    """
    all_cases: list[Case] = []
    for group in placed_groups(loaded_study, engine):
        names = [
            one.name
            for one in requested_algorithms(group, engine)
            if _is_planned(store, group, one.name, engine)
        ]
        all_cases += cases(group, names, loaded_study.study)
    return all_cases


def placed_groups(loaded_study: LoadedStudy, engine: Engine) -> list[Group]:
    """The groups of the study, placed as the engine places processes."""
    return [engine.place_group(group) for group in groups(loaded_study.study)]


def requested_algorithms(group: Group, engine: Engine) -> list[Algorithm]:
    """The algorithms that a study requests for a group, by their final names; ``default``, the reference,
    comes first.

    Hierarchical algorithms that do not suit the group's placement are left out.
    """
    names = [DEFAULT]
    for name in group.algorithms:
        names += [one.name for one in engine.algorithms(group.collective)] if name == "all" else [name]
    algorithms = [engine.find_algorithm(group.collective, name) for name in names]
    placement = group.layout.placement(group.nodes, group.ppn)
    return list({one.name: one for one in algorithms if one is not None and one.fits(*placement)}.values())


def _is_planned(store: Store, group: Group, name: str, engine: Engine) -> bool:
    verdict = store.verdict(group.collective, name, group.p, group.bytes)
    was_lost = verdict is not None and verdict.status == "quarantined" and not isinstance(engine, BatchEngine)
    return verdict is not None and (was_lost or verdict.status in MEASURED)


def _was_proved(store: Store, case: Case) -> bool:
    """Whether the algorithm of a planned case may be measured, so that it was not lost in its proof."""
    verdict = store.verdict(case.collective, case.algorithm, case.p, case.bytes)
    return verdict is not None and verdict.status in MEASURED


def schedule(
    cases: Sequence[Case], seed: int, launch_of: Callable[[Case], Hashable], round_number: int = 0
) -> list[Case]:
    """The cases of one round in the shuffled order of :func:`offbeat.model.study.case_expansion.order`,
    grouped by launch.

    ``launch_of`` identifies the launch that a case needs. In the first round, number 0, every launch runs
    twice at most at each placement: first all no-delay cases, whose runtimes the skews may depend on, launch
    by launch; then all others, launch by launch. In later rounds every launch runs once. Within a launch the
    shuffled order is kept.
    """
    random_order = order(cases, seed, round_number)
    placement_rank: dict[Hashable, int] = {}
    launch_rank: dict[Hashable, int] = {}
    launches_at: dict[Hashable, set[Hashable]] = {}
    for case in random_order:
        launch = launch_of(case)
        placement_rank.setdefault(case.launch_placement, len(placement_rank))
        launch_rank.setdefault(launch, len(launch_rank))
        launches_at.setdefault(case.launch_placement, set()).add(launch)

    def key(case: Case) -> tuple[int, bool, int]:
        placement = placement_rank[case.launch_placement]
        if len(launches_at[case.launch_placement]) == 1:
            return placement, False, 0
        comes_second = round_number == 0 and case.is_delayed
        return placement, comes_second, launch_rank[launch_of(case)]

    return sorted(random_order, key=key)


def time_limit(
    margin_min: float,
    environ: Mapping[str, str] = os.environ,
    now_s: Callable[[], float] = time.time,
) -> Callable[[float], bool]:
    """A function that returns whether a case of a given duration in seconds exceeds the batch job's time
    limit.

    ``margin_min`` minutes are reserved for closing the results. Outside a batch job, and if neither the
    scheduler nor offbeat's job script gives the limit, the function always returns false. ``now_s`` is
    seconds since 1970.
    """
    end_s = _end_s(environ, now_s)
    if end_s is None:
        return lambda _: False
    last_s = end_s - 60.0 * margin_min
    return lambda longest_s: now_s() + longest_s > last_s


def _end_s(environ: Mapping[str, str], now_s: Callable[[], float]) -> float | None:
    """When the job ends: by the scheduler, or by the job script if the scheduler does not say (PBS)."""
    job = current(environ)
    if job and job.time_left_s is not None:
        return now_s() + job.time_left_s
    return job_end_s(environ)
