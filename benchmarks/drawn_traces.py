"""Draws traces, writes them as the tracer or as simulated programs, and damages them.

What is read of them can be compared with the drawn lists. The tests and ``trace_damage.py`` use it.
"""

from __future__ import annotations

import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from offbeat.base.errors import BadInput
from offbeat.trace.files import encode
from offbeat.trace.files import format as form
from offbeat.trace.files.rank_file import RankFile, open_file

NATIVE = Path(__file__).parents[1] / "native"
PROGRAM = Path(__file__).with_suffix(".c")
SOURCES = (
    "settings/settings.c",
    *(f"trace/{name}.c" for name in ("mapping_guard", "record_encoder", "thread_state", "timestamp")),
    *(f"trace/{name}.c" for name in ("trace_config", "trace_file")),
)
LANE_SHIFT = 40
"""The address of a drawn record or message has the number of its thread above these bits."""

Rows = list[tuple[np.ndarray, np.ndarray]]
"""Records and messages of each thread."""


def compiled_writer(folder: Path) -> Path:
    """The program that writes drawn records through the tracer's encoder."""
    program = folder / "write_records"
    options = ["-O1", "-std=c11", "-D_POSIX_C_SOURCE=200809L", f"-I{NATIVE}", f"-I{NATIVE / 'include'}"]
    sources = [str(PROGRAM), *(str(NATIVE / name) for name in SOURCES)]
    subprocess.run(["cc", *options, *sources, "-pthread", "-lm", "-o", str(program)], check=True)
    return program


def drawn_records(rng: np.random.Generator, thread: int, count: int) -> np.ndarray:
    """Records of a thread: loops over a few call sites up to calls of which no two are alike."""
    rows = np.zeros(count, form.RECORD)
    sites = int(rng.choice([1, 3, 40, 3000]))
    site = np.arange(count) % sites if rng.random() < 0.5 else rng.integers(0, sites, count)
    of_site = np.random.default_rng(int(rng.integers(2**32))).integers(0, 2**16, (sites, 8))
    rows["address"] = (thread << LANE_SHIFT) + 16 * site
    rows["communicator"] = 1 + of_site[site, 0] % int(rng.choice([1, 3, 40]))
    rows["function"] = 1 + of_site[site, 1] % 30
    rows["datatype"], rows["operation"], rows["flags"] = (of_site[site, column] for column in (2, 3, 4))
    rows["root"] = of_site[site, 5].astype(np.int64) - 3
    rows["bytes"] = of_site[site, 6]
    for communicator in np.unique(rows["communicator"]):
        places = np.flatnonzero(rows["communicator"] == communicator)
        rows["sequence"][places] = np.arange(len(places)) + int(rng.integers(0, 2**31))
    _make_irregular(rng, rows)
    gaps = rng.integers(0, int(rng.choice([10, 10**4, 2**29, 2**40])), count)
    durations = rng.integers(0, int(rng.choice([10, 10**4, 2**27, 2**45])), count)
    rows["enter_ns"] = int(rng.integers(0, 2**40)) + np.cumsum(gaps)
    rows["exit_ns"] = rows["enter_ns"] + durations
    return rows


def _make_irregular(rng: np.random.Generator, rows: np.ndarray) -> None:
    """Give some of the rows other values, up to the largest."""
    for name, most in (
        *(("bytes", 2**62), ("largest_bytes", 2**62), ("round", 2**32), ("sequence", 2**32)),
        *(("blocks", 2**32), ("empty_blocks", 2**32), ("root", 2**31)),
    ):
        is_other = rng.random(len(rows)) < float(rng.choice([0, 0, 0.01, 0.5, 1]))
        values = rng.integers(0, min(most, int(rng.choice([3, 10**6, 2**62]))), len(rows), dtype=np.int64)
        rows[name][is_other] = values[is_other]
    for name in ("largest_bytes", "empty_blocks"):
        rows[name][rows["blocks"] == 0] = 0


def drawn_messages(rng: np.random.Generator, thread: int, count: int) -> np.ndarray:
    """Messages of a thread."""
    rows = np.frombuffer(rng.bytes(count * form.MESSAGE_BYTES), form.MESSAGE).copy()
    rows["address"] = thread << LANE_SHIFT
    rows["function"] = 1 + rows["function"] % 30
    return rows


def drawn_rows(rng: np.random.Generator, most_threads: int = 4) -> Rows:
    """Records and messages of some threads: of one to four, or of many with fewer records each."""
    is_small = most_threads <= 4
    threads = int(rng.integers(1 if is_small else most_threads // 2, most_threads + 1))
    records, messages = (
        ([0, 1, 500, 3000, 12000], [0, 0, 30, 1500]) if is_small else ([1, 30, 300, 1500], [0, 9, 90])
    )
    return [
        (
            drawn_records(rng, thread, int(rng.choice(records))),
            drawn_messages(rng, thread, int(rng.choice(messages))),
        )
        for thread in range(threads)
    ]


@dataclass
class DrawnTrace:
    """A file, and what was written into it; ``is_cut``: the file has a limit that some of it exceeds."""

    path: Path
    rows: Rows
    is_cut: bool
    is_killed: bool


def traced(rng: np.random.Generator, program: Path, folder: Path, most_threads: int = 4) -> DrawnTrace:
    """A drawn trace that the tracer's encoder wrote, of at most 256 threads."""
    rows = drawn_rows(rng, most_threads)
    limit = int(rng.integers(3, 8)) * (1 + most_threads // 16) * form.PAGE_BYTES if rng.random() < 0.3 else 0
    return written(program, folder, rows, limit_bytes=limit, is_killed=bool(rng.random() < 0.4))


def written(
    program: Path, folder: Path, rows: Rows, *, limit_bytes: int = 0, is_killed: bool = False
) -> DrawnTrace:
    """The trace of these rows, as the tracer's encoder writes it."""
    path, drawn = folder / "rank-000000.trace", folder / "drawn"
    path.unlink(missing_ok=True)
    parts = [
        np.array([len(records), len(messages)], "<u8").tobytes() + records.tobytes() + messages.tobytes()
        for records, messages in rows
    ]
    drawn.write_bytes(b"".join(parts))
    line = [str(program), str(path), str(drawn), str(limit_bytes), "kill" if is_killed else "close"]
    done = subprocess.run(line, check=False)
    if done.returncode != (-signal.SIGKILL if is_killed else 0):
        raise RuntimeError(f"{line} ended with {done.returncode}")
    return DrawnTrace(path, rows, limit_bytes > 0, is_killed)


def simulated(
    rng: np.random.Generator, _program: Path | None, folder: Path, most_threads: int = 4
) -> DrawnTrace:
    """A drawn trace as simulated programs write it."""
    rows, path = drawn_rows(rng, most_threads), folder / "rank-000000.trace"
    pages = encode.definition_pages(
        [encode.function(number, 0, number, "MPI_Bcast") for number in range(1, 31)]
    )
    for lane, parts in enumerate(rows):
        pages += b"".join(encode.row_pages(part, lane) for part in parts)
    header = {"size": 1, "run": 7, "state": form.FINALIZED, "pages": len(pages) // form.PAGE_BYTES + 1}
    path.write_bytes(encode.header_page(header) + encode.with_checksums(pages, 7, 0))
    return DrawnTrace(path, rows, is_cut=False, is_killed=False)


def rows_of(file: RankFile) -> dict[int, tuple[bytes, bytes]]:
    """Thread → its records and its messages as bytes."""
    found: dict[int, list[bytes]] = {}
    for kind, (lanes, read) in enumerate(((file.lanes, file.records), (file.message_lanes, file.messages))):
        for pages in lanes.values():
            rows = read(pages)
            if len(rows):
                thread = int(rows["address"][0]) >> LANE_SHIFT
                found.setdefault(thread, [b"", b""])[kind] = rows.tobytes()
    return {thread: (both[0], both[1]) for thread, both in found.items()}


def damaged(rng: np.random.Generator, whole: bytes) -> bytes:
    """A copy with one to three damages."""
    data = bytearray(whole)
    for _ in range(int(rng.integers(1, 4))):
        _damage(rng, data)
    return bytes(data)


def _damage(rng: np.random.Generator, data: bytearray) -> None:
    pages = max(len(data) // form.PAGE_BYTES, 1)
    one, other = (int(page) * form.PAGE_BYTES for page in rng.integers(0, pages, 2))
    at = int(rng.integers(0, max(len(data), 1)))
    # Half of the changes are where pages begin, which are filled from the front.
    near = min(one + int(rng.integers(0, 200)), len(data) - 1) if rng.random() < 0.5 else at
    kind = int(rng.integers(0, 7))
    if not data:
        return
    if kind in (0, 1):
        data[near] ^= 1 << int(rng.integers(0, 8))
    elif kind == 2:
        length = min(int(rng.integers(1, 64)), len(data) - near)
        data[near : near + length] = rng.bytes(length)
    elif kind == 3:
        length = min(int(rng.choice([8, 512, 4096, form.PAGE_BYTES])), len(data) - one)
        data[one : one + length] = bytes(length)
    elif kind == 4:
        del data[at:]
    elif kind == 5:
        first, second = data[one : one + form.PAGE_BYTES], data[other : other + form.PAGE_BYTES]
        if len(first) == len(second):
            data[one : one + form.PAGE_BYTES], data[other : other + form.PAGE_BYTES] = second, first
    else:
        data[one : one + form.PAGE_BYTES] = data[other : other + form.PAGE_BYTES]


def outcome(path: Path, whole: dict[int, tuple[bytes, bytes]], faults: list[str]) -> str:
    """What reading a damaged file shows: ``noticed``, ``unchanged`` or ``silent``."""
    try:
        file = open_file(path)
    except BadInput:
        return "noticed"
    if file.faults != faults:
        return "noticed"
    return "unchanged" if rows_of(file) == whole else "silent"
