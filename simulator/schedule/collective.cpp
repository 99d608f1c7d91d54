#include "schedule/collective.hpp"

#include <algorithm>
#include <unordered_map>

namespace offbeat::schedule {

int64_t input_length(const Call &call, int rank) {
    switch (call.collective) {
    case Collective::alltoall:
    case Collective::reduce_scatter:
    case Collective::reduce_scatter_block:
        return call.count * call.p;
    case Collective::scatter:
        return rank == call.root ? call.count * call.p : 0;
    case Collective::bcast:
    case Collective::barrier:
        return 0;
    default:
        return call.count;
    }
}

int64_t output_length(const Call &call, int rank) {
    switch (call.collective) {
    case Collective::alltoall:
    case Collective::allgather:
        return call.count * call.p;
    case Collective::gather:
        return rank == call.root ? call.count * call.p : 0;
    case Collective::reduce:
        return rank == call.root ? call.count : 0;
    case Collective::barrier:
        return 0;
    default:
        return call.count;
    }
}

std::string_view name_of(Collective collective) {
    return collective_names[static_cast<size_t>(collective)];
}

std::optional<Collective> collective_of(std::string_view name) {
    const auto *name_in_list = std::find(collective_names.begin(), collective_names.end(), name);
    if (name_in_list == collective_names.end())
        return std::nullopt;
    return static_cast<Collective>(name_in_list - collective_names.begin());
}

NodeMap::NodeMap(const Call &call) {
    std::unordered_map<int, size_t> number;
    for (int rank = 0; rank < call.p; ++rank) {
        const auto [entry, is_new] = number.try_emplace(call.node(rank), nodes_.size());
        if (is_new) {
            nodes_.emplace_back();
            leaders_.push_back(rank);
        }
        auto &ranks = nodes_[entry->second];
        consecutive_ = consecutive_ && (ranks.empty() || ranks.back() == rank - 1);
        ranks.push_back(rank);
        place_.push_back(entry->second);
    }
    const bool uniform =
        std::ranges::all_of(nodes_, [&](const auto &ranks) { return ranks.size() == nodes_[0].size(); });
    ranks_on_every_node_ = uniform && !nodes_.empty() ? static_cast<int>(nodes_[0].size()) : 0;
}

} // namespace offbeat::schedule
