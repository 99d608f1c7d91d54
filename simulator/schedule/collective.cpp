#include "schedule/collective.hpp"

#include <algorithm>
#include <array>
#include <unordered_map>

namespace offbeat::schedule {

namespace {

#define OFFBEAT_COLLECTIVE(Name, name, signature, send_blocks, receive_blocks, result, root, counts)         \
    CollectiveRow{#name, Blocks::send_blocks, Blocks::receive_blocks, Result::result, Root::root},
constexpr std::array rows = {
#include "collectives.def"
};

/** The elements of a buffer that is significant on all ranks or, with `at_root`, on the root alone. */
int64_t length_of(Blocks blocks, bool at_root, const Call &call, int rank) {
    if (blocks == Blocks::NO_BLOCK || (at_root && rank != call.root))
        return 0;
    return blocks == Blocks::ONE_BLOCK ? call.count : call.count * call.p;
}

} // namespace

int64_t input_length(const Call &call, int rank) {
    const CollectiveRow &collective = row_of(call.collective);
    return length_of(collective.sent, collective.root == Root::ROOT_SENDS, call, rank);
}

int64_t output_length(const Call &call, int rank) {
    const CollectiveRow &collective = row_of(call.collective);
    return length_of(collective.received, collective.root == Root::ROOT_RECEIVES, call, rank);
}

const CollectiveRow &row_of(Collective collective) {
    return rows[static_cast<size_t>(collective)];
}

std::string_view name_of(Collective collective) {
    return row_of(collective).name;
}

std::optional<Collective> collective_of(std::string_view name) {
    const auto *row = std::ranges::find(rows, name, &CollectiveRow::name);
    if (row == rows.end())
        return std::nullopt;
    return static_cast<Collective>(row - rows.begin());
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
