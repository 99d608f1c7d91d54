#include "algorithms/group.hpp"

#include <algorithm>
#include <unordered_map>

namespace offbeat::algorithms {

int Group::number(int real_rank) const {
    if (ranks.empty())
        return real_rank;
    const auto at = std::lower_bound(ranks.begin(), ranks.end(), real_rank);
    return at != ranks.end() && *at == real_rank ? static_cast<int>(at - ranks.begin()) : -1;
}

Group everyone(const schedule::Rank &rank) {
    return {.p = rank.p, .me = rank.id};
}

Group same_node(const schedule::Rank &rank) {
    Group group{.p = 0, .me = -1};
    for (int other = 0; other < rank.p; ++other)
        if (rank.call.node(other) == rank.call.node(rank.id))
            group.ranks.push_back(other);
    group.p = static_cast<int>(group.ranks.size());
    group.me = group.number(rank.id);
    return group;
}

Group node_leaders(const schedule::Rank &rank) {
    Group group{.p = 0, .me = -1};
    for (const auto &node : ranks_of_nodes(rank.call))
        group.ranks.push_back(node[0]);
    group.p = static_cast<int>(group.ranks.size());
    group.me = group.number(rank.id);
    return group;
}

std::vector<std::vector<int>> ranks_of_nodes(const schedule::Call &call) {
    std::vector<std::vector<int>> nodes;
    std::unordered_map<int, size_t> place;
    for (int rank = 0; rank < call.p; ++rank) {
        const auto [at, is_new] = place.try_emplace(call.node(rank), nodes.size());
        if (is_new)
            nodes.emplace_back();
        nodes[at->second].push_back(rank);
    }
    return nodes;
}

int leader_of(const schedule::Call &call, int of) {
    int leader = 0;
    while (call.node(leader) != call.node(of))
        ++leader;
    return leader;
}

int ranks_on_every_node(const schedule::Call &call) {
    if (call.node_of_rank.empty())
        return call.p;
    const auto nodes = ranks_of_nodes(call);
    const bool uniform =
        std::all_of(nodes.begin(), nodes.end(), [&](auto &node) { return node.size() == nodes[0].size(); });
    return uniform ? static_cast<int>(nodes[0].size()) : 0;
}

int nodes_used(const schedule::Call &call) {
    return call.node_of_rank.empty() ? 1 : static_cast<int>(ranks_of_nodes(call).size());
}

} // namespace offbeat::algorithms
