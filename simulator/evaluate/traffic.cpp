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

    uint32_t node_pair(int source, int target) {
        const uint64_t pair = static_cast<uint64_t>(source) << 32U | static_cast<uint32_t>(target);
        if (pair == last_pair_)
            return last_node_pair_;
        const auto [entry, is_new] =
            node_pair_.try_emplace(pair, static_cast<uint32_t>(traffic_.node_pairs.size()));
        if (is_new)
            add(source, target);
        last_pair_ = pair;
        return last_node_pair_ = entry->second;
    }

  private:
    void add(int source, int target) {
        NodePair node_pair{.first_hop = static_cast<uint32_t>(traffic_.hops.size()),
                           .solo_rate = flow_bandwidth_};
        const double latency_s = topology_.route(source, target, traffic_.hops);
        node_pair.hops = static_cast<uint32_t>(traffic_.hops.size()) - node_pair.first_hop;
        for (uint32_t i = node_pair.first_hop; i < traffic_.hops.size(); ++i) {
            platform::Hop &hop = traffic_.hops[i];
            node_pair.solo_rate =
                std::min(node_pair.solo_rate, topology_.bandwidths()[hop.link] / hop.weight);
            hop.link = renumber(hop.link);
        }
        auto &latencies = traffic_.latencies_s;
        const auto equal_latency = std::find(latencies.begin(), latencies.end(), latency_s);
        node_pair.latency = static_cast<uint32_t>(equal_latency - latencies.begin());
        if (equal_latency == latencies.end())
            latencies.push_back(latency_s);
        traffic_.node_pairs.push_back(node_pair);
    }

    uint32_t renumber(uint32_t link) {
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
        const int source = network.node_of_rank[message.source];
        const int target = network.node_of_rank[message.target];
        traffic.message_routes.push_back({source == target ? intra_node : router.node_pair(source, target),
                                          message.size, message.sender_target, message.receiver_target});
    }
    return traffic;
}

std::vector<SizeCosts> costs_by_size(const schedule::Graph &graph, const platform::Network &network,
                                     double bytes_per_element) {
    const platform::MessageCosts &costs = network.costs;
    std::vector<SizeCosts> list;
    for (const schedule::MessageSize &size : graph.sizes) {
        const double bytes = static_cast<double>(size.elements) * bytes_per_element;
        const double bytes_with_header = bytes + costs.header_bytes;
        SizeCosts cost;
        cost.work = bytes_with_header / costs.bandwidth_factor.value_at(bytes_with_header);
        cost.latency_factor = costs.latency_factor.value_at(bytes_with_header);
        const platform::Loopback &loopback = network.loopback;
        cost.inside_latency_s = loopback.latency_s * loopback.latency_factor.value_at(bytes_with_header);
        cost.inside_transfer_s =
            bytes_with_header / loopback.bandwidth_factor.value_at(bytes_with_header) / loopback.bandwidth;
        cost.inside_bytes = bytes_with_header;
        cost.inside_rate = loopback.bandwidth * loopback.bandwidth_factor.value_at(bytes_with_header);
        const bool is_buffered = size.send == schedule::Kind::buffered_send;
        const bool by_size = size.send == schedule::Kind::send;
        cost.eager = is_buffered || (by_size && bytes < costs.eager_below_bytes);
        cost.is_detached = cost.eager || (by_size && bytes < costs.detached_below_bytes);
        list.push_back(cost);
    }
    return list;
}

} // namespace offbeat::evaluate
