#include "algorithms/blocks.hpp"
#include "algorithms/exchange.hpp"
#include "algorithms/reduce.hpp"
#include "algorithms/trees.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <ranges>
#include <vector>

namespace offbeat::algorithms::reduce {

using namespace schedule;

void binomial(Rank &rank, const Parameters & /*parameters*/) {
    if (reduces_without_messages(rank))
        return;
    const int top = rank.call.commutative ? rank.call.root : 0; // the root of the tree
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
    if (reduces_without_messages(rank))
        return;
    const Tree tree = knomial_tree(rank.p, rank.id, rank.call.root, radix);
    const Span result = accumulator(rank);
    rank.copy(result, rank.input());
    const CompletionQueue receives = tree.is_leaf() ? none : rank.completion_queue();
    std::vector<Span> received;
    for (const int child : tree.children | std::views::reverse) {
        received.push_back(rank.scratch(rank.call.count));
        rank.enqueue(receives, rank.irecv(child, received.back()));
    }
    for (const Span &data : received) {
        rank.pop(receives);
        rank.reduce(result, data, Order::from_first);
    }
    if (!tree.is_root())
        rank.send(tree.parent, result);
}

void knomial(Rank &rank, const Parameters &parameters) {
    knomial(rank, static_cast<int>(parameters["radix"]));
}

namespace {

/** A pipelined tree as a task graph. A reduction waits for its receive; a receive waits for the previous
 * reduction, unless each child has a buffer of its own; the send of a chunk waits for its reductions. Chunks
 * are independent. */
class TaskTree {
  public:
    TaskTree(Rank &rank, Tree tree, int top, bool buffer_per_child)
        : rank_(rank), tree_(std::move(tree)), top_(top), buffer_per_child_(buffer_per_child),
          start_(rank.current_vertex()) {
        if (tree_.is_leaf()) {
            result_ = rank.input();
            return;
        }
        // The result from another tree root may arrive at any time: then the root's output cannot serve as
        // scratch.
        result_ = top == rank.call.root ? accumulator(rank) : rank.scratch(rank.call.count);
        rank.copy(result_, rank.input());
        for (size_t i = 0; i < (buffer_per_child ? tree_.children.size() : 1); ++i)
            received_.push_back(rank.scratch(rank.call.count));
    }

    void write(int64_t chunk_bytes) {
        const auto chunks = mpich_chunks(rank_.call, result_, chunk_bytes);
        for (int tag = 0; const Span &chunk : chunks)
            write_chunk(chunk, tag++);
    }

  private:
    void write_chunk(const Span &chunk, int tag) {
        std::vector<Request> receives;
        rank_.continue_at(start_);
        if (buffer_per_child_)
            for (size_t i = 0; i < tree_.children.size(); ++i)
                receives.push_back(receive(i, chunk, tag));
        for (size_t i = 0; i < tree_.children.size(); ++i) {
            if (!buffer_per_child_)
                receives.push_back(receive(i, chunk, tag));
            rank_.continue_at(rank_.vertex_after({receives[i]}, {rank_.current_vertex()}));
            rank_.reduce(chunk, buffer(i, chunk), Order::into_first);
        }
        if (!tree_.is_root())
            rank_.isend(tree_.parent, chunk, tag);
        if (top_ == rank_.call.root)
            return;
        if (rank_.id == top_)
            rank_.isend(rank_.call.root, chunk, tag);
        rank_.continue_at(start_);
        if (rank_.id == rank_.call.root)
            rank_.irecv(top_, same_place(rank_.output(), chunk), tag);
    }

    /** The part of another buffer at the place of a chunk. */
    static Span same_place(const Span &buffer, const Span &chunk) {
        return buffer.part(chunk.offset, chunk.length);
    }
    [[nodiscard]] Span buffer(size_t child, const Span &chunk) const {
        return same_place(received_[buffer_per_child_ ? child : 0], chunk);
    }
    Request receive(size_t child, const Span &chunk, int tag) {
        return rank_.irecv(tree_.children[child], buffer(child, chunk), tag);
    }

    Rank &rank_;
    Tree tree_;
    int top_;
    bool buffer_per_child_;
    Vertex start_;
    Span result_;
    std::vector<Span> received_;
};

} // namespace

void task_tree(Rank &rank, const Parameters &parameters) {
    if (!rank.call.commutative) {
        binomial(rank, parameters); // MPICH makes its choice again
        return;
    }
    if (reduces_without_messages(rank))
        return;
    const auto type = static_cast<MpichTree>(parameters["tree_type"]);
    const auto k = static_cast<int>(parameters["k"]);
    const int root = rank.call.root;
    TaskTree(rank, mpich_tree(type, rank.p, rank.id, root, k), root, parameters["buffer_per_child"] != 0)
        .write(parameters["chunk_size"]);
}

void task_chain(Rank &rank, const Parameters &parameters) {
    if (reduces_without_messages(rank))
        return;
    const int top = rank.call.commutative ? rank.call.root : 0;
    TaskTree(rank, mpich_kary_tree(rank.p, rank.id, top, 1), top, parameters["buffer_per_child"] != 0)
        .write(parameters["chunk_size"]);
}

namespace {

/** The segment length, and the maximum number of open synchronous sends of a leaf (0: blocking sends
 * instead). */
struct Pipelining {
    int64_t segment = 0; /**< elements */
    int64_t requests = 0;
};

void send_as_leaf(Rank &rank, int parent, const Segments &segments, int64_t requests) {
    if (requests == 0 || segments.count() <= requests) {
        for (int64_t i = 0; i < segments.count(); ++i)
            rank.send(parent, segments[i]);
        return;
    }
    std::vector<Request> open;
    for (int64_t i = 0; i < segments.count(); ++i) {
        if (i >= requests)
            rank.wait(open[static_cast<size_t>(i - requests)]);
        open.push_back(rank.issend(parent, segments[i]));
    }
    rank.wait_all();
}

/** Open MPI's loop of a rank with children. One receive is posted ahead: the next child's, or the next
 * segment's from the first child. If the operation commutes, the first child's data are received into the
 * result buffer and combined with the rank's own contribution when the second child's turn comes. */
class SegmentedReduction {
  public:
    SegmentedReduction(Rank &rank, const Tree &tree, Span result, int64_t segment)
        : rank_(rank), tree_(tree), own_(rank.input(), segment), result_(result, segment),
          direct_(rank.call.commutative) {
        if (!direct_)
            rank.copy(result, rank.input());
        for (Span &buffer : incoming_)
            buffer = rank.scratch(own_[0].length);
    }

    void write() {
        const int64_t children = static_cast<int64_t>(tree_.children.size());
        for (int64_t segment = 0; segment < own_.count(); ++segment) {
            for (int64_t child = 0; child < children; ++child) {
                post(segment, child);
                if (child > 0)
                    combine(segment, child - 1);
                else if (segment > 0)
                    finish_segment(segment - 1);
            }
        }
        finish_segment(own_.count() - 1);
    }

  private:
    /** Where the data of a child are received. The buffers alternate. */
    Span destination(int64_t segment, int64_t child) const {
        if (direct_ && child == 0)
            return result_[segment];
        const auto turn = segment * static_cast<int64_t>(tree_.children.size()) + child;
        return incoming_[static_cast<size_t>(turn % 2)].part(0, own_[segment].length);
    }

    void post(int64_t segment, int64_t child) {
        previous_ = latest_;
        latest_ = rank_.irecv(tree_.children[static_cast<size_t>(child)], destination(segment, child));
    }

    /** Waits for the receive before the latest one, and combines its data with the result. */
    void combine(int64_t segment, int64_t child) {
        rank_.wait(previous_);
        if (direct_ && child == 0)
            rank_.reduce(result_[segment], own_[segment], Order::into_first);
        else
            rank_.reduce(result_[segment], destination(segment, child), Order::from_first);
    }

    void finish_segment(int64_t segment) {
        if (segment == own_.count() - 1)
            previous_ = latest_;
        combine(segment, static_cast<int64_t>(tree_.children.size()) - 1);
        if (!tree_.is_root())
            rank_.send(tree_.parent, result_[segment]);
    }

    Rank &rank_;
    const Tree &tree_;
    Segments own_;
    Segments result_;
    bool direct_;
    std::array<Span, 2> incoming_;
    Request previous_ = none;
    Request latest_ = none;
};

void reduce_along(Rank &rank, const Tree &tree, Pipelining pipelining, Span result) {
    if (tree.is_leaf())
        send_as_leaf(rank, tree.parent, Segments(rank.input(), pipelining.segment), pipelining.requests);
    else
        SegmentedReduction(rank, tree, result, pipelining.segment).write();
}

void reduce_along(Rank &rank, const Tree &tree, Pipelining pipelining) {
    reduce_along(rank, tree, pipelining, tree.is_leaf() ? Span{} : accumulator(rank));
}

void reduce_to_last_rank(Rank &rank, Pipelining pipelining) {
    const int last = rank.p - 1;
    const Tree tree = in_order_binary_tree(rank.p, rank.id);
    Span result;
    if (!tree.is_leaf())
        result = rank.id == last ? accumulator(rank) : rank.scratch(rank.call.count);
    reduce_along(rank, tree, pipelining, result);
    if (rank.call.root == last)
        return;
    if (rank.id == rank.call.root)
        rank.recv(last, rank.output());
    else if (rank.id == last)
        rank.send(rank.call.root, result);
}

Pipelining in_segments_of(const Rank &rank, int64_t bytes, int64_t requests = 0) {
    return {openmpi_segment(rank.call, bytes, rank.call.count), requests};
}

Pipelining requested_pipelining(const Rank &rank, const Parameters &parameters) {
    return in_segments_of(rank, parameters["segment"], parameters["requests"]);
}

/** p > slope × message size + offset: how SimGrid and old versions of Open MPI choose a segment. */
bool more_ranks_than(const Rank &rank, double slope_per_kib, double offset) {
    return rank.p > slope_per_kib / 1024.0 * static_cast<double>(rank.call.bytes()) + offset;
}

} // namespace

void chain(Rank &rank, const Parameters &parameters) {
    if (!reduces_without_messages(rank))
        reduce_along(rank,
                     chain_tree(rank.p, rank.id, rank.call.root, static_cast<int>(parameters["fanout"])),
                     requested_pipelining(rank, parameters));
}

void pipeline(Rank &rank, const Parameters &parameters) {
    if (!reduces_without_messages(rank))
        reduce_along(rank, pipeline_tree(rank.p, rank.id, rank.call.root),
                     requested_pipelining(rank, parameters));
}

void binary(Rank &rank, const Parameters &parameters) {
    if (!reduces_without_messages(rank))
        reduce_along(rank, balanced_tree(rank.p, rank.id, rank.call.root, 2),
                     requested_pipelining(rank, parameters));
}

void binomial_segmented(Rank &rank, const Parameters &parameters) {
    if (!reduces_without_messages(rank))
        reduce_along(rank, in_order_binomial_tree(rank.p, rank.id, rank.call.root),
                     requested_pipelining(rank, parameters));
}

void in_order_binary(Rank &rank, const Parameters &parameters) {
    if (!reduces_without_messages(rank))
        reduce_to_last_rank(rank, requested_pipelining(rank, parameters));
}

void simgrid_chain(Rank &rank, const Parameters & /*parameters*/) {
    if (!reduces_without_messages(rank))
        reduce_along(rank, chain_tree(rank.p, rank.id, rank.call.root, rank.p / 2),
                     in_segments_of(rank, 64 * 1024));
}

void simgrid_pipeline(Rank &rank, const Parameters & /*parameters*/) {
    if (reduces_without_messages(rank))
        return;
    int64_t segment = 64 * 1024;
    if (more_ranks_than(rank, 0.0410, 9.7128))
        segment = 1024;
    else if (more_ranks_than(rank, 0.0033, 1.6761))
        segment = 32 * 1024;
    reduce_along(rank, pipeline_tree(rank.p, rank.id, rank.call.root), in_segments_of(rank, segment));
}

void simgrid_binary(Rank &rank, const Parameters & /*parameters*/) {
    if (!reduces_without_messages(rank))
        reduce_along(rank, balanced_tree(rank.p, rank.id, rank.call.root, 2),
                     in_segments_of(rank, 32 * 1024));
}

void simgrid_binomial(Rank &rank, const Parameters & /*parameters*/) {
    if (reduces_without_messages(rank))
        return;
    const int64_t bytes = rank.call.bytes();
    const bool whole = (rank.p < 8 && bytes < 20480) || bytes < 2048 || rank.call.count <= 1;
    const int64_t segment = !whole && more_ranks_than(rank, 0.6016, 1.3496) ? 1024 : 0;
    reduce_along(rank, in_order_binomial_tree(rank.p, rank.id, rank.call.root),
                 in_segments_of(rank, segment));
}

void simgrid_in_order_binary(Rank &rank, const Parameters & /*parameters*/) {
    if (!reduces_without_messages(rank))
        reduce_to_last_rank(rank, in_segments_of(rank, 0));
}

} // namespace offbeat::algorithms::reduce
