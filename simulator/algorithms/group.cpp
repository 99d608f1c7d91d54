#include "algorithms/group.hpp"

#include "schedule/node_map.hpp"

#include <algorithm>

namespace offbeat::algorithms {

using schedule::NodeMap;

int Group::number(int real_rank) const {
    if (ranks.empty())
        return real_rank;
    const auto at = std::lower_bound(ranks.begin(), ranks.end(), real_rank);
    return at != ranks.end() && *at == real_rank ? static_cast<int>(at - ranks.begin()) : -1;
}

Group everyone(const schedule::Rank &rank) {
    return {.p = rank.p, .me = rank.id};
}

namespace {

/** All of them go under their own numbers. */
Group group_of(const schedule::Rank &rank, const std::vector<int> &ranks) {
    if (ranks.size() == static_cast<size_t>(rank.p))
        return everyone(rank);
    Group group{.p = static_cast<int>(ranks.size()), .me = -1, .ranks = ranks};
    group.me = group.number(rank.id);
    return group;
}

/** Asks the call's map of nodes, or one made for the occasion. */
template <class Ask> auto ask(const schedule::Call &call, Ask question) {
    if (call.node_map != nullptr)
        return question(*call.node_map);
    return question(NodeMap(call));
}

} // namespace

Group same_node(const schedule::Rank &rank) {
    return ask(rank.call, [&](const NodeMap &map) { return group_of(rank, map.around(rank.id)); });
}

Group node_leaders(const schedule::Rank &rank) {
    return ask(rank.call, [&](const NodeMap &map) { return group_of(rank, map.leaders()); });
}

std::vector<std::vector<int>> ranks_of_nodes(const schedule::Call &call) {
    return ask(call, [](const NodeMap &map) { return map.nodes(); });
}

int leader_of(const schedule::Call &call, int of) {
    return ask(call, [&](const NodeMap &map) { return map.around(of)[0]; });
}

int ranks_on_every_node(const schedule::Call &call) {
    return ask(call, [](const NodeMap &map) { return map.ranks_on_every_node(); });
}

int nodes_used(const schedule::Call &call) {
    return ask(call, [](const NodeMap &map) { return static_cast<int>(map.nodes().size()); });
}

bool nodes_are_consecutive(const schedule::Call &call) {
    return ask(call, [](const NodeMap &map) { return map.consecutive(); });
}

} // namespace offbeat::algorithms
