"""Damage every kind of file that offbeat reads, and see that it ends in a sentence, within limits.

    python tests/fuzz/fuzz.py --seconds 600 --seed 7 [--only results] [--keep FOLDER]

Each target runs in a process of its own: an abort ends that one, and the input that caused it is kept. An
input fails if reading it raises anything but OffbeatError, takes more than 2 s of CPU time or 500 MB, or ends
in a message with a line of more than 1,000 characters. A failure is printed with the seed and the number that
repeat it.
"""

from __future__ import annotations

import argparse
import multiprocessing
import random
import resource
import shutil
import sys
import tempfile
import time
import traceback
import warnings
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), *(str(Path(__file__).parents[1] / room) for room in ("trace",))]
sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

from mutate import mutated  # noqa: E402 - the paths come first
from targets import TARGETS, pick  # noqa: E402

from offbeat.base.errors import OffbeatError  # noqa: E402

MOST_CPU_S = 2.0
MOST_BYTES = 500 * 10**6
MOST_CHARACTERS = 1000


def attempt(name: str, sound: Path, folder: Path, seed: int, number: int) -> str:
    """Use one damaged copy; returns what went wrong, or an empty text."""
    chance = random.Random(f"{name} {seed} {number}")
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(sound, folder)
    path = pick(folder, chance)
    path.write_bytes(mutated(path.read_bytes(), chance))
    began, before = time.process_time(), peak_bytes()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # a user would see a line of the source
            TARGETS[name].use(folder)
    except OffbeatError as error:
        longest = max(str(error).splitlines(), key=len)
        if len(longest) > MOST_CHARACTERS:
            return f"{path.name}: a line of the message has {len(longest)} characters: {longest[:300]}"
    except BaseException:
        return f"{path.name}: {traceback.format_exc()}"
    taken, grown = time.process_time() - began, peak_bytes() - before
    if taken > MOST_CPU_S:
        return f"{path.name}: took {taken:.1f} s of CPU time"
    return f"{path.name}: took {grown / 1e6:.0f} MB" if grown > MOST_BYTES else ""


def peak_bytes() -> int:
    """The peak memory of this process."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def work(name: str, seed: int, seconds: float, place: Path, first: int, connection: object) -> None:
    """Damage one target until time is up; sends the number of every attempt before it, and each failure."""
    sound, folder = place / "sound", place / "used"
    if not sound.exists():
        sound.mkdir(parents=True)
        TARGETS[name].make(sound)
    TARGETS[name].use(Path(shutil.copytree(sound, folder, dirs_exist_ok=True)))  # loads what it needs
    until, number = time.monotonic() + seconds, first
    while time.monotonic() < until:
        connection.send((number, ""))  # type: ignore[attr-defined]
        if wrong := attempt(name, sound, folder, seed, number):
            connection.send((number, wrong))  # type: ignore[attr-defined]
        number += 1


def fuzz(names: list[str], seed: int, seconds: float, place: Path) -> tuple[int, list[str]]:
    """All targets, one after the other, each for its share of the time; attempts and failures."""
    attempts, failures = 0, []
    for name in names:
        first, until = 0, time.monotonic() + seconds / len(names)
        while (left := until - time.monotonic()) > 0:
            here, there = multiprocessing.Pipe(duplex=False)
            process = multiprocessing.get_context("spawn").Process(
                target=work, args=(name, seed, left, place / name, first, there)
            )
            process.start()
            there.close()
            last, wrong = listen(here)
            process.join()
            failures += [f"{name}, seed {seed}, number {number}: {words}" for number, words in wrong]
            if process.exitcode:
                failures.append(f"{name}, seed {seed}, number {last}: ended with {process.exitcode}")
            attempts += last + 1 - first
            first = last + 1
            if not process.exitcode or last < 0:
                break
    return attempts, failures


def listen(connection: object) -> tuple[int, list[tuple[int, str]]]:
    """The messages of a worker until it ends: the last attempt, and the failures."""
    last, wrong = -1, []
    while True:
        try:
            last, words = connection.recv()  # type: ignore[attr-defined]
        except EOFError:
            return last, wrong
        if words:
            wrong.append((last, words))


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    parser.add_argument("--only", choices=TARGETS, action="append")
    parser.add_argument("--keep", type=Path, help="the folder for inputs; a temporary one if not given")
    options = parser.parse_args()
    place = options.keep or Path(tempfile.mkdtemp(prefix="offbeat-fuzz-"))
    attempts, failures = fuzz(options.only or list(TARGETS), options.seed, options.seconds, place)
    for words in failures:
        print(words)
    print(f"seed {options.seed}: {attempts} damaged inputs, {len(failures)} failures")
    if not options.keep:
        shutil.rmtree(place)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
