"""Legal calls that a library gets wrong by itself, or by one of its algorithms, without a study."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct

from offbeat.engines.launches import LaunchSpec
from offbeat.engines.legal_checks import Setup, calls_to_try, failures, without_failures, wrong_calls
from offbeat.engines.mpi import MpiEngine
from offbeat.study.algorithm import DEFAULT, WrongCall
from offbeat.units import counted

SIZES = (64, 4096, 65536)
"""Message sizes in bytes around which calls are drawn: short, eager, and long messages in segments."""

CHECK_DRAWS = 300
CHECK_PROCESSES = 4
PATIENCE_S = 60.0
"""How long a launch may take to answer."""


class WrongAlgorithm(Struct, frozen=True, kw_only=True):
    """Legal calls of a collective that an algorithm gets wrong; ``default`` is the library's own choice."""

    collective: str
    algorithm: str
    calls: list[WrongCall]


class LibraryCheck(Struct, frozen=True, kw_only=True):
    """The outcome of one check: ``tried`` is the number of calls, drawn with ``seed``."""

    library: str
    p: int
    seed: int
    tried: int
    wrong: list[WrongAlgorithm]


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
    tried, wrong = 0, []
    for collective in collectives:
        calls = calls_to_try(collective, p, SIZES, seed, draws)
        own_choice = Setup(LaunchSpec(p=p, nodes=0, ppn=0, steerable=False))
        for algorithm in (
            engine.algorithms(collective) if has_algorithms else engine.algorithms(collective)[:1]
        ):
            is_default = algorithm.name == DEFAULT
            report(f"{collective} {algorithm.name}: {counted(len(calls), 'legal call')}")
            setup = own_choice if is_default else Setup(*engine.forced_launch(algorithm, p))
            found = failures(engine.launches, setup, calls, PATIENCE_S, None if is_default else own_choice)
            tried += len(calls)
            if is_default:
                calls = without_failures(calls, found)
            if found:
                wrong.append(
                    WrongAlgorithm(collective=collective, algorithm=algorithm.name, calls=wrong_calls(found))
                )
    return LibraryCheck(library=engine.installation.version_text, p=p, seed=seed, tried=tried, wrong=wrong)
