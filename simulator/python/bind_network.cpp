#include "platform/network.hpp"
#include "python/bindings.hpp"

#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>

namespace nb = nanobind;
using namespace nb::literals;

namespace offbeat::python {

namespace {

using platform::Cable;
using platform::Network;
using platform::Steps;
using platform::Topology;
using SharedTopology = std::shared_ptr<const Topology>;
using StepList = std::vector<std::pair<double, double>>;  // from bytes, factor
using CablePair = std::pair<double, double>;              // bandwidth, latency
using LevelTuple = std::tuple<int, int, int, CablePair>;  // children, parents, cables, cable
using HopList = std::vector<std::pair<uint32_t, double>>; // link, weight
using RankList = nb::ndarray<const int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

Steps steps_of(const StepList &list) {
    std::vector<double> from_bytes, factors;
    for (const auto &[min_bytes, factor] : list) {
        from_bytes.push_back(min_bytes);
        factors.push_back(factor);
    }
    return {std::move(from_bytes), std::move(factors)};
}

Cable cable_of(const CablePair &pair) {
    return {.bandwidth = pair.first, .latency_s = pair.second};
}

SharedTopology tree(int nodes, const std::vector<LevelTuple> &levels, double reverse_weight) {
    std::vector<platform::TreeLevel> tree_levels;
    for (const auto &[children, parents, cables, cable] : levels)
        tree_levels.push_back({children, parents, cables, cable_of(cable)});
    return platform::fat_tree(nodes, tree_levels, reverse_weight);
}

SharedTopology dragonfly(int groups, int routers, int nodes, int global_cables, const CablePair &node_cable,
                         const CablePair &local, const CablePair &global, double reverse_weight) {
    return platform::dragonfly({.groups = groups,
                                .routers = routers,
                                .nodes = nodes,
                                .global_cables = global_cables,
                                .node = cable_of(node_cable),
                                .local = cable_of(local),
                                .global = cable_of(global)},
                               reverse_weight);
}

void check_node(const Topology &topology, int node) {
    if (node < 0 || node >= topology.nodes())
        throw std::invalid_argument("there is no node " + std::to_string(node) + "; the nodes are 0 to " +
                                    std::to_string(topology.nodes() - 1));
}

std::pair<double, HopList> routes(const Topology &topology, int source, int target) {
    check_node(topology, source);
    check_node(topology, target);
    std::pair<double, HopList> result;
    if (source == target)
        return result;
    std::vector<platform::Hop> hops;
    result.first = topology.route(source, target, hops);
    for (const auto &hop : hops)
        result.second.emplace_back(hop.link, hop.weight);
    return result;
}

Network create_network(SharedTopology topology, const RankList &node_of_rank, double inside_latency_s,
                       double inside_bandwidth, const StepList &inside_latency_factors,
                       const StepList &inside_bandwidth_factors, const StepList &latency_factors,
                       const StepList &bandwidth_factors, double flow_bandwidth, double header_bytes,
                       double eager_below_bytes, double detached_below_bytes, double send_overhead_s,
                       double receive_overhead_s, double reduce_s_per_byte, double copy_s_per_byte) {
    Network network{.topology = std::move(topology),
                    .loopback = {.latency_s = inside_latency_s,
                                 .bandwidth = inside_bandwidth,
                                 .latency_factor = steps_of(inside_latency_factors),
                                 .bandwidth_factor = steps_of(inside_bandwidth_factors)},
                    .costs = {.latency_factor = steps_of(latency_factors),
                              .bandwidth_factor = steps_of(bandwidth_factors),
                              .flow_bandwidth = flow_bandwidth,
                              .header_bytes = header_bytes,
                              .eager_below_bytes = eager_below_bytes,
                              .detached_below_bytes = detached_below_bytes,
                              .send_overhead_s = send_overhead_s,
                              .receive_overhead_s = receive_overhead_s,
                              .reduce_s_per_byte = reduce_s_per_byte,
                              .copy_s_per_byte = copy_s_per_byte},
                    .node_of_rank = {}};
    for (size_t rank = 0; rank < node_of_rank.shape(0); rank++) {
        check_node(*network.topology, node_of_rank(rank));
        network.node_of_rank.push_back(node_of_rank(rank));
    }
    return network;
}

} // namespace

void bind_network(nb::module_ &module) {
    nb::class_<Topology>(module, "Topology",
                         "The network between nodes: single_switch(), fat_tree() or dragonfly().")
        .def_prop_ro("nodes", &Topology::nodes)
        .def_prop_ro("bandwidths", &Topology::bandwidths, "Of each link, in bytes per second.")
        .def("routes", &routes, "source"_a, "target"_a,
             "From one node to another one: the latency in seconds, and (link, weight) of every link that a "
             "flow uses, in order; links of the reverse direction, with a smaller weight, come last.");
    module.def(
        "single_switch",
        [](int nodes, const CablePair &cable, double reverse_weight) -> SharedTopology {
            return platform::single_switch(nodes, cable.first, 2 * cable.second, reverse_weight);
        },
        "nodes"_a, "cable"_a, "reverse_weight"_a,
        "Nodes at one switch; a cable is (bytes per second, seconds) here and below.");
    module.def("fat_tree", &tree, "nodes"_a, "levels"_a, "reverse_weight"_a,
               "Levels from below: (children of a switch, parents of a child, cables between them, cable).");
    module.def("dragonfly", &dragonfly, "groups"_a, "routers"_a, "nodes"_a, "global_cables"_a, "node_cable"_a,
               "local_cable"_a, "global_cable"_a, "reverse_weight"_a,
               "Groups of routers with nodes, and global_cables cables between two groups.");
    nb::class_<Network>(module, "Network", "A platform with ranks, and the cost of messages.")
        .def(nb::new_(&create_network), "topology"_a, "node_of_rank"_a, nb::kw_only(), "inside_latency_s"_a,
             "inside_bandwidth"_a, "inside_latency_factors"_a = StepList(),
             "inside_bandwidth_factors"_a = StepList(), "latency_factors"_a = StepList(),
             "bandwidth_factors"_a = StepList(), "flow_bandwidth"_a = 0.0, "header_bytes"_a = 16.0,
             "eager_below_bytes"_a = 0.0, "detached_below_bytes"_a = 65536.0, "send_overhead_s"_a = 0.0,
             "receive_overhead_s"_a = 0.0, "reduce_s_per_byte"_a = 0.0, "copy_s_per_byte"_a = 0.0,
             "Factors are lists of (bytes, factor), ascending; a factor applies from its number of bytes on.")
        .def_prop_ro("p", [](const Network &self) { return self.node_of_rank.size(); })
        .def_prop_ro("nodes", [](const Network &self) { return self.topology->nodes(); })
        .def_prop_ro("node_of_rank", [](const Network &self) { return self.node_of_rank; })
        .def_prop_ro("bandwidths", [](const Network &self) { return self.topology->bandwidths(); })
        .def(
            "routes",
            [](const Network &self, int source, int target) {
                return routes(*self.topology, source, target);
            },
            "source"_a, "target"_a, "As Topology.routes.");
}

} // namespace offbeat::python
