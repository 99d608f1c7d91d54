#include "algorithms/bcast.hpp"
#include "algorithms/segments.hpp"
#include "algorithms/trees.hpp"

#include <algorithm>

namespace offbeat::algorithms::bcast {

using schedule::Rank;
using schedule::Request;
using schedule::Span;

namespace {

void send_to_all(Rank &rank, const std::vector<int> &children, Span what) {
    std::vector<Request> sent;
    for (const int child : children)
        sent.push_back(rank.isend(child, what));
    rank.wait(sent);
}

/** Open MPI's loop over segments: one receive ahead, and a segment is with all children before the next one
 * is passed on. */
void segmented(Rank &rank, const Tree &tree, int64_t segment) {
    const Segments segments(rank.output(), segment);
    if (tree.is_root()) {
        for (int64_t i = 0; i < segments.count(); ++i)
            send_to_all(rank, tree.children, segments[i]);
        return;
    }
    Request arriving = rank.irecv(tree.parent, segments[0]);
    for (int64_t i = 0; i < segments.count(); ++i) {
        const Request arrived = arriving;
        if (i + 1 < segments.count())
            arriving = rank.irecv(tree.parent, segments[i + 1]);
        rank.wait(arrived);
        send_to_all(rank, tree.children, segments[i]);
    }
}

int64_t segment_asked_for(const Rank &rank, const Parameters &parameters) {
    return openmpi_segment(rank.call, parameters["segment"], rank.call.count);
}

/** From p on, every radix makes the same tree. */
int radix_asked_for(const Rank &rank, const Parameters &parameters) {
    return static_cast<int>(std::min<int64_t>(parameters["radix"], std::max(rank.p, 2)));
}

/** The binomial tree with the largest subtree first. */
Tree binomial_from_largest(const Rank &rank) {
    Tree tree = in_order_binomial_tree(rank.p, rank.id, rank.call.root);
    std::ranges::reverse(tree.children);
    return tree;
}

} // namespace

void flat(Rank &rank, const Parameters & /*parameters*/) {
    const int root = rank.call.root;
    if (rank.id != root) {
        rank.recv(root, rank.output());
        return;
    }
    for (int to = 0; to < rank.p; ++to)
        if (to != root)
            rank.isend(to, rank.output());
    rank.wait_all();
}

void binomial(Rank &rank, const Parameters & /*parameters*/) {
    const Tree tree = binomial_from_largest(rank);
    if (!tree.is_root())
        rank.recv(tree.parent, rank.output());
    for (const int child : tree.children)
        rank.send(child, rank.output());
}

void binomial_at_once(Rank &rank, const Parameters & /*parameters*/) {
    const Tree tree = binomial_from_largest(rank);
    if (!tree.is_root())
        rank.recv(tree.parent, rank.output());
    send_to_all(rank, tree.children, rank.output());
}

void flat_pipelined(Rank &rank, const Parameters &parameters) {
    const int64_t segment = elements_within(rank.call, parameters["segment"]);
    if (rank.call.count < segment)
        return flat(rank, parameters);
    // SimGrid leaves out what remains after the whole segments; here it is the last segment.
    const Segments segments(rank.output(), segment);
    if (rank.id != rank.call.root) {
        for (int64_t i = 0; i < segments.count(); ++i)
            rank.irecv(rank.call.root, segments[i]);
        rank.wait_all();
        return;
    }
    for (int to = 0; to < rank.p; ++to)
        for (int64_t i = 0; to != rank.id && i < segments.count(); ++i)
            rank.send(to, segments[i]);
}

void knomial_by_levels(Rank &rank, const Parameters &parameters) {
    const Tree tree = knomial_tree(rank.p, rank.id, rank.call.root, radix_asked_for(rank, parameters));
    if (!tree.is_root())
        rank.recv(tree.parent, rank.output());
    const auto number = [&](int other) { return (other - rank.call.root + rank.p) % rank.p; };
    std::vector<int> level;
    int64_t place = 0; // of the digit in which the children of this level differ from this rank
    for (const int child : tree.children) {
        const int64_t distance = number(child) - number(rank.id);
        if (distance < place) {
            send_to_all(rank, level, rank.output());
            level.clear();
        }
        if (level.empty())
            place = distance;
        level.push_back(child);
    }
    send_to_all(rank, level, rank.output());
}

void openmpi_chain(Rank &rank, const Parameters &parameters) {
    const int fanout = static_cast<int>(std::min<int64_t>(parameters["fanout"], rank.p));
    segmented(rank, chain_tree(rank.p, rank.id, rank.call.root, fanout), segment_asked_for(rank, parameters));
}

void openmpi_pipeline(Rank &rank, const Parameters &parameters) {
    segmented(rank, pipeline_tree(rank.p, rank.id, rank.call.root), segment_asked_for(rank, parameters));
}

void openmpi_binary(Rank &rank, const Parameters &parameters) {
    segmented(rank, balanced_tree(rank.p, rank.id, rank.call.root, 2), segment_asked_for(rank, parameters));
}

void openmpi_binomial(Rank &rank, const Parameters &parameters) {
    segmented(rank, binomial_tree(rank.p, rank.id, rank.call.root), segment_asked_for(rank, parameters));
}

void openmpi_knomial(Rank &rank, const Parameters &parameters) {
    const int radix = radix_asked_for(rank, parameters);
    segmented(rank, knomial_tree(rank.p, rank.id, rank.call.root, radix),
              segment_asked_for(rank, parameters));
}

void simgrid_pipeline(Rank &rank, const Parameters & /*parameters*/) {
    struct Choice {
        double ranks_per_byte;
        double ranks;
        int64_t segment_bytes;
    };
    // Lines in the plane of message size and ranks, below which a segment size is used.
    constexpr Choice choices[] = {
        {1.6134e-6, 2.1102, 128 << 10}, {2.3679e-6, 1.1787, 64 << 10}, {3.2118e-6, 8.7936, 16 << 10}};
    int64_t bytes = 128 << 10;
    for (const Choice &choice : choices) {
        if (rank.p < choice.ranks_per_byte * static_cast<double>(rank.call.bytes()) + choice.ranks) {
            bytes = choice.segment_bytes;
            break;
        }
    }
    segmented(rank, pipeline_tree(rank.p, rank.id, rank.call.root),
              openmpi_segment(rank.call, bytes, rank.call.count));
}

} // namespace offbeat::algorithms::bcast
