"""The program file as typed structures: every key with its meaning, unit and default.

The template, the JSON Schema and the reference page are generated from here.
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, field

from offbeat.base.toml.quantities import Section, Size, choice, quantity
from offbeat.model.platform.machine import MAX_RANKS

INT32_MAX = 2**31 - 1

MAX_ITERATIONS = 10**8
"""More than a run can execute in a day."""

MAX_SECONDS = 1e8
"""Three years. Sums of such times in all iterations are far from the largest number."""

MAX_WEIGHT = 1e6
MAX_FLOPS = 1e21
"""Three years of a core."""

Number = Annotated[int, Meta(ge=0, le=INT32_MAX)]
Positive = Annotated[int, Meta(ge=1, le=INT32_MAX)]
Seconds = Annotated[float, quantity("seconds", maximum=MAX_SECONDS)]
Flops = Annotated[float, Meta(ge=0, le=MAX_FLOPS)]
Weight = Annotated[float, Meta(ge=0, le=MAX_WEIGHT)]

Kind = Literal["work", "exchange", "collective"]
Neighbours = Literal["ring", "line", "offsets", "grid", "box", "list"]
Sends = Literal["nonblocking", "blocking", "synchronous", "buffered"]
Family = Literal["openmpi", "mpich", "simgrid"]


class PhaseSection(Section, frozen=True, kw_only=True):
    """A phase of an iteration: work, an exchange of messages between neighbours, or a collective."""

    kind: Annotated[Kind, Meta(description="work, exchange or collective")]
    name: Annotated[
        str, Meta(description="a name for tables and for [[noise]]; without it the kind and a number")
    ] = ""
    every: Annotated[
        Positive,
        Meta(
            description="executed in every k-th iteration only: in those whose number is a multiple of this"
        ),
    ] = 1
    memory: Annotated[
        Size, Meta(description="of work: bytes of memory traffic of a rank, reads and writes together")
    ] = 0
    flops: Annotated[
        Flops,
        Meta(
            description="of work: floating-point operations of a rank; they overlap with its memory traffic"
        ),
    ] = 0.0
    time: Annotated[
        Seconds, Meta(description="of work: seconds on the core of a rank before the other work")
    ] = 0.0
    weights: Annotated[
        list[Weight],
        Meta(
            description="of work: factors of memory, flops and time, one for each rank; a shorter list is"
            " repeated; without it all ranks have the same work"
        ),
    ] = field(default_factory=list)
    neighbours: Annotated[
        Neighbours,
        Meta(
            description="of an exchange: ring (both neighbours by rank), line (as ring, but without a message"
            " between the last and the first rank), offsets, grid (the neighbours along each dimension), box"
            " (as grid, and the diagonal ones) or list (the messages that are listed)"
        ),
    ] = "ring"
    offsets: Annotated[
        list[int],
        Meta(
            description="with neighbours = 'offsets': each rank r sends to rank r + offset for each of these,"
            " modulo the number of ranks unless periodic = false"
        ),
    ] = field(default_factory=list)
    grid: Annotated[
        list[Positive],
        Meta(
            description="with neighbours = 'grid' or 'box': ranks along each dimension, the last one varies"
            " fastest with the rank; without it there are three dimensions of about the same length"
        ),
    ] = field(default_factory=list)
    messages: Annotated[
        list[list[Number]],
        Meta(
            description="with neighbours = 'list': each message as [from, to, bytes]; a rank posts its"
            " messages in this order"
        ),
    ] = field(default_factory=list)
    periodic: Annotated[
        bool, Meta(description="of an exchange: the first and the last rank of a dimension are neighbours")
    ] = True
    bytes: Annotated[
        list[Size],
        Meta(
            description="of an exchange: bytes of a message, or of one along each dimension of the grid; of a"
            " collective: its message size as the MPI call states it"
        ),
    ] = field(default_factory=list)
    edge_bytes: Annotated[
        Size,
        Meta(description="with neighbours = 'box': bytes of a message to a neighbour along two dimensions"),
    ] = 0
    corner_bytes: Annotated[
        Size,
        Meta(description="with neighbours = 'box': bytes of a message to a neighbour along three dimensions"),
    ] = 0
    sends: Annotated[
        Sends,
        Meta(
            description="of an exchange: nonblocking (MPI_Isend), blocking (MPI_Send, one after the other),"
            " synchronous (MPI_Issend: the rendezvous protocol at any size) or buffered (MPI_Ibsend: no"
            " sender waits)"
        ),
    ] = "nonblocking"
    collective: Annotated[
        str, choice("collective"), Meta(description="of a collective: which one, such as allreduce")
    ] = ""
    algorithm: Annotated[
        str,
        Meta(
            description="of a collective: its algorithm in the simulator, such as 'ring'; 'offbeat algorithm"
            " list' prints them"
        ),
    ] = ""
    family: Annotated[Family, Meta(description="of a collective: whose name of the algorithm it is")] = (
        "openmpi"
    )
    root: Annotated[Number, Meta(description="of a collective with a root: its rank in its communicator")] = 0
    communicators: Annotated[
        Positive,
        Meta(
            description="of a collective: number of communicators into which the ranks are divided; all call"
            " it at the same time"
        ),
    ] = 1
    stride: Annotated[
        Positive,
        Meta(
            description="of a collective: distance between the ranks of consecutive members of a"
            " communicator: 1 for the rows of a process grid, the length of a row for its columns"
        ),
    ] = 1


class NoiseSection(Section, frozen=True, kw_only=True):
    """Additional time of some ranks in some iterations: noise, or delays that are injected on purpose."""

    phase: Annotated[str, Meta(description="the name of the phase before or after which a rank is delayed")]
    when: Annotated[Literal["before", "after"], Meta(description="before or after the phase")] = "after"
    time: Annotated[Seconds, Meta(description="seconds for which a rank is delayed")]
    distribution: Annotated[
        Literal["fixed", "exponential"],
        Meta(description="fixed: always this time; exponential: random times with this mean"),
    ] = "fixed"
    pick: Annotated[
        Literal["all", "random", "each_domain", "list"],
        Meta(
            description="which ranks are delayed in such an iteration: all, random ones, a random one of each"
            " memory domain, or those of the list"
        ),
    ] = "random"
    count: Annotated[Positive, Meta(description="with pick = 'random': how many ranks")] = 1
    ranks: Annotated[list[Number], Meta(description="with pick = 'list': the ranks")] = field(
        default_factory=list
    )
    every: Annotated[Positive, Meta(description="in every k-th iteration")] = 1
    first: Annotated[Positive, Meta(description="number of the first iteration that may be delayed")] = 1
    last: Annotated[
        Number, Meta(description="number of the last iteration that may be delayed; 0: the program's last")
    ] = 0


class ProgramFile(Section, frozen=True, kw_only=True):
    """A whole program file. Iterations are numbered from 1, ranks from 0."""

    name: Annotated[str, Meta(description="a name for tables and pictures")] = "program"
    source: Annotated[str, Meta(description="source of the figures")] = ""
    ranks: Annotated[
        int, Meta(ge=1, le=MAX_RANKS, description="number of ranks, unless an option gives another")
    ] = 64
    iterations: Annotated[
        int,
        Meta(ge=1, le=MAX_ITERATIONS, description="number of iterations, unless an option gives another"),
    ] = 1000
    seed: Annotated[Number, Meta(description="seed of everything that is random")] = 1
    phase: Annotated[list[PhaseSection], Meta(min_length=1)]
    noise: list[NoiseSection] = field(default_factory=list)
