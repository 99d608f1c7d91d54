/** @file
 * The event-driven evaluation: flows share links with max-min fairness, and every change of a rate is
 * simulated.
 */
#pragma once

#include "evaluate/fair_share.hpp"
#include "evaluate/queues.hpp"
#include "evaluate/traffic.hpp"
#include "schedule/graph.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace offbeat::evaluate {

/** Evaluates one pattern after another. All constructor arguments must outlive it. */
class Fluid {
  public:
    /**
     * @param costs      by size, from costs_by_size()
     * @param tolerance  changes of flows within this fraction of the duration of a typical transfer in flight
     * take effect together; with 0 only simultaneous changes do. The fraction grows to 2.5 times this value
     * over the first 50,000 computations of rates in a run
     */
    Fluid(const schedule::Graph &graph, const Traffic &traffic, const platform::MessageCosts &message_costs,
          std::span<const SizeCosts> costs, double bytes_per_element, double tolerance);

    /** @param arrivals_s,exits_s one per rank. std::logic_error if ranks deadlock. */
    void run(std::span<const double> arrivals_s, std::span<double> exits_s);

  private:
    enum State : uint8_t { send_posted = 1, receive_posted = 2, delivered = 4 };
    /** The flows of a node pair, which all have the same rate. */
    struct PairTransfers {
        double moved_bytes = 0; /**< by a flow that exists since the pair was last idle */
        double updated_s = 0;   /**< the time up to which moved_bytes counts */
        OrderedQueue ends;      /**< messages, by the value of `moved_bytes` at which each ends */
    };

    void reset();
    void create_delay_queues();
    [[nodiscard]] double next_delay(size_t &queue) const;
    [[nodiscard]] bool process_next_event();
    void process_delayed(size_t queue);

    /** One of the completions that a vertex or a completion queue waits for has happened. */
    void signal(schedule::Target target);
    void fire_ready();
    void fire(uint32_t vertex);
    void wait_for_rank(double time, uint32_t id);
    void start_vertex(uint32_t vertex);
    void post_in_turn(uint32_t first, uint32_t last);
    void post(uint32_t post);
    void post_send(uint32_t message);
    void post_receive(uint32_t message);
    void start_latency(uint32_t message);
    void enqueue(uint32_t message, uint32_t queue);
    void start_transfer(uint32_t message);
    void deliver(uint32_t message);
    void end_transfers(uint32_t node_pair);
    void schedule_end(uint32_t node_pair);
    void note_change();
    void solve();
    [[nodiscard]] double mean_work() const;
    [[nodiscard]] double tolerance_factor() const;
    [[nodiscard]] double work_before(uint32_t vertex) const;

    const schedule::Graph &graph_;
    const Traffic &traffic_;
    const platform::MessageCosts &message_costs_;
    std::span<const SizeCosts> costs_;
    double bytes_per_element_;
    double tolerance_;
    bool posts_or_work_take_time_; /**< posts or local work occupy ranks for some time */

    double now_s_ = 0;
    std::vector<uint32_t> pending_dependencies_; /**< per vertex: number of incomplete dependencies */
    std::vector<uint8_t> message_state_;         /**< per message */
    std::vector<uint32_t> completions_;          /**< per completion queue: completions in this run */
    std::vector<uint32_t> ready_vertices_;       /**< without incomplete dependencies, to be fired now */
    std::vector<double> busy_until_s_;           /**< per rank */
    std::span<double> exits_s_;

    std::vector<uint32_t> ranks_by_arrival_; /**< ranks, the first to arrive first */
    std::span<const double> arrivals_s_;
    size_t arrived_ = 0;                     /**< number of ranks that have arrived */
    std::vector<OrderedQueue> delay_queues_; /**< messages, one queue per fixed delay */
    std::vector<double> delay_s_;            /**< the delay of each queue */
    size_t latency_count_ = 0;               /**< number of distinct latencies of routes */
    size_t first_latency_queue_ = 0; /**< queues before this one end transfers, the others start them */
    std::vector<uint32_t> intra_node_queue_;   /**< per size: the queue of messages inside a node */
    std::vector<uint32_t> latency_queue_;      /**< per size × latency of routes */
    std::vector<TimedEntry> waiting_for_rank_; /**< a heap of vertices and posts that wait for their rank */

    FairShare shares_;
    std::vector<PairTransfers> pair_transfers_;
    MinTree pair_end_s_; /**< when the first transfer of each node pair ends, at the current rates */
    std::vector<uint32_t> messages_on_links_; /**< per size: number of messages on links */
    double first_change_s_ = 0; /**< when flows changed first after the last computation of rates */
    double last_change_s_ = 0;
    double changes_ = 0;               /**< number of changes of flows since that computation */
    double changes_after_first_s_ = 0; /**< sum over these changes: time since the first one */
    double solve_at_s_ = never;        /**< when rates must be computed again */
    double window_s_ = 0;              /**< changes of flows within this time take effect together */
    uint64_t solve_count_ = 0;         /**< computations of rates in this run */
    size_t exited_ = 0;                /**< number of ranks that have left */
};

} // namespace offbeat::evaluate
