#include "algorithms/composed.hpp"
#include "algorithms/exchange.hpp"
#include "algorithms/gather_scatter.hpp"
#include "algorithms/group.hpp"

namespace offbeat::algorithms::gather {

using schedule::Collective;
using schedule::Rank;
using schedule::Span;

namespace {

std::vector<Span> blocks_of(const Span &all, const std::vector<int> &ranks, int64_t count) {
    std::vector<Span> pieces;
    for (const int rank : ranks)
        pieces.push_back(block(all, rank, count));
    return pieces;
}

/** The leader of the root's node receives what the other leaders have: one after the other if all nodes have
 * the same number of ranks, else at once. */
void collect_nodes(Rank &rank, const Span &own_node, const Span &all) {
    const int64_t count = rank.call.count;
    const bool one_by_one = ranks_on_every_node(rank.call) > 0;
    for (const auto &ranks : ranks_of_nodes(rank.call)) {
        const std::vector<Span> pieces = blocks_of(all, ranks, count);
        if (ranks[0] != rank.id && one_by_one)
            rank.recv(ranks[0], pieces);
        else if (ranks[0] != rank.id)
            rank.irecv(ranks[0], pieces);
        for (size_t i = 0; ranks[0] == rank.id && i < ranks.size(); ++i)
            rank.copy(pieces[i], block(own_node, static_cast<int64_t>(i), count));
    }
    rank.wait_all();
}

} // namespace

void mvapich_two_level(Rank &rank, const Parameters & /*parameters*/) {
    const int64_t count = rank.call.count;
    const int root = rank.call.root;
    if (count == 0)
        return;
    const Group node = same_node(rank);
    const bool is_leader = node.me == 0;
    const Span own_node = is_leader ? rank.scratch(node.p * count) : Span{};
    run(rank, node, {Collective::gather, 0, count, rank.input(), own_node}, "simgrid", "ompi_binomial");
    const int collector = leader_of(rank.call, root);
    if (rank.id == collector) {
        const Span all = rank.id == root ? rank.output() : rank.scratch(rank.p * count);
        collect_nodes(rank, own_node, all);
        if (rank.id != root)
            rank.send(root, all);
    } else if (is_leader) {
        rank.send(collector, own_node);
    }
    if (rank.id == root && !is_leader)
        rank.recv(collector, rank.output());
}

} // namespace offbeat::algorithms::gather
