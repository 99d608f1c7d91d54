/** @file
 * The evaluation without shared links: every message takes as long as it would alone, so that the exits are
 * longest paths in a fixed graph. The graph is compiled once to a list of steps of max and +, which is
 * executed for eight patterns at a time.
 */
#pragma once

#include "evaluate/traffic.hpp"
#include "schedule/graph.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace offbeat::evaluate {

class LongestPath {
  public:
    /** Number of patterns that one execution of the steps evaluates. */
    static constexpr size_t lanes = 8;

    /** Whether the dependencies are fixed: not with completion queues, nor if tasks of one rank compete for
     * its time. */
    [[nodiscard]] static bool possible(const schedule::Graph &graph,
                                       const platform::MessageCosts &message_costs);

    /** Arguments as for Fluid; only `traffic` must outlive it. std::logic_error if ranks deadlock. */
    LongestPath(const schedule::Graph &graph, const Traffic &traffic,
                const platform::MessageCosts &message_costs, std::span<const SizeCosts> costs,
                double bytes_per_element);

    /** @param arrivals_s,exits_s patterns × p, up to eight patterns. */
    void run(std::span<const double> arrivals_s, std::span<double> exits_s);

    /** The patterns of the last run() in which two transfers would share a link, one bit each: their exits
     * are too early. */
    [[nodiscard]] uint32_t contended_patterns(size_t patterns) const;

  private:
    /** end = max(at[sender] + sender_s, at[receiver] + receiver_s); then at[receiver_out] =
     * max(at[receiver_in], end) and at[sender_out] = max(at[sender_in], end). Indices of `at` are slots,
     * which active vertices share over time. The first update of a vertex reads slot 0, which always holds 0.
     */
    struct Step {
        uint32_t sender = 0;
        uint32_t receiver = 0;
        uint32_t receiver_out = 0;
        uint32_t receiver_in = 0;
        uint32_t sender_out = 0;
        uint32_t sender_in = 0;
        uint32_t record = 0; /**< index of the end in ends_; 0 for messages inside a node */
        double sender_s = 0;
        double receiver_s = 0;
    };
    /** A time in each of the patterns, in seconds. */
    struct alignas(lanes * sizeof(double)) LaneTimes {
        double lane_times[lanes]{};
    };
    class Compiler;

    void execute_steps();
    [[nodiscard]] uint32_t out_of_order(size_t link) const;
    [[nodiscard]] bool has_contention(size_t link, size_t pattern) const;
    void list_traversals(std::span<const uint32_t> node_pairs);
    void compute_max_reverse(std::span<const uint32_t> node_pairs);

    const Traffic &traffic_;
    size_t p_;
    std::vector<Step> steps_;
    std::vector<uint32_t> entry_slot_;      /**< per rank */
    std::vector<uint32_t> exit_slot_;       /**< per rank; not shared */
    std::vector<LaneTimes> slot_times_;     /**< per slot */
    std::vector<LaneTimes> ends_;           /**< per record */
    std::vector<double> transfer_s_;        /**< per record: duration of the transfer on its links */
    std::vector<uint32_t> first_traversal_; /**< per link, and one more */
    std::vector<uint32_t> traversals_; /**< per link, in the order of the steps: record × 2, + 1 if forward */
    std::vector<uint32_t> max_reverse_; /**< per link: the number of reverse flows that it has capacity for */
};

} // namespace offbeat::evaluate
