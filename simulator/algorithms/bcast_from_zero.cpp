#include "algorithms/bcast.hpp"
#include "algorithms/group.hpp"
#include "algorithms/segments.hpp"
#include "algorithms/trees.hpp"

namespace offbeat::algorithms::bcast {

using schedule::Rank;
using schedule::Request;
using schedule::Span;

namespace {

enum class Sends : uint8_t { blocking, nonblocking };

void pass_on(Rank &rank, const Tree &tree, Span what, Sends sends) {
    for (const int child : tree.children) {
        if (sends == Sends::blocking)
            rank.send(child, what);
        else
            rank.isend(child, what);
    }
}

/** Every segment is expected from the start, and passed on when it is there. */
void relay_segments(Rank &rank, const Tree &tree, const Segments &segments, Sends sends) {
    std::vector<Request> expected;
    for (int64_t i = 0; !tree.is_root() && i < segments.count(); ++i)
        expected.push_back(rank.irecv(tree.parent, segments[i]));
    for (int64_t i = 0; i < segments.count(); ++i) {
        if (!tree.is_root())
            rank.wait(expected[static_cast<size_t>(i)]);
        pass_on(rank, tree, segments[i], sends);
    }
    rank.wait_all();
}

/** From rank 0 down a tree, to which the root sends everything first. What remains after the whole segments
 * is another bcast, of one segment. */
void from_zero(Rank &rank, const Tree &tree, Span data, int64_t segment, Sends sends) {
    if (rank.call.root != 0) {
        if (rank.id == rank.call.root)
            rank.send(0, data);
        else if (rank.id == 0)
            rank.recv(rank.call.root, data);
    }
    if (data.length <= segment) {
        if (!tree.is_root())
            rank.recv(tree.parent, data);
        return pass_on(rank, tree, data, Sends::blocking);
    }
    const int64_t remainder = data.length % segment;
    relay_segments(rank, tree, Segments(data.part(0, data.length - remainder), segment), sends);
    if (remainder > 0)
        from_zero(rank, tree, data.part(data.length - remainder, remainder), segment, sends);
}

void add_below(Tree &tree, int child, int end) {
    if (child < end)
        tree.children.push_back(child);
}

/** Where a rank is when every `ranks` neighbours are taken for a node. The ways over nodes count like this,
 * however the ranks are really placed. */
struct Place {
    int ranks;
    int node;
    int local;
    int nodes;

    Place(const Rank &rank, int on_a_node)
        : ranks(on_a_node), node(rank.id / on_a_node), local(rank.id % on_a_node), nodes(rank.p / on_a_node) {
    }
    [[nodiscard]] int rank_at(int some_node, int some_local) const {
        return some_node * ranks + some_local;
    }
};

/** Adds the children, from the largest subtree on, of `number` in a binomial tree of p. */
void add_binomial(Tree &tree, int p, int number, int first_rank, int stride) {
    const Tree part = in_order_binomial_tree(p, number, 0);
    if (!part.is_root())
        tree.parent = first_rank + part.parent * stride;
    for (auto child = part.children.rbegin(); child != part.children.rend(); ++child)
        tree.children.push_back(first_rank + *child * stride);
}

using TreeOfNodes = Tree (*)(const Rank &rank, const Place &place);

Tree binary_of_nodes(const Rank &rank, const Place &place) {
    Tree tree;
    if (place.local > 0)
        tree.parent = place.rank_at(place.node, (place.local - 1) / 2);
    else if (place.node > 0)
        tree.parent = place.rank_at((place.node - 1) / 2, 0);
    for (int side = 1; place.local == 0 && side <= 2; ++side)
        add_below(tree, place.rank_at(2 * place.node + side, 0), rank.p);
    for (int side = 1; side <= 2; ++side)
        add_below(tree, place.rank_at(place.node, 2 * place.local + side), place.rank_at(place.node + 1, 0));
    return tree;
}

Tree chain_of_nodes(const Rank &rank, const Place &place) {
    Tree tree;
    if (place.local > 0)
        tree.parent = rank.id - 1;
    else if (place.node > 0)
        tree.parent = place.rank_at(place.node - 1, 0);
    if (place.local == 0)
        add_below(tree, place.rank_at(place.node + 1, 0), rank.p);
    // With one rank a node SimGrid sends everything twice; nobody receives the second one.
    add_below(tree, rank.id + 1, place.rank_at(place.node + 1, 0));
    return tree;
}

Tree binomial_of_nodes(const Rank & /*rank*/, const Place &place) {
    Tree tree;
    if (place.local == 0)
        add_binomial(tree, place.nodes, place.node, 0, place.ranks);
    Tree inside;
    // SimGrid also sends past the end of a node whose ranks are no power of two; nobody receives that.
    add_binomial(inside, place.ranks, place.local, place.rank_at(place.node, 0), 1);
    if (place.local > 0)
        tree.parent = inside.parent;
    tree.children.insert(tree.children.end(), inside.children.begin(), inside.children.end());
    return tree;
}

void over_nodes(Rank &rank, const Parameters &parameters, TreeOfNodes tree_of_nodes, int64_t segment) {
    const int ranks = ranks_on_every_node(rank.call);
    if (ranks == 0)
        return simgrid_mpich_choice(rank, parameters);
    from_zero(rank, tree_of_nodes(rank, Place(rank, ranks)), rank.output(), segment, Sends::blocking);
}

int64_t segment_of(const Rank &rank, const Parameters &parameters) {
    return elements_within(rank.call, parameters["segment"]);
}

} // namespace

void chain_from_zero(Rank &rank, const Parameters &parameters) {
    Tree tree;
    tree.parent = rank.id - 1;
    add_below(tree, rank.id + 1, rank.p);
    from_zero(rank, tree, rank.output(), segment_of(rank, parameters), Sends::nonblocking);
}

void heap_from_zero(Rank &rank, const Parameters &parameters) {
    Tree tree;
    tree.parent = rank.id == 0 ? -1 : (rank.id - 1) / 2;
    add_below(tree, 2 * rank.id + 1, rank.p);
    add_below(tree, 2 * rank.id + 2, rank.p);
    from_zero(rank, tree, rank.output(), segment_of(rank, parameters), Sends::nonblocking);
}

void nodes_binary(Rank &rank, const Parameters &parameters) {
    over_nodes(rank, parameters, binary_of_nodes, segment_of(rank, parameters));
}

void nodes_linear(Rank &rank, const Parameters &parameters) {
    if (ranks_on_every_node(rank.call) == rank.p)
        return binomial(rank, parameters);
    over_nodes(rank, parameters, chain_of_nodes, segment_of(rank, parameters));
}

void nodes_binomial(Rank &rank, const Parameters &parameters) {
    over_nodes(rank, parameters, binomial_of_nodes, rank.call.count);
}

} // namespace offbeat::algorithms::bcast
