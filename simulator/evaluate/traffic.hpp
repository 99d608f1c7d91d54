/** @file
 * A graph's messages on a network: which nodes each passes between, over which links, and what its size
 * costs.
 */
#pragma once

#include "platform/network.hpp"
#include "schedule/graph.hpp"

#include <cstdint>
#include <limits>
#include <vector>

namespace offbeat::evaluate {

/** The group of messages between ranks of one node. */
inline constexpr uint32_t inside_node = UINT32_MAX;

/** Messages from one node to another: they share their route, so at any time they all have the same rate. */
struct Group {
    uint32_t first_hop = 0; /**< in Traffic::hops */
    uint32_t hops = 0;
    uint32_t latency = 0; /**< in Traffic::latencies_s */
    double alone = 0;     /**< rate of a flow that has its links for itself, bytes per second */
};

/** What evaluating a message needs, in one place. */
struct Leg {
    uint32_t group = inside_node;
    uint32_t size = 0; /**< place in Graph::sizes */
    schedule::Target sender_next = schedule::nobody;
    schedule::Target receiver_next = schedule::nobody;
};

/** Only links that are used are kept, and numbered anew. */
struct Traffic {
    std::vector<Leg> legs; /**< per message */
    std::vector<Group> groups;
    std::vector<platform::Hop> hops;
    std::vector<double> capacities;                                  /**< per link, bytes per second */
    std::vector<double> latencies_s;                                 /**< distinct ones of routes */
    double flow_bandwidth = std::numeric_limits<double>::infinity(); /**< no flow is faster */
};

/** Raises std::invalid_argument where the network has no place for a rank. */
[[nodiscard]] Traffic route(const schedule::Graph &graph, const platform::Network &network);

/** What messages of one size cost, for a given number of bytes an element. */
struct SizeCosts {
    double work = 0; /**< bytes that the links must move: (bytes + header) / bandwidth factor */
    double inside_latency_s = 0;
    double inside_transfer_s = 0;
    double latency_factor = 1; /**< of routes between nodes */
    bool detached = false;     /**< the sender doesn't wait */
    bool eager = false;        /**< leaves when it is sent */
};

/** One entry per Graph::sizes. */
[[nodiscard]] std::vector<SizeCosts>
costs_by_size(const schedule::Graph &graph, const platform::Network &network, double bytes_per_element);

} // namespace offbeat::evaluate
