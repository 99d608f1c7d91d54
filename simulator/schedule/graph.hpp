/** @file
 * The programs of all ranks as one graph of joints and messages: what the evaluators walk. It knows lengths
 * and ranks, and nothing of buffers, bytes or networks; so one graph serves every pattern, platform and, for
 * algorithms that scale, message size.
 */
#pragma once

#include "schedule/program.hpp"

#include <cstdint>
#include <vector>

namespace offbeat::schedule {

/** Where a completion is told: a joint, a completion queue, or nobody. */
using Target = uint32_t;
inline constexpr Target nobody = UINT32_MAX;
inline constexpr Target queue_bit = 1U << 31U;

/** One message, in the order in which senders post them, rank after rank. */
struct Message {
    uint32_t source = 0;
    uint32_t target = 0;
    uint32_t size = 0; /**< place in Graph::sizes */
    Target sender_next = nobody;
    Target receiver_next = nobody;
};

/** What a message costs depends on this alone, and on the ranks. */
struct MessageSize {
    int64_t elements = 0;
    bool synchronous = false; /**< complete only when it is received, and never sent ahead */
    bool operator==(const MessageSize &) const = default;
};

/** What a rank does itself when a joint fires, before the joint's posts; in elements. */
struct LocalWork {
    int64_t reduced = 0;
    int64_t copied = 0;
    int64_t received = 0; /**< messages whose receipt the joint waits for */
};

/** Posts of joint j: posts[first_post[j]] up to first_post[j + 1]; likewise the joints that wait for it. */
struct Graph {
    int p = 0;
    std::vector<Message> messages;
    std::vector<MessageSize> sizes;   /**< distinct ones */
    std::vector<uint32_t> needs;      /**< per joint: completions and joints that it waits for */
    std::vector<uint32_t> rank;       /**< per joint */
    std::vector<uint32_t> first_post; /**< per joint, and one more */
    std::vector<uint32_t> posts;      /**< message × 2, + 1 for the receiving side */
    std::vector<uint32_t> first_next; /**< per joint, and one more */
    std::vector<uint32_t> next;       /**< joints */
    std::vector<LocalWork> work;      /**< per joint; empty where the builder was told to leave it out */
    std::vector<uint32_t> entry;      /**< per rank: its first joint */
    std::vector<uint32_t> exit;       /**< per rank: its last joint */
    std::vector<uint32_t> first_pop;  /**< per completion queue, and one more */
    std::vector<uint32_t> pops;       /**< joints that pop a queue, in their order */
    bool chains = true;               /**< every rank's joints follow each other, none branches off */

    [[nodiscard]] size_t joints() const {
        return needs.size();
    }
    [[nodiscard]] size_t queues() const {
        return first_pop.empty() ? 0 : first_pop.size() - 1;
    }
    [[nodiscard]] size_t memory_bytes() const;
};

/** Builds a graph rank by rank, in ascending order; programs need not be kept. */
class GraphBuilder {
  public:
    /** @param local_work keep what reductions, copies and receipts cost: only needed on a network that
     * charges. */
    GraphBuilder(int p, bool local_work);
    void add(const Program &program);
    /** Matches sends and receives. std::logic_error with a sentence when they don't match. */
    [[nodiscard]] Graph build();

  private:
    struct Endpoint {
        uint32_t source;
        uint32_t target;
        int32_t tag;
        uint32_t post; /**< place in Graph::posts */
        Target next;
        uint32_t size;
    };
    struct Edge {
        uint32_t from;
        uint32_t to;
    };
    uint32_t size_class(MessageSize size);
    void add_joints(const Program &program, const std::vector<uint32_t> &order);
    void add_needs(const Program &program);
    std::vector<Target> relay_shared_requests(const Program &program);
    void add_edges(std::vector<Edge> &edges);
    void tell_endpoints(const Program &program, const std::vector<Target> &told);
    void add_pops(const Program &program);
    [[nodiscard]] static bool is_chain(const Program &program);
    void match();

    Graph graph_;
    bool local_work_;
    std::vector<Endpoint> sends_;
    std::vector<Endpoint> receives_; /**< by target, then by source, then in order */
    std::vector<uint32_t>
        segment_of_; /**< first graph joint of each program joint, of the program being added */
    std::vector<uint32_t> tail_of_; /**< last one: joints are split where local work follows posts */
    uint32_t last_size_ = 0;
};

} // namespace offbeat::schedule
