#include "algorithms/bcast.hpp"
#include "algorithms/blocks.hpp"
#include "algorithms/exchange.hpp"
#include "algorithms/trees.hpp"

#include <algorithm>
#include <array>

namespace offbeat::algorithms::bcast {

namespace {

/** Open MPI's loop over segments: one receive is posted ahead, and a segment is sent to all children before
 * the next segment is forwarded. */
void segmented(Rank &rank, const Tree &tree, int64_t segment) {
    const Segments segments(rank.output(), segment);
    if (tree.is_root()) {
        for (int64_t i = 0; i < segments.count(); ++i)
            send_to_all(rank, tree.children, segments[i]);
        return;
    }
    Request next_receive = rank.irecv(tree.parent, segments[0]);
    for (int64_t i = 0; i < segments.count(); ++i) {
        const Request receive = next_receive;
        if (i + 1 < segments.count())
            next_receive = rank.irecv(tree.parent, segments[i + 1]);
        rank.wait(receive);
        send_to_all(rank, tree.children, segments[i]);
    }
}

void segmented(Rank &rank, const Tree &tree, const Parameters &parameters) {
    segmented(rank, tree, openmpi_segment(rank.call, parameters["segment"], rank.call.count));
}

} // namespace

/** Open MPI's ompi_coll_base_bcast_intra_basic_linear, SimGrid's bcast__flattree.
 * Rounds: 1. Bytes: m * (p - 1). */
void flat(Rank &rank) {
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

void send_to_children(Rank &rank, const Tree &tree, Span data, Sends sends) {
    for (const int child : tree.children) {
        if (sends == Sends::blocking)
            rank.send(child, data);
        else
            rank.isend(child, data);
    }
}

void along_tree(Rank &rank, const Tree &tree, Sends sends) {
    if (!tree.is_root())
        rank.recv(tree.parent, rank.output());
    send_to_children(rank, tree, rank.output(), sends);
}

/** SimGrid's bcast__binomial_tree.
 * Rounds: lg(p). Bytes: m * lg(p). */
void binomial(Rank &rank) {
    along_tree(rank, knomial_tree(rank, 2), Sends::blocking);
}

/** SimGrid's bcast__flattree_pipeline.
 * Rounds: q * (p - 1). Bytes: m * (p - 1). */
void flat_pipelined(Rank &rank, const Parameters &parameters) {
    const int64_t segment = elements_within(rank.call, parameters["segment"]);
    if (rank.call.count < segment)
        return flat(rank);
    // SimGrid omits the elements after the last whole segment; here they are one more segment.
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

/** SimGrid's bcast__mvapich2_knomial_intra_node.
 * Rounds: log(p, radix). Bytes: m * (radix - 1) * log(p, radix). */
void knomial_by_levels(Rank &rank, const Parameters &parameters) {
    const Tree tree = knomial_tree(rank, limited_degree(parameters["radix"], rank.p));
    if (!tree.is_root())
        rank.recv(tree.parent, rank.output());
    const RootedRank numbers(rank);
    std::vector<int> level;
    int64_t weight = 0; // of the digit in which the children of this level differ from this rank
    for (const int child : tree.children) {
        const int64_t distance = numbers.number(child) - numbers.v();
        if (distance < weight) {
            send_to_all(rank, level, rank.output());
            level.clear();
        }
        if (level.empty())
            weight = distance;
        level.push_back(child);
    }
    send_to_all(rank, level, rank.output());
}

/** Open MPI's ompi_coll_base_bcast_intra_chain.
 * Rounds: q - 1 + ceil((p - 1) / fanout). Bytes: m * min(fanout, p - 1). */
void openmpi_chain(Rank &rank, const Parameters &parameters) {
    segmented(rank, chain_tree(rank, limited_degree(parameters["fanout"], rank.p)), parameters);
}

/** Open MPI's ompi_coll_base_bcast_intra_pipeline: a chain in segments.
 * Rounds: q + p - 2. Bytes: m. */
void openmpi_pipeline(Rank &rank, const Parameters &parameters) {
    segmented(rank, chain_tree(rank, 1), parameters);
}

/** Open MPI's ompi_coll_base_bcast_intra_bintree.
 * Rounds: q - 1 + lg(p). Bytes: 2 * m. */
void openmpi_binary_tree(Rank &rank, const Parameters &parameters) {
    segmented(rank, binary_tree(rank, 2), parameters);
}

/** Open MPI's ompi_coll_base_bcast_intra_binomial.
 * Rounds: q - 1 + lg(p). Bytes: m * lg(p). */
void openmpi_binomial(Rank &rank, const Parameters &parameters) {
    segmented(rank, binomial_tree(rank, 2), parameters);
}

/** Open MPI's ompi_coll_base_bcast_intra_knomial.
 * Rounds: q - 1 + log(p, radix). Bytes: m * (radix - 1) * log(p, radix). */
void openmpi_knomial(Rank &rank, const Parameters &parameters) {
    segmented(rank, knomial_tree(rank, limited_degree(parameters["radix"], rank.p)), parameters);
}

/** SimGrid's bcast__ompi_pipeline.
 * Rounds and bytes: those of openmpi_pipeline() with the segment size that SimGrid chooses. */
void simgrid_pipeline(Rank &rank) {
    struct Choice {
        double ranks_per_byte;
        double ranks;
        int64_t segment_bytes;
    };
    // Lines in the plane of message size and p; below a line its segment size is used. a_p128, b_p128 and so
    // on in SimGrid's bcast-ompi-pipeline.cpp, which has them from Open MPI's fixed decisions of 2008.
    constexpr Choice choices[] = {
        {1.6134e-6, 2.1102, 128 << 10}, {2.3679e-6, 1.1787, 64 << 10}, {3.2118e-6, 8.7936, 16 << 10}};
    int64_t bytes = 128 << 10; // segsize there
    for (const Choice &choice : choices) {
        if (rank.p < choice.ranks_per_byte * static_cast<double>(rank.call.bytes()) + choice.ranks) {
            bytes = choice.segment_bytes;
            break;
        }
    }
    segmented(rank, chain_tree(rank, 1), openmpi_segment(rank.call, bytes, rank.call.count));
}

namespace {

/** The two halves of the message; the first half takes the odd element. */
struct Halves {
    std::array<Span, 2> data;
    std::array<Segments, 2> segments;

    Halves(Span message, int64_t segment)
        : data{message.part(0, (message.length + 1) / 2),
               message.part((message.length + 1) / 2, message.length / 2)},
          segments{Segments(data[0], segment), Segments(data[1], segment)} {
    }
};

void send_halves(Rank &rank, const Tree &tree, const Halves &halves) {
    for (int64_t i = 0; i < halves.segments[0].count(); ++i)
        for (size_t side = 0; side < tree.children.size(); ++side)
            if (i < halves.segments[side].count())
                rank.send(tree.children[side], halves.segments[side][i]);
}

/** Inner ranks of the tree post one receive ahead of the segment that they forward; leaves do not. */
void forward_half(Rank &rank, const Tree &tree, const Segments &segments) {
    Request next_receive = rank.irecv(tree.parent, segments[0]);
    for (int64_t i = 0; i < segments.count(); ++i) {
        const Request receive = next_receive;
        const bool more = i + 1 < segments.count();
        if (more && !tree.is_leaf())
            next_receive = rank.irecv(tree.parent, segments[i + 1]);
        rank.wait(receive);
        for (const int child : tree.children)
            rank.send(child, segments[i]);
        if (more && tree.is_leaf())
            next_receive = rank.irecv(tree.parent, segments[i + 1]);
    }
}

/** Neighbours have different halves. If p is even, the last rank has no partner: the root sends it the other
 * half. */
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

/** Odd numbers v are in the left subtree, which forwards the first half; even numbers are in the right
 * subtree. */
void split_binary(Rank &rank, int64_t segment_bytes) {
    const int v = RootedRank(rank).v();
    const Tree tree = binary_tree(rank, 2);
    const int64_t segment = segment_bytes > 0 ? elements_within(rank.call, segment_bytes) : 0;
    const Halves halves(rank.output(), segment);
    if (v == 0)
        send_halves(rank, tree, halves);
    else
        forward_half(rank, tree, halves.segments[v % 2 == 1 ? 0 : 1]);
    exchange_halves(rank, halves, v);
}

} // namespace

/** Open MPI's ompi_coll_base_bcast_intra_split_bintree.
 * Rounds: 2 * (ceil(q / 2) + lg(p)) - 3. Bytes: 1.5 * m. */
void openmpi_split_binary(Rank &rank, const Parameters &parameters) {
    const int64_t segment = parameters["segment"];
    if (rank.p == 1)
        return;
    if (!can_split(rank, segment > 0 ? std::max(segment, rank.call.element_bytes) : 0))
        return segmented(rank, chain_tree(rank, 1), openmpi_segment(rank.call, segment, rank.call.count));
    split_binary(rank, segment);
}

/** SimGrid's bcast__ompi_split_bintree. With segments of 1 KiB, for messages of up to 362 KiB:
 * Rounds: 2 * (m / 2048 + lg(p)) - 3. Bytes: 1.5 * m. */
void simgrid_split_binary(Rank &rank) {
    // intermediate_message_size and the segment sizes in SimGrid's bcast-ompi-split-bintree.cpp
    constexpr int64_t long_bytes = 370728;
    constexpr int64_t small_segment_bytes = 1024;
    constexpr int64_t large_segment_bytes = 8192;
    const int64_t segment = rank.call.bytes() < long_bytes ? small_segment_bytes : large_segment_bytes;
    if (rank.p == 1)
        return;
    if (!can_split(rank, std::max(segment, rank.call.element_bytes)))
        return nodes_chain(rank, nodes_chain_segment_bytes);
    split_binary(rank, segment);
}

} // namespace offbeat::algorithms::bcast
