#include "evaluate/traffic.hpp"

#include <algorithm>
#include <stdexcept>
#include <unordered_map>

namespace offbeat::evaluate {

namespace {

/** Creates the node pairs in the order of their first messages. */
class NodePairTable {
  public:
    NodePairTable(const platform::Topology &topology, double flow_bandwidth, Traffic &traffic)
        : topology_(topology), flow_bandwidth_(flow_bandwidth), traffic_(traffic),
          link_(topology.bandwidths().size(), intra_node) {
    }

    uint32_t node_pair(int from, int to) {
        const uint64_t pair = static_cast<uint64_t>(from) << 32U | static_cast<uint32_t>(to);
        if (pair == last_pair_)
            return last_node_pair_;
        const auto [entry, is_new] =
            node_pair_.try_emplace(pair, static_cast<uint32_t>(traffic_.node_pairs.size()));
        if (is_new)
            add(from, to);
        last_pair_ = pair;
        return last_node_pair_ = entry->second;
    }

  private:
    void add(int from, int to) {
        NodePair node_pair{.first_hop = static_cast<uint32_t>(traffic_.hops.size()),
                           .solo_rate = flow_bandwidth_};
        const double latency_s = topology_.route(from, to, traffic_.hops);
        node_pair.hops = static_cast<uint32_t>(traffic_.hops.size()) - node_pair.first_hop;
        for (uint32_t i = node_pair.first_hop; i < traffic_.hops.size(); ++i) {
            platform::Hop &hop = traffic_.hops[i];
            node_pair.solo_rate =
                std::min(node_pair.solo_rate, topology_.bandwidths()[hop.link] / hop.weight);
            hop.link = renumbered(hop.link);
        }
        auto &latencies = traffic_.latencies_s;
        const auto existing = std::find(latencies.begin(), latencies.end(), latency_s);
        node_pair.latency = static_cast<uint32_t>(existing - latencies.begin());
        if (existing == latencies.end())
            latencies.push_back(latency_s);
        traffic_.node_pairs.push_back(node_pair);
    }

    uint32_t renumbered(uint32_t link) {
        if (link_[link] == intra_node) {
            link_[link] = static_cast<uint32_t>(traffic_.capacities.size());
            traffic_.capacities.push_back(topology_.bandwidths()[link]);
        }
        return link_[link];
    }

    const platform::Topology &topology_;
    double flow_bandwidth_;
    Traffic &traffic_;
    std::vector<uint32_t> link_;
    std::unordered_map<uint64_t, uint32_t> node_pair_;
    uint64_t last_pair_ = UINT64_MAX;
    uint32_t last_node_pair_ = 0;
};

} // namespace

Traffic route_messages(const schedule::Graph &graph, const platform::Network &network) {
    if (network.node_of_rank.size() < static_cast<size_t>(graph.p))
        throw std::invalid_argument("the network has no node for some rank");
    Traffic traffic;
    traffic.message_routes.reserve(graph.messages.size());
    if (network.costs.flow_bandwidth > 0)
        traffic.flow_bandwidth = network.costs.flow_bandwidth;
    NodePairTable router(*network.topology, traffic.flow_bandwidth, traffic);
    for (const schedule::Message &message : graph.messages) {
        const int from = network.node_of_rank[message.source];
        const int to = network.node_of_rank[message.target];
        traffic.message_routes.push_back({from == to ? intra_node : router.node_pair(from, to), message.size,
                                          message.sender_target, message.receiver_target});
    }
    return traffic;
}

std::vector<SizeCosts> costs_by_size(const schedule::Graph &graph, const platform::Network &network,
                                     double bytes_per_element) {
    const platform::MessageCosts &costs = network.costs;
    std::vector<SizeCosts> all;
    for (const schedule::MessageSize &size : graph.sizes) {
        const double bytes = static_cast<double>(size.elements) * bytes_per_element;
        const double carried = bytes + costs.header_bytes;
        SizeCosts cost;
        cost.work = carried / costs.bandwidth_factor.at(carried);
        cost.latency_factor = costs.latency_factor.at(carried);
        const platform::Loopback &inside = network.loopback;
        cost.inside_latency_s = inside.latency_s * inside.latency_factor.at(carried);
        cost.inside_transfer_s = carried / inside.bandwidth_factor.at(carried) / inside.bandwidth;
        cost.inside_bytes = carried;
        cost.inside_rate = inside.bandwidth * inside.bandwidth_factor.at(carried);
        const bool buffered = size.send == schedule::Kind::buffered_send;
        const bool by_size = size.send == schedule::Kind::send;
        cost.eager = buffered || (by_size && bytes < costs.eager_below_bytes);
        cost.detached = cost.eager || (by_size && bytes < costs.detached_below_bytes);
        all.push_back(cost);
    }
    return all;
}

} // namespace offbeat::evaluate
