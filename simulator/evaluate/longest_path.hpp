/** @file
 * The evaluation without shared links: every message takes as long as it would alone, so that the exits are
 * longest paths in a fixed graph. The graph is laid out once as a tape of max and +, which is then read for
 * eight patterns at a time.
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
    /** Patterns that one reading of the tape evaluates. */
    static constexpr size_t lanes = 8;

    /** Whether who waits for whom is fixed: not with completion queues, nor where tasks of one rank compete
     * for its time. */
    [[nodiscard]] static bool possible(const schedule::Graph &graph,
                                       const platform::MessageCosts &message_costs);

    /** Arguments as for Fluid; only `traffic` must outlive it. std::logic_error when ranks wait for ever. */
    LongestPath(const schedule::Graph &graph, const Traffic &traffic,
                const platform::MessageCosts &message_costs, std::span<const SizeCosts> costs,
                double bytes_per_element);

    /** @param arrivals_s,exits_s patterns × p, up to eight patterns. */
    void run(std::span<const double> arrivals_s, std::span<double> exits_s);

    /** In which of the patterns of the last run() two transfers would have shared a link, a bit each: there,
     * its exits are too early. */
    [[nodiscard]] uint32_t contended(size_t patterns) const;

    [[nodiscard]] size_t memory_bytes() const;

  private:
    /** end = max(at[sender] + sender_s, at[receiver] + receiver_s); at[told] = max(at[told_before], end) and
     * at[released] = max(at[released_before], end). Places in `at` are those of joints in use. A place before
     * its first use reads as place 0, which always holds 0. */
    struct Step {
        uint32_t sender = 0;
        uint32_t receiver = 0;
        uint32_t told = 0;
        uint32_t told_before = 0;
        uint32_t released = 0;
        uint32_t released_before = 0;
        uint32_t record = 0; /**< where the end is written down; 0 for messages inside a node */
        double sender_s = 0;
        double receiver_s = 0;
    };
    /** A time in each of the patterns, seconds. */
    struct alignas(lanes * sizeof(double)) Moment {
        double of[lanes]{};
    };
    class Layout;

    void read_tape();
    [[nodiscard]] uint32_t out_of_order(size_t link) const;
    [[nodiscard]] bool shares(size_t link, size_t pattern) const;
    void list_links(std::span<const uint32_t> groups);
    void make_room(std::span<const uint32_t> groups);

    const Traffic &traffic_;
    size_t p_;
    std::vector<Step> tape_;
    std::vector<uint32_t> entry_place_;   /**< per rank */
    std::vector<uint32_t> exit_place_;    /**< per rank; nobody else uses it */
    std::vector<Moment> at_;              /**< per place */
    std::vector<Moment> ends_;            /**< per record */
    std::vector<double> transfer_s_;      /**< per record: how long it is on the links */
    std::vector<uint32_t> first_passing_; /**< per link, and one more */
    std::vector<uint32_t> passing_;       /**< per link, in the order of the tape: record × 2, + 1 forward */
    std::vector<uint32_t> room_; /**< per link: how many ways back it carries at once, where it matters */
};

} // namespace offbeat::evaluate
