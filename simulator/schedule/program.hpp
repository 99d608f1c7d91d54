/** @file
 * What one rank does in a collective, as data: sends, receives, local reductions and copies.
 *
 * A program is a directed acyclic graph of *joints*. A joint fires when everything it waits for is complete;
 * then its operations are carried out in the order in which they were written: local ones take (almost) no
 * time, sends and receives are posted and go on by themselves. A rank that waits after each step is a chain
 * of joints, which is what the plain interface of Rank writes. Nonblocking algorithms that libraries run as
 * task graphs use when() and at() to branch.
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

/** Several pieces that travel as one message, in this order. Made from one Span, a list or a vector of them.
 */
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

enum class Kind : uint8_t { send, synchronous_send, receive, reduce, copy };

/** In which order a local reduction combines: matters when the operation does not commute. */
enum class Order : uint8_t {
    from_first, /**< into = from ∘ into: `from` holds lower ranks */
    into_first, /**< into = into ∘ from: `from` holds higher ranks */
};

using Request = uint32_t;         /**< a send or receive of this rank: its place in Program::operations */
using Joint = uint32_t;           /**< place in Program::joints */
using CompletionQueue = uint32_t; /**< place in Program::queues */

inline constexpr uint32_t none = UINT32_MAX;

struct Operation {
    Kind kind{};
    Order order = Order::from_first; /**< of a reduction */
    int32_t peer = -1;               /**< the other rank of a message */
    int32_t tag = 0;
    Joint joint = 0;          /**< the joint whose firing starts it */
    uint32_t first_piece = 0; /**< in Program::pieces; a reduction or copy has two: into, from */
    uint32_t pieces = 0;
    int64_t length = 0;           /**< elements in all */
    CompletionQueue queue = none; /**< where its completion is told, instead of to a joint */
};

/** What a joint waits for: requests, other joints, and at most one completion of a queue. */
struct JointNeeds {
    uint32_t first_request = 0; /**< in Program::awaited_requests */
    uint32_t requests = 0;
    uint32_t first_joint = 0; /**< in Program::awaited_joints */
    uint32_t joints = 0;
    CompletionQueue queue = none;
};

/** The whole program of one rank. Joint 0 fires when the rank arrives; the last joint is its exit. */
struct Program {
    int rank = 0;
    std::vector<Operation> operations;
    std::vector<Span> pieces;
    std::vector<JointNeeds> joints;
    std::vector<Request> awaited_requests;
    std::vector<Joint> awaited_joints;
    uint32_t queues = 0;
    std::vector<int64_t>
        scratch; /**< lengths of the scratch buffers, the first is number first_scratch_buffer */

    /** Empties it, keeping the memory. */
    void clear(int new_rank);
};

/** Writes a program down. An algorithm is a function that is handed one for each rank. */
class Rank {
  public:
    /** @param program is cleared, and whole after finish(). Both arguments must outlive this object. */
    Rank(const Call &call, int rank, Program &program);

    const Call
        &call; // NOLINT(*-avoid-const-or-ref-data-members): lives as long as the one call that it writes
    const int id;
    const int p;

    /** @name Buffers */
    ///@{
    [[nodiscard]] Span input() const;  /**< the whole input; length 0 where the rank has none */
    [[nodiscard]] Span output() const; /**< the whole output; length 0 where the rank has none */
    [[nodiscard]] Span scratch(int64_t length);
    ///@}

    /** @name Messages
     * A message meets the receive of the same peer and tag that was posted in the same place of their order,
     * as in MPI. Lengths of both sides must be equal. Zero-length messages are messages. A rank may send to
     * itself.
     */
    ///@{
    Request isend(int to, Pieces what, int tag = 0);
    /** Complete only when the receive is, at any size (MPI_Issend). */
    Request issend(int to, Pieces what, int tag = 0);
    Request irecv(int from, Pieces into, int tag = 0);
    void send(int to, Pieces what, int tag = 0);
    void ssend(int to, Pieces what, int tag = 0);
    void recv(int from, Pieces into, int tag = 0);
    /** Posts the receive, then the send, and waits for both. */
    void sendrecv(int to, Pieces what, int from, Pieces into, int tag = 0);
    ///@}

    /** @name Waiting */
    ///@{
    void wait(Request request);
    void wait(std::span<const Request> requests);
    void wait(std::initializer_list<Request> requests);
    /** Waits for every request that nobody has waited for yet. */
    void wait_all();
    ///@}

    /** @name Local work */
    ///@{
    /** into = from ∘ into, or into ∘ from: spans of the same length. */
    void reduce(Span into, Span from, Order order);
    /** Copies; `into` and `from` have the same length. Free of charge in the default network model. */
    void copy(Span into, Span from);
    ///@}

    /** @name Task graphs
     * For algorithms that libraries run as graphs of tasks. Operations always go to the current joint.
     */
    ///@{
    [[nodiscard]] Joint here() const; /**< the current joint */
    void at(Joint joint);             /**< go on writing at a joint made earlier */
    /** A new joint that fires when all requests and joints have; it is not made current. With neither, it
     * would never be reached: std::logic_error. */
    [[nodiscard]] Joint when(std::span<const Request> requests, std::span<const Joint> joints);
    [[nodiscard]] Joint when(std::initializer_list<Request> requests,
                             std::initializer_list<Joint> joints = {});
    ///@}

    /** @name First come, first served
     * What MPI_Waitany loops do: the k-th pop fires when k of the requests that were given to the queue are
     * complete, whichever they are.
     */
    ///@{
    [[nodiscard]] CompletionQueue completion_queue();
    void tell(CompletionQueue queue, Request request); /**< nobody else may wait for this request */
    void
    pop(CompletionQueue queue); /**< a new current joint: after the current one and the next completion */
    ///@}

    /** Adds the exit: a joint after everything. Called once, by whoever called the algorithm. */
    void finish();

  private:
    Request message(Kind kind, int peer, Pieces pieces, int tag);
    void local(Kind kind, Span into, Span from, Order order);
    Joint add_joint(std::span<const Request> requests, std::span<const Joint> joints, CompletionQueue queue);

    Program &program_;
    Joint current_ = 0;
    std::vector<uint8_t> waited_;   /**< per operation: somebody waits for it */
    uint32_t first_unwaited_ = 0;   /**< all operations before it are waited for, or local */
    std::vector<uint8_t> followed_; /**< per joint: another joint follows it */
};

} // namespace offbeat::schedule
