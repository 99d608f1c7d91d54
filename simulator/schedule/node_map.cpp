#include "schedule/node_map.hpp"

#include <algorithm>
#include <unordered_map>

namespace offbeat::schedule {

NodeMap::NodeMap(const Call &call) {
    std::unordered_map<int, size_t> number;
    for (int rank = 0; rank < call.p; ++rank) {
        const auto [at, is_new] = number.try_emplace(call.node(rank), nodes_.size());
        if (is_new) {
            nodes_.emplace_back();
            leaders_.push_back(rank);
        }
        auto &ranks = nodes_[at->second];
        consecutive_ = consecutive_ && (ranks.empty() || ranks.back() == rank - 1);
        ranks.push_back(rank);
        place_.push_back(at->second);
    }
    const bool uniform =
        std::ranges::all_of(nodes_, [&](const auto &ranks) { return ranks.size() == nodes_[0].size(); });
    ranks_on_every_node_ = uniform && !nodes_.empty() ? static_cast<int>(nodes_[0].size()) : 0;
}

} // namespace offbeat::schedule
