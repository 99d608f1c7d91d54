"""Studies for the debug engine, and runs of them; as a program, a run that can be killed."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

import polars as pl
from debug_engine import DebugEngine, Script

from offbeat.measurement.results.read import read_cases
from offbeat.measurement.runs.resume import open_store
from offbeat.measurement.runs.run import run
from offbeat.measurement.runs.run_progress import Outcome
from offbeat.model.study.case import Case
from offbeat.model.study.study_file import LoadedStudy, load

SMALL = """
name = "debug"
seed = 3
[[collective]]
names = ["reduce"]
sizes = [8, 1024]
[processes]
p = [3]
[patterns]
shapes = ["no_delay", "ascending", "last_delayed"]
[repetitions]
blocks = 1
minimum = 3
maximum = 3
"""

LARGE = SMALL.replace('["reduce"]', '["reduce", "bcast"]').replace("[3]", "[2, 3]")


class Silent:
    """A listener that stores the events of a run."""

    def __init__(self) -> None:
        self.sentences: list[str] = []
        self.warned: list[str] = []
        self.begun: list[tuple[int, int]] = []
        self.ended: list[tuple[str, str]] = []
        self.finished_cases: list[Case] = []
        self.messages = 0

    def say(self, message: str) -> None:
        self.sentences.append(message)

    def warn(self, sentence: str) -> None:
        self.warned.append(sentence)

    def begin(self, done: int, total: int, unit: str = "cases") -> None:
        self.begun.append((done, total))

    def report_messages(self, messages: int) -> None:
        self.messages += messages

    def report_case(self, case: Case, status: str, left: int | None = None) -> None:
        self.ended.append((case.id, status))
        self.finished_cases.append(case)


def study(folder: Path, text: str = SMALL) -> LoadedStudy:
    """Write a study file and load it."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "study.toml"
    path.write_text(text)
    return load(path)


def go(
    loaded: LoadedStudy,
    directory: Path,
    engine: DebugEngine | None = None,
    out_of_time: Callable[[float], bool] = lambda longest_s: False,
    listener: Silent | None = None,
) -> Outcome:
    """Run a study, or resume it."""
    with open_store(loaded, directory) as store:
        return run(loaded, store, engine or DebugEngine(), listener or Silent(), out_of_time)


def cases(directory: Path) -> pl.DataFrame:
    return read_cases(directory)


def status_of(directory: Path) -> dict[tuple[str, int, str], tuple[str, str]]:
    """(algorithm, size, pattern) → (status, reason)."""
    rows = cases(directory).iter_rows(named=True)
    return {(r["algorithm"], r["bytes"], r["pattern"]): (r["status"], r["reason"]) for r in rows}


def main() -> None:
    """Run a study slowly: ``debug_run.py STUDY DIRECTORY LOG``; the log gets a line for each step."""
    log = os.open(sys.argv[3], os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def before(event: tuple) -> None:
        os.write(log, f"{event[0]} {event[1]}\n".encode())
        time.sleep(0.002)

    class Logging(Silent):
        def report_case(self, case: Case, status: str, left: int | None = None) -> None:
            os.write(log, f"finished {case.id}\n".encode())

    script = Script(failures={("odd", "ascending"): "hung", ("odd", "last_delayed"): "crashed"})
    go(load(sys.argv[1]), Path(sys.argv[2]), DebugEngine(script, before), listener=Logging())


if __name__ == "__main__":
    main()
