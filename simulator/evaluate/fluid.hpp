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
    /** The flows of a node pair, and the bytes that each of them would have moved since the pair was last
     * idle. */
    struct Transfer {
        double moved = 0;
        double updated = 0;
        OrderedQueue ends; /**< by `moved` */
    };

    void reset();
    void make_delays();
    [[nodiscard]] double next_delay(size_t &queue) const;
    [[nodiscard]] bool step();
    void take_delayed(size_t queue);

    void signal(schedule::Target target);
    void fire_ready();
    void fire(uint32_t vertex);
    void wait_until(double time, uint32_t id);
    void start_vertex(uint32_t vertex);
    void post_in_turn(uint32_t first, uint32_t last);
    void post(uint32_t post);
    void post_send(uint32_t message);
    void post_receive(uint32_t message);
    void begin(uint32_t message);
    void delay(uint32_t message, uint32_t queue);
    void activate(uint32_t message);
    void deliver(uint32_t message);
    void end_transfers(uint32_t node_pair);
    void schedule_end(uint32_t node_pair);
    void mark_dirty();
    void solve();
    [[nodiscard]] double mean_work() const;
    [[nodiscard]] double coarseness() const;
    [[nodiscard]] double work_before(uint32_t vertex) const;

    const schedule::Graph &graph_;
    const Traffic &traffic_;
    const platform::MessageCosts &message_costs_;
    std::span<const SizeCosts> costs_;
    double bytes_per_element_;
    double tolerance_;
    bool charges_; /**< posts or local work occupy ranks for some time */

    double now_ = 0;
    std::vector<uint32_t> pending_; /**< per vertex: number of incomplete dependencies */
    std::vector<uint8_t> state_;    /**< per message */
    std::vector<uint32_t> popped_;  /**< per completion queue */
    std::vector<uint32_t> ready_;
    std::vector<double> busy_until_; /**< per rank */
    std::span<double> exits_s_;

    std::vector<uint32_t> arrivals_; /**< ranks by arrival */
    std::span<const double> arrivals_s_;
    size_t arrived_ = 0;
    std::vector<OrderedQueue> delays_;    /**< messages, one queue per fixed delay */
    std::vector<double> delay_s_;         /**< the delay of each queue */
    size_t latencies_ = 0;                /**< number of distinct latencies of routes */
    size_t first_latency_ = 0;            /**< queues before this one end transfers, the others start them */
    std::vector<uint32_t> intra_node_;    /**< per size: the queue of messages inside a node */
    std::vector<uint32_t> route_latency_; /**< per size × latency of routes */
    std::vector<TimedEntry> later_;       /**< a heap of vertices and posts that wait for their rank */

    FairShare shares_;
    std::vector<Transfer> transfers_;
    MinTree ends_;
    std::vector<uint32_t> moving_; /**< per size: messages on links */
    double first_change_ = 0;      /**< of flows, since the last computation of rates */
    double last_change_ = 0;
    double changes_ = 0;
    double changes_after_first_s_ = 0; /**< their sum */
    double deadline_ = never;          /**< when rates must be computed again */
    double window_ = 0;
    uint64_t solves_ = 0; /**< computations of rates in this run */
    size_t exited_ = 0;
};

} // namespace offbeat::evaluate
