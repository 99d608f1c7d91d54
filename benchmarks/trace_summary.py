"""How fast 'offbeat trace summary' or 'offbeat async report' reads a large trace, and how much memory it
needs.

Usage: python benchmarks/trace_summary.py [RECORDS] [RANKS] [FOLDER] [messages] [async]

Writes a trace of RECORDS (default 100 million) on RANKS (default 64), 57 bytes per record, into a temporary
folder within FOLDER (default: that of the system). The trace has four call sites on MPI_COMM_WORLD and on
rows of it; each rank is late by its own pattern and noise. 'offbeat trace summary' then reads the trace in a
separate process. With "messages", each rank sends to its neighbour instead, again and again: MPI_Irecv with
and without a wildcard, MPI_Isend and MPI_Waitall, which are four records of 64 bytes. With "async",
'offbeat async report' reads the trace, in which each round of calls is an iteration. Printed are records
per second, the peak memory of that process, and whether every call was found. The trace is removed at the
end, also if the benchmark is interrupted.
"""

from __future__ import annotations

import json
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np
import trace_files as made

from offbeat.trace.files import encode
from offbeat.trace.files import format as form

CALLS_A_ROUND = 4
ROUND_NS = 40_000
ROW = 8
PAGES_AT_ONCE = 200


def write_rank(folder: Path, one: made.MadeFile, rounds: int, of_kind: Kind) -> None:
    """Stream a rank's records into its file, which is never in memory as a whole."""
    calls = rounds * CALLS_A_ROUND
    pages = -(-calls // of_kind.a_page)
    blocks = encode.definition_pages(one.definitions)
    random = np.random.default_rng(one.rank)
    one.header = {"ended_ns": (rounds + 2) * ROUND_NS}
    with (folder / f"rank-{one.rank:06}.trace").open("wb") as stream:
        first = len(blocks) // form.PAGE_BYTES + 1
        stream.write(one.begin(pages + first) + encode.with_checksums(blocks, made.RUN, one.rank))
        for begin in range(0, pages, PAGES_AT_ONCE):
            end = min(begin + PAGES_AT_ONCE, pages)
            number = np.arange(begin * of_kind.a_page, min(end * of_kind.a_page, calls))
            part = encode.row_pages(of_kind.rows(one, number, random))
            stream.write(encode.with_checksums(part, made.RUN, one.rank, first + begin))


def records(one: made.MadeFile, number: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """The records with these numbers: three calls on all ranks and one on a row of them, again and again."""
    rank = one.rank
    rounds, kind = np.divmod(number, CALLS_A_ROUND)
    begin = (rounds + 1) * ROUND_NS + kind * (ROUND_NS // CALLS_A_ROUND)
    delay = 17 * (rank % 13) + random.integers(0, 300, len(number))
    made_records = np.zeros(len(number), form.RECORD)
    made_records["enter_ns"] = begin + delay
    made_records["exit_ns"] = begin + 6000 + random.integers(0, 500, len(number))
    made_records["address"] = made.CODE + 0x10 * (kind + 1)
    made_records["bytes"] = np.array([8, 32768, 1024, 64])[kind]
    made_records["communicator"] = np.where(kind == 3, 3, 1)
    made_records["sequence"] = np.where(kind == 3, rounds, rounds * 3 + kind)
    made_records["function"] = np.array([1, 5, 6, 1])[kind]
    made_records["root"] = -1
    return made_records


def messages(one: made.MadeFile, number: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """The messages with these numbers: a receive, of every other one by a wildcard, a send, and both waited
    for together."""
    rounds, kind = np.divmod(number, CALLS_A_ROUND)
    is_done, is_receive = kind >= 2, kind % 2 == 0
    begin = (rounds + 1) * ROUND_NS + np.minimum(kind, 2) * (ROUND_NS // CALLS_A_ROUND)
    made_messages = np.zeros(len(number), form.MESSAGE)
    made_messages["enter_ns"] = begin + 17 * (one.rank % 13)
    made_messages["exit_ns"] = begin + 6000
    made_messages["address"] = made.CODE + 0x10 * (np.minimum(kind, 2) + 1)
    made_messages["bytes"] = 1024
    made_messages["communicator"] = 1
    made_messages["request"] = 2 * rounds + kind % 2 + 1
    left, right = (one.rank - 1) % one.size, (one.rank + 1) % one.size
    is_wildcard = is_receive & ~is_done & (rounds % 2 == 0)
    made_messages["peer"] = np.where(is_wildcard, form.UNKNOWN, np.where(is_receive, left, right))
    made_messages["tag"] = rounds % 1000
    made_messages["function"] = np.where(is_receive, 105, 102)
    made_messages["kind"] = np.where(is_receive, form.RECEIVE, form.SEND)
    by_waitall = form.COMPLETION | 2 << form.BY_SHIFT
    flags = np.where(is_done, by_waitall, form.ISSUE)
    made_messages["flags"] = flags | np.where(rounds % 2 == 0, is_receive * form.ANY_SOURCE, 0)
    return made_messages


class Kind(NamedTuple):
    """What the pages of a trace hold: how many rows each, and the rows."""

    a_page: int
    rows: Callable[[made.MadeFile, np.ndarray, np.random.Generator], np.ndarray]


RECORDS = Kind(form.RECORDS_A_PAGE, records)
MESSAGES = Kind(form.MESSAGES_A_PAGE, messages)


def make(folder: Path, records: int, ranks: int, of_kind: Kind) -> int:
    """Write the trace; returns the number of rounds of calls of each rank."""
    rounds = max(1, records // ranks // CALLS_A_ROUND)
    for one in made.files(ranks):
        row = range(one.rank // ROW * ROW, min(one.rank // ROW * ROW + ROW, ranks))
        again = int(len(row) == ranks)  # a row of all ranks is not MPI_COMM_WORLD
        one.definitions.append(made.communicator(3, row, one.rank, ordinal=again, parent=1))
        one.definitions += [made.function(name) for name in ("MPI_Isend", "MPI_Irecv", "MPI_Waitall")]
        write_rank(folder, one, rounds, of_kind)
    return rounds


def main() -> None:
    requested, ranks = _asked()
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    with TemporaryDirectory(dir=sys.argv[3] if len(sys.argv) > 3 else None) as temporary:
        folder = Path(temporary) / "trace"
        folder.mkdir()
        words = sys.argv[4:]
        of_kind = MESSAGES if "messages" in words else RECORDS
        rounds = make(folder, requested, ranks, of_kind)
        size = sum(path.stat().st_size for path in folder.iterdir())
        total = rounds * CALLS_A_ROUND * ranks
        print(f"{total} records of {ranks} ranks, {size / 1e9:.2f} GB")
        answer = Path(temporary) / "summary.json"
        began = time.monotonic()
        command = ["async", "report"] if "async" in words else ["trace", "summary"]
        arguments = [sys.executable, "-m", "offbeat", *command, str(folder), "--json", str(answer)]
        subprocess.run(arguments, check=True, stdout=subprocess.DEVNULL)
        seconds = time.monotonic() - began
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
        print(f"{seconds:.1f} s, {total / seconds / 1e6:.2f} million records/s, peak {peak / 2**20:.0f} MiB")
        document = json.loads(answer.read_text(encoding="utf-8"))
        if "async" in words:
            print(f"iterations: {document['iterations']} of {rounds}; notes: {document['notes']}")
            return
        whole = sum(row["whole"] for row in document["rows"])
        expected = rounds * (3 + -(-ranks // ROW))
        if of_kind is MESSAGES:
            sent = sum(row["sent"] for row in document["messages"])
            print(f"messages: {sent} of {rounds * ranks}; notes: {document['words']}")
            return
        print(f"calls on all ranks: {whole} of {expected}; records: {document['records']} of {total}")


def _asked() -> tuple[int, int]:
    """Records and ranks from the command line."""
    return (
        int(sys.argv[1]) if len(sys.argv) > 1 else 100_000_000,
        int(sys.argv[2]) if len(sys.argv) > 2 else 64,
    )


if __name__ == "__main__":
    main()
