"""Legal calls that a library gets wrong by itself, or by one of its algorithms, without a study."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct

from offbeat.base.units import amount
from offbeat.measurement.engines.driver_launches import LaunchSpec
from offbeat.measurement.engines.mpi_engine import MpiEngine
from offbeat.measurement.legal_calls.algorithm_checks import (
    Setup,
    calls_to_try,
    outcome_of_plain_call,
    trials,
    wrong_calls,
)
from offbeat.model.study.algorithm import DEFAULT, WrongCall

SIZES = (64, 4096, 65536)
"""Message sizes in bytes around which calls are drawn: short, eager, and long messages in segments."""

CHECK_DRAWS = 300
CHECK_PROCESSES = 4
PATIENCE_S = 60.0
"""How long a launch may take to answer."""

MOST_DEFAULT_FAILURES = 40
"""Different failures of the library's own choice after which no more of its calls are made."""

MOST_FAILURES = 6
"""The same of an algorithm: fewer, as there are many algorithms, and their calls cost launches."""


class WrongAlgorithm(Struct, frozen=True, kw_only=True):
    """Legal calls of a collective that an algorithm gets wrong; ``default`` is the library's own choice."""

    collective: str
    algorithm: str
    calls: list[WrongCall]


class LibraryCheck(Struct, frozen=True, kw_only=True):
    """The outcome of one check of a library.

    ``tried`` is the number of legal calls that were made; ``seed`` is the seed of their draws. ``algorithms``
    is the number of algorithms, with the library's own choice for each collective. ``misplaced`` are calls
    with datatypes that MPI_Pack or MPI_Unpack get wrong as well: they count for nothing. ``unusable`` are
    algorithms that fail for doubles on the first ranks in order, such as those for two processes only: with
    them no call was tried.
    """

    library: str
    p: int
    seed: int
    tried: int
    algorithms: int
    wrong: list[WrongAlgorithm]
    misplaced: list[str]
    unusable: list[str]


def check_library(
    engine: MpiEngine,
    collectives: Sequence[str],
    *,
    p: int = CHECK_PROCESSES,
    draws: int = CHECK_DRAWS,
    seed: int = 1,
    has_algorithms: bool = False,
    report: Callable[[str], None] = lambda _: None,
) -> LibraryCheck:
    """Try ``draws`` calls of each collective, and those of the corpus, with the library's own choice.

    With ``has_algorithms``, they are also tried with each algorithm that can be forced; calls that the
    library itself gets wrong do not count against an algorithm.
    """
    call_count, algorithms, wrong = 0, 0, []
    misplaced_calls: dict[str, None] = {}
    unusable: list[str] = []
    for collective in collectives:
        calls = calls_to_try(collective, p, SIZES, seed, draws)
        reference = None
        for algorithm in (
            engine.algorithms(collective) if has_algorithms else engine.algorithms(collective)[:1]
        ):
            report(f"{collective} {algorithm.name}: {amount(len(calls), 'legal call')}")
            if algorithm.name == DEFAULT:
                setup = Setup(LaunchSpec(p=p, nodes=0, ppn=0, steerable=False))
                result = trials(
                    engine.launches, setup, calls, PATIENCE_S, most_failures=MOST_DEFAULT_FAILURES
                )
                reference = result.as_reference(setup)
            else:
                setup = Setup(*engine.forced_launch(algorithm, p))
                if outcome := outcome_of_plain_call(engine.launches, setup, collective, PATIENCE_S):
                    unusable.append(f"{collective} {algorithm.name}: {outcome}")
                    continue
                result = trials(engine.launches, setup, calls, PATIENCE_S, reference, MOST_FAILURES)
            call_count += result.call_count
            algorithms += 1
            misplaced_calls |= {call.command.line(): None for call in result.misplaced_calls}
            if result.failures:
                calls_of_algorithm = wrong_calls(result.failures)
                wrong.append(
                    WrongAlgorithm(collective=collective, algorithm=algorithm.name, calls=calls_of_algorithm)
                )
    return LibraryCheck(
        library=engine.installation.version_text,
        p=p,
        seed=seed,
        tried=call_count,
        algorithms=algorithms,
        wrong=wrong,
        misplaced=list(misplaced_calls),
        unusable=unusable,
    )
