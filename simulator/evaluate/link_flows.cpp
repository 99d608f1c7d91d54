#include "evaluate/link_flows.hpp"

namespace offbeat::evaluate {

namespace {

/** Changes within this time are simultaneous, up to rounding. */
constexpr double instant_s = 1e-13;

/** Over the first solves_until_largest_tolerance computations of rates in a run, the tolerance grows by
 * largest_growth times itself. */
constexpr double solves_until_largest_tolerance = 50'000;
constexpr double largest_growth = 1.5;

} // namespace

LinkFlows::LinkFlows(const Traffic &traffic, std::span<const SizeCosts> costs, double tolerance)
    : traffic_(traffic), costs_(costs), tolerance_(tolerance), shares_(traffic),
      pair_transfers_(traffic.node_pairs.size()), pair_end_s_(traffic.node_pairs.size()),
      messages_on_links_(costs.size()), window_s_(instant_s) {
}

void LinkFlows::reset() {
    std::ranges::fill(messages_on_links_, 0);
    for (PairTransfers &pair : pair_transfers_) {
        pair.moved_bytes = 0;
        pair.ends.clear();
    }
    shares_.reset();
    pair_end_s_.reset();
    solve_at_s_ = never;
    window_s_ = instant_s;
    solve_count_ = 0;
}

/** A node pair that was idle before is credited with what it would have moved since its first flow started.
 */
double LinkFlows::solve() {
    ++solve_count_;
    const double now_s = last_change_s_;
    solve_at_s_ = never;
    const auto node_pairs = shares_.solve();
    const double mean_change = first_change_s_ + changes_after_first_s_ / changes_;
    const bool many = node_pairs.size() * 4 > pair_end_s_.size();
    double throughput = 0;
    double flows = 0;
    for (const uint32_t node_pair : node_pairs) {
        PairTransfers &pair = pair_transfers_[node_pair];
        const double before = shares_.rate(node_pair);
        const double after = shares_.new_rate(node_pair);
        throughput += after * shares_.flows(node_pair);
        flows += shares_.flows(node_pair);
        if (before == after)
            continue;
        const double changed = before > 0 ? std::max(pair.updated_s, mean_change) : pair.updated_s;
        pair.moved_bytes += before * (changed - pair.updated_s) + after * (now_s - changed);
        pair.updated_s = now_s;
        shares_.accept(node_pair);
        const double ends = std::max(now_s, now_s + (pair.ends.first_time() - pair.moved_bytes) / after);
        if (many)
            pair_end_s_.put(node_pair, ends);
        else
            pair_end_s_.set(node_pair, ends);
    }
    if (many)
        pair_end_s_.rebuild();
    if (tolerance_ > 0 && throughput > 0)
        window_s_ = std::max(together_s, tolerance_factor() * tolerance_ * mean_work() * flows / throughput);
    return now_s;
}

/** If rates are computed very often, more changes take effect together. */
double LinkFlows::tolerance_factor() const {
    return 1 +
           largest_growth * std::min(1.0, static_cast<double>(solve_count_) / solves_until_largest_tolerance);
}

/** The mean work of the messages on links, so that a few small messages among large ones do not reduce the
 * tolerance. */
double LinkFlows::mean_work() const {
    double work = 0;
    double messages = 0;
    for (size_t size = 0; size < messages_on_links_.size(); ++size) {
        work += messages_on_links_[size] * costs_[size].work;
        messages += messages_on_links_[size];
    }
    return messages > 0 ? work / messages : 0;
}

} // namespace offbeat::evaluate
