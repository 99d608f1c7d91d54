#include "evaluate/link_flows.hpp"

namespace offbeat::evaluate {

LinkFlows::LinkFlows(const Traffic &traffic, std::span<const SizeCosts> costs)
    : traffic_(traffic), costs_(costs), shares_(traffic), pair_transfers_(traffic.node_pairs.size()),
      pair_end_s_(traffic.node_pairs.size()) {
}

void LinkFlows::reset() {
    for (PairTransfers &pair : pair_transfers_) {
        pair.moved_bytes = 0;
        pair.ends.clear();
    }
    shares_.reset();
    pair_end_s_.reset();
    solve_at_s_ = never;
}

void LinkFlows::solve() {
    const double now_s = last_change_s_;
    solve_at_s_ = never;
    const auto node_pairs = shares_.solve();
    const bool are_many = node_pairs.size() * 4 > pair_end_s_.size();
    for (const uint32_t node_pair : node_pairs) {
        const double rate = shares_.new_rate(node_pair);
        if (shares_.rate(node_pair) == rate)
            continue;
        PairTransfers &pair = pair_transfers_[node_pair];
        pair.moved_bytes = moved_bytes(node_pair, now_s);
        pair.updated_s = now_s;
        shares_.accept(node_pair);
        const double ends = std::max(now_s, now_s + (pair.ends.first_time() - pair.moved_bytes) / rate);
        if (are_many)
            pair_end_s_.put(node_pair, ends);
        else
            pair_end_s_.set(node_pair, ends);
    }
    if (are_many)
        pair_end_s_.rebuild();
}

} // namespace offbeat::evaluate
