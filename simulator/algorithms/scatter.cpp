#include "algorithms/catalogue.hpp"
#include "algorithms/exchange.hpp"
#include "algorithms/subcall.hpp"
#include "algorithms/tasks.hpp"
#include "algorithms/trees.hpp"

namespace offbeat::algorithms {

namespace {

/** Open MPI's ompi_coll_base_scatter_intra_basic_linear, SimGrid's scatter__ompi_basic_linear and, without
 * blocking sends, scatter__ompi_linear_nb.
 * Rounds: p - 1 or 1. Bytes: m * (p - 1).
 * @param blocking_every  the root's sends to ranks that are multiples of this block; 1: all sends; 0:
 * none. */
void linear_scatter(Rank &rank, int64_t blocking_every) {
    const int root = rank.call.root;
    if (rank.id != root) {
        rank.recv(root, rank.output());
        return;
    }
    for (int to = 0; to < rank.p; ++to) {
        const Span data = block(rank.input(), to, rank.call.count);
        if (to == root)
            copy_some(rank, rank.output(), data);
        else if (blocking_every > 0 && to % blocking_every == 0)
            rank.send(to, data);
        else
            rank.isend(to, data);
    }
    rank.wait_all();
}

/** Open MPI's ompi_coll_base_scatter_intra_linear_nb. Sends to ranks that are multiples of `requests`
 * block; 0 or 1: none.
 * Rounds: 1. Bytes: m * (p - 1). */
void openmpi_linear_nb(Rank &rank, const Parameters &parameters) {
    linear_scatter(rank, parameters["requests"] == 1 ? 0 : parameters["requests"]);
}

/** Where the blocks of a subtree are received; the root copies its own block first. */
SubtreeBlocks received_blocks(Rank &rank, const RunTree &runs) {
    const Span all = rank.input();
    if (runs.tree.is_root())
        copy_some(rank, rank.output(), block(all, rank.id, rank.call.count));
    return {rank, runs, all, rank.output()};
}

/** Open MPI's ompi_coll_base_scatter_intra_binomial, MPICH's MPIR_Scatter_intra_binomial and
 * MPIR_Iscatter_intra_sched_binomial, SimGrid's scatter__ompi_binomial. Blocking sends: SimGrid and older
 * versions of Open MPI begin with the smallest subtree, which takes more rounds, MPICH and Open MPI 5
 * with the largest.
 * Rounds: lg(p) or lg(p) * (lg(p) + 1) / 2. Bytes: m * (p - 1). */
void binomial_scatter(Rank &rank, bool largest_first) {
    const RunTree runs = in_order_binomial_runs(rank);
    const SubtreeBlocks blocks = received_blocks(rank, runs);
    if (!runs.tree.is_root())
        rank.recv(runs.tree.parent, blocks.to_parent());
    const size_t children = runs.tree.children.size();
    for (size_t i = 0; i < children; ++i) {
        const size_t child = largest_first ? children - 1 - i : i;
        rank.send(runs.tree.children[child], blocks.of_child(child));
    }
}

/** MPICH's MPIR_TSP_Iscatter_sched_intra_tree: a task graph on a k-nomial tree; `k`.
 * Rounds: log(p, k). Bytes: m * (p - 1). */
void mpich_nb_scatter_tree(Rank &rank, const Parameters &parameters) {
    const RunTree runs = mpich_knomial_runs(rank, parameters["k"]);
    const SubtreeBlocks blocks = received_blocks(rank, runs);
    Tasks tasks(rank);
    Tasks::After received;
    if (!runs.tree.is_root())
        received.push_back(tasks.irecv(runs.tree.parent, blocks.to_parent()));
    for (size_t i = 0; i < runs.tree.children.size(); ++i)
        tasks.isend(runs.tree.children[i], blocks.of_child(i), received);
}

/** The blocks of all ranks node by node: the buffer itself if the nodes hold consecutive ranks, otherwise a
 * copy. */
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

/** If nodes differ in size: the leader of the root's node sends to all other leaders at once. */
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

/** The leader of the root's node sends to each leader the blocks of its node. */
void scatter_to_leaders(Rank &rank, const Span &all, const Span &own_node, std::string_view name) {
    const int sender = leader_of(rank.call, rank.call.root);
    const int ranks = ranks_on_every_node(rank.call);
    const Span by_node = rank.id == sender ? in_node_order(rank, all) : Span{};
    if (ranks > 0) {
        const Group leaders = node_leaders(rank);
        run_subcall(rank, leaders,
                    {Collective::scatter, leaders.number(sender), ranks * rank.call.count, by_node, own_node},
                    "simgrid", name);
    } else if (rank.id == sender) {
        send_uneven_nodes(rank, by_node, own_node);
    } else {
        rank.recv(sender, own_node);
    }
}

/** SimGrid's scatter__mvapich2_two_level_direct and scatter__mvapich2_two_level_binomial: among the
 * leaders of the nodes, then inside the nodes.
 * Rounds: N - 1 + lg(s) * (lg(s) + 1) / 2 or lg(N) * (lg(N) + 1) / 2 + lg(s) * (lg(s) + 1) / 2.
 * Bytes: m * (p - 1). */
void two_level(Rank &rank, std::string_view name) {
    const int64_t count = rank.call.count;
    const int root = rank.call.root;
    if (count == 0)
        return;
    const Group node = same_node(rank);
    if (node.p == rank.p)
        return linear_scatter(rank, 1);
    const bool is_leader = node.my_number == 0;
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
        scatter_to_leaders(rank, all, own_node, name);
    run_subcall(rank, node, {Collective::scatter, 0, count, own_node, rank.output()}, "simgrid",
                "ompi_binomial");
}

} // namespace

std::vector<Algorithm> scatter_algorithms() {
    return {
        {"openmpi", "basic_linear", fixed(linear_scatter, 1), scales},
        {"openmpi", "binomial", fixed(binomial_scatter, true), scales},
        {"openmpi", "linear_nb", openmpi_linear_nb, {{"requests", 0}}, scales},
        {"mpich", "binomial", fixed(binomial_scatter, true), scales},
        {"mpich", "nb(sched_binomial)", fixed(binomial_scatter, true), scales},
        {"mpich", "nb(tsp_tree)", mpich_nb_scatter_tree, {{"k", 2, 2}}, scales},
        {"simgrid", "ompi_basic_linear", fixed(linear_scatter, 1), scales},
        {"simgrid", "ompi_binomial", fixed(binomial_scatter, false), scales},
        {"simgrid", "ompi_linear_nb", fixed(linear_scatter, 0), scales},
        {"simgrid", "mvapich2_two_level_direct", fixed(two_level, "ompi_basic_linear")},
        {"simgrid", "mvapich2_two_level_binomial", fixed(two_level, "ompi_binomial")},
    };
}

} // namespace offbeat::algorithms
