#include "algorithms/reduce.hpp"
#include "algorithms/segments.hpp"
#include "algorithms/trees.hpp"

#include <algorithm>
#include <array>
#include <vector>

namespace offbeat::algorithms::reduce {

using namespace schedule;

namespace {

/** How the buffer is cut, and how many synchronous sends a leaf has open (0: blocking sends instead). */
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

/** Open MPI's loop of a rank with children. One receive is ahead of the one that is waited for: the next
 * child's, or the next segment's from the first child. If the operation commutes, the first child's data are
 * received where the result goes, and the own contribution joins with the second child's turn. */
class Combining {
  public:
    Combining(Rank &rank, const Tree &tree, Span result, int64_t segment)
        : rank_(rank), tree_(tree), own_(rank.input(), segment), result_(result, segment),
          direct_(rank.call.commutative) {
        if (!direct_)
            rank.copy(result, rank.input());
        for (Span &buffer : arriving_)
            buffer = rank.scratch(own_[0].length);
    }

    void all() {
        const int64_t children = static_cast<int64_t>(tree_.children.size());
        for (int64_t segment = 0; segment < own_.count(); ++segment) {
            for (int64_t child = 0; child < children; ++child) {
                post(segment, child);
                if (child > 0)
                    combine(segment, child - 1);
                else if (segment > 0)
                    pass_on(segment - 1);
            }
        }
        pass_on(own_.count() - 1);
    }

  private:
    /** Where the data of a child stay until they are combined. Buffers alternate with the receives. */
    Span place(int64_t segment, int64_t child) const {
        if (direct_ && child == 0)
            return result_[segment];
        const auto turn = segment * static_cast<int64_t>(tree_.children.size()) + child;
        return arriving_[static_cast<size_t>(turn % 2)].part(0, own_[segment].length);
    }

    void post(int64_t segment, int64_t child) {
        previous_ = latest_;
        latest_ = rank_.irecv(tree_.children[static_cast<size_t>(child)], place(segment, child));
    }

    /** Waits for the receive before the latest one, and combines it with what is there. */
    void combine(int64_t segment, int64_t child) {
        rank_.wait(previous_);
        if (direct_ && child == 0)
            rank_.reduce(result_[segment], own_[segment], Order::into_first);
        else
            rank_.reduce(result_[segment], place(segment, child), Order::from_first);
    }

    void pass_on(int64_t segment) {
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
    std::array<Span, 2> arriving_;
    Request previous_ = none;
    Request latest_ = none;
};

void along(Rank &rank, const Tree &tree, Pipelining pipelining, Span result) {
    if (tree.is_leaf())
        send_as_leaf(rank, tree.parent, Segments(rank.input(), pipelining.segment), pipelining.requests);
    else
        Combining(rank, tree, result, pipelining.segment).all();
}

void along(Rank &rank, const Tree &tree, Pipelining pipelining) {
    along(rank, tree, pipelining, tree.is_leaf() ? Span{} : accumulator(rank));
}

void to_last_in_order(Rank &rank, Pipelining pipelining) {
    const int last = rank.p - 1;
    const Tree tree = in_order_binary_tree(rank.p, rank.id);
    Span result;
    if (!tree.is_leaf())
        result = rank.id == last ? accumulator(rank) : rank.scratch(rank.call.count);
    along(rank, tree, pipelining, result);
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

Pipelining as_asked(const Rank &rank, const Parameters &parameters) {
    return in_segments_of(rank, parameters["segment"], parameters["requests"]);
}

/** p > slope × message size + offset: how SimGrid and old Open MPI choose a segment. */
bool more_ranks_than(const Rank &rank, double slope_per_kib, double offset) {
    return rank.p > slope_per_kib / 1024.0 * static_cast<double>(rank.call.bytes()) + offset;
}

} // namespace

void chain(Rank &rank, const Parameters &parameters) {
    if (!nothing_to_combine(rank))
        along(rank, chain_tree(rank.p, rank.id, rank.call.root, static_cast<int>(parameters["fanout"])),
              as_asked(rank, parameters));
}

void pipeline(Rank &rank, const Parameters &parameters) {
    if (!nothing_to_combine(rank))
        along(rank, pipeline_tree(rank.p, rank.id, rank.call.root), as_asked(rank, parameters));
}

void binary(Rank &rank, const Parameters &parameters) {
    if (!nothing_to_combine(rank))
        along(rank, balanced_tree(rank.p, rank.id, rank.call.root, 2), as_asked(rank, parameters));
}

void binomial_segmented(Rank &rank, const Parameters &parameters) {
    if (!nothing_to_combine(rank))
        along(rank, in_order_binomial_tree(rank.p, rank.id, rank.call.root), as_asked(rank, parameters));
}

void in_order_binary(Rank &rank, const Parameters &parameters) {
    if (!nothing_to_combine(rank))
        to_last_in_order(rank, as_asked(rank, parameters));
}

void simgrid_chain(Rank &rank, const Parameters & /*none*/) {
    if (!nothing_to_combine(rank))
        along(rank, chain_tree(rank.p, rank.id, rank.call.root, rank.p / 2), in_segments_of(rank, 64 * 1024));
}

void simgrid_pipeline(Rank &rank, const Parameters & /*none*/) {
    if (nothing_to_combine(rank))
        return;
    int64_t segment = 64 * 1024;
    if (more_ranks_than(rank, 0.0410, 9.7128))
        segment = 1024;
    else if (more_ranks_than(rank, 0.0033, 1.6761))
        segment = 32 * 1024;
    along(rank, pipeline_tree(rank.p, rank.id, rank.call.root), in_segments_of(rank, segment));
}

void simgrid_binary(Rank &rank, const Parameters & /*none*/) {
    if (!nothing_to_combine(rank))
        along(rank, balanced_tree(rank.p, rank.id, rank.call.root, 2), in_segments_of(rank, 32 * 1024));
}

void simgrid_binomial(Rank &rank, const Parameters & /*none*/) {
    if (nothing_to_combine(rank))
        return;
    const int64_t bytes = rank.call.bytes();
    const bool whole = (rank.p < 8 && bytes < 20480) || bytes < 2048 || rank.call.count <= 1;
    const int64_t segment = !whole && more_ranks_than(rank, 0.6016, 1.3496) ? 1024 : 0;
    along(rank, in_order_binomial_tree(rank.p, rank.id, rank.call.root), in_segments_of(rank, segment));
}

void simgrid_in_order_binary(Rank &rank, const Parameters & /*none*/) {
    if (!nothing_to_combine(rank))
        to_last_in_order(rank, in_segments_of(rank, 0));
}

} // namespace offbeat::algorithms::reduce
