#include "algorithms/bcast.hpp"

#include "algorithms/exchange.hpp"
#include "algorithms/subcall.hpp"

namespace offbeat::algorithms::bcast {

namespace {

/** The defaults of MPICH's MPIR_CVAR_BCAST_SHORT_MSG_SIZE, MPIR_CVAR_BCAST_LONG_MSG_SIZE and
 * MPIR_CVAR_BCAST_MIN_PROCS; bcast__mpich of SimGrid's smpi_mpich_selector.cpp has the same. */
constexpr int64_t mpich_short_bytes = 12288;
constexpr int64_t mpich_long_bytes = 524288;
constexpr int mpich_few_ranks = 8;

/** A bcast of the message among some ranks. */
void bcast_in_group(Rank &rank, const Group &group, int root, std::string_view family,
                    std::string_view name) {
    const Subcall subcall{.collective = Collective::bcast,
                          .root = root,
                          .count = rank.call.count,
                          .input = {},
                          .output = rank.output()};
    run_subcall(rank, group, subcall, family, name);
}

/** What MPICH in SimGrid chooses among ranks that it does not divide by nodes. */
std::string_view simgrid_choice(const Rank &rank, int p) {
    if (rank.call.bytes() < mpich_short_bytes || p <= mpich_few_ranks)
        return "binomial_tree";
    return rank.call.bytes() < mpich_long_bytes && p % 2 == 0 ? "scatter_rdb_allgather"
                                                              : "scatter_LR_allgather";
}

template <bool scheduled> std::string_view mpich_group_choice(const Rank &rank, int p) {
    return mpich_choice(rank.call.bytes(), p, scheduled);
}

void send_to_leader(Rank &rank) {
    const int root = rank.call.root;
    transfer(rank, root, rank.output(), leader_of(rank.call, root), rank.output());
}

using Choice = std::string_view (*)(const Rank &rank, int p);

/** A bcast among the leaders of the nodes, from the leader of the root's node. */
void bcast_among_leaders(Rank &rank, std::string_view family, Choice choice) {
    const Group leaders = node_leaders(rank);
    if (leaders.is_member() && leaders.p > 1)
        bcast_in_group(rank, leaders, leaders.number(leader_of(rank.call, rank.call.root)), family,
                       choice(rank, leaders.p));
}

void bcast_in_node(Rank &rank, int root, std::string_view family, Choice choice) {
    const Group node = same_node(rank);
    if (node.p > 1)
        bcast_in_group(rank, node, root, family, choice(rank, node.p));
}

} // namespace

std::string_view mpich_choice(int64_t bytes, int p, bool scheduled) {
    const auto below = [&](int64_t limit) { return scheduled ? bytes < limit : bytes <= limit; };
    if (p < mpich_few_ranks || below(mpich_short_bytes))
        return scheduled ? "nb(sched_binomial)" : "binomial";
    if (is_power_of_two(p) && below(mpich_long_bytes))
        return scheduled ? "nb(sched_scatter_recursive_doubling_allgather)"
                         : "scatter_recursive_doubling_allgather";
    return scheduled ? "nb(sched_scatter_ring_allgather)" : "scatter_ring_allgather";
}

void simgrid_mpich_choice(Rank &rank) {
    const std::string_view name =
        ranks_on_every_node(rank.call) > 0 ? "SMP_binomial" : simgrid_choice(rank, rank.p);
    bcast_in_group(rank, everyone(rank), rank.call.root, "simgrid", name);
}

/** SimGrid's bcast__mvapich2_intra_node.
 * Rounds and bytes: those of the algorithm that it chooses, or the sum of those among the leaders and on
 * the nodes. */
void mvapich_two_level(Rank &rank) {
    // mv2_bcast_two_level_system_size, mv2_bcast_short_msg, mv2_bcast_large_msg and
    // mv2_knomial_intra_node_threshold in SimGrid's bcast-mvapich-smp.cpp
    constexpr int few_ranks = 64;
    constexpr int64_t short_bytes = 16384;
    constexpr int64_t long_bytes = 524288;
    constexpr int64_t node_long_bytes = 131072;
    const int64_t bytes = rank.call.bytes();
    if (bytes == 0)
        return;
    if (rank.p <= few_ranks && (bytes <= short_bytes || bytes >= long_bytes))
        return bcast_in_group(rank, everyone(rank), rank.call.root, "simgrid",
                              bytes <= short_bytes ? "binomial_tree" : "scatter_LR_allgather");
    send_to_leader(rank);
    bcast_among_leaders(rank, "simgrid", simgrid_choice);
    // Up to 128 KiB, SimGrid uses the root's rank in the communicator as its rank on each node, which is
    // right for root 0 only. Here the leader of each node is the root, as above 128 KiB.
    if (bytes <= node_long_bytes)
        bcast_in_node(rank, 0, "simgrid", simgrid_choice);
    else
        bcast_in_group(rank, same_node(rank), 0, "simgrid", "mvapich2_knomial_intra_node");
}

/** MPICH's MPIR_Bcast_intra_smp.
 * Rounds and bytes: the sum of those that MPICH chooses among the leaders and on the nodes. */
void mpich_smp(Rank &rank) {
    const int64_t bytes = rank.call.bytes();
    if (bytes == 0)
        return;
    if (bytes < mpich_short_bytes || rank.p < mpich_few_ranks) {
        send_to_leader(rank);
        bcast_among_leaders(rank, "mpich", mpich_group_choice<false>);
        bcast_in_node(rank, 0, "mpich", mpich_group_choice<false>);
    } else if (bytes < mpich_long_bytes && is_power_of_two(rank.p)) {
        // The bcast on the root's node comes first, unless the root is a leader.
        const int root = rank.call.root;
        const bool node_first =
            rank.call.node(rank.id) == rank.call.node(root) && leader_of(rank.call, root) != root;
        if (node_first)
            bcast_in_node(rank, same_node(rank).number(root), "mpich", mpich_group_choice<false>);
        bcast_among_leaders(rank, "mpich", mpich_group_choice<false>);
        if (!node_first)
            bcast_in_node(rank, 0, "mpich", mpich_group_choice<false>);
    } else {
        bcast_in_group(rank, everyone(rank), rank.call.root, "mpich", "scatter_ring_allgather");
    }
}

/** MPICH's MPIR_Ibcast_intra_sched_smp.
 * Rounds and bytes: the sum of those that MPICH chooses among the leaders and on the nodes. */
void mpich_nb_smp(Rank &rank) {
    send_to_leader(rank);
    bcast_among_leaders(rank, "mpich", mpich_group_choice<true>);
    bcast_in_node(rank, 0, "mpich", mpich_group_choice<true>);
}

} // namespace offbeat::algorithms::bcast

namespace offbeat::algorithms {

/** The parameters' defaults are those of Open MPI 5 and MPICH 5. MPICH's topology-aware trees and GPU
 * algorithms are missing. So are SimGrid's arrival_pattern_aware, arrival_pattern_aware_wait and
 * arrival_scatter, whose messages depend on which rank arrives first, and mvapich2_inter_node, which serves
 * only the leaders of the nodes. */
std::vector<Algorithm> bcast_algorithms() {
    using namespace bcast;
    return {
        {"openmpi", "basic_linear", flat, scales},
        {"openmpi", "chain", openmpi_chain, {{"segment", 0}, {"fanout", 4, 1}}},
        {"openmpi", "pipeline", openmpi_pipeline, {{"segment", 0}}},
        {"openmpi", "split_binary_tree", openmpi_split_binary, {{"segment", 0}}},
        {"openmpi", "binary_tree", openmpi_binary_tree, {{"segment", 0}}},
        {"openmpi", "binomial", openmpi_binomial, {{"segment", 0}}},
        {"openmpi", "knomial", openmpi_knomial, {{"segment", 0}, {"radix", 4, 2}}},
        {"openmpi", "scatter_allgather", fixed(openmpi_scatter_allgather, Allgather::doubling)},
        {"openmpi", "scatter_allgather_ring", fixed(openmpi_scatter_allgather, Allgather::ring)},
        {"mpich", "binomial", mpich_binomial},
        {"mpich", "nb(sched_binomial)", mpich_nb_binomial, scales},
        {"mpich", "nb(sched_smp)", mpich_nb_smp},
        {"mpich", "nb(sched_scatter_recursive_doubling_allgather)",
         fixed(mpich_scatter_allgather, Allgather::doubling, Mode::task_graph)},
        {"mpich", "nb(sched_scatter_ring_allgather)",
         fixed(mpich_scatter_allgather, Allgather::ring, Mode::task_graph)},
        {"mpich", "nb(tsp_tree)", mpich_nb_tree, {{"tree_type", 0}, {"k", 2, 1}, {"chunk_size", 0}}},
        {"mpich",
         "nb(tsp_scatterv_recexch_allgatherv)",
         mpich_nb_scatterv_recexch,
         {{"scatterv_k", 2, 2}, {"allgatherv_k", 2, 2}}},
        {"mpich", "nb(tsp_scatterv_ring_allgatherv)", mpich_nb_scatterv_ring, {{"scatterv_k", 2, 2}}},
        {"mpich", "nb(tsp_ring)", mpich_nb_ring, {{"chunk_size", 0}}},
        {"mpich", "smp", mpich_smp},
        {"mpich", "scatter_recursive_doubling_allgather",
         fixed(mpich_scatter_allgather, Allgather::doubling, Mode::blocking)},
        {"mpich", "scatter_ring_allgather", fixed(mpich_scatter_allgather, Allgather::ring, Mode::blocking)},
        {"mpich",
         "pipelined_tree",
         mpich_pipelined_tree,
         {{"tree_type", 0},
          {"k", 2, 1},
          {"is_non_blocking", 1},
          {"chunk_size", 8192},
          {"recv_pre_posted", 0}}},
        {"mpich", "tree", mpich_tree, {{"tree_type", 0}, {"k", 2, 1}, {"is_non_blocking", 1}}},
        {"simgrid", "binomial_tree", binomial, scales},
        {"simgrid", "flattree", flat, scales},
        {"simgrid", "flattree_pipeline", flat_pipelined, {{"segment", 8192, 1}}},
        {"simgrid", "NTSB", heap_from_zero, {{"segment", 8192, 1}}},
        {"simgrid", "NTSL", chain_from_zero, {{"segment", 8192, 1}}},
        {"simgrid", "NTSL_Isend", chain_from_zero, {{"segment", 8192, 1}}},
        {"simgrid", "scatter_LR_allgather", fixed(scatter_allgather, Allgather::ring, Mode::blocking)},
        {"simgrid", "scatter_rdb_allgather", scatter_doubling},
        {"simgrid", "SMP_binary", nodes_heap, {{"segment", 8192, 1}}},
        {"simgrid", "SMP_binomial", nodes_binomial},
        {"simgrid", "SMP_linear", nodes_linear, {{"segment", 8192, 1}}},
        {"simgrid", "ompi_split_bintree", simgrid_split_binary},
        {"simgrid", "ompi_pipeline", simgrid_pipeline},
        {"simgrid", "mvapich2_intra_node", mvapich_two_level},
        {"simgrid", "mvapich2_knomial_intra_node", knomial_by_levels, {{"radix", 4, 2}}},
    };
}

} // namespace offbeat::algorithms
