#include "evaluate/traffic.hpp"

#include <algorithm>
#include <stdexcept>
#include <unordered_map>

namespace offbeat::evaluate {

namespace {

/** Makes groups as pairs of nodes turn up. */
class Router {
  public:
    Router(const platform::Topology &topology, double flow_bandwidth, Traffic &traffic)
        : topology_(topology), flow_bandwidth_(flow_bandwidth), traffic_(traffic),
          link_(topology.bandwidths().size(), inside_node) {
    }

    uint32_t group(int from, int to) {
        const uint64_t pair = static_cast<uint64_t>(from) << 32U | static_cast<uint32_t>(to);
        if (pair == last_pair_)
            return last_group_;
        const auto [found, is_new] = group_.try_emplace(pair, static_cast<uint32_t>(traffic_.groups.size()));
        if (is_new)
            add(from, to);
        last_pair_ = pair;
        return last_group_ = found->second;
    }

  private:
    void add(int from, int to) {
        Group group{.first_hop = static_cast<uint32_t>(traffic_.hops.size()), .alone = flow_bandwidth_};
        const double latency_s = topology_.route(from, to, traffic_.hops);
        group.hops = static_cast<uint32_t>(traffic_.hops.size()) - group.first_hop;
        for (uint32_t i = group.first_hop; i < traffic_.hops.size(); ++i) {
            platform::Hop &hop = traffic_.hops[i];
            group.alone = std::min(group.alone, topology_.bandwidths()[hop.link] / hop.weight);
            hop.link = used(hop.link);
        }
        auto &latencies = traffic_.latencies_s;
        const auto found = std::find(latencies.begin(), latencies.end(), latency_s);
        group.latency = static_cast<uint32_t>(found - latencies.begin());
        if (found == latencies.end())
            latencies.push_back(latency_s);
        traffic_.groups.push_back(group);
    }

    uint32_t used(uint32_t link) {
        if (link_[link] == inside_node) {
            link_[link] = static_cast<uint32_t>(traffic_.capacities.size());
            traffic_.capacities.push_back(topology_.bandwidths()[link]);
        }
        return link_[link];
    }

    const platform::Topology &topology_;
    double flow_bandwidth_;
    Traffic &traffic_;
    std::vector<uint32_t> link_;
    std::unordered_map<uint64_t, uint32_t> group_;
    uint64_t last_pair_ = UINT64_MAX;
    uint32_t last_group_ = 0;
};

} // namespace

Traffic route(const schedule::Graph &graph, const platform::Network &network) {
    if (network.node_of_rank.size() < static_cast<size_t>(graph.p))
        throw std::invalid_argument("the network has no place for some rank");
    Traffic traffic;
    traffic.legs.reserve(graph.messages.size());
    if (network.costs.flow_bandwidth > 0)
        traffic.flow_bandwidth = network.costs.flow_bandwidth;
    Router router(*network.topology, traffic.flow_bandwidth, traffic);
    for (const schedule::Message &message : graph.messages) {
        const int from = network.node_of_rank[message.source];
        const int to = network.node_of_rank[message.target];
        traffic.legs.push_back({from == to ? inside_node : router.group(from, to), message.size,
                                message.sender_next, message.receiver_next});
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
        cost.eager = !size.synchronous && bytes < costs.eager_below_bytes;
        cost.detached = !size.synchronous && (cost.eager || bytes < costs.detached_below_bytes);
        all.push_back(cost);
    }
    return all;
}

} // namespace offbeat::evaluate
