"""What a process sends and receives in a collective, by its role; one definition of sizes in all tables."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import polars as pl
import pytest
import trace_factory as factory
from hypothesis import given
from hypothesis import strategies as st

from offbeat.model.study.collectives import PROPERTIES
from offbeat.trace.calls.call_bytes import WITH_BLOCK_SUMS, Role, exchanged_bytes
from offbeat.trace.exports.exports import export
from offbeat.trace.files.trace_folder import Trace, open_trace
from offbeat.trace.summary import summarise

P = 4
ROOT = 1
STATED = [
    ("MPI_Bcast", ROOT, [100] * P),
    ("MPI_Reduce", ROOT, [100] * P),
    ("MPI_Gather", ROOT, [100] * P),
    ("MPI_Alltoall", -1, [100] * P),
    ("MPI_Allreduce", -1, [100] * P),
    ("MPI_Alltoallv", -1, [10, 20, 30, 43]),
    ("MPI_Allgatherv", -1, [10, 20, 30, 43]),
    ("MPI_Reduce_scatter", -1, [400] * P),
    ("MPI_Scan", -1, [100] * P),
]
"""Function, root, and the bytes that each rank's record holds."""

EXCHANGED = {
    "BCAST": [(0, 100), (400, 100), (0, 100), (0, 100)],
    "REDUCE": [(100, 0), (100, 400), (100, 0), (100, 0)],
    "GATHER": [(100, 0), (100, 400), (100, 0), (100, 0)],
    "ALLTOALL": [(400, 400)] * P,
    "ALLREDUCE": [(400, 400)] * P,
    "ALLTOALLV": [(10, 10), (20, 20), (30, 30), (43, 43)],
    "ALLGATHERV": [(40, 103), (80, 103), (120, 103), (172, 103)],
    "REDUCE_SCATTER": [(400, 400)] * P,
    "SCAN": [(400, 100), (300, 200), (200, 300), (100, 400)],
}
"""Operation → (sent, received) of each rank, worked out by hand."""


@pytest.fixture
def trace(tmp_path: Path) -> Trace:
    files = factory.files(P)
    for rank, one in enumerate(files):
        for sequence, (function, root, sizes) in enumerate(STATED):
            begin = 1001 + 1000 * sequence
            values = {"function": function, "root": root, "bytes": sizes[rank], "sequence": sequence}
            one.call(begin, begin + 500, **values)
    return open_trace(factory.write(tmp_path / "t", files))


def test_otf2_has_what_each_role_sends_and_receives(trace: Trace, tmp_path: Path) -> None:
    pytest.importorskip("otf2")
    program = shutil.which("otf2-print")
    if program is None:
        pytest.skip("missing: Debian's package otf2-tools")
    export(trace, tmp_path / "archive", "otf2")
    done = subprocess.run(
        [program, tmp_path / "archive" / "traces.otf2"], capture_output=True, text=True, check=True
    )
    ends = re.findall(
        r"MPI_COLLECTIVE_END +(\d+) +\d+ +Operation: (\w+),.*Sent: (\d+), Received: (\d+)", done.stdout
    )
    sizes: dict[str, list[tuple[int, int]]] = {}
    for _, operation, sent, received in sorted(ends, key=lambda end: int(end[0])):
        sizes.setdefault(operation, []).append((int(sent), int(received)))
    assert sizes == EXCHANGED


@given(
    name=st.sampled_from(
        [name for name in PROPERTIES if name not in WITH_BLOCK_SUMS and not PROPERTIES[name].is_of_neighbours]
    ),
    blocks=st.lists(st.integers(0, 1000), min_size=1, max_size=9),
    root=st.integers(0, 8),
    in_place=st.booleans(),
)
def test_all_processes_together_receive_what_they_send(
    name: str, blocks: list[int], root: int, in_place: bool
) -> None:
    p = len(blocks)
    if not PROPERTIES[name].has_uneven_counts:
        blocks = blocks[:1] * p
    is_rooted = PROPERTIES[name].is_rooted
    pairs = [
        exchanged_bytes(
            Role(
                collective=name,
                rank=place,
                processes=p,
                root=root % p if is_rooted else -1,
                block_bytes=block,
                vector_bytes=block,
                total_bytes=sum(blocks),
                in_place=in_place and not (is_rooted and place != root % p) and name != "bcast",
            )
        )
        for place, block in enumerate(blocks)
    ]
    assert sum(sent for sent, _ in pairs) == sum(received for _, received in pairs)
    assert all(sent >= 0 and received >= 0 for sent, received in pairs)


def test_sizes_mean_the_same_for_regular_and_irregular_collectives(trace: Trace, tmp_path: Path) -> None:
    export(trace, tmp_path / "out.parquet", "parquet")
    table = pl.read_parquet(tmp_path / "out.parquet").filter(pl.col("rank") == 3)
    by_function = {row["function"]: (row["bytes"], row["sent_bytes"]) for row in table.iter_rows(named=True)}
    assert by_function["MPI_Alltoall"] == (100, 400)
    assert by_function["MPI_Alltoallv"] == (11, 43)  # the mean block, rounded up
    assert by_function["MPI_Reduce_scatter"] == (100, 400)
    assert by_function["MPI_Allgatherv"] == (43, 43)
    sizes = {row.function: row.most_bytes for row in summarise(trace).rows}
    assert (sizes["MPI_Alltoall"], sizes["MPI_Reduce_scatter"], sizes["MPI_Alltoallv"]) == (100, 100, 11)
