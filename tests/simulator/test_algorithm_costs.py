"""The comment of each algorithm states where it comes from, its rounds and its bytes, and is right.

``simulator/algorithms/catalogue.hpp`` defines the notation.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

import pytest
from msgspec.structs import asdict, replace

from offbeat.simulation.algorithms import lookup
from offbeat.simulation.algorithms.inspected import Call, CatalogueAlgorithm

SOURCES = Path(__file__).parents[2] / "simulator" / "algorithms"
SIZE, SIZE_OF_THREES = 48 * 1024, 54 * 1024
"""Divisible by the ranks, and above the sizes below which algorithms do not divide messages."""

ROW = re.compile(r'\{\s*"(\w+)",\s*"([^"]+)",\s*(?:fixed\()?(\w+)')
FUNCTION = re.compile(r"/\*\*((?:(?!\*/).)*)\*/\n(?:template <[^>]*> )?void (\w+)\((?=[^;{]*\{)", re.DOTALL)
COSTS = re.compile(r"Rounds: (?P<rounds>.+?)\. Bytes: (?P<bytes>.+?)\.(?: |$)")
IN_WORDS = re.compile(r"Rounds and bytes: [^.]+\.")
SOURCE = re.compile(r"\b(ompi_coll_base|MPIR_[A-Z]|[a-z_]+__[A-Za-z0-9]|simgrid::smpi::)")


def comments() -> dict[tuple[str, str], str]:
    """The comment of each function, by its namespace (of unnamed ones: of its file) and its name."""
    texts: dict[tuple[str, str], str] = {}
    for path in SOURCES.glob("*.cpp"):
        text = path.read_text(encoding="utf-8")
        namespace = re.search(r"namespace offbeat::algorithms::(\w+) \{", text)
        for match in FUNCTION.finditer(text):
            comment = " ".join(match[1].replace("\n *", " ").split())
            texts[namespace[1] if namespace else path.stem, match[2]] = comment
    return texts


def functions() -> Iterator[tuple[tuple[str, str, str], tuple[str, str]]]:
    """The function of each algorithm by collective, family and name, as a key of :func:`comments`."""
    for path in SOURCES.glob("*.cpp"):
        text = path.read_text(encoding="utf-8")
        for match in re.finditer(r"std::vector<Algorithm> (\w+)_algorithms\(\) \{(.*?)\n\}", text, re.DOTALL):
            namespace = re.search(r"using namespace (\w+);", match[2])
            for family, name, function in ROW.findall(match[2]):
                yield (match[1], family, name), (namespace[1] if namespace else path.stem, function)


COMMENTS = comments()
FUNCTIONS = dict(functions())


def comment_of(algorithm: CatalogueAlgorithm) -> str:
    namespace, function = FUNCTIONS[algorithm.collective, algorithm.family, algorithm.name]
    return COMMENTS.get((namespace, function)) or COMMENTS["exchange", function]


def is_stated(value: float, formulas: str, variant: CatalogueAlgorithm, call: Call) -> bool:
    """Whether a formula, or one of several between ``or``, has the value; after ``up to``, at least half."""
    segment = variant.parameters.get("segment") or variant.parameters.get("chunk_size") or call.count
    nodes = len(set(call.node_of_rank))
    names = {
        **variant.parameters,
        **{
            "p": call.p,
            "m": call.count,
            "N": nodes,
            "s": call.p // nodes,
            "q": math.ceil(call.count / segment),
        },
        **{"lg": math.log2, "log": math.log, "ceil": lambda x: math.ceil(x - 1e-9), "min": min, "max": max},
    }
    bound = formulas.removeprefix("up to ")
    stated = [eval(formula, {"__builtins__": {}}, names) for formula in bound.split(" or ")]
    if bound != formulas:
        return stated[0] / 2 <= value <= stated[0] + 1e-9
    return any(math.isclose(value, formula_value, rel_tol=1e-3) for formula_value in stated)


def measure_costs(variant: CatalogueAlgorithm, call: Call) -> tuple[int, int]:
    """Rounds, and the bytes of the rank that sends most."""
    messages = variant.messages(
        Call(**{**asdict(call), "count": call.count * (variant.collective != "barrier")})
    )
    sent_bytes: Counter[int] = Counter()
    for source, elements in zip(messages["source"].tolist(), messages["elements"].tolist(), strict=True):
        sent_bytes[source] += elements
    return max(messages["depth"].tolist()), max(sent_bytes.values())


def make_call(p: int, ranks_per_node: int, size: int) -> Call:
    return Call(p=p, count=size, node_of_rank=tuple(rank // ranks_per_node for rank in range(p)))


def variants(algorithm: CatalogueAlgorithm, rounds: str) -> Iterator[tuple[CatalogueAlgorithm, Call]]:
    """The algorithm with its defaults, other degrees of its tree, and segments, each with calls that fit."""
    if "two_proc" in algorithm.name:
        yield algorithm, make_call(2, 1, SIZE)
        return
    yield algorithm, make_call(4, 2, SIZE)
    yield algorithm, make_call(16, 4, SIZE)
    degrees = [name for name in ("k", "radix", "scatterv_k", "allgatherv_k") if name in algorithm.parameters]
    for degree, shapes in (
        (3, [make_call(9, 9, SIZE_OF_THREES), make_call(27, 27, SIZE_OF_THREES)]),
        (4, [make_call(16, 4, SIZE)]),
    ):
        for call in shapes if degrees else []:
            yield with_parameters(algorithm, dict.fromkeys(degrees, degree)), call
    for name in (
        {"segment", "chunk_size"} & algorithm.parameters.keys() if re.search(r"\bq\b", rounds) else ()
    ):
        for segments in (6, 64):
            yield with_parameters(algorithm, {name: SIZE // segments}), make_call(16, 4, SIZE)


def with_parameters(algorithm: CatalogueAlgorithm, parameters: dict[str, int]) -> CatalogueAlgorithm:
    return replace(algorithm, parameters=algorithm.parameters | parameters)


ALGORITHMS = lookup.list_algorithms()
COLLECTIVES = [
    (collective, list(group)) for collective, group in groupby(ALGORITHMS, lambda entry: entry.collective)
]


@pytest.mark.parametrize(("collective", "algorithms"), COLLECTIVES, ids=[name for name, _ in COLLECTIVES])
def test_every_algorithm_states_its_source_and_its_costs(
    collective: str, algorithms: list[CatalogueAlgorithm]
) -> None:
    for algorithm in algorithms:
        comment = comment_of(algorithm)
        assert SOURCE.search(comment), f"{algorithm.title}: {comment}"
        assert COSTS.search(comment) or IN_WORDS.search(comment), f"{algorithm.title}: {comment}"


@pytest.mark.parametrize(("collective", "algorithms"), COLLECTIVES, ids=[name for name, _ in COLLECTIVES])
def test_rounds_and_bytes_are_those_of_the_messages(
    collective: str, algorithms: list[CatalogueAlgorithm]
) -> None:
    wrong = []
    for algorithm in algorithms:
        costs = COSTS.search(comment_of(algorithm))
        for variant, call in variants(algorithm, costs["rounds"]) if costs else ():
            rounds, size = measure_costs(variant, call)
            if not is_stated(rounds, costs["rounds"], variant, call):
                wrong.append(f"{variant}, p={call.p}: {rounds} rounds, not {costs['rounds']}")
            if not is_stated(size, costs["bytes"], variant, call):
                wrong.append(f"{variant}, p={call.p}: {size / call.count} m, not {costs['bytes']}")
    assert wrong == []
