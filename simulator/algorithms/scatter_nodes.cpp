#include "algorithms/composed.hpp"
#include "algorithms/exchange.hpp"
#include "algorithms/gather_scatter.hpp"
#include "algorithms/group.hpp"

namespace offbeat::algorithms::scatter {

using schedule::Collective;
using schedule::Rank;
using schedule::Span;

namespace {

/** The blocks of all ranks node by node: as they are if the nodes hold neighbouring ranks, else copied. */
Span in_node_order(Rank &rank, const Span &all) {
    const int64_t count = rank.call.count;
    std::vector<int> order;
    for (const auto &ranks : ranks_of_nodes(rank.call))
        order.insert(order.end(), ranks.begin(), ranks.end());
    bool is_ordered = true;
    for (int i = 0; i < rank.p; ++i)
        is_ordered = is_ordered && order[static_cast<size_t>(i)] == i;
    if (is_ordered)
        return all;
    const Span ordered = rank.scratch(rank.p * count);
    for (int i = 0; i < rank.p; ++i)
        rank.copy(block(ordered, i, count), block(all, order[static_cast<size_t>(i)], count));
    return ordered;
}

/** Nodes with different numbers of ranks: the leader of the root's node sends to all others at once. */
void send_uneven_nodes(Rank &rank, const Span &by_node, const Span &own_node) {
    int64_t from = 0;
    for (const auto &ranks : ranks_of_nodes(rank.call)) {
        const Span part = by_node.part(from, static_cast<int64_t>(ranks.size()) * rank.call.count);
        if (ranks[0] == rank.id)
            rank.copy(own_node, part);
        else
            rank.isend(ranks[0], part);
        from += part.length;
    }
    rank.wait_all();
}

/** To the leaders, what their nodes' ranks get. */
void among_leaders(Rank &rank, const Span &all, const Span &own_node, std::string_view name) {
    const int sender = leader_of(rank.call, rank.call.root);
    const int ranks = ranks_on_every_node(rank.call);
    const Span by_node = rank.id == sender ? in_node_order(rank, all) : Span{};
    if (ranks > 0) {
        const Group leaders = node_leaders(rank);
        run(rank, leaders,
            {Collective::scatter, leaders.number(sender), ranks * rank.call.count, by_node, own_node},
            "simgrid", name);
    } else if (rank.id == sender) {
        send_uneven_nodes(rank, by_node, own_node);
    } else {
        rank.recv(sender, own_node);
    }
}

void two_level(Rank &rank, const Parameters &parameters, std::string_view name) {
    const int64_t count = rank.call.count;
    const int root = rank.call.root;
    if (count == 0)
        return;
    const Group node = same_node(rank);
    if (node.p == rank.p)
        return linear(rank, parameters);
    const bool is_leader = node.me == 0;
    const int sender = leader_of(rank.call, root);
    Span all = rank.id == root ? rank.input() : Span{};
    if (rank.id == sender && rank.id != root) {
        all = rank.scratch(rank.p * count);
        rank.recv(root, all);
    }
    if (rank.id == root && !is_leader)
        rank.send(sender, all);
    const Span own_node = is_leader ? rank.scratch(node.p * count) : Span{};
    if (is_leader)
        among_leaders(rank, all, own_node, name);
    run(rank, node, {Collective::scatter, 0, count, own_node, rank.output()}, "simgrid", "ompi_binomial");
}

} // namespace

void mvapich_two_level_direct(Rank &rank, const Parameters &parameters) {
    two_level(rank, parameters, "ompi_basic_linear");
}

void mvapich_two_level_binomial(Rank &rank, const Parameters &parameters) {
    two_level(rank, parameters, "ompi_binomial");
}

} // namespace offbeat::algorithms::scatter
