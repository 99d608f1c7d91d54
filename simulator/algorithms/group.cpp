#include "algorithms/group.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <unordered_map>

namespace offbeat::algorithms {

namespace {

/** Who is where. */
struct Placement {
    int p = 0;
    std::vector<int> node_of_rank;       /**< as the call has them, so maybe none */
    std::vector<std::vector<int>> nodes; /**< their ranks, ascending, in the order of the leaders */
    std::vector<int> place;              /**< in nodes, of each rank */
    std::vector<int> leaders;

    explicit Placement(const schedule::Call &call)
        : p(call.p), node_of_rank(call.node_of_rank.begin(), call.node_of_rank.end()) {
        std::unordered_map<int, int> place_of_node;
        for (int rank = 0; rank < p; ++rank) {
            const auto [at, is_new] =
                place_of_node.try_emplace(call.node(rank), static_cast<int>(nodes.size()));
            if (is_new) {
                nodes.emplace_back();
                leaders.push_back(rank);
            }
            place.push_back(at->second);
            nodes[static_cast<size_t>(at->second)].push_back(rank);
        }
    }

    [[nodiscard]] bool is_of(const schedule::Call &call) const {
        return p == call.p && std::equal(node_of_rank.begin(), node_of_rank.end(), call.node_of_rank.begin(),
                                         call.node_of_rank.end());
    }
    [[nodiscard]] const std::vector<int> &with(int rank) const {
        return nodes[static_cast<size_t>(place[static_cast<size_t>(rank)])];
    }
};

/** Every rank of a call asks for the same, in turn with the calls that it is composed of: the last few are
 * kept, as making one takes as long as a whole rank's program. */
std::shared_ptr<const Placement> placement(const schedule::Call &call) {
    thread_local std::array<std::shared_ptr<const Placement>, 4> kept;
    thread_local size_t oldest = 0;
    for (const auto &one : kept)
        if (one && one->is_of(call))
            return one;
    auto made = std::make_shared<const Placement>(call);
    kept[oldest] = made;
    oldest = (oldest + 1) % kept.size();
    return made;
}

Group group_of(const std::vector<int> &ranks, int me) {
    Group group{.p = static_cast<int>(ranks.size()), .me = -1, .ranks = ranks};
    group.me = group.number(me);
    return group;
}

} // namespace

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
    return group_of(placement(rank.call)->with(rank.id), rank.id);
}

Group node_leaders(const schedule::Rank &rank) {
    return group_of(placement(rank.call)->leaders, rank.id);
}

std::vector<std::vector<int>> ranks_of_nodes(const schedule::Call &call) {
    return placement(call)->nodes;
}

int leader_of(const schedule::Call &call, int of) {
    return placement(call)->with(of).front();
}

int ranks_on_every_node(const schedule::Call &call) {
    const auto here = placement(call);
    const size_t first = here->nodes[0].size();
    const bool uniform =
        std::all_of(here->nodes.begin(), here->nodes.end(), [&](auto &node) { return node.size() == first; });
    return uniform ? static_cast<int>(first) : 0;
}

int nodes_used(const schedule::Call &call) {
    return static_cast<int>(placement(call)->nodes.size());
}

} // namespace offbeat::algorithms
