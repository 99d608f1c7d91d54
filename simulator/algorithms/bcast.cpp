#include "algorithms/bcast.hpp"

namespace offbeat::algorithms {

using schedule::Collective;

namespace {

constexpr Collective bc = Collective::bcast;

/** What the family's names mean, with the default values of Open MPI 5. */
std::vector<Algorithm> openmpi() {
    const Parameter segment{"segment", 0};
    return {
        {bc, "openmpi", "basic_linear", bcast::flat, {}, false, true},
        {bc, "openmpi", "chain", bcast::openmpi_chain, {segment, {"fanout", 4, 1}}},
        {bc, "openmpi", "pipeline", bcast::openmpi_pipeline, {segment}},
        {bc, "openmpi", "split_binary_tree", bcast::openmpi_split_binary, {segment}},
        {bc, "openmpi", "binary_tree", bcast::openmpi_binary, {segment}},
        {bc, "openmpi", "binomial", bcast::openmpi_binomial, {segment}},
        {bc, "openmpi", "knomial", bcast::openmpi_knomial, {segment, {"radix", 4, 2}}},
        {bc, "openmpi", "scatter_allgather", bcast::openmpi_scatter_doubling},
        {bc, "openmpi", "scatter_allgather_ring", bcast::openmpi_scatter_ring},
    };
}

/** MPICH 5; its topology-aware trees and GPU algorithms are left out. */
std::vector<Algorithm> mpich() {
    const Parameter tree_type{"tree_type", 0};
    const Parameter k{"k", 2, 1};
    const Parameter nonblocking{"is_non_blocking", 1};
    return {
        {bc, "mpich", "binomial", bcast::mpich_binomial},
        {bc, "mpich", "nb(sched_binomial)", bcast::mpich_nb_binomial, {}, false, true},
        {bc, "mpich", "nb(sched_smp)", bcast::mpich_nb_smp},
        {bc, "mpich", "nb(sched_scatter_recursive_doubling_allgather)", bcast::mpich_nb_scatter_doubling},
        {bc, "mpich", "nb(sched_scatter_ring_allgather)", bcast::mpich_nb_scatter_ring},
        {bc, "mpich", "nb(tsp_tree)", bcast::mpich_nb_tree, {tree_type, k, {"chunk_size", 0}}},
        {bc,
         "mpich",
         "nb(tsp_scatterv_recexch_allgatherv)",
         bcast::mpich_nb_scatterv_recexch,
         {{"scatterv_k", 2, 2}, {"allgatherv_k", 2, 2}}},
        {bc,
         "mpich",
         "nb(tsp_scatterv_ring_allgatherv)",
         bcast::mpich_nb_scatterv_ring,
         {{"scatterv_k", 2, 2}}},
        {bc, "mpich", "nb(tsp_ring)", bcast::mpich_nb_ring, {{"chunk_size", 0}}},
        {bc, "mpich", "smp", bcast::mpich_smp},
        {bc, "mpich", "scatter_recursive_doubling_allgather", bcast::mpich_scatter_doubling},
        {bc, "mpich", "scatter_ring_allgather", bcast::mpich_scatter_ring},
        {bc,
         "mpich",
         "pipelined_tree",
         bcast::mpich_pipelined_tree,
         {tree_type, k, nonblocking, {"chunk_size", 8192}, {"recv_pre_posted", 0}}},
        {bc, "mpich", "tree", bcast::mpich_tree, {tree_type, k, nonblocking}},
    };
}

/** Without arrival_pattern_aware, arrival_pattern_aware_wait and arrival_scatter, whose messages depend on
 * who is there first, and mvapich2_inter_node, which serves the leaders of the nodes alone. */
std::vector<Algorithm> simgrid() {
    const Parameter segment{"segment", 8192, 1};
    return {
        {bc, "simgrid", "binomial_tree", bcast::binomial, {}, false, true},
        {bc, "simgrid", "flattree", bcast::flat, {}, false, true},
        {bc, "simgrid", "flattree_pipeline", bcast::flat_pipelined, {segment}},
        {bc, "simgrid", "NTSB", bcast::heap_from_zero, {segment}},
        {bc, "simgrid", "NTSL", bcast::chain_from_zero, {segment}},
        {bc, "simgrid", "NTSL_Isend", bcast::chain_from_zero, {segment}},
        {bc, "simgrid", "scatter_LR_allgather", bcast::scatter_ring},
        {bc, "simgrid", "scatter_rdb_allgather", bcast::scatter_doubling},
        {bc, "simgrid", "SMP_binary", bcast::nodes_binary, {segment}},
        {bc, "simgrid", "SMP_binomial", bcast::nodes_binomial},
        {bc, "simgrid", "SMP_linear", bcast::nodes_linear, {segment}},
        {bc, "simgrid", "ompi_split_bintree", bcast::simgrid_split_binary},
        {bc, "simgrid", "ompi_pipeline", bcast::simgrid_pipeline},
        {bc, "simgrid", "mvapich2_intra_node", bcast::mvapich_two_level},
        {bc, "simgrid", "mvapich2_knomial_intra_node", bcast::knomial_by_levels, {{"radix", 4, 2}}},
    };
}

} // namespace

std::vector<Algorithm> bcast_algorithms() {
    std::vector<Algorithm> all = openmpi();
    for (auto part : {mpich, simgrid})
        for (Algorithm &algorithm : part())
            all.push_back(std::move(algorithm));
    return all;
}

} // namespace offbeat::algorithms
