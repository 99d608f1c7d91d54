#include "algorithms/bcast.hpp"
#include "algorithms/blocks.hpp"
#include "algorithms/subcall.hpp"
#include "algorithms/trees.hpp"

namespace offbeat::algorithms::bcast {

using schedule::Rank;
using schedule::Request;
using schedule::Span;

namespace {

enum class Sends : uint8_t { blocking, nonblocking };

void send_to_children(Rank &rank, const Tree &tree, Span data, Sends sends) {
    for (const int child : tree.children) {
        if (sends == Sends::blocking)
            rank.send(child, data);
        else
            rank.isend(child, data);
    }
}

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
    if (rank.call.root != 0) {
        if (rank.id == rank.call.root)
            rank.send(0, data);
        else if (rank.id == 0)
            rank.recv(rank.call.root, data);
    }
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

void add_below(Tree &tree, int child, int end) {
    if (child < end)
        tree.children.push_back(child);
}

/** The position of a rank if every `ranks` consecutive ranks are a node. The algorithms over nodes assume
 * this for any placement. */
struct NodePosition {
    int ranks;
    int node;
    int local;
    int nodes;

    NodePosition(const Rank &rank, int ranks_per_node)
        : ranks(ranks_per_node), node(rank.id / ranks_per_node), local(rank.id % ranks_per_node),
          nodes(rank.p / ranks_per_node) {
    }
    [[nodiscard]] int rank_at(int other_node, int other_local) const {
        return other_node * ranks + other_local;
    }
};

/** Adds the children of `number` in a binomial tree of p, the largest subtree first. */
void add_binomial(Tree &tree, int p, int number, int first_rank, int stride) {
    const Tree part = in_order_binomial_tree(p, number, 0);
    if (!part.is_root())
        tree.parent = first_rank + part.parent * stride;
    for (auto child = part.children.rbegin(); child != part.children.rend(); ++child)
        tree.children.push_back(first_rank + *child * stride);
}

using TreeOfNodes = Tree (*)(const Rank &rank, const NodePosition &position);

Tree binary_of_nodes(const Rank &rank, const NodePosition &position) {
    Tree tree;
    if (position.local > 0)
        tree.parent = position.rank_at(position.node, (position.local - 1) / 2);
    else if (position.node > 0)
        tree.parent = position.rank_at((position.node - 1) / 2, 0);
    for (int side = 1; position.local == 0 && side <= 2; ++side)
        add_below(tree, position.rank_at(2 * position.node + side, 0), rank.p);
    for (int side = 1; side <= 2; ++side)
        add_below(tree, position.rank_at(position.node, 2 * position.local + side),
                  position.rank_at(position.node + 1, 0));
    return tree;
}

Tree chain_of_nodes(const Rank &rank, const NodePosition &position) {
    Tree tree;
    if (position.local > 0)
        tree.parent = rank.id - 1;
    else if (position.node > 0)
        tree.parent = position.rank_at(position.node - 1, 0);
    if (position.local == 0)
        add_below(tree, position.rank_at(position.node + 1, 0), rank.p);
    // With one rank per node, SimGrid sends each message twice; no rank receives the second message.
    add_below(tree, rank.id + 1, position.rank_at(position.node + 1, 0));
    return tree;
}

Tree binomial_of_nodes(const Rank & /*rank*/, const NodePosition &position) {
    Tree tree;
    if (position.local == 0)
        add_binomial(tree, position.nodes, position.node, 0, position.ranks);
    Tree inside;
    // If the ranks of a node are no power of two, SimGrid also sends to ranks beyond the node, which do not
    // receive.
    add_binomial(inside, position.ranks, position.local, position.rank_at(position.node, 0), 1);
    if (position.local > 0)
        tree.parent = inside.parent;
    tree.children.insert(tree.children.end(), inside.children.begin(), inside.children.end());
    return tree;
}

void bcast_over_nodes(Rank &rank, const Parameters &parameters, TreeOfNodes tree_of_nodes, int64_t segment) {
    const int ranks = ranks_on_every_node(rank.call);
    if (ranks == 0)
        return simgrid_mpich_choice(rank, parameters);
    bcast_from_rank_zero(rank, tree_of_nodes(rank, NodePosition(rank, ranks)), rank.output(), segment,
                         Sends::blocking);
}

int64_t segment_of(const Rank &rank, const Parameters &parameters) {
    return elements_within(rank.call, parameters["segment"]);
}

} // namespace

void chain_from_zero(Rank &rank, const Parameters &parameters) {
    Tree tree;
    tree.parent = rank.id - 1;
    add_below(tree, rank.id + 1, rank.p);
    bcast_from_rank_zero(rank, tree, rank.output(), segment_of(rank, parameters), Sends::nonblocking);
}

void heap_from_zero(Rank &rank, const Parameters &parameters) {
    Tree tree;
    tree.parent = rank.id == 0 ? -1 : (rank.id - 1) / 2;
    add_below(tree, 2 * rank.id + 1, rank.p);
    add_below(tree, 2 * rank.id + 2, rank.p);
    bcast_from_rank_zero(rank, tree, rank.output(), segment_of(rank, parameters), Sends::nonblocking);
}

void nodes_binary(Rank &rank, const Parameters &parameters) {
    bcast_over_nodes(rank, parameters, binary_of_nodes, segment_of(rank, parameters));
}

void nodes_linear(Rank &rank, const Parameters &parameters) {
    if (ranks_on_every_node(rank.call) == rank.p)
        return binomial(rank, parameters);
    bcast_over_nodes(rank, parameters, chain_of_nodes, segment_of(rank, parameters));
}

void nodes_binomial(Rank &rank, const Parameters &parameters) {
    bcast_over_nodes(rank, parameters, binomial_of_nodes, rank.call.count);
}

} // namespace offbeat::algorithms::bcast
