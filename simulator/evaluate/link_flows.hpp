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

class LinkFlows {
  public:
    /** Arguments as for Fluid; all of them must outlive this object. */
    LinkFlows(const Traffic &traffic, std::span<const SizeCosts> costs);

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
    /** Computes rates again, from the time of the last change of the flows on. */
    void solve();

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
        const double due = moved_bytes(node_pair, now_s) + shares_.rate(node_pair) * time_resolution * now_s;
        do {
            const uint32_t message = pair.ends.first_id();
            pair.ends.pop();
            shares_.remove_flow(node_pair);
            deliver(message);
        } while (pair.ends.first_time() <= due);
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

    /** The flows have changed: rates are computed again after all changes of the same event. */
    void note_change(double now_s) {
        if (solve_at_s_ == never)
            solve_at_s_ = end_of_event(now_s);
        last_change_s_ = now_s;
    }

    const Traffic &traffic_;
    std::span<const SizeCosts> costs_;

    FairShare shares_;
    std::vector<PairTransfers> pair_transfers_;
    MinTree pair_end_s_; /**< when the first transfer of each node pair ends, at the current rates */
    double last_change_s_ = 0;
    double solve_at_s_ = never;
};

} // namespace offbeat::evaluate
