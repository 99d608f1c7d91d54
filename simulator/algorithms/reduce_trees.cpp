#include "algorithms/reduce.hpp"
#include "algorithms/segments.hpp"
#include "algorithms/trees.hpp"

#include <algorithm>
#include <optional>
#include <ranges>
#include <vector>

namespace offbeat::algorithms::reduce {

using namespace schedule;

void binomial(Rank &rank, const Parameters & /*none*/) {
    if (nothing_to_combine(rank))
        return;
    const int top = rank.call.commutative ? rank.call.root : 0;
    const Tree tree = in_order_binomial_tree(rank.p, rank.id, top);
    const Span result = accumulator(rank);
    const Span received = rank.scratch(tree.is_leaf() ? 0 : rank.call.count);
    rank.copy(result, rank.input());
    for (const int child : tree.children) {
        rank.recv(child, received);
        rank.reduce(result, received, Order::into_first);
    }
    if (!tree.is_root())
        rank.send(tree.parent, result);
    if (top == rank.call.root)
        return;
    if (rank.id == top)
        rank.send(rank.call.root, result);
    else if (rank.id == rank.call.root)
        rank.recv(top, result);
}

void knomial(Rank &rank, int radix) {
    if (nothing_to_combine(rank))
        return;
    const Tree tree = knomial_tree(rank.p, rank.id, rank.call.root, radix);
    const Span result = accumulator(rank);
    rank.copy(result, rank.input());
    const CompletionQueue done = tree.is_leaf() ? none : rank.completion_queue();
    std::vector<Span> received;
    for (const int child : tree.children | std::views::reverse) {
        received.push_back(rank.scratch(rank.call.count));
        rank.tell(done, rank.irecv(child, received.back()));
    }
    for (const Span &data : received) {
        rank.pop(done);
        rank.reduce(result, data, Order::from_first);
    }
    if (!tree.is_root())
        rank.send(tree.parent, result);
}

void knomial(Rank &rank, const Parameters &parameters) {
    knomial(rank, static_cast<int>(parameters["radix"]));
}

namespace {

/** MPICH's chunks of a pipeline: the first one is what remains when the others are full. */
std::vector<Span> chunks_of(const Call &call, Span buffer, int64_t bytes) {
    const int64_t full = bytes / call.element_bytes;
    if (full <= 0 || full >= buffer.length)
        return {buffer};
    std::vector<Span> chunks;
    const int64_t first = buffer.length % full;
    for (int64_t from = 0; from < buffer.length; from += chunks.back().length)
        chunks.push_back(buffer.part(from, from == 0 && first != 0 ? first : full));
    return chunks;
}

/** A pipelined tree as a graph of tasks: a reduction waits for its receive; a receive for the reduction
 * before it, unless each child has a buffer of its own; a chunk's send for its reductions. Chunks don't wait
 * for each other. */
class TaskTree {
  public:
    TaskTree(Rank &rank, Tree tree, int top, bool buffer_per_child)
        : rank_(rank), tree_(std::move(tree)), top_(top), buffer_per_child_(buffer_per_child),
          start_(rank.here()) {
        if (tree_.is_leaf()) {
            result_ = rank.input();
            return;
        }
        // What comes from another top may arrive at the root any time: its output is no scratch then.
        result_ = top == rank.call.root ? accumulator(rank) : rank.scratch(rank.call.count);
        rank.copy(result_, rank.input());
        for (size_t i = 0; i < (buffer_per_child ? tree_.children.size() : 1); ++i)
            received_.push_back(rank.scratch(rank.call.count));
    }

    void all(int64_t chunk_bytes) {
        const auto chunks = chunks_of(rank_.call, result_, chunk_bytes);
        for (int tag = 0; const Span &chunk : chunks)
            one(chunk, tag++);
    }

  private:
    void one(const Span &chunk, int tag) {
        std::vector<Request> open;
        rank_.at(start_);
        if (buffer_per_child_)
            for (size_t i = 0; i < tree_.children.size(); ++i)
                open.push_back(receive(i, chunk, tag));
        for (size_t i = 0; i < tree_.children.size(); ++i) {
            if (!buffer_per_child_)
                open.push_back(receive(i, chunk, tag));
            rank_.at(rank_.when({open[i]}, {rank_.here()}));
            rank_.reduce(chunk, buffer(i, chunk), Order::into_first);
        }
        if (!tree_.is_root())
            rank_.isend(tree_.parent, chunk, tag);
        if (top_ == rank_.call.root)
            return;
        if (rank_.id == top_)
            rank_.isend(rank_.call.root, chunk, tag);
        rank_.at(start_);
        if (rank_.id == rank_.call.root)
            rank_.irecv(top_, on(rank_.output(), chunk), tag);
    }

    /** The same piece of another buffer. */
    static Span on(const Span &buffer, const Span &chunk) {
        return buffer.part(chunk.offset, chunk.length);
    }
    [[nodiscard]] Span buffer(size_t child, const Span &chunk) const {
        return on(received_[buffer_per_child_ ? child : 0], chunk);
    }
    Request receive(size_t child, const Span &chunk, int tag) {
        return rank_.irecv(tree_.children[child], buffer(child, chunk), tag);
    }

    Rank &rank_;
    Tree tree_;
    int top_;
    bool buffer_per_child_;
    Joint start_;
    Span result_;
    std::vector<Span> received_;
};

} // namespace

void task_tree(Rank &rank, const Parameters &parameters) {
    if (!rank.call.commutative) {
        binomial(rank, parameters); // MPICH chooses anew
        return;
    }
    if (nothing_to_combine(rank))
        return;
    const auto type = static_cast<MpichTree>(parameters["tree_type"]);
    const auto k = static_cast<int>(parameters["k"]);
    const int root = rank.call.root;
    TaskTree(rank, mpich_tree(type, rank.p, rank.id, root, k), root, parameters["buffer_per_child"] != 0)
        .all(parameters["chunk_size"]);
}

void task_chain(Rank &rank, const Parameters &parameters) {
    if (nothing_to_combine(rank))
        return;
    const int top = rank.call.commutative ? rank.call.root : 0;
    TaskTree(rank, mpich_kary_tree(rank.p, rank.id, top, 1), top, parameters["buffer_per_child"] != 0)
        .all(parameters["chunk_size"]);
}

} // namespace offbeat::algorithms::reduce
