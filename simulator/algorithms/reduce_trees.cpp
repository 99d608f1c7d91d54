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

/** MPICH's MPIR_Reduce_intra_binomial and MPIR_Ireduce_intra_sched_binomial, SimGrid's reduce__binomial.
 * Rounds: lg(p). Bytes: m. Operations that do not commute: one round more, to a root other than rank 0. */
void binomial(Rank &rank) {
    const int top = rank.call.commutative ? rank.call.root : 0; // the root of the tree
    const Tree tree = in_order_binomial_tree({rank.p, rank.id, top}, 2);
    const Span result = accumulator(rank);
    const Span received = rank.scratch(tree.is_leaf() ? 0 : rank.call.count);
    rank.copy(result, rank.input());
    for (const int child : tree.children) {
        rank.recv(child, received);
        rank.reduce(result, received, Order::into_first);
    }
    if (!tree.is_root())
        rank.send(tree.parent, result);
    transfer(rank, top, result, rank.call.root, result);
}

void knomial(Rank &rank, int64_t radix) {
    const Tree tree = knomial_tree(rank, limited_degree(radix, rank.p));
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

/** SimGrid's reduce__mvapich2_knomial.
 * Rounds: log(p, radix). Bytes: m. */
void mvapich_knomial(Rank &rank, const Parameters &parameters) {
    knomial(rank, parameters["radix"]);
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

/** MPICH's MPIR_TSP_Ireduce_sched_intra_tree. On the default tree, kary, with one buffer for all children:
 * Rounds: up to k * log(p, k). Bytes: m. */
void task_tree(Rank &rank, const Parameters &parameters) {
    if (!rank.call.commutative)
        return binomial(rank); // MPICH makes its choice again
    const Tree tree = mpich_tree_of_type(rank, parameters["tree_type"], parameters["k"]);
    TaskTree(rank, tree, rank.call.root, parameters["buffer_per_child"] != 0).write(parameters["chunk_size"]);
}

/** MPICH's MPIR_Ireduce_intra_tsp_ring, which is MPIR_TSP_Ireduce_sched_intra_tree with k = 1.
 * Rounds: p - 1. Bytes: m. */
void task_chain(Rank &rank, const Parameters &parameters) {
    const int top = rank.call.commutative ? rank.call.root : 0;
    TaskTree(rank, chain_tree({rank.p, rank.id, top}, 1), top, parameters["buffer_per_child"] != 0)
        .write(parameters["chunk_size"]);
}

namespace {

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

/** @param segment   elements
 * @param requests  the maximum number of open synchronous sends of a leaf; 0: blocking sends instead */
void reduce_along(Rank &rank, const Tree &tree, int64_t segment, int64_t requests, Span result) {
    if (tree.is_leaf())
        send_as_leaf(rank, tree.parent, Segments(rank.input(), segment), requests);
    else
        SegmentedReduction(rank, tree, result, segment).write();
}

void reduce_along(Rank &rank, const Tree &tree, int64_t segment_bytes, int64_t requests = 0) {
    const int64_t segment = openmpi_segment(rank.call, segment_bytes, rank.call.count);
    reduce_along(rank, tree, segment, requests, tree.is_leaf() ? Span{} : accumulator(rank));
}

void reduce_to_last_rank(Rank &rank, int64_t segment_bytes, int64_t requests) {
    const int last = rank.p - 1;
    const Tree tree = in_order_binary_tree(rank, 2);
    Span result;
    if (!tree.is_leaf())
        result = rank.id == last ? accumulator(rank) : rank.scratch(rank.call.count);
    reduce_along(rank, tree, openmpi_segment(rank.call, segment_bytes, rank.call.count), requests, result);
    transfer(rank, last, result, rank.call.root, rank.output());
}

/** p > slope × message size + offset: how SimGrid and old versions of Open MPI choose a segment. */
bool has_more_ranks_than(const Rank &rank, double slope_per_kib, double offset) {
    return rank.p > slope_per_kib / 1024.0 * static_cast<double>(rank.call.bytes()) + offset;
}

} // namespace

/** Open MPI's ompi_coll_base_reduce_intra_chain. The root posts the receives of two chains at a time. With
 * one segment:
 * Rounds: ceil((p - 1) / fanout) + ceil(min(fanout, p - 1) / 2) - 1. Bytes: m. */
void chain(Rank &rank, const Parameters &parameters) {
    const int fanout = limited_degree(parameters["fanout"], rank.p);
    reduce_along(rank, chain_tree(rank, fanout), parameters["segment"], parameters["requests"]);
}

/** Open MPI's ompi_coll_base_reduce_intra_pipeline: a chain in segments.
 * Rounds: q + p - 2. Bytes: m. */
void pipeline(Rank &rank, const Parameters &parameters) {
    reduce_along(rank, chain_tree(rank, 1), parameters["segment"], parameters["requests"]);
}

/** Open MPI's ompi_coll_base_reduce_intra_binary. With one segment (each further segment adds at most two
 * rounds):
 * Rounds: lg(p). Bytes: m. */
void binary(Rank &rank, const Parameters &parameters) {
    reduce_along(rank, binary_tree(rank, 2), parameters["segment"], parameters["requests"]);
}

/** Open MPI's ompi_coll_base_reduce_intra_binomial. With one segment:
 * Rounds: lg(p). Bytes: m. */
void pipelined_binomial(Rank &rank, const Parameters &parameters) {
    reduce_along(rank, in_order_binomial_tree(rank, 2), parameters["segment"], parameters["requests"]);
}

/** Open MPI's ompi_coll_base_reduce_intra_in_order_binary. With one segment, for a root other than the
 * last rank:
 * Rounds: lg(p) + 1. Bytes: m. */
void in_order_binary(Rank &rank, const Parameters &parameters) {
    reduce_to_last_rank(rank, parameters["segment"], parameters["requests"]);
}

/** SimGrid's reduce__ompi_chain: chain() with p / 2 chains. With one segment:
 * Rounds: p / 4 + 1. Bytes: m. */
void simgrid_chain(Rank &rank) {
    constexpr int64_t segment_bytes = 64 * 1024; // as the other sizes below: in SimGrid's reduce-ompi.cpp
    reduce_along(rank, chain_tree(rank, rank.p / 2), segment_bytes);
}

/** SimGrid's reduce__ompi_pipeline.
 * Rounds and bytes: those of pipeline() with the segment size that SimGrid chooses. */
void simgrid_pipeline(Rank &rank) {
    int64_t segment_bytes = 64 * 1024;
    if (has_more_ranks_than(rank, 0.0410, 9.7128)) // a2 and b2
        segment_bytes = 1024;
    else if (has_more_ranks_than(rank, 0.0033, 1.6761)) // a4 and b4
        segment_bytes = 32 * 1024;
    reduce_along(rank, chain_tree(rank, 1), segment_bytes);
}

/** SimGrid's reduce__ompi_binary.
 * Rounds and bytes: those of binary() with segments of 32 KiB. */
void simgrid_binary(Rank &rank) {
    constexpr int64_t segment_bytes = 32 * 1024;
    reduce_along(rank, binary_tree(rank, 2), segment_bytes);
}

/** SimGrid's reduce__ompi_binomial.
 * Rounds and bytes: those of pipelined_binomial() with the segment size that SimGrid chooses. */
void simgrid_binomial(Rank &rank) {
    constexpr int few_ranks = 8;
    constexpr int64_t short_bytes = 2048;
    constexpr int64_t short_bytes_of_few_ranks = 20480;
    const int64_t bytes = rank.call.bytes();
    const bool is_short = bytes < (rank.p < few_ranks ? short_bytes_of_few_ranks : short_bytes);
    const bool is_whole = is_short || rank.call.count <= 1;
    const int64_t segment_bytes = !is_whole && has_more_ranks_than(rank, 0.6016, 1.3496) ? 1024 : 0; // a1, b1
    reduce_along(rank, in_order_binomial_tree(rank, 2), segment_bytes);
}

/** SimGrid's reduce__ompi_in_order_binary.
 * Rounds: lg(p) + 1. Bytes: m. */
void simgrid_in_order_binary(Rank &rank) {
    reduce_to_last_rank(rank, 0, 0);
}

} // namespace offbeat::algorithms::reduce
