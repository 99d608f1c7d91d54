"""The platform file as typed structures: every key with its meaning, unit and default.

The template, the JSON Schema and the reference page are generated from here. The model is that of
``simulator/platform/network.hpp``: quantities are those of SimGrid's SMPI.
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, field

from offbeat.base.toml.quantities import Section, Size, quantity

INT32_MAX = 2**31 - 1

Topology = Literal["single_switch", "fat_tree", "dragonfly"]

LEAST_RATE = 1.0
MOST_RATE = 1e18
"""Bytes per second. Between these limits, times of all messages are finite and in the range of a double."""

MOST_SECONDS = 86_400.0
"""One day, the limit of skews and delays in studies."""

LEAST_FACTOR = 1e-6
MOST_FACTOR = 1e6

Rate = Annotated[float, quantity("bytes_per_second", maximum=MOST_RATE)]
Seconds = Annotated[float, quantity("seconds", maximum=MOST_SECONDS)]
Number = Annotated[int, Meta(ge=0, le=INT32_MAX)]
Positive = Annotated[int, Meta(ge=1, le=INT32_MAX)]
Factor = Annotated[float, Meta(ge=LEAST_FACTOR, le=MOST_FACTOR)]


class LinkSection(Section, frozen=True, kw_only=True):
    """The cable between a node and its switch. A platform of one node needs none."""

    bandwidth: Annotated[Rate, Meta(description="bytes per second in each direction")] = 0.0
    latency: Annotated[Seconds, Meta(description="seconds for each traversal of the cable")] = 0.0


class InsideSection(Section, frozen=True, kw_only=True):
    """Messages between ranks of one node, without contention."""

    bandwidth: Annotated[Rate, Meta(description="bytes per second, for each message alone")] = 0.0
    latency: Annotated[Seconds, Meta(description="seconds before a message moves")] = 0.0
    from_sizes: Annotated[
        list[Size],
        Meta(
            description="minimum sizes, including the header, for the factors, ascending; without them, those"
            " of [messages] also apply inside a node"
        ),
    ] = field(default_factory=list)
    latency_factors: Annotated[
        list[Factor], Meta(description="factors of the latency, one for each of from_sizes")
    ] = field(default_factory=list)
    bandwidth_factors: Annotated[
        list[Factor], Meta(description="factors of the bandwidth, one for each of from_sizes")
    ] = field(default_factory=list)


class MemorySection(Section, frozen=True, kw_only=True):
    """The memory of a node, which the work of programs and their messages inside a node share."""

    domains: Annotated[
        Positive,
        Meta(
            description="ccNUMA domains of a node; each has the same number of consecutive cores and a memory"
            " of its own"
        ),
    ] = 1
    bandwidth: Annotated[
        Rate,
        Meta(description="bytes per second that the cores of a domain draw together; 0: not modelled"),
    ] = 0.0
    core_bandwidth: Annotated[
        Rate, Meta(description="bytes per second that a core draws if the others of its domain are idle")
    ] = 0.0
    message_bandwidth: Annotated[
        Rate,
        Meta(
            description="bytes per second of all messages that the ranks of a domain receive from their own"
            " node, together; 0: each has the bandwidth of [inside], whatever the others do"
        ),
    ] = 0.0
    message_traffic: Annotated[
        float,
        Meta(
            ge=0,
            le=MOST_FACTOR,
            description="memory traffic for each byte of a message inside a node, in bytes; it is drawn from"
            " the domain of the receiver",
        ),
    ] = 0.0


class FatTreeSection(Section, frozen=True, kw_only=True):
    """The switches of a fat tree: leaves below spines, or with leaves_per_pod pods of them below cores."""

    nodes_per_leaf: Annotated[Number, Meta(description="nodes at each leaf switch")] = 0
    spines: Annotated[
        Number, Meta(description="spine switches, of each pod if there are pods; give this or taper")
    ] = 0
    taper: Annotated[
        float,
        Meta(
            ge=0,
            description="nodes of a leaf for each of its cables to the spines, of the same bandwidth as a"
            " node's: 1 is a full tree, 2 has half the cables, each to a different spine",
        ),
    ] = 0.0
    cables: Annotated[Positive, Meta(description="cables between a leaf and each of its spines")] = 1
    leaves_per_pod: Annotated[
        Number, Meta(description="leaf switches of a pod: makes a tree of three levels")
    ] = 0
    cores_per_spine: Annotated[
        Number, Meta(description="core switches above each spine of a pod, with leaves_per_pod")
    ] = 0
    core_cables: Annotated[Positive, Meta(description="cables between a spine and each of its cores")] = 1
    bandwidth: Annotated[
        Rate, Meta(description="bytes per second of a cable between switches; 0: as a node's link")
    ] = 0.0
    latency: Annotated[
        Seconds | Literal["link"],
        Meta(description="seconds to pass a cable between switches; 'link': as a node's link"),
    ] = "link"


class DragonflySection(Section, frozen=True, kw_only=True):
    """Groups of fully connected routers; cables between all groups, spread over their routers."""

    groups: Annotated[Number, Meta(description="groups of routers")] = 0
    routers: Annotated[Number, Meta(description="routers of a group")] = 0
    nodes_per_router: Annotated[Number, Meta(description="nodes at each router")] = 0
    global_cables: Annotated[Positive, Meta(description="cables between each two groups")] = 1
    local_bandwidth: Annotated[
        Rate, Meta(description="bytes per second between two routers of a group; 0: as a node's link")
    ] = 0.0
    local_latency: Annotated[
        Seconds | Literal["link"],
        Meta(description="seconds between two routers of a group; 'link': as a node's link"),
    ] = "link"
    global_bandwidth: Annotated[
        Rate, Meta(description="bytes per second of a cable between groups; 0: as a node's link")
    ] = 0.0
    global_latency: Annotated[
        Seconds | Literal["link"],
        Meta(description="seconds to pass a cable between groups; 'link': as a node's link"),
    ] = "link"


class MessagesSection(Section, frozen=True, kw_only=True):
    """The costs of messages besides those of links."""

    from_sizes: Annotated[
        list[Size],
        Meta(
            description="minimum sizes, including the header, for the factors, ascending; 1 below the first"
        ),
    ] = field(default_factory=list)
    latency_factors: Annotated[
        list[Factor], Meta(description="factors of the latency, one for each of from_sizes")
    ] = field(default_factory=list)
    bandwidth_factors: Annotated[
        list[Factor],
        Meta(description="factors of a message's share of the links, one for each of from_sizes"),
    ] = field(default_factory=list)
    flow_bandwidth: Annotated[
        Rate,
        Meta(description="limit on the bandwidth of one message; 0: no limit"),
    ] = 0.0
    header: Annotated[Size, Meta(description="bytes that travel with each message")] = 16
    eager_below: Annotated[
        Size,
        Meta(description="smaller messages leave when they are sent, even if their receiver is not ready"),
    ] = 0
    detached_below: Annotated[
        Size, Meta(description="senders of smaller messages do not wait until they have arrived")
    ] = 65536
    send_overhead: Annotated[Seconds, Meta(description="seconds that a sender is busy per message")] = 0.0
    receive_overhead: Annotated[
        Seconds, Meta(description="seconds that a receiver is busy per message, when it arrives")
    ] = 0.0
    reduce_bandwidth: Annotated[
        Rate, Meta(description="bytes per second of reduction operations; 0: they take no time")
    ] = 0.0
    copy_bandwidth: Annotated[
        Rate, Meta(description="bytes per second of copies in memory; 0: they take no time")
    ] = 0.0


class RanksSection(Section, frozen=True, kw_only=True):
    """The placement of ranks on nodes."""

    mapping: Annotated[
        Literal["block", "cyclic", "list"],
        Meta(
            description="block fills a node's cores before the next node's (Open MPI's --map-by core); cyclic"
            " places one rank on each node in turn (--map-by node); list: by the key nodes"
        ),
    ] = "block"
    nodes: Annotated[
        list[Number], Meta(description="with mapping = 'list': the node of each rank, nodes counted from 0")
    ] = field(default_factory=list)
    oversubscribe: Annotated[bool, Meta(description="allow more ranks than cores")] = False


Share = Annotated[float, Meta(ge=0, le=1)]
Cost = Annotated[float, Meta(ge=0)]

MOST_ERROR = 3.0
"""Largest root mean square error of the logarithm of predicted times: a factor of 20."""


class PartitionedSection(Section, frozen=True, kw_only=True):
    """The costs of messages in partitions by one approach, as 'offbeat partitioned fit' writes them.

    A list of three numbers is a value and its 95% confidence interval.
    """

    approach: Annotated[str, Meta(description="the approach, as in studies: single, many, offbeat, ...")]
    source: Annotated[str, Meta(description="source of the costs")]
    date: Annotated[str, Meta(description="day of the measurements")] = ""
    latency: Annotated[
        list[Seconds], Meta(description="seconds from the last byte's departure to the end of the message")
    ]
    message: Annotated[
        list[Seconds],
        Meta(description="seconds for which each eager message occupies the path besides its bytes"),
    ]
    partition: Annotated[
        list[Seconds], Meta(description="seconds to mark a partition: an atomic operation and the call")
    ]
    contention: Annotated[
        list[Cost],
        Meta(description="share by which each further thread lengthens the costs of messages and partitions"),
    ]
    eager_below: Annotated[
        Size, Meta(description="smaller messages use the eager protocol, others rendezvous")
    ]
    eager_bandwidth: Annotated[list[Rate], Meta(description="bytes per second of eager messages")]
    rendezvous_latency: Annotated[
        list[Seconds], Meta(description="seconds that the rendezvous protocol adds to the latency")
    ]
    rendezvous_message: Annotated[
        list[Seconds],
        Meta(description="seconds for which each rendezvous message occupies the path besides its bytes"),
    ]
    rendezvous_bandwidth: Annotated[list[Rate], Meta(description="bytes per second of rendezvous messages")]
    eager_progress: Annotated[
        list[Share],
        Meta(
            description="share of the time before the last ready partition in which earlier eager messages"
            " move: 0 where the library sends nothing while the program computes"
        ),
    ]
    rendezvous_progress: Annotated[list[Share], Meta(description="the same share of rendezvous messages")]
    noise: Annotated[
        list[Seconds],
        Meta(description="how late threads are without delays, in seconds: median and standard deviation"),
    ]
    error: Annotated[
        float,
        Meta(gt=0, le=MOST_ERROR, description="root mean square error of the logarithm of predicted times"),
    ]
    sizes: Annotated[list[Size], Meta(description="smallest and largest message of the measurements")]
    partitions: Annotated[
        list[Number], Meta(description="smallest and largest number of partitions of the measurements")
    ]
    threads: Annotated[
        list[Number], Meta(description="smallest and largest number of threads of the measurements")
    ]
    delays: Annotated[
        list[Seconds],
        Meta(
            description="shortest and longest delay of the measurements, in seconds, from the first to the"
            " last ready partition; 0: partitions without delays"
        ),
    ]


class PlatformFile(Section, frozen=True, kw_only=True):
    """A whole platform file."""

    name: Annotated[str, Meta(description="a name for tables and pictures")] = "platform"
    source: Annotated[str, Meta(description="source of the figures")] = ""
    topology: Annotated[Topology, Meta(description="topology: single_switch, fat_tree or dragonfly")] = (
        "single_switch"
    )
    nodes: Annotated[Positive, Meta(description="number of nodes")]
    cores: Annotated[Positive, Meta(description="cores of a node")]
    flop_rate: Annotated[
        float,
        Meta(
            ge=0,
            le=MOST_RATE,
            description="floating-point operations per second of a core, for programs; 0: unknown",
        ),
    ] = 0.0
    flop_noise: Annotated[
        float,
        Meta(
            ge=0,
            le=1,
            description="standard deviation of the time that a core computes for, as a share of its mean, for"
            " messages in partitions; 0: unknown",
        ),
    ] = 0.0
    reverse_share: Annotated[
        float,
        Meta(
            ge=0,
            lt=1,
            description="share of its rate that a message uses of the same links in the other direction, for"
            " acknowledgements; SMPI uses 0.05",
        ),
    ] = 0.0
    link: LinkSection = LinkSection()
    inside: InsideSection
    memory: MemorySection = MemorySection()
    messages: MessagesSection = MessagesSection()
    fat_tree: FatTreeSection = FatTreeSection()
    dragonfly: DragonflySection = DragonflySection()
    ranks: RanksSection = RanksSection()
    partitioned: list[PartitionedSection] = field(default_factory=list)
