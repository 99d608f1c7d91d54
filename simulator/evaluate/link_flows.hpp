/** @file
 * The transfers of messages over links: flows between nodes that share links with max-min fairness.
 */
#pragma once

#include "evaluate/fair_share.hpp"
#include "evaluate/queues.hpp"
#include "evaluate/traffic.hpp"

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace offbeat::evaluate {

/** A message whose latency ends within this time after another event starts its transfer at that event's
 * time: SimGrid's time precision. It keeps ranks synchronised that differ only by rounding. */
inline constexpr double together_s = 1e-9;

class LinkFlows {
  public:
    /** Arguments as for Fluid; all of them must outlive this object. */
    LinkFlows(const Traffic &traffic, std::span<const SizeCosts> costs, double tolerance);

    /** Removes all flows. */
    void reset();

    /** When the first transfer ends at the current rates. */
    [[nodiscard]] double first_end_s() const {
        return pair_end_s_.first_time();
    }
    /** When rates must be computed again; events after this time must wait for solve(). */
    [[nodiscard]] double solve_at_s() const {
        return solve_at_s_;
    }
    /** Computes rates again. Returns the time at which they change: that of the last event that changed the
     * flows. */
    double solve();

    /** Starts the transfer of a message between two nodes. */
    void start(uint32_t message, double now_s) {
        const uint32_t node_pair = traffic_.message_routes[message].node_pair;
        const uint32_t size = traffic_.message_routes[message].size;
        PairTransfers &pair = pair_transfers_[node_pair];
        if (shares_.flows(node_pair) == 0) {
            pair.moved_bytes = 0;
            pair.updated_s = now_s;
        }
        pair.ends.push(moved_bytes(node_pair, now_s) + costs_[size].work, message);
        if (pair.ends.first_id() == message && shares_.rate(node_pair) > 0)
            schedule_end(node_pair, now_s); // it ends before the others, and the rate may not change
        ++messages_on_links_[size];
        shares_.add_flow(node_pair);
        note_change(now_s);
    }

    /** Ends all transfers that are complete at this time, and calls `deliver` with each message. */
    template <typename Deliver> void end_due(double now_s, Deliver deliver) {
        do
            end_transfers(pair_end_s_.first_id(), now_s, deliver);
        while (pair_end_s_.first_time() == now_s);
    }

  private:
    /** The flows of a node pair, which all have the same rate. */
    struct PairTransfers {
        double moved_bytes = 0; /**< by a flow that exists since the pair was last idle */
        double updated_s = 0;   /**< the time up to which moved_bytes counts */
        OrderedQueue ends;      /**< messages, by the value of `moved_bytes` at which each ends */
    };

    [[nodiscard]] double moved_bytes(uint32_t node_pair, double now_s) const {
        const PairTransfers &pair = pair_transfers_[node_pair];
        return pair.moved_bytes + shares_.rate(node_pair) * (now_s - pair.updated_s);
    }

    /** Ends all transfers of the node pair that are complete by now. */
    template <typename Deliver> void end_transfers(uint32_t node_pair, double now_s, Deliver &deliver) {
        PairTransfers &pair = pair_transfers_[node_pair];
        const double moved = moved_bytes(node_pair, now_s);
        do {
            const uint32_t message = pair.ends.first_id();
            pair.ends.pop();
            --messages_on_links_[traffic_.message_routes[message].size];
            shares_.remove_flow(node_pair);
            deliver(message);
        } while (pair.ends.first_time() <= moved * (1 + 1e-12));
        note_change(now_s);
        schedule_end(node_pair, now_s);
    }

    /** Schedules the end of the node pair's first flow at the current rates. */
    void schedule_end(uint32_t node_pair, double now_s) {
        const PairTransfers &pair = pair_transfers_[node_pair];
        const double rate = shares_.rate(node_pair);
        if (pair.ends.empty() || rate <= 0)
            pair_end_s_.set(node_pair, never);
        else
            pair_end_s_.set(
                node_pair,
                std::max(now_s, pair.updated_s + (pair.ends.first_time() - pair.moved_bytes) / rate));
    }

    /** The flows have changed: rates are computed again at the end of the window that the first change opens.
     */
    void note_change(double now_s) {
        if (solve_at_s_ == never) {
            solve_at_s_ = now_s + window_s_;
            first_change_s_ = now_s;
            changes_ = changes_after_first_s_ = 0;
        }
        last_change_s_ = now_s;
        changes_ += 1;
        changes_after_first_s_ += now_s - first_change_s_;
    }

    [[nodiscard]] double mean_work() const;
    [[nodiscard]] double tolerance_factor() const;

    const Traffic &traffic_;
    std::span<const SizeCosts> costs_;
    double tolerance_;

    FairShare shares_;
    std::vector<PairTransfers> pair_transfers_;
    MinTree pair_end_s_; /**< when the first transfer of each node pair ends, at the current rates */
    std::vector<uint32_t> messages_on_links_; /**< per size: number of messages on links */
    double first_change_s_ = 0; /**< when flows changed first after the last computation of rates */
    double last_change_s_ = 0;
    double changes_ = 0;               /**< number of changes of flows since that computation */
    double changes_after_first_s_ = 0; /**< sum over these changes: time since the first one */
    double solve_at_s_ = never;
    double window_s_ = 0;      /**< changes of flows within this time take effect together */
    uint64_t solve_count_ = 0; /**< computations of rates in this run */
};

} // namespace offbeat::evaluate
