"""The input of the executor of programs: the plan, the delays, and what is refused before a launch."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from program_texts import RING, WORK, platform, program

from offbeat.base.errors import BadInput
from offbeat.programs.execution.plan import delay_bytes, plan_text
from offbeat.programs.simulation.steps import steps_of

SUM = '[[phase]]\nkind = "collective"\nname = "sum"\ncollective = "allreduce"\nalgorithm = "ring"\n'


def lines(*phases: str, ranks: int = 3, head: str = "") -> list[str]:
    return plan_text(program(*phases, ranks=ranks, head=head), iterations=7).splitlines()


def test_a_plan_has_a_line_for_each_step() -> None:
    noise = '[[noise]]\nphase = "halo"\nwhen = "before"\ntime = "1 ms"\n'
    plan = lines('[[phase]]\nkind = "work"\nmemory = 300\ntime = "2 us"\nweights = [1, 0.5]\n', RING, noise)
    assert plan == [
        "run ranks=3 iterations=7 alone=0 buffer_bytes=0",
        "work memory=300,150,300 flops=0,0,0 time_ns=2000,1000,2000 every=1",
        "delay every=1",
        "exchange sends=nonblocking every=1",
        *[
            f"message from={source} to={target} bytes=1000000"
            for source, target in [(0, 1), (0, 2), (1, 2), (1, 0), (2, 0), (2, 1)]
        ],
    ]


@pytest.mark.parametrize(
    ("keys", "line"),
    [
        ("bytes = [24]", "bytes=24 datatype=double op=sum"),
        ("bytes = [25]", "bytes=25 datatype=byte op=bor"),
        ("bytes = [0]", "bytes=0 datatype=double op=sum"),
    ],
)
def test_sizes_that_are_multiples_of_8_are_doubles(keys: str, line: str) -> None:
    assert f" {line} " in lines(SUM + keys)[1]


def test_communicators_are_in_the_plan() -> None:
    several = f"{SUM}bytes = [8]\ncommunicators = 4\nstride = 2\n"
    assert " communicators=4 stride=2 " in lines(several, ranks=8)[1]
    with pytest.raises(BadInput, match="6 ranks cannot be divided into 4 communicators of two or more"):
        lines(several, ranks=6)


def test_what_mpi_cannot_execute_is_refused_with_its_line() -> None:
    large = RING.replace('"1 MB"', '"3 GB"')
    rooted = '[[phase]]\nkind = "collective"\ncollective = "bcast"\nalgorithm = "binomial"\n'
    rooted += "bytes = [8]\nroot = 5\n"
    with pytest.raises(BadInput, match=r"program.toml:4: phase\[0\]: a message has 3000000000 bytes"):
        lines(large)
    with pytest.raises(BadInput, match="the root is rank 5 of 3"):
        lines(rooted)
    with pytest.raises(BadInput, match="flops: 1e"):
        lines('[[phase]]\nkind = "work"\nflops = 1e300\n')


@given(
    st.integers(0, 2**31 - 1),
    st.integers(1, 8),
    st.sampled_from(["all", "random", "each_domain"]),
    st.sampled_from(["fixed", "exponential"]),
    st.integers(1, 4),
)
def test_the_executor_gets_the_delays_that_are_simulated(
    seed: int, ranks: int, pick: str, distribution: str, every: int
) -> None:
    noise = f'[[noise]]\nphase = "{{}}"\ntime = "1 ms"\npick = "{pick}"\nevery = {every}\n'
    noise += f'distribution = "{distribution}"\n'
    one = program(WORK, RING, noise.format("triad"), noise.format("halo"), ranks=ranks, head=f"seed = {seed}")
    machine = platform()
    nodes = machine.node_of_rank(ranks)
    simulated = steps_of(one, machine, nodes, machine.domain_of_rank(nodes)).noise
    written = np.frombuffer(delay_bytes(one, machine.domain_of_rank(nodes)), np.int64)
    positions, records = written[: ranks + 1], written[ranks + 1 :].reshape(-1, 3)
    begins = (positions - 8 * (ranks + 1)) // 24
    assert begins[0] == 0 and begins[-1] == len(records)
    assert np.repeat(np.arange(ranks), np.diff(begins)).tolist() == simulated["noise_rank"].tolist()
    assert records[:, 0].tolist() == simulated["noise_iteration"].tolist()
    assert records[:, 1].tolist() == simulated["noise_step"].tolist()
    assert np.abs(records[:, 2] - simulated["noise_s"] * 1e9).max(initial=0) <= 0.5
