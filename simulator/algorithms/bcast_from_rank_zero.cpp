#include "algorithms/bcast.hpp"
#include "algorithms/blocks.hpp"
#include "algorithms/exchange.hpp"
#include "algorithms/subcall.hpp"
#include "algorithms/trees.hpp"

namespace offbeat::algorithms::bcast {

namespace {

/** All receives are posted at the start; each segment is forwarded when it is there. */
void forward_segments(Rank &rank, const Tree &tree, const Segments &segments, Sends sends) {
    std::vector<Request> receives;
    for (int64_t i = 0; !tree.is_root() && i < segments.count(); ++i)
        receives.push_back(rank.irecv(tree.parent, segments[i]));
    for (int64_t i = 0; i < segments.count(); ++i) {
        if (!tree.is_root())
            rank.wait(receives[static_cast<size_t>(i)]);
        send_to_children(rank, tree, segments[i], sends);
    }
    rank.wait_all();
}

/** The root sends the message to rank 0, which sends it down a tree. The elements after the last whole
 * segment are another bcast, of one segment. */
void bcast_from_rank_zero(Rank &rank, const Tree &tree, Span data, int64_t segment, Sends sends) {
    transfer(rank, rank.call.root, data, 0, data);
    if (data.length <= segment) {
        if (!tree.is_root())
            rank.recv(tree.parent, data);
        return send_to_children(rank, tree, data, Sends::blocking);
    }
    const int64_t remainder = data.length % segment;
    forward_segments(rank, tree, Segments(data.part(0, data.length - remainder), segment), sends);
    if (remainder > 0)
        bcast_from_rank_zero(rank, tree, data.part(data.length - remainder, remainder), segment, sends);
}

/** A tree of nodes, and one of the ranks in each node, if every `ranks` consecutive ranks are a node.
 * SimGrid's algorithms assume this for any placement. With a chain and one rank per node, SimGrid sends each
 * message twice; with binomial trees and nodes whose ranks are no power of two, it also sends beyond the
 * node: no rank receives these messages. */
Tree tree_of_nodes(const Rank &rank, int ranks, const std::function<Tree(const RootedRank &at)> &tree_of) {
    const int local = rank.id % ranks;
    const Tree inside = tree_of({ranks, local, 0});
    Tree tree{.parent = rank.id - local + inside.parent, .children = {}};
    if (local == 0) {
        const Tree nodes = tree_of({rank.p / ranks, rank.id / ranks, 0});
        tree.parent = nodes.is_root() ? -1 : nodes.parent * ranks;
        for (const int child : nodes.children)
            tree.children.push_back(child * ranks);
    }
    for (const int child : inside.children)
        tree.children.push_back(rank.id - local + child);
    return tree;
}

Tree chain(const RootedRank &at) {
    return chain_tree(at, 1);
}

/** Number v forwards to 2v + 1 and 2v + 2. */
Tree heap(const RootedRank &at) {
    return mpich_tree_of_type(at, 0, 2);
}

void bcast_over_nodes(Rank &rank, int64_t segment, Tree (*tree_of)(const RootedRank &at)) {
    const int ranks = ranks_on_every_node(rank.call);
    if (ranks == 0)
        return simgrid_mpich_choice(rank);
    bcast_from_rank_zero(rank, tree_of_nodes(rank, ranks, tree_of), rank.output(), segment, Sends::blocking);
}

int64_t segment_of(const Rank &rank, const Parameters &parameters) {
    return elements_within(rank.call, parameters["segment"]);
}

} // namespace

/** SimGrid's bcast__NTSL and bcast__NTSL_Isend. Sends do not wait for each other.
 * Rounds: p - 1. Bytes: m. */
void chain_from_zero(Rank &rank, const Parameters &parameters) {
    bcast_from_rank_zero(rank, chain({rank.p, rank.id, 0}), rank.output(), segment_of(rank, parameters),
                         Sends::nonblocking);
}

/** SimGrid's bcast__NTSB.
 * Rounds: lg(p). Bytes: 2 * m. */
void heap_from_zero(Rank &rank, const Parameters &parameters) {
    bcast_from_rank_zero(rank, heap({rank.p, rank.id, 0}), rank.output(), segment_of(rank, parameters),
                         Sends::nonblocking);
}

/** SimGrid's bcast__SMP_binary.
 * Rounds and bytes: a leader sends q segments to up to four children by blocking sends: at most 4 * q
 * rounds plus the depth of the tree; 4 * m bytes. */
void nodes_heap(Rank &rank, const Parameters &parameters) {
    bcast_over_nodes(rank, segment_of(rank, parameters), heap);
}

void nodes_chain(Rank &rank, int64_t segment_bytes) {
    if (ranks_on_every_node(rank.call) == rank.p)
        return binomial(rank);
    bcast_over_nodes(rank, elements_within(rank.call, segment_bytes), chain);
}

/** SimGrid's bcast__SMP_linear.
 * Rounds: 2 * q + N + s - 4. Bytes: 2 * m. */
void nodes_linear(Rank &rank, const Parameters &parameters) {
    nodes_chain(rank, parameters["segment"]);
}

/** SimGrid's bcast__SMP_binomial.
 * Rounds: lg(p). Bytes: m * lg(p). */
void nodes_binomial(Rank &rank) {
    bcast_over_nodes(rank, rank.call.count, [](const RootedRank &at) { return knomial_tree(at, 2); });
}

} // namespace offbeat::algorithms::bcast
