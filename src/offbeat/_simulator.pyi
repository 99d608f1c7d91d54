"""Types of the compiled module that the front end uses; other names are not checked."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

Cable = tuple[float, float]
"""Bytes per second, seconds."""

class Topology:
    @property
    def nodes(self) -> int: ...
    @property
    def bandwidths(self) -> list[float]: ...
    def routes(self, source: int, target: int) -> tuple[float, list[tuple[int, float]]]: ...

class Network:
    def __init__(self, topology: Topology, node_of_rank: Any, **costs: Any) -> None: ...
    @property
    def p(self) -> int: ...
    @property
    def nodes(self) -> int: ...
    @property
    def node_of_rank(self) -> list[int]: ...
    @property
    def bandwidths(self) -> list[float]: ...
    def routes(self, source: int, target: int) -> tuple[float, list[tuple[int, float]]]: ...

def single_switch(nodes: int, cable: Cable, reverse_weight: float) -> Topology: ...
def fat_tree(nodes: int, levels: list[tuple[int, int, int, Cable]], reverse_weight: float) -> Topology: ...
def dragonfly(
    groups: int,
    routers: int,
    nodes: int,
    global_cables: int,
    node_cable: Cable,
    local_cable: Cable,
    global_cable: Cable,
    reverse_weight: float,
) -> Topology: ...
def algorithms() -> list[dict[str, Any]]: ...

class Schedule:
    @overload
    def __init__(self, programs: Programs, local_work: bool = False) -> None: ...
    @overload
    def __init__(
        self,
        collective: str,
        family: str,
        name: str,
        parameters: Mapping[str, int],
        p: int,
        root: int,
        count: int,
        element_bytes: int,
        node_of_rank: Sequence[int],
        commutative: bool = True,
        local_work: bool = False,
    ) -> None: ...
    @property
    def p(self) -> int: ...
    @property
    def messages(self) -> int: ...
    @property
    def vertices(self) -> int: ...
    @property
    def memory_bytes(self) -> int: ...

def evaluate(
    schedule: Schedule,
    network: Network,
    arrivals_s: NDArray[np.float64],
    bytes_per_element: float,
    engine: str = "best",
    tolerance: float = ...,
) -> tuple[NDArray[np.float64], list[str]]: ...
def preview(
    collective: str,
    family: str,
    name: str,
    parameters: Mapping[str, int],
    p: int,
    root: int,
    count: int,
    element_bytes: int,
    node_of_rank: Sequence[int],
    commutative: bool = True,
) -> tuple[str, int]: ...

Messages = dict[str, NDArray[Any]]
"""source, target, elements, tag and depth of every message."""

def check(
    collective: str,
    family: str,
    name: str,
    parameters: Mapping[str, int],
    p: int,
    root: int = 0,
    count: int = 1,
    element_bytes: int = 1,
    node_of_rank: Sequence[int] = (),
    commutative: bool = True,
) -> str: ...
def messages(
    collective: str,
    family: str,
    name: str,
    parameters: Mapping[str, int],
    p: int,
    root: int = 0,
    count: int = 1,
    element_bytes: int = 1,
    node_of_rank: Sequence[int] = (),
    commutative: bool = True,
) -> Messages: ...
def check_range(
    collective: str,
    family: str,
    name: str,
    parameters: Mapping[str, int],
    p: Sequence[int],
    roots: Sequence[int] = (),
    counts: Sequence[int] = (1,),
    element_bytes: int = 1,
    ranks_per_node: int = 0,
    by_node: bool = False,
    commutative: Sequence[bool] = (True,),
) -> dict[str, Any]: ...
def check_written(
    collective: str,
    write: Callable[[Rank], object],
    p: Sequence[int],
    roots: Sequence[int] = (),
    counts: Sequence[int] = (1,),
    element_bytes: int = 1,
    ranks_per_node: int = 0,
    by_node: bool = False,
    commutative: Sequence[bool] = (True,),
    ordered: bool = False,
    scales: bool = False,
) -> dict[str, Any]: ...

class Span:
    @property
    def buffer(self) -> int: ...
    @property
    def offset(self) -> int: ...
    @property
    def length(self) -> int: ...
    def __len__(self) -> int: ...
    def __getitem__(self, elements: slice) -> Span: ...
    def part(self, offset: int, length: int) -> Span: ...

class Request: ...
class Vertex: ...
class CompletionQueue: ...

class Rank:
    @property
    def collective(self) -> str: ...
    @property
    def id(self) -> int: ...
    @property
    def p(self) -> int: ...
    @property
    def root(self) -> int: ...
    @property
    def count(self) -> int: ...
    @property
    def element_bytes(self) -> int: ...
    @property
    def commutative(self) -> bool: ...
    @property
    def input(self) -> Span: ...
    @property
    def output(self) -> Span: ...
    def node(self, rank: int) -> int: ...
    def scratch(self, length: int) -> Span: ...
    def isend(self, to: int, data: Span | Sequence[Span], tag: int = 0) -> Request: ...
    def issend(self, to: int, data: Span | Sequence[Span], tag: int = 0) -> Request: ...
    def irecv(self, source: int, into: Span | Sequence[Span], tag: int = 0) -> Request: ...
    def send(self, to: int, data: Span | Sequence[Span], tag: int = 0) -> None: ...
    def ssend(self, to: int, data: Span | Sequence[Span], tag: int = 0) -> None: ...
    def recv(self, source: int, into: Span | Sequence[Span], tag: int = 0) -> None: ...
    def sendrecv(
        self,
        to: int,
        data: Span | Sequence[Span],
        source: int,
        into: Span | Sequence[Span],
        tag: int = 0,
    ) -> None: ...
    def wait(self, requests: Request | Sequence[Request]) -> None: ...
    def wait_all(self) -> None: ...
    def reduce(self, into: Span, other: Span, *, other_first: bool) -> None: ...
    def copy(self, into: Span, source: Span) -> None: ...
    def current_vertex(self) -> Vertex: ...
    def continue_at(self, vertex: Vertex) -> None: ...
    def vertex_after(self, requests: Sequence[Request], vertices: Sequence[Vertex] = ()) -> Vertex: ...
    def completion_queue(self) -> CompletionQueue: ...
    def enqueue(self, queue: CompletionQueue, request: Request) -> None: ...
    def pop(self, queue: CompletionQueue) -> None: ...

class Programs:
    def __init__(
        self,
        collective: str,
        write: Callable[[Rank], object],
        p: int,
        root: int = 0,
        count: int = 1,
        element_bytes: int = 1,
        node_of_rank: Sequence[int] = (),
        commutative: bool = True,
    ) -> None: ...
    @property
    def p(self) -> int: ...
    def check(self, ordered: bool = False) -> str: ...
    def messages(self) -> Messages: ...

def __getattr__(name: str) -> Any: ...
