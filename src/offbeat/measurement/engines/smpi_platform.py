"""A platform as SimGrid's files and settings, and the features that SimGrid cannot express."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from xml.sax.saxutils import quoteattr

from offbeat.base.errors import BadInput
from offbeat.base.toml.lines import Key
from offbeat.model.platform.machine import Platform
from offbeat.model.platform.network import Nodes, Steps, factor_steps, inside_factors, topology

HEADER_BYTES = 16
"""What SMPI adds to every message."""

CROSS_TRAFFIC = 0.05
"""SimGrid's fixed share of the reverse direction; it can be switched off."""

MOST_NODES = 512
"""The most nodes behind several switches: each route is written separately, and the file has 80 MB then."""

UNLIMITED_BANDWIDTH = 1e18
"""A bandwidth in bytes per second that never limits."""

_HEAD = """<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
"""


def host(node: int) -> str:
    """SimGrid's name for a node."""
    return f"node-{node}"


def settings(platform: Platform) -> list[str]:
    """SimGrid's options, ``name:value``, that give messages the costs of the platform."""
    messages = platform.file.messages
    send_overhead = f"0:{messages.send_overhead!r}:0"
    return [
        f"network/crosstraffic:{int(platform.file.reverse_share > 0)}",
        "network/TCP-gamma:0",  # no limit on the bandwidth of a message on a long route
        f"smpi/lat-factor:{_steps(factor_steps(messages, messages.latency_factors))}",
        f"smpi/bw-factor:{_steps(factor_steps(messages, messages.bandwidth_factors))}",
        f"smpi/send-is-detached-thresh:{messages.detached_below}",
        f"smpi/async-small-thresh:{messages.eager_below}",
        f"smpi/os:{send_overhead}",
        f"smpi/ois:{send_overhead}",
        f"smpi/or:0:{messages.receive_overhead!r}:0",
    ]


def xml(platform: Platform, node_of_rank: Nodes) -> str:
    """SimGrid's platform file with at least the nodes of ranks. Raises BadInput for too many nodes."""
    if platform.file.topology == "single_switch":
        return f"{_HEAD}{_cluster(platform)}</platform>\n"
    nodes = sorted({int(node) for node in node_of_rank})
    if len(nodes) > MOST_NODES:
        raise BadInput(
            f"{platform.where(('topology',))} with the engine smpi ranks may be on {MOST_NODES} nodes of a"
            f" {platform.file.topology} at most, not on {len(nodes)}: take fewer ranks, or the engine sim"
        )
    return f"{_HEAD}{''.join(_zone(platform, nodes))}</platform>\n"


def refuse(platform: Platform) -> None:
    """Raise BadInput, with a sentence for each key, for a platform that SimGrid cannot express."""
    faults = [f"{platform.where(key)} {sentence}" for key, sentence in _inexpressible(platform)]
    if faults:
        raise BadInput("\n".join(faults))


def warnings(platform: Platform) -> list[str]:
    """Sentences on how SimGrid's model differs from that of the engine sim on a platform like this."""
    sentences = []
    if platform.file.topology != "single_switch":
        sentences.append(
            "where messages with routes of different lengths share a link, SimGrid gives more bandwidth to"
            " those on shorter routes, while the engine sim shares it equally"
        )
    messages = platform.file.messages
    if messages.send_overhead or messages.receive_overhead:
        sentences.append(
            "SimGrid charges overheads only for detached messages: a receiver is charged after it has waited"
            " for its message, and a process that sends and receives at once before its receive is ready; in"
            " the engine sim every message costs its sender and its receiver"
        )
    return sentences


def _inexpressible(platform: Platform) -> Iterable[tuple[Key, str]]:
    file, messages = platform.file, platform.file.messages
    alternative = "use the engine sim"
    if file.reverse_share not in (0.0, CROSS_TRAFFIC):
        yield (
            ("reverse_share",),
            f"SimGrid supports 0 or {CROSS_TRAFFIC}, not {file.reverse_share:g}; write one of these",
        )
    if messages.header != HEADER_BYTES:
        yield (
            ("messages", "header"),
            f"SMPI's messages have a header of {HEADER_BYTES} B, not {messages.header} B; {alternative}",
        )
    if messages.flow_bandwidth:
        yield (
            ("messages", "flow_bandwidth"),
            f"SimGrid cannot limit the bandwidth of one message; leave it out, or {alternative}",
        )
    node_factors = inside_factors(file)
    factors = ("from_sizes", "latency_factors", "bandwidth_factors")
    if any(getattr(node_factors, key) != getattr(messages, key) for key in factors):
        yield (
            ("inside", "from_sizes"),
            f"SimGrid has the same factors inside nodes as between them; leave them out, or {alternative}",
        )
    for key in ("reduce_bandwidth", "copy_bandwidth"):
        if getattr(messages, key):
            yield (
                ("messages", key),
                f"in SMPI reductions and copies take no simulated time; leave it out, or {alternative}",
            )
    if messages.eager_below > messages.detached_below:
        yield (
            ("messages", "eager_below"),
            f"SMPI's eager messages are detached, too: write at most detached_below, or {alternative}",
        )


def _steps(steps: Steps) -> str:
    return ";".join(f"{size:.0f}:{factor!r}" for size, factor in reversed(steps)) or "0:1"


def _cluster(platform: Platform) -> str:
    file = platform.file
    link = file.link if file.nodes > 1 else file.inside  # SimGrid requires a link even for a single node
    return (
        f'<cluster id="cluster" prefix="node-" suffix="" radical="0-{file.nodes - 1}" speed="1Gf"'
        f' core="{file.cores}" bw="{link.bandwidth!r}Bps" lat="{link.latency!r}s"'
        f' sharing_policy="SPLITDUPLEX"'
        f' loopback_bw="{file.inside.bandwidth!r}Bps" loopback_lat="{file.inside.latency!r}s"/>\n'
    )


def _zone(platform: Platform, nodes: Sequence[int]) -> Iterable[str]:
    """The links and routes of the simulator's topology, so that both simulators route in the same way.

    These links have no latency; each route has an additional unlimited link with the latency of the route.
    """
    section = platform.file.inside
    network = topology(platform.file)
    routes = {
        (source, target): network.routes(source, target)
        for source in nodes
        for target in nodes
        if source != target
    }
    yield '<zone id="zone" routing="Full">\n'
    for node in nodes:
        yield f'<host id="{host(node)}" speed="1Gf" core="{platform.file.cores}"/>\n'
    yield _link("inside", section.bandwidth, section.latency, "FATPIPE")
    for link in sorted({link for _, hops in routes.values() for link, weight in hops if weight == 1}):
        yield _link(f"link-{link}", network.bandwidths[link], 0.0, "SHARED")
    for latency_s in sorted({latency_s for latency_s, _ in routes.values()}):
        yield _link(f"latency-{latency_s!r}", UNLIMITED_BANDWIDTH, latency_s, "FATPIPE")
    for node in nodes:
        yield _route(node, node, ["inside"])
    for (source, target), (latency_s, hops) in routes.items():
        forward = [f"link-{link}" for link, weight in hops if weight == 1]
        yield _route(source, target, [f"latency-{latency_s!r}", *forward])
    yield "</zone>\n"


def _link(name: str, bandwidth: float, latency_s: float, policy: str) -> str:
    return (
        f'<link id={quoteattr(name)} bandwidth="{bandwidth!r}Bps" latency="{latency_s!r}s"'
        f' sharing_policy="{policy}"/>\n'
    )


def _route(source: int, target: int, links: Iterable[str]) -> str:
    elements = "".join(f"<link_ctn id={quoteattr(link)}/>" for link in links)
    return f'<route src="{host(source)}" dst="{host(target)}" symmetrical="NO">{elements}</route>\n'
