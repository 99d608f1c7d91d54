"""Algorithms by name: of the catalogue, and written in Python."""

from __future__ import annotations

from pathlib import Path

import pytest

from offbeat.base.errors import BadInput, RunFailed
from offbeat.simulation.algorithms import lookup
from offbeat.simulation.algorithms.inspected import Call, CatalogueAlgorithm, CheckBatch

OWN = Path(__file__).with_name("own_algorithms.py")


def test_every_algorithm_that_is_listed_is_found_by_its_name() -> None:
    for entry in lookup.list_algorithms():
        assert lookup.find_algorithm(f"{entry.collective}/{entry.name}", entry.family) == entry


def test_a_name_without_a_family_is_looked_up_in_open_mpi_first() -> None:
    algorithm = lookup.find_algorithm("reduce/binomial")
    assert isinstance(algorithm, CatalogueAlgorithm)
    assert algorithm.family == "openmpi"
    algorithm = lookup.find_algorithm("reduce/NTSL")
    assert isinstance(algorithm, CatalogueAlgorithm)
    assert algorithm.family == "simgrid"


def test_parameters_in_brackets_are_taken_and_the_others_keep_their_defaults() -> None:
    algorithm = lookup.find_algorithm("bcast/chain(fanout=2)")
    assert dict(algorithm.parameters) == {"segment": 0, "fanout": 2}
    assert algorithm.title == "bcast/chain(fanout=2) (openmpi)"


@pytest.mark.parametrize(
    ("name", "family", "message"),
    [
        ("reduce", "", "'reduce' names no algorithm; write COLLECTIVE/NAME"),
        ("reduse/binomial", "", "'reduse' is not a collective; did you mean 'reduce'"),
        ("reduce/binomal", "", "'binomal' is not an algorithm for reduce; did you mean 'binomial'"),
        ("reduce/NTSL", "openmpi", "the simulator has no 'NTSL' for reduce of openmpi"),
        ("reduce/binomial", "lam", "'lam' is not a family of algorithms"),
        ("bcast/chain(width=2)", "", "chain takes whole numbers for its parameters; they are: segment, fan"),
        ("bcast/chain(fanout=two)", "", "chain takes whole numbers for its parameters"),
        ("bcast/chain(fanout=0)", "", "chain: fanout is 0; it must be at least 1"),
        ("no_file.py:chain", "", "Say it with --collective"),
    ],
)
def test_unknown_names_are_refused_with_similar_ones(name: str, family: str, message: str) -> None:
    with pytest.raises(BadInput, match=message.replace("(", r"\(")):
        lookup.find_algorithm(name, family)


def test_a_function_in_a_file_is_an_algorithm() -> None:
    chain = lookup.find_algorithm(f"{OWN}:chain", collective="bcast")
    assert chain.title == "bcast/own_algorithms.py:chain"
    assert chain.messages(Call(p=3, count=5))["source"].tolist() == [0, 1]
    tally = chain.check(CheckBatch(p=5, roots=(0,), counts=(0, 3)))
    assert (tally.proved, tally.findings) == (2, [])
    wrong = chain.check(CheckBatch(p=2, roots=(1,)))
    assert wrong.findings[0].sentence == (
        "rank 0: a send to rank 1 reads element 0 of its output before anything was written there"
    )


def test_a_function_refuses_calls_that_it_does_not_support() -> None:
    tree = lookup.find_algorithm(f"{OWN}:tree", collective="reduce")
    tally = tree.check(CheckBatch(p=6))
    assert (tally.proved, tally.refused) == (0, 6)
    assert tally.refusals[0].sentence == "6 is no power of two"
    assert tree.check(CheckBatch(p=8, roots=(0,), counts=(4,), commutative=(False,))).proved == 1
    with pytest.raises(ValueError, match="6 is no power of two"):
        tree.messages(Call(p=6))


def test_an_exception_of_a_function_names_its_line() -> None:
    careless = lookup.find_algorithm(f"{OWN}:careless", collective="bcast")
    line = 1 + OWN.read_text().splitlines().index(
        "    return [rank.recv, rank.send][rank.id](1 - rank.id, rank.output)"
    )
    words = rf"own_algorithms.py:{line}: IndexError: list index out of range \(rank 2 of 3\)"
    with pytest.raises(RunFailed, match=words):
        careless.check(CheckBatch(p=3))


@pytest.mark.parametrize(
    ("text", "name", "message"),
    [
        ("chian = 3\n", "chain", "has no function 'chain'"),
        ("def chian(rank): pass\n", "chain", "did you mean 'chian'"),
        ("def chain(rank:\n", "chain", r"mine.py:1: '\(' was never closed"),
        ("import nothing_like_that\n", "chain", "mine.py:1: ModuleNotFoundError"),
    ],
)
def test_files_without_the_function_are_refused(tmp_path: Path, text: str, name: str, message: str) -> None:
    path = tmp_path / "mine.py"
    path.write_text(text)
    with pytest.raises((BadInput, RunFailed), match=message):
        lookup.find_algorithm(f"{path}:{name}", collective="bcast")


def test_a_missing_file_and_an_unknown_collective_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="is not a file"):
        lookup.find_algorithm(f"{tmp_path}/none.py:chain", collective="bcast")
    with pytest.raises(BadInput, match="'bcats' is not a collective; did you mean 'bcast'"):
        lookup.find_algorithm(f"{OWN}:chain", collective="bcats")
    with pytest.raises(BadInput, match="is an algorithm for reduce, but the collective bcast is requested"):
        lookup.find_algorithm("reduce/binomial", collective="bcast")


def test_a_function_may_import_its_neighbours(tmp_path: Path) -> None:
    (tmp_path / "my_steps.py").write_text("def to(rank):\n    return (rank.id + 1) % rank.p\n")
    (tmp_path / "mine.py").write_text(
        "from my_steps import to\n\n\ndef ring(rank):\n"
        "    for _ in range(rank.p - 1):\n"
        "        rank.sendrecv(to(rank), [], (rank.id - 1) % rank.p, [])\n"
    )
    ring = lookup.find_algorithm(f"{tmp_path / 'mine.py'}:ring", collective="barrier")
    assert ring.check(CheckBatch(p=7, counts=(0,))).proved == 1
