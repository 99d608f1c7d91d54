"""Of calls with counts for each process, empty blocks and the largest one are recorded, summed up, and stated
where a study is made.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import trace_factory as factory
from traced_program import Traced

from offbeat.trace.document import summary_document
from offbeat.trace.files.trace_folder import open_trace
from offbeat.trace.summary_tables import tables
from offbeat.tuning.pipeline.traced_calls import select_calls

MOST, INT_BYTES, P = 16, 4, 3


def drawn(seed: int, call: int, sender: int, receiver: int) -> int:
    """As in ``programs/sparse_blocks.c``."""
    number = (seed * 7919 + call * 104729 + sender * 31 + receiver * 17) % 2**32
    number = ((number ^ number >> 7) * 2654435761) % 2**32
    number ^= number >> 15
    return number // 4 % 100 if number % 4 == 0 else 0


def expected(seed: int, rank: int) -> dict[str, list[int]]:
    """Function → the counts of the blocks that a rank knows."""
    left, right = (rank - 1) % P, (rank + 1) % P
    common = {call: [drawn(seed, call, 0, one) for one in range(P)] for call in range(2, 6)}
    around = [drawn(seed, 6, rank, left), drawn(seed, 6, rank, right + MOST)]
    return {
        "MPI_Alltoallv": [drawn(seed, 0, rank, one) for one in range(P)],
        "MPI_Alltoallw": [drawn(seed, 1, rank, one) for one in range(P)],
        "MPI_Gatherv": common[2] if rank == 0 else [],
        "MPI_Scatterv": common[3] if rank == 0 else [],
        "MPI_Allgatherv": common[4],
        "MPI_Reduce_scatter": common[5],
        "MPI_Neighbor_alltoallv": around,
        "MPI_Neighbor_alltoallw": around,
        "MPI_Neighbor_allgatherv": [drawn(seed, 7, left, 0), drawn(seed, 7, right, 0)],
    }


@pytest.mark.slow
def test_the_blocks_of_every_call_are_recorded(traced: Traced) -> None:
    program = traced.compile_c("sparse_blocks.c")
    for seed in (1, 2):
        for trace in traced.trace(program, P, str(seed)):
            found = {
                name: (int(row["blocks"]), int(row["empty_blocks"]), int(row["largest_bytes"]))
                for name, row in zip(trace.names, trace.records, strict=True)
            }
            for name, counts in expected(seed, trace.rank).items():
                blocks = (len(counts), counts.count(0), INT_BYTES * max(counts, default=0))
                assert found[name] == blocks, (name, seed, trace.rank)


@pytest.mark.parametrize("seed", range(5))
def test_the_summary_and_the_study_state_the_share_of_empty_blocks(tmp_path: Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    ranks = factory.files(4)
    blocks = rng.integers(0, 1000, (50, 4, 4)) * (rng.random((50, 4, 4)) < 0.2)
    for sequence, call in enumerate(blocks):
        for one, counts in zip(ranks, call, strict=True):
            one.call(
                *((1 + sequence) * 1000 + ns for ns in (0, 900)),
                function="MPI_Alltoallv",
                sequence=sequence,
                bytes=int(counts.sum()),
                blocks=4,
                empty_blocks=int(np.count_nonzero(counts == 0)),
                largest_bytes=int(counts.max()),
            )
    for one in ranks:
        one.header["ended_ns"] = 60_000
    trace = open_trace(factory.write(tmp_path / "t", ranks))
    summary = factory.summarise(trace)
    rows = summary_document(summary).groups
    share = np.count_nonzero(blocks == 0) / blocks.size
    total = sum(row.blocks for row in rows)
    assert sum(row.empty_share * row.blocks for row in rows) / total == pytest.approx(share)
    assert max(row.largest_block_bytes for row in rows) == blocks.max()
    notes = " ".join(tables(summary)[0].notes)
    assert f"of the blocks are empty, and the largest one has {blocks.max()} B (MPI_Alltoallv)" in notes
    study = " ".join(select_calls(trace, summary, 0.9).notes)
    assert "while the study measures equal blocks of the mean size" in study


def test_equal_blocks_have_no_note(tmp_path: Path) -> None:
    ranks = factory.files(2)
    for one in ranks:
        one.call(1000, 1900, function="MPI_Alltoallv", bytes=200, blocks=2, empty_blocks=0, largest_bytes=100)
    summary = factory.summary_of(factory.write(tmp_path / "t", ranks))
    assert not [note for note in tables(summary)[0].notes if "empty" in note]
