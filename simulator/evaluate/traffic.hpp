/** @file
 * The messages of a graph on a network: the node pair, the route and the cost of each.
 */
#pragma once

#include "platform/network.hpp"
#include "schedule/graph.hpp"

#include <cstdint>
#include <limits>
#include <vector>

namespace offbeat::evaluate {

/** The node pair of messages between ranks of one node. */
inline constexpr uint32_t intra_node = UINT32_MAX;

/** Messages from one node to another have the same route, so that at any time they all have the same rate. */
struct NodePair {
    uint32_t first_hop = 0; /**< in Traffic::hops */
    uint32_t hops = 0;
    uint32_t latency = 0; /**< in Traffic::latencies_s */
    double solo_rate = 0; /**< rate of a flow that shares no link, bytes per second */
};

/** The data of a message that the evaluations read, next to each other in memory. */
struct MessageRoute {
    uint32_t node_pair = intra_node;
    uint32_t size = 0; /**< place in Graph::sizes */
    schedule::Target sender_target = schedule::no_target;
    schedule::Target receiver_target = schedule::no_target;
};

/** Contains only links that messages use, renumbered. */
struct Traffic {
    std::vector<MessageRoute> message_routes; /**< per message */
    std::vector<NodePair> node_pairs;
    std::vector<platform::Hop> hops;
    std::vector<double> capacities;                                  /**< per link, bytes per second */
    std::vector<double> latencies_s;                                 /**< of routes, distinct values */
    double flow_bandwidth = std::numeric_limits<double>::infinity(); /**< maximum rate of a flow */
};

/** Raises std::invalid_argument if the network has no node for a rank. */
[[nodiscard]] Traffic route_messages(const schedule::Graph &graph, const platform::Network &network);

/** The cost of messages of one size, for a given number of bytes per element. */
struct SizeCosts {
    double work = 0; /**< bytes to transfer over links: (bytes + header) / bandwidth factor */
    double inside_latency_s = 0;
    double inside_transfer_s = 0;
    double inside_bytes = 0;   /**< bytes to transfer inside a node, header included */
    double inside_rate = 0;    /**< at most, bytes per second */
    double latency_factor = 1; /**< of routes between nodes */
    bool is_detached = false;  /**< the sender does not wait for the transfer */
    bool eager = false;        /**< the transfer starts without waiting for the receiver */
};

/** One entry per Graph::sizes. */
[[nodiscard]] std::vector<SizeCosts>
costs_by_size(const schedule::Graph &graph, const platform::Network &network, double bytes_per_element);

} // namespace offbeat::evaluate
