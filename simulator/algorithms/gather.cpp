#include "algorithms/blocks.hpp"
#include "algorithms/catalogue.hpp"
#include "algorithms/exchange.hpp"
#include "algorithms/subcall.hpp"
#include "algorithms/tasks.hpp"
#include "algorithms/trees.hpp"

namespace offbeat::algorithms {

namespace {

Span block_of(const Rank &rank, int from) {
    return block(rank.output(), from, rank.call.count);
}

/** The root requests the block of one rank after the other, and continues when the first segment of it is
 * there. The first segment may be the whole block; the second one is a message even if it is empty. */
void linear_sync_gather(Rank &rank, int64_t first_bytes) {
    const int64_t count = rank.call.count;
    const int64_t first = openmpi_segment(rank.call, first_bytes, count);
    const int root = rank.call.root;
    if (rank.id != root) {
        rank.recv(root, no_data);
        rank.send(root, rank.input().part(0, first));
        rank.send(root, rank.input().part(first, count - first));
        return;
    }
    for (int from = 0; from < rank.p; ++from) {
        if (from == root)
            continue;
        const Request first_segment = rank.irecv(from, block_of(rank, from).part(0, first));
        rank.send(from, no_data);
        rank.irecv(from, block_of(rank, from).part(first, count - first));
        rank.wait(first_segment);
    }
    copy_some(rank, block_of(rank, root), rank.input());
    rank.wait_all();
}

/** Open MPI's ompi_coll_base_gather_intra_basic_linear, SimGrid's gather__ompi_basic_linear: the root
 * receives from one rank after the other.
 * Rounds: p - 1. Bytes: m. */
void linear_gather(Rank &rank) {
    const int root = rank.call.root;
    if (rank.id != root) {
        rank.send(root, rank.input());
        return;
    }
    for (int from = 0; from < rank.p; ++from) {
        if (from == root)
            copy_some(rank, block_of(rank, root), rank.input());
        else
            rank.recv(from, block_of(rank, from));
    }
}

/** Open MPI's ompi_coll_base_gather_intra_linear_sync.
 * Rounds: 2 * p - 1. Bytes: m. */
void openmpi_linear_sync(Rank &rank, const Parameters &parameters) {
    linear_sync_gather(rank, parameters["segment"]);
}

/** SimGrid's gather__ompi_linear_sync.
 * Rounds: 2 * p - 1. Bytes: m. */
void simgrid_linear_sync(Rank &rank) {
    // in gather__ompi_linear_sync of SimGrid's gather-ompi.cpp
    constexpr int64_t large_block_bytes = 92160;
    constexpr int64_t large_segment_bytes = 32768;
    constexpr int64_t small_segment_bytes = 1024;
    linear_sync_gather(rank,
                       rank.call.bytes() > large_block_bytes ? large_segment_bytes : small_segment_bytes);
}

/** Where the blocks of a subtree are collected; the root's own block is copied first. */
SubtreeBlocks collected_blocks(Rank &rank, const RunTree &runs) {
    const Span all = rank.output();
    if (runs.tree.is_root())
        copy_some(rank, block(all, rank.id, rank.call.count), rank.input());
    return {rank, runs, all, rank.input()};
}

/** Open MPI's ompi_coll_base_gather_intra_binomial, MPICH's MPIR_Gather_intra_binomial and
 * MPIR_Igather_intra_sched_binomial, SimGrid's gather__ompi_binomial: blocking receives, the smallest
 * subtree first.
 * Rounds: lg(p). Bytes: m * p / 2. */
void binomial_gather(Rank &rank) {
    const RunTree runs = in_order_binomial_runs(rank);
    const SubtreeBlocks blocks = collected_blocks(rank, runs);
    for (size_t i = 0; i < runs.tree.children.size(); ++i)
        rank.recv(runs.tree.children[i], blocks.of_child(i));
    if (!runs.tree.is_root())
        rank.send(runs.tree.parent, blocks.to_parent());
}

/** MPICH's MPIR_TSP_Igather_sched_intra_tree: a task graph on a k-nomial tree; `k`.
 * Rounds: log(p, k). Bytes: m * p / k. */
void mpich_nb_gather_tree(Rank &rank, const Parameters &parameters) {
    const RunTree runs = mpich_knomial_runs(rank, parameters["k"]);
    const SubtreeBlocks blocks = collected_blocks(rank, runs);
    Tasks tasks(rank);
    Tasks::After receives;
    for (size_t i = 0; i < runs.tree.children.size(); ++i)
        receives.push_back(tasks.irecv(runs.tree.children[i], blocks.of_child(i)));
    if (!runs.tree.is_root())
        tasks.isend(runs.tree.parent, blocks.to_parent(), receives);
}

std::vector<Span> blocks_of(const Span &all, const std::vector<int> &ranks, int64_t count) {
    std::vector<Span> pieces;
    for (const int rank : ranks)
        pieces.push_back(block(all, rank, count));
    return pieces;
}

/** The leader of the root's node receives the blocks of the other leaders: one after the other if all nodes
 * have the same number of ranks, otherwise at once. */
void receive_from_leaders(Rank &rank, const Span &own_node, const Span &all) {
    const int64_t count = rank.call.count;
    const bool blocking = ranks_on_every_node(rank.call) > 0;
    for (const auto &ranks : ranks_of_nodes(rank.call)) {
        const std::vector<Span> pieces = blocks_of(all, ranks, count);
        if (ranks[0] != rank.id && blocking)
            rank.recv(ranks[0], pieces);
        else if (ranks[0] != rank.id)
            rank.irecv(ranks[0], pieces);
        for (size_t i = 0; ranks[0] == rank.id && i < ranks.size(); ++i)
            rank.copy(pieces[i], block(own_node, static_cast<int64_t>(i), count));
    }
    rank.wait_all();
}

/** SimGrid's gather__mvapich2_two_level: inside the nodes, then among their leaders.
 * Rounds: lg(s) + N - 1. Bytes: m * s. */
void mvapich_two_level(Rank &rank) {
    const int64_t count = rank.call.count;
    const int root = rank.call.root;
    if (count == 0)
        return;
    const Group node = same_node(rank);
    const bool is_leader = node.my_number == 0;
    const Span own_node = is_leader ? rank.scratch(node.p * count) : Span{};
    run_subcall(rank, node, {Collective::gather, 0, count, rank.input(), own_node}, "simgrid",
                "ompi_binomial");
    const int collector = leader_of(rank.call, root);
    if (rank.id == collector) {
        const Span all = rank.id == root ? rank.output() : rank.scratch(rank.p * count);
        receive_from_leaders(rank, own_node, all);
        if (rank.id != root)
            rank.send(root, all);
    } else if (is_leader) {
        rank.send(collector, own_node);
    }
    if (rank.id == root && !is_leader)
        rank.recv(collector, rank.output());
}

} // namespace

std::vector<Algorithm> gather_algorithms() {
    return {
        {"openmpi", "basic_linear", linear_gather, scales},
        {"openmpi", "binomial", binomial_gather, scales},
        {"openmpi", "linear_sync", openmpi_linear_sync, {{"segment", 0}}},
        {"mpich", "binomial", binomial_gather, scales},
        {"mpich", "nb(sched_binomial)", binomial_gather, scales},
        {"mpich", "nb(tsp_tree)", mpich_nb_gather_tree, {{"k", 2, 2}}, scales},
        {"simgrid", "ompi_basic_linear", linear_gather, scales},
        {"simgrid", "ompi_binomial", binomial_gather, scales},
        {"simgrid", "ompi_linear_sync", simgrid_linear_sync},
        {"simgrid", "mvapich2_two_level", mvapich_two_level},
    };
}

} // namespace offbeat::algorithms
