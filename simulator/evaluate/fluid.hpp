/** @file
 * The event-driven evaluation: flows share links max-min fairly, and every change of a rate is followed.
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

/** Evaluates one pattern after another. Everything that it is made of must outlive it. */
class Fluid {
  public:
    /**
     * @param costs by size, as costs_by_size() gives them
     * @param tolerance changes of rates within this share of the time that a typical transfer in flight takes
     * are put into effect together; with 0 only simultaneous ones are. The share grows to two and a half
     * times that over the first 50,000 times that rates are worked out in a run
     */
    Fluid(const schedule::Graph &graph, const Traffic &traffic, const platform::MessageCosts &message_costs,
          std::span<const SizeCosts> costs, double bytes_per_element, double tolerance);

    /** @param arrivals_s,exits_s one per rank. std::logic_error when ranks wait for each other for ever. */
    void run(std::span<const double> arrivals_s, std::span<double> exits_s);

    /** How often rates were worked out since the beginning. */
    [[nodiscard]] uint64_t solves() const {
        return solves_;
    }

  private:
    enum State : uint8_t { sent = 1, expected = 2, arrived = 4 };
    /** Flows of a group, and the bytes that each flow of it would have moved since the group was last idle.
     */
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
    void fire(uint32_t joint);
    void wait_until(double time, uint32_t what);
    void start_joint(uint32_t joint);
    void post_in_turn(uint32_t first, uint32_t last);
    void post(uint32_t post);
    void post_send(uint32_t message);
    void post_receive(uint32_t message);
    void begin(uint32_t message);
    void delay(uint32_t message, uint32_t queue);
    void activate(uint32_t message);
    void deliver(uint32_t message);
    void end_transfers(uint32_t group);
    void schedule_end(uint32_t group);
    void mark_dirty();
    void solve();
    [[nodiscard]] double mean_work() const;
    [[nodiscard]] double coarseness() const;
    [[nodiscard]] double work_before(uint32_t joint) const;

    const schedule::Graph &graph_;
    const Traffic &traffic_;
    const platform::MessageCosts &message_costs_;
    std::span<const SizeCosts> costs_;
    double bytes_per_element_;
    double tolerance_;
    bool charges_; /**< ranks are busy for some time with posts or local work */

    double now_ = 0;
    std::vector<uint32_t> pending_; /**< per joint: what it still waits for */
    std::vector<uint8_t> state_;    /**< per message */
    std::vector<uint32_t> popped_;  /**< per completion queue */
    std::vector<uint32_t> ready_;
    std::vector<double> busy_until_; /**< per rank */
    std::span<double> exits_s_;

    std::vector<uint32_t> arrivals_; /**< ranks by arrival */
    std::span<const double> arrivals_s_;
    size_t arrived_ = 0;
    std::vector<OrderedQueue> delays_;    /**< messages, one queue for each fixed delay */
    std::vector<double> delay_s_;         /**< the delay of each */
    size_t latencies_ = 0;                /**< of routes, distinct ones */
    size_t first_latency_ = 0;            /**< queues before it end transfers, the others begin them */
    std::vector<uint32_t> inside_;        /**< per size: the queue of messages inside a node */
    std::vector<uint32_t> route_latency_; /**< per size × latency of routes */
    std::vector<Due> later_; /**< a heap of joints and posts that wait for their rank to be free */

    FairShare shares_;
    std::vector<Transfer> transfers_;
    Earliest ends_;
    std::vector<uint32_t> moving_; /**< per size: messages on links */
    double first_change_ = 0;      /**< of the flows, since rates were last worked out */
    double last_change_ = 0;
    double changes_ = 0;
    double changes_after_first_s_ = 0; /**< their sum */
    double deadline_ = never;          /**< when rates must be brought up to date */
    double window_ = 0;
    uint64_t solves_ = 0;
    uint64_t solves_before_ = 0; /**< this run */
    size_t exited_ = 0;
};

} // namespace offbeat::evaluate
