#include "algorithms/bcast.hpp"
#include "algorithms/segments.hpp"
#include "algorithms/trees.hpp"

#include <algorithm>
#include <array>

namespace offbeat::algorithms::bcast {

using schedule::Rank;
using schedule::Request;
using schedule::Span;

namespace {

/** The two halves of the message; the first one takes the odd element. */
struct Halves {
    std::array<Span, 2> data;
    std::array<Segments, 2> segments;

    Halves(Span whole, int64_t segment)
        : data{whole.part(0, (whole.length + 1) / 2), whole.part((whole.length + 1) / 2, whole.length / 2)},
          segments{Segments(data[0], segment), Segments(data[1], segment)} {
    }
};

void send_halves(Rank &rank, const Tree &tree, const Halves &halves) {
    for (int64_t i = 0; i < halves.segments[0].count(); ++i)
        for (size_t side = 0; side < tree.children.size(); ++side)
            if (i < halves.segments[side].count())
                rank.send(tree.children[side], halves.segments[side][i]);
}

/** Inside the tree one receive is posted ahead of the segment that is passed on; not at its leaves. */
void relay_half(Rank &rank, const Tree &tree, const Segments &segments) {
    Request arriving = rank.irecv(tree.parent, segments[0]);
    for (int64_t i = 0; i < segments.count(); ++i) {
        const Request arrived = arriving;
        const bool more = i + 1 < segments.count();
        if (more && !tree.is_leaf())
            arriving = rank.irecv(tree.parent, segments[i + 1]);
        rank.wait(arrived);
        for (const int child : tree.children)
            rank.send(child, segments[i]);
        if (more && tree.is_leaf())
            arriving = rank.irecv(tree.parent, segments[i + 1]);
    }
}

/** Neighbours have different halves. With an even number of ranks the last one is left over: the root sends
 * it what it lacks. */
void exchange_halves(Rank &rank, const Halves &halves, int v) {
    const int p = rank.p;
    const int last = (rank.call.root + p - 1) % p;
    if (v == 0) {
        if (p % 2 == 0)
            rank.send(last, halves.data[1]);
    } else if (p % 2 == 0 && rank.id == last) {
        rank.recv(rank.call.root, halves.data[1]);
    } else {
        const int partner = (rank.id + (v % 2 == 1 ? 1 : p - 1)) % p;
        const size_t own = v % 2 == 1 ? 0 : 1;
        rank.sendrecv(partner, halves.data[own], partner, halves.data[1 - own]);
    }
}

bool can_split(const Rank &rank, int64_t segment_bytes) {
    const int64_t smaller_half = rank.call.count / 2;
    return smaller_half > 0 && segment_bytes <= smaller_half * rank.call.element_bytes;
}

/** Odd numbers v are in the left subtree, which passes the first half on; even ones in the right one. */
void split_binary(Rank &rank, int64_t segment_bytes) {
    const int v = (rank.id - rank.call.root + rank.p) % rank.p;
    const Tree tree = balanced_tree(rank.p, rank.id, rank.call.root, 2);
    const int64_t segment = segment_bytes > 0 ? elements_within(rank.call, segment_bytes) : 0;
    const Halves halves(rank.output(), segment);
    if (v == 0)
        send_halves(rank, tree, halves);
    else
        relay_half(rank, tree, halves.segments[v % 2 == 1 ? 0 : 1]);
    exchange_halves(rank, halves, v);
}

} // namespace

void openmpi_split_binary(Rank &rank, const Parameters &parameters) {
    const int64_t segment = parameters["segment"];
    if (rank.p == 1)
        return;
    if (!can_split(rank, segment > 0 ? std::max(segment, rank.call.element_bytes) : 0))
        return openmpi_pipeline(rank, parameters);
    split_binary(rank, segment);
}

void simgrid_split_binary(Rank &rank, const Parameters & /*parameters*/) {
    constexpr int64_t large = 370728;
    const int64_t segment = rank.call.bytes() < large ? 1024 : 8192;
    if (rank.p == 1)
        return;
    if (!can_split(rank, std::max(segment, rank.call.element_bytes))) {
        constexpr std::array<Parameter, 1> declared{Parameter{"segment", 8192}};
        return nodes_linear(rank, Parameters(declared));
    }
    split_binary(rank, segment);
}

} // namespace offbeat::algorithms::bcast
