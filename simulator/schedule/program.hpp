/** @file
 * What one rank does in a collective, as data: sends, receives, local reductions and copies.
 *
 * A program is a task graph: a directed acyclic graph of *vertices*. A vertex fires when everything that it
 * waits for is complete. Then its operations start in the order in which they were written: local operations
 * take (almost) no time, sends and receives are posted and progress independently. A rank that waits after
 * each step is a chain of vertices, which is what the blocking functions of Rank write. Nonblocking
 * algorithms that libraries run as task graphs use vertex_after() and continue_at() to branch.
 */
#pragma once

#include "schedule/collective.hpp"

#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <span>
#include <vector>

namespace offbeat::schedule {

/** A piece of a buffer, in elements. */
struct Span {
    int32_t buffer = 0;
    int64_t offset = 0;
    int64_t length = 0;

    /** `length` elements from `offset` on, counted from the start of this piece. */
    [[nodiscard]] Span part(int64_t from, int64_t elements) const {
        return {buffer, offset + from, elements};
    }
};

inline constexpr int32_t input_buffer = 0;
inline constexpr int32_t output_buffer = 1;
inline constexpr int32_t first_scratch_buffer = 2;

/** Several pieces of one message, in this order: one Span, or a list or a vector of them. */
class Pieces {
  public:
    Pieces(const Span &one) : first_(&one), count_(1) {
    }
    Pieces(std::initializer_list<Span> list) : first_(std::data(list)), count_(list.size()) {
    }
    Pieces(const std::vector<Span> &list) : first_(list.data()), count_(list.size()) {
    }
    [[nodiscard]] const Span *begin() const {
        return first_;
    }
    [[nodiscard]] const Span *end() const {
        return first_ + count_;
    }

  private:
    const Span *first_;
    size_t count_;
};

enum class Kind : uint8_t { send, synchronous_send, buffered_send, receive, reduce, copy };

/** The order in which a local reduction combines, which matters if the operation does not commute. */
enum class Order : uint8_t {
    from_first, /**< into = from ∘ into: `from` holds lower ranks */
    into_first, /**< into = into ∘ from: `from` holds higher ranks */
};

using Request = uint32_t;         /**< a send or receive of this rank: its place in Program::operations */
using Vertex = uint32_t;          /**< place in Program::vertices */
using CompletionQueue = uint32_t; /**< place in Program::queues */

inline constexpr uint32_t none = UINT32_MAX;

struct Operation {
    Kind kind{};
    Order order = Order::from_first; /**< of a reduction */
    int32_t peer = -1;               /**< the other rank of a message */
    int32_t tag = 0;
    Vertex vertex = 0;        /**< the vertex whose firing starts it */
    uint32_t first_piece = 0; /**< in Program::pieces; a reduction or copy has two: into, from */
    uint32_t pieces = 0;
    int64_t length = 0;           /**< elements in all */
    CompletionQueue queue = none; /**< the queue that gets its completion; no vertex waits for it then */
};

/** What a vertex waits for: requests, other vertices, and at most one completion from a queue. */
struct VertexDependencies {
    uint32_t first_request = 0; /**< in Program::awaited_requests */
    uint32_t requests = 0;
    uint32_t first_vertex = 0; /**< in Program::awaited_vertices */
    uint32_t vertices = 0;
    CompletionQueue queue = none;
};

/** The whole program of one rank. Vertex 0 fires when the rank arrives; the last vertex is its exit. */
struct Program {
    int rank = 0;
    std::vector<Operation> operations;
    std::vector<Span> pieces;
    std::vector<VertexDependencies> vertices;
    std::vector<Request> awaited_requests;
    std::vector<Vertex> awaited_vertices;
    uint32_t queues = 0;
    std::vector<int64_t>
        scratch; /**< lengths of the scratch buffers, the first is number first_scratch_buffer */

    /** Removes the content, but keeps the memory. */
    void clear(int new_rank);

    [[nodiscard]] std::span<const Span> pieces_of(const Operation &operation) const {
        return std::span(pieces).subspan(operation.first_piece, operation.pieces);
    }
    [[nodiscard]] std::span<const Request> requests_of(const VertexDependencies &needs) const {
        return std::span(awaited_requests).subspan(needs.first_request, needs.requests);
    }
    [[nodiscard]] std::span<const Vertex> vertices_of(const VertexDependencies &needs) const {
        return std::span(awaited_vertices).subspan(needs.first_vertex, needs.vertices);
    }
};

inline bool is_send(const Operation &operation) {
    return operation.kind <= Kind::buffered_send;
}
inline bool is_message(const Operation &operation) {
    return is_send(operation) || operation.kind == Kind::receive;
}

/** Writes a program. An algorithm is a function that is called once for the Rank of each rank. */
class Rank {
  public:
    /** @param program  is cleared, and complete after finish(). Both arguments must outlive this object. */
    Rank(const Call &call, int rank, Program &program);

    const Call &call; // NOLINT(*-avoid-const-or-ref-data-members): the call outlives this object
    const int id;
    const int p;

    /** @name Buffers */
    ///@{
    [[nodiscard]] Span input() const;  /**< length 0 if the rank has no input */
    [[nodiscard]] Span output() const; /**< length 0 if the rank has no output */
    [[nodiscard]] Span scratch(int64_t length);
    ///@}

    /** @name Messages
     * The k-th send to a peer with a tag matches the peer's k-th receive from this rank with this tag, as in
     * MPI. Both must have the same length. Zero-length messages are messages. A rank may send to itself.
     */
    ///@{
    Request isend(int to, Pieces data, int tag = 0);
    /** Completes only when its receive does, at any size (MPI_Issend). */
    Request issend(int to, Pieces data, int tag = 0);
    /** Is complete at once, at any size, and leaves without waiting for its receive (MPI_Ibsend). */
    Request ibsend(int to, Pieces data, int tag = 0);
    Request irecv(int from, Pieces into, int tag = 0);
    void send(int to, Pieces data, int tag = 0);
    void ssend(int to, Pieces data, int tag = 0);
    void recv(int from, Pieces into, int tag = 0);
    /** Posts the receive, then the send, and waits for both. */
    void sendrecv(int to, Pieces data, int from, Pieces into, int tag = 0);
    ///@}

    /** @name Waiting */
    ///@{
    void wait(Request request);
    void wait(std::span<const Request> requests);
    void wait(std::initializer_list<Request> requests);
    /** Waits for all requests that were not waited for yet. */
    void wait_all();
    ///@}

    /** @name Local work */
    ///@{
    /** into = from ∘ into, or into ∘ from: spans of the same length. */
    void reduce(Span into, Span from, Order order);
    /** Copies; `into` and `from` have the same length. Takes no time in the default network model. */
    void copy(Span into, Span from);
    ///@}

    /** @name Task graphs
     * For algorithms that libraries run as task graphs. Operations are added to the current vertex.
     */
    ///@{
    [[nodiscard]] Vertex current_vertex() const;
    void continue_at(Vertex vertex); /**< makes an earlier vertex the current one */
    /** A new vertex that fires when all requests are complete and all vertices have fired; it does not become
     * current. std::logic_error if both lists are empty. */
    [[nodiscard]] Vertex vertex_after(std::span<const Request> requests, std::span<const Vertex> vertices);
    [[nodiscard]] Vertex vertex_after(std::initializer_list<Request> requests,
                                      std::initializer_list<Vertex> vertices = {});
    ///@}

    /** @name Completion queues
     * What MPI_Waitany loops do: the k-th pop fires when any k of the requests of the queue are complete.
     */
    ///@{
    [[nodiscard]] CompletionQueue completion_queue();
    /** Reports the completion of a request to a queue; no vertex may wait for this request. */
    void enqueue(CompletionQueue queue, Request request);
    /** Makes a new vertex current, which fires after the current one and the next completion. */
    void pop(CompletionQueue queue);
    ///@}

    /** Adds the exit: a vertex after all others. Called once, after the algorithm. */
    void finish();

  private:
    Request message(Kind kind, int peer, Pieces pieces, int tag);
    void local(Kind kind, Span into, Span from, Order order);
    Vertex add_vertex(std::span<const Request> requests, std::span<const Vertex> vertices,
                      CompletionQueue queue);

    Program &program_;
    Vertex current_ = 0;
    std::vector<uint8_t> waited_;   /**< per operation: a vertex or a queue waits for it */
    uint32_t first_unwaited_ = 0;   /**< all operations before this one are local or waited for */
    std::vector<uint8_t> followed_; /**< per vertex: another vertex follows it */
};

} // namespace offbeat::schedule
