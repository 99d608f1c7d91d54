"""Benchmarks of many random programs: their arguments, and a file that keeps the result of each program.

A program depends on the seed and its number alone. A benchmark that was killed continues with the programs
that its file does not have.
"""

from __future__ import annotations

import argparse
import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import closing
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from msgspec import Struct

from offbeat.base.campaign.append_file import AppendFile, encode_lines, read_lines
from offbeat.base.errors import BadInput
from offbeat.base.progress_bar import ProgressBar


class OfProgram(Struct, frozen=True, kw_only=True):
    """The result of one program: its number among those of a seed."""

    seed: int
    number: int


Result = TypeVar("Result", bound=OfProgram)


def arguments(description: str | None, programs: int) -> argparse.ArgumentParser:
    """The parser of a benchmark: the number of programs, the seed, the file of results, the workers."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("programs", nargs="?", type=int, default=programs, help="number of programs")
    parser.add_argument("seed", nargs="?", type=int, default=1, help="seed of the programs")
    parser.add_argument("file", nargs="?", type=Path, help="keeps the result of each finished program")
    parser.add_argument("--workers", type=int, default=1, help="processes that simulate at the same time")
    return parser


def results(
    given: argparse.Namespace,
    kind: type[Result],
    work: Callable[[int], Result],
    show: Callable[[Result], None],
    activity: str,
) -> list[Result]:
    """The results of all programs in the order of their numbers: those of the file, and new ones.

    ``work`` maps a number to a result; with several workers, it must be picklable. ``show`` is called with
    each result as soon as it is known. Raises :class:`BadInput` for a file of another seed.
    """
    if given.programs < 1 or given.workers < 1:
        raise BadInput("write 1 or more programs and 1 or more workers")
    known, end = read_lines(given.file, kind) if given.file is not None else ([], 0)
    if other := {one.seed for one in known} - {given.seed}:
        raise BadInput(
            f"{given.file} has programs of seed {other.pop()}, not {given.seed}: name another file"
        )
    found = {one.number: one for one in known if one.number < given.programs}
    for one in found.values():
        show(one)
    missing = [number for number in range(given.programs) if number not in found]
    with ProgressBar(activity) as bar:
        for one in _kept(_computed(missing, work, given.workers), given.file, end):
            show(one)
            found[one.number] = one
            bar.update(done_count=len(found), total=given.programs)
            bar.print_periodically(f"{len(found)} of {given.programs} programs")
    return [found[number] for number in range(given.programs)]


def _kept(computed: Iterator[Result], file: Path | None, end: int) -> Iterator[Result]:
    """The results, each of which is on disk before it is handed on."""
    if file is None:
        yield from computed
        return
    with closing(AppendFile(file, end)) as record:
        for one in computed:
            record.append(encode_lines([one]))
            yield one


def _computed(numbers: Sequence[int], work: Callable[[int], Result], workers: int) -> Iterator[Result]:
    """The results, as soon as each is known."""
    if workers == 1:
        yield from map(work, numbers)
        return
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=context) as pool:
        for done in as_completed([pool.submit(work, number) for number in numbers]):
            yield done.result()


def generator_of(seed: int, number: int) -> np.random.Generator:
    """The generator of a program."""
    return np.random.default_rng([seed, number])


def random_weights(generator: np.random.Generator, ranks: int) -> list[float]:
    """Work that differs uniformly among ranks, by up to 60%."""
    weights: Any = 1 + generator.uniform(0, 0.6) * generator.random(ranks)
    return [round(float(weight), 4) for weight in weights]
