"""Which algorithms of a study are right for every legal call: found out once for each collective and p."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import islice

import msgspec
from msgspec import Struct

from offbeat.base.units import amount
from offbeat.libraries.launch.driver import HUNG, CommandRefused, DriverLost
from offbeat.libraries.launch.driver_protocol import CallAnswer, Hello
from offbeat.measurement.engines.driver_launches import Launches, LaunchSpec, repeat_if_lost
from offbeat.measurement.legal_calls.call_kinds import features, isolate_kinds, remove_kind
from offbeat.measurement.legal_calls.corpus import corpus_calls
from offbeat.measurement.legal_calls.drawn_calls import LegalCall, drawn_calls, legal_call, plain_call
from offbeat.measurement.proofs.verdicts import Observation
from offbeat.model.study import evidence
from offbeat.model.study.algorithm import DEFAULT, Algorithm, Verdict, WrongCall
from offbeat.model.study.case import Case


class Setup(Struct, frozen=True):
    """A launch in which something is forced: the arguments of the driver's ``force``, possibly none."""

    spec: LaunchSpec
    force_arguments: Sequence[str] = ()


class Reference(Struct, frozen=True):
    """The library's own choice, with which algorithms are compared, and the calls that it gets wrong.

    ``outcomes`` maps the descriptor of each call that was made alone in a launch to its outcome. A call that
    was right after others in a launch is not among them: whether a read outside a buffer ends the program
    depends on the memory that earlier calls left behind.
    """

    setup: Setup
    failures: Sequence[Failure]
    outcomes: dict[str, str]

    def gets_wrong(self, call: LegalCall) -> bool:
        """Whether the library's own choice fails for a call, or for a call that is like it."""
        return any(_fails_alike(call, failure) for failure in self.failures)


ForceSettings = Callable[[Algorithm, Case], tuple[LaunchSpec, list[str]]]
"""Algorithm and case → the launch in which the algorithm is forced, and the arguments of ``force`` in it."""

DRAWS = 120
"""Calls that are drawn for an algorithm at each number of processes, besides those of the corpus."""

PROOF_SEED = 1
"""The seed of the calls that an algorithm must pass before it is exported."""


def with_legal_calls(
    verdicts: Sequence[Verdict],
    observations: Sequence[tuple[Observation, Case]],
    launches: Launches,
    force_settings: ForceSettings,
    patience_s: float,
    report: Callable[[str], None],
) -> list[Verdict]:
    """The verdicts, with the legal calls for which each algorithm is wrong.

    ``observations`` are the observations of one collective at one p, on which the verdicts are based. Calls
    are tried with each algorithm that works at one size at least; algorithms that execute the same code
    share the result. Calls that the library's own choice gets wrong are kept with its verdict, and are not
    tried with the others: they would say nothing against an algorithm compared with the default.
    """
    first = observations[0][1]
    calls = calls_to_try(
        first.collective, first.p, [case.bytes for _, case in observations], PROOF_SEED, DRAWS
    )
    number = len(calls)
    results: dict[object, list[Failure]] = {}
    wrong: dict[str, list[WrongCall]] = {}
    reference: Reference | None = None
    for algorithm, code in _working_algorithms(observations):
        setup = Setup(*force_settings(algorithm, first))
        if code not in results:
            report(f"trying legal calls of {first.collective} {algorithm.name}, p = {first.p}")
            result = trials(launches, setup, calls, patience_s, reference)
            results[code] = result.failures
            if code == DEFAULT:
                reference = result.as_reference(setup)
        wrong[algorithm.name] = wrong_calls(results[code])
    return [
        msgspec.structs.replace(
            verdict, wrong_calls=wrong[verdict.algorithm], legal_calls=number, legal_seed=PROOF_SEED
        )
        if verdict.algorithm in wrong
        else verdict
        for verdict in verdicts
    ]


def calls_to_try(
    collective: str, p: int, sizes: Sequence[int], seed: int, draws: int, more_processes: Sequence[int] = ()
) -> list[LegalCall]:
    """The calls of the corpus that fit p processes, and then ``draws`` drawn ones; each once.

    Calls on all processes come first: what they find need not be found again on fewer processes.
    """
    random_calls = islice(drawn_calls(collective, p, sizes, seed, more_processes), draws)
    on_all_first = sorted(random_calls, key=lambda call: call.p < p)
    calls = [*corpus_calls(collective, p), *on_all_first]
    return list({call.command.line(): call for call in calls}.values())


def _working_algorithms(observations: Sequence[tuple[Observation, Case]]) -> list[tuple[Algorithm, object]]:
    """The algorithms that work, the library's own choice first, each with a key that identifies its code."""
    by_name: dict[str, list[tuple[Observation, Case]]] = {}
    for observation, case in observations:
        if observation.is_sound:
            by_name.setdefault(observation.algorithm.name, []).append((observation, case))
    by_default_first = sorted(by_name.items(), key=lambda item: item[0] != DEFAULT)
    return [(observed[0][0].algorithm, _code(name, observed)) for name, observed in by_default_first]


def _code(name: str, observations: Sequence[tuple[Observation, Case]]) -> object:
    """Equal for two algorithms that executed the same functions at every size with the same parameters."""
    if name == DEFAULT or not all(evidence.shows_identity(one.evidence) for one, _ in observations):
        return name
    return name.partition("(")[1:], tuple((repr(case), one.evidence) for one, case in observations)


SUSPICION_S = 5.0
"""A call that takes longer may hang, and is repeated alone: all calls are small."""

PATIENCE_S = 15.0
"""A call that takes longer, alone in a new launch, hangs."""

MOST_FAILURES = 3
"""After this number of failing calls the others are not tried: the algorithm is left out in any case."""

MOST_FAULTS = 10
"""The same for the library's own choice, whose failing calls are not tried with other algorithms."""

RIGHT = ""
"""The outcome of a call with the right result."""

MISPLACED_DATA = "MPI_Pack or MPI_Unpack gets its datatypes wrong, too"
"""The outcome of a call that says nothing about its collective: the library's datatypes are at fault."""


class Failure(Struct, frozen=True, kw_only=True):
    """A call that failed twice, the second time alone in a new launch.

    ``kind`` suffices for the failure: ``simplest`` is the call with this kind alone, which fails as
    ``outcome`` says.
    """

    call: LegalCall
    kind: str
    simplest: LegalCall
    outcome: str


def wrong_calls(failures: Sequence[Failure]) -> list[WrongCall]:
    """One wrong call of each kind and number of processes."""
    result: dict[tuple[str, int], WrongCall] = {}
    for failure in failures:
        call = failure.simplest
        wrong = WrongCall(
            kind=failure.kind,
            p=call.p,
            call=call.text,
            result=failure.outcome,
            descriptor=call.command.line(),
        )
        result.setdefault((failure.kind, call.p), wrong)
    return list(result.values())


class Trials(Struct, frozen=True, kw_only=True):
    """The outcome of calls in launches of one kind.

    ``right`` are those that were made and did not fail, among them ``misplaced_calls``, whose outcome was
    :data:`MISPLACED_DATA`.
    """

    failures: list[Failure]
    right: list[LegalCall]
    misplaced_calls: list[LegalCall]

    @property
    def call_count(self) -> int:
        """The number of calls that were made, each counted once."""
        return len(self.failures) + len(self.right)

    def as_reference(self, setup: Setup) -> Reference:
        """The outcome for the library's own choice, which was launched as in ``setup``."""
        outcomes = {
            call.command.line(): failure.outcome
            for failure in self.failures
            for call in (failure.call, failure.simplest)
        }
        return Reference(setup, self.failures, outcomes)


def trials(
    launches: Launches,
    setup: Setup,
    calls: Sequence[LegalCall],
    patience_s: float,
    reference: Reference | None = None,
    most_failures: int = 0,
) -> Trials:
    """Make the calls in a launch, until ``most_failures`` of them failed.

    0 stands for :data:`MOST_FAILURES`, or without a reference for :data:`MOST_FAULTS`. Calls that fail in the
    launch of the reference as well do not count, and those that it is known to get wrong are not made.

    Only the first failure of a launch is trusted, as it may leave messages and damaged memory behind. It
    counts if the call, alone in a new launch, fails again. Calls that resemble it are not made: each of them
    would cost a launch and show nothing else.
    """
    trial = _LaunchTrial(launches, setup, patience_s, {})
    by_default = (
        _LaunchTrial(launches, reference.setup, patience_s, reference.outcomes) if reference else None
    )
    failures: list[Failure] = []
    right: list[LegalCall] = []
    left = [call for call in calls if not (reference and reference.gets_wrong(call))]
    most_failures = most_failures or (MOST_FAILURES if reference else MOST_FAULTS)
    while left and len(failures) < most_failures:
        position, _ = trial.first_failure(left, SUSPICION_S)
        right += left[:position]
        if position is None:
            break
        suspect = left[position]
        left = left[position + 1 :]
        outcome = trial.outcome(suspect)
        if outcome in (RIGHT, MISPLACED_DATA) or (by_default and by_default.outcome(suspect)):
            right.append(suspect)
            continue
        failure = trial.explain(suspect, outcome, by_default)
        failures.append(failure)
        is_like = partial(_is_of_kind, p=setup.spec.p) if reference else _fails_alike
        left = [call for call in left if not is_like(call, failure)]
    return Trials(failures=failures, right=right, misplaced_calls=trial.misplaced_calls)


def outcome_of_plain_call(launches: Launches, setup: Setup, collective: str, patience_s: float) -> str:
    """The outcome of a call that nothing is special about, in a launch of its own."""
    return _LaunchTrial(launches, setup, patience_s, {}).outcome(plain_call(collective, setup.spec.p))


def _is_of_kind(call: LegalCall, failure: Failure, p: int) -> bool:
    """Whether a call is of the kind of a failure, on the same number of processes, or on fewer than the
    failure on all p: an algorithm is left out for the kind in any case."""
    return failure.kind in call.kinds and failure.simplest.p in (call.p, p)


def _fails_alike(call: LegalCall, failure: Failure) -> bool:
    """Whether a call has all that is special about the simplest call that fails, so that it would fail for
    the same reason: its kinds, and the operation with the family of its datatype."""
    return call.p >= failure.simplest.p and features(failure.simplest.command) <= features(call.command)


class _LaunchTrial:
    """Calls in launches in which an algorithm is forced; ``patience_s`` is how long a launch may take.

    ``outcomes`` maps the descriptors of calls to known outcomes; those of other calls are added.
    """

    def __init__(self, launches: Launches, setup: Setup, patience_s: float, outcomes: dict[str, str]) -> None:
        self._launches = launches
        self._setup = setup
        self._patience_s = patience_s
        self._outcomes = outcomes
        self.misplaced_calls: list[LegalCall] = []

    def first_failure(self, calls: Sequence[LegalCall], hang_s: float) -> tuple[int | None, str]:
        """The position of the first call that fails, None if all are right, and its outcome.

        Calls whose outcome is :data:`MISPLACED_DATA` do not fail; they are added to ``misplaced_calls``.
        """
        right_count = 0
        try:
            repeat_if_lost(self._start)
            with self._launches.run_launch(self._setup.spec) as driver:
                answers = driver.ask_each([call.command for call in calls], timeout_s=hang_s)
                for answer in answers:
                    outcome = describe(answer)
                    if outcome not in (RIGHT, MISPLACED_DATA):
                        self._launches.kill()
                        return right_count, outcome
                    self.misplaced_calls += [calls[right_count]] if outcome else []
                    right_count += 1
        except CommandRefused as refusal:
            self._launches.kill()
            return right_count, str(refusal)
        except DriverLost as loss:
            return min(right_count, len(calls) - 1), _describe_loss(str(loss))
        return None, RIGHT

    def _start(self) -> None:
        """Start the launch, which may take longer than a call, and force the algorithm in it."""
        with self._launches.run_launch(self._setup.spec) as driver:
            driver.ask(Hello(), timeout_s=self._patience_s)
            self._launches.force(driver, self._setup.force_arguments, self._patience_s)

    def outcome(self, call: LegalCall) -> str:
        """The outcome of a call, if it is not known yet: that of the call alone in a new launch."""
        line = call.command.line()
        if line not in self._outcomes:
            self._launches.kill()
            outcome = self.first_failure([call], min(self._patience_s, PATIENCE_S))[1]
            is_misplaced = not outcome and call in self.misplaced_calls
            self._outcomes[line] = MISPLACED_DATA if is_misplaced else outcome
        return self._outcomes[line]

    def explain(self, call: LegalCall, outcome: str, reference: _LaunchTrial | None) -> Failure:
        """The failure with the first kind that suffices for it.

        If no kind suffices, the call is made simpler as long as it fails, and named by the first kind left.
        """
        for kind, command in isolate_kinds(call.command):
            simplest = legal_call(command)
            if command == call.command:
                return Failure(call=call, kind=kind, simplest=call, outcome=outcome)
            if again := self._outcome_against(simplest, reference):
                return Failure(call=call, kind=kind, simplest=simplest, outcome=again)
        simplest = call
        for kind in reversed(call.kinds):
            simpler = remove_kind(simplest.command, kind)
            if simpler and (again := self._outcome_against(legal_call(simpler), reference)):
                simplest, outcome = legal_call(simpler), again
        kind = next(iter(simplest.kinds), "sizes")
        return Failure(call=call, kind=kind, simplest=simplest, outcome=outcome)

    def _outcome_against(self, call: LegalCall, reference: _LaunchTrial | None) -> str:
        """The outcome of a call; :data:`RIGHT` also if it fails in the launch of the reference."""
        outcome = self.first_failure([call], SUSPICION_S)[1]
        return RIGHT if outcome and reference and reference.outcome(call) else outcome


def describe(answer: CallAnswer) -> str:
    """The fault of a call in words; :data:`RIGHT` if there is none."""
    if answer.error:
        return f"it returns the error {answer.error.splitlines()[0].strip()}"
    if answer.misplaced:
        return MISPLACED_DATA
    if answer.wrong:
        are = "is" if answer.wrong == 1 else "are"
        return f"{amount(answer.wrong, 'element')} of the result {are} wrong"
    if answer.guards:
        return f"it overwrites {amount(answer.guards, 'byte')} that it must not touch"
    return RIGHT


def _describe_loss(reason: str) -> str:
    return (
        f"it hangs ({reason.removeprefix(HUNG)})"
        if reason.startswith(HUNG)
        else f"it ends the program: {reason}"
    )
