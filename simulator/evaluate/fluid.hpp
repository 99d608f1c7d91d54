/** @file
 * The event-driven evaluation: flows share links with max-min fairness, and every change of a rate is
 * simulated.
 */
#pragma once

#include "evaluate/course.hpp"
#include "evaluate/link_flows.hpp"
#include "evaluate/memory_domains.hpp"
#include "evaluate/queues.hpp"
#include "evaluate/traffic.hpp"
#include "schedule/graph.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace offbeat::evaluate {

/** Memory domains with the ranks on them. */
struct NodeMemory {
    MemoryDomains domains;
    std::vector<uint32_t> domain_of_rank;
    std::vector<uint32_t> class_of_size; /**< per size: the flow class of messages inside a node; no_class if
                                            they take a fixed time */
};
inline constexpr uint32_t no_class = UINT32_MAX;

/** Evaluates one pattern after another, or one program of many iterations. All constructor arguments must
 * outlive it. */
class Fluid {
  public:
    /**
     * @param costs      by size, from costs_by_size()
     * @param course     of a program whose segments are those of the graph; nullptr for calls, whose graph is
     * one segment
     * @param memory     may be nullptr if no work has traffic
     */
    Fluid(const schedule::Graph &graph, const Traffic &traffic, const platform::MessageCosts &message_costs,
          std::span<const SizeCosts> costs, double bytes_per_element, Course *course = nullptr,
          NodeMemory *memory = nullptr);

    /** Evaluates a call. @param arrivals_s,exits_s one per rank. std::logic_error if
     * ranks deadlock. */
    void run(std::span<const double> arrivals_s, std::span<double> exits_s);

    /** Continues the program by about this many events. Returns false when all ranks have completed it.
     * std::logic_error if ranks deadlock. */
    [[nodiscard]] bool proceed(uint64_t events);
    /** Events of the program so far. */
    [[nodiscard]] uint64_t events() const {
        return events_;
    }

  private:
    void begin_program();
    void reset();
    void create_delay_queues();
    [[nodiscard]] double next_delay(size_t &queue) const;
    void move_origin(double to_s);
    [[nodiscard]] bool process_next_event();
    void process_delayed(size_t queue);
    void process_memory();
    void process_waiting();
    void check_exits() const;

    /** One of the completions that a vertex or a completion queue waits for has happened. */
    void signal(schedule::Target target);
    [[nodiscard]] bool fires_before(double next_s) const;
    void fire_in_order();
    void fire_ready();
    void fire(uint32_t vertex);
    void wait_for_rank(double time, uint32_t id);
    void start_vertex(uint32_t vertex);
    void leave(uint32_t rank);
    void begin_next_step(uint32_t rank);
    void synchronise();
    void enter(uint32_t rank, uint32_t segment);
    void begin_work(uint32_t rank);
    void begin_traffic(uint32_t rank);
    void post_in_turn(uint32_t first, uint32_t last);
    void post(uint32_t post);
    void post_send(uint32_t message);
    void post_receive(uint32_t message);
    [[nodiscard]] bool take_receive(uint32_t message);
    void add_ahead(uint32_t message);
    [[nodiscard]] bool take_ahead(uint32_t message);
    void start_latency(uint32_t message);
    void enqueue(uint32_t message, uint32_t queue);
    void start_transfer(uint32_t message);
    void start_in_memory(uint32_t message);
    void deliver(uint32_t message);
    void complete_send(uint32_t message);
    [[nodiscard]] double work_before(uint32_t vertex) const;

    const schedule::Graph &graph_;
    const Traffic &traffic_;
    const platform::MessageCosts &message_costs_;
    std::span<const SizeCosts> costs_;
    double bytes_per_element_;
    bool posts_or_work_take_time_; /**< posts or local work occupy ranks for some time */
    Course *course_;
    NodeMemory *memory_;

    double now_s_ = 0;    /**< since origin_s_, as all times of events */
    double origin_s_ = 0; /**< of a call: the last arrival at which nothing else was in progress; of a
                             program: 0 */
    std::vector<uint32_t> pending_dependencies_; /**< per vertex: number of incomplete dependencies */
    std::vector<uint8_t> message_state_;         /**< per message: bits */
    /** Per message of a program: by how many more than one the sender is ahead of the receiver. */
    std::vector<uint32_t> further_ahead_;
    std::vector<uint32_t> completions_;    /**< per completion queue: completions in this segment */
    std::vector<uint32_t> ready_vertices_; /**< without incomplete dependencies, to be fired now */
    double first_ready_s_ = 0;             /**< when the first of them became ready */
    std::vector<double> busy_until_s_;     /**< per rank; 0: not busy since origin_s_ */
    std::vector<uint32_t> busy_ranks_;     /**< ranks that have been busy since origin_s_ */
    std::vector<uint32_t> exit_;           /**< per rank: the exit of its segment */
    std::span<double> exits_s_;

    std::vector<uint32_t> ranks_by_arrival_; /**< ranks, the first to arrive first */
    std::span<const double> arrivals_s_;
    size_t arrival_count_ = 0;               /**< number of ranks that have arrived */
    std::vector<OrderedQueue> delay_queues_; /**< messages, one queue per fixed delay */
    std::vector<double> delay_s_;            /**< the delay of each queue */
    size_t latency_count_ = 0;               /**< number of distinct latencies of routes */
    size_t first_latency_queue_ = 0; /**< queues before this one end transfers, the others start them */
    std::vector<uint32_t> intra_node_queue_;   /**< per size: the queue of messages inside a node */
    std::vector<uint32_t> latency_queue_;      /**< per size × latency of routes */
    std::vector<TimedEntry> waiting_for_rank_; /**< a heap of vertices, posts and work that wait for their
                                                  rank */
    std::vector<uint32_t> first_queue_;        /**< per segment and rank, and one more: completion queues */

    LinkFlows links_;
    size_t exit_count_ = 0;      /**< number of ranks that have left */
    size_t waiting_for_all_ = 0; /**< number of ranks that have arrived at a step that synchronises them */
    uint64_t events_ = 0;
};

} // namespace offbeat::evaluate
