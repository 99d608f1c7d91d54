/** @file
 * The programs of all ranks as one graph of vertices and messages, which the evaluations traverse. It has
 * lengths and ranks, but no buffers, bytes or networks: one graph serves all patterns, platforms and, for
 * algorithms that scale, message sizes.
 */
#pragma once

#include "schedule/program.hpp"

#include <cstdint>
#include <vector>

namespace offbeat::schedule {

/** Where a completion is reported: a vertex, a completion queue, or no_target. */
using Target = uint32_t;
inline constexpr Target no_target = UINT32_MAX;
inline constexpr Target queue_bit = 1U << 31U;

/** One message, in the order in which senders post them, rank after rank. */
struct Message {
    uint32_t source = 0;
    uint32_t target = 0;
    uint32_t size = 0; /**< place in Graph::sizes */
    Target sender_target = no_target;
    Target receiver_target = no_target;
};

/** The cost of a message depends only on this and on the ranks. */
struct MessageSize {
    int64_t elements = 0;
    Kind send = Kind::send; /**< a kind of send */
    bool operator==(const MessageSize &) const = default;
};

/** The local work of a rank when a vertex fires, before the vertex's posts; in elements. */
struct LocalWork {
    int64_t reduced = 0;
    int64_t copied = 0;
    int64_t received = 0; /**< number of messages that the vertex waits for */
};

/** Whether an entry of Graph::posts is the sending side of its message. */
inline bool is_send(uint32_t post) {
    return (post & 1U) == 0;
}

/** Posts of vertex j: posts[first_post[j]] up to first_post[j + 1]; likewise the vertices that wait for it.
 * A graph has one segment, or several, which a rank executes one at a time (see append()).
 */
struct Graph {
    int p = 0;
    std::vector<Message> messages;
    std::vector<MessageSize> sizes;   /**< distinct ones */
    std::vector<uint32_t> needs;      /**< per vertex: number of completions and vertices that it waits for */
    std::vector<uint32_t> rank;       /**< per vertex */
    std::vector<uint32_t> first_post; /**< per vertex, and one more */
    std::vector<uint32_t> posts;      /**< message × 2, + 1 for the receiving side */
    std::vector<uint32_t> first_next; /**< per vertex, and one more */
    std::vector<uint32_t> next;       /**< vertices */
    std::vector<LocalWork> work;      /**< per vertex; empty unless the builder keeps it */
    std::vector<uint32_t> entry;      /**< per segment and rank: its first vertex */
    std::vector<uint32_t> exit;       /**< per segment and rank: its last vertex */
    std::vector<uint32_t> first_pop;  /**< per completion queue, and one more */
    std::vector<uint32_t> pops;       /**< vertices that pop a queue, in their order */
    bool chains = true;               /**< the vertices of each rank are a chain without branches */

    [[nodiscard]] size_t vertices() const {
        return needs.size();
    }
    [[nodiscard]] size_t queues() const {
        return first_pop.empty() ? 0 : first_pop.size() - 1;
    }
    [[nodiscard]] size_t segments() const {
        return entry.size() / static_cast<size_t>(p);
    }
    /** The end of the vertices of a segment and rank, which are consecutive from entry[segment_rank] on.
     * @param segment_rank  segment × p + rank */
    [[nodiscard]] size_t vertices_end(size_t segment_rank) const {
        return segment_rank + 1 < entry.size() ? entry[segment_rank + 1] : vertices();
    }
    [[nodiscard]] size_t memory_bytes() const;
};

/** Adds a graph as a further segment. Sizes and local work become bytes: an element of the added graph is one
 * byte of the whole. std::logic_error if the numbers of ranks differ, or if the segment has completion queues
 * with more completions than pops: they would count for the next execution of the segment. */
void append(Graph &whole, const Graph &segment, int64_t element_bytes);

/** Builds a graph rank by rank, in ascending order; programs need not be kept. */
class GraphBuilder {
  public:
    /** @param local_work  keep the local work: needed only for networks with costs of local work */
    GraphBuilder(int p, bool local_work);
    void add(const Program &program);
    /** Matches sends and receives. std::logic_error with a sentence if they do not match. */
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
    void add_vertices(const Program &program, const std::vector<uint32_t> &order);
    void add_needs(const Program &program);
    std::vector<Target> relay_shared_requests(const Program &program);
    void add_edges(std::vector<Edge> &edges);
    void set_completion_targets(const Program &program, const std::vector<Target> &targets);
    void add_pops(const Program &program);
    [[nodiscard]] static bool is_chain(const Program &program);
    void match();

    Graph graph_;
    bool local_work_;
    std::vector<Endpoint> sends_;
    std::vector<Endpoint> receives_; /**< by target, then by source, then in order */
    std::vector<uint32_t>
        first_part_; /**< first graph vertex of each program vertex, of the program being added */
    std::vector<uint32_t>
        last_part_; /**< last graph vertex: vertices are split where local work follows posts */
    uint32_t last_size_ = 0;
};

} // namespace offbeat::schedule
