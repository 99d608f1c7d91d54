/** @file
 * The bcast algorithms. bcast.cpp lists the names that each library has for them. All work in place, on the
 * output.
 */
#pragma once

#include "algorithms/catalogue.hpp"

namespace offbeat::algorithms::bcast {

/** @name Trees, whole or in segments: bcast_trees.cpp */
///@{
AlgorithmFunction flat;     /**< the root sends to all ranks at once */
AlgorithmFunction binomial; /**< blocking sends, the largest subtree first: the default of MPICH and SMPI */
AlgorithmFunction binomial_nonblocking; /**< the same, but a rank sends to all its children at once */
AlgorithmFunction flat_pipelined;       /**< one child after the other gets all segments; `segment` bytes */
AlgorithmFunction knomial_by_levels;    /**< a k-nomial tree, one level of children at a time; `radix` */
/** Open MPI's segmented trees; `segment` bytes, 0 for one segment. Also `fanout` (chain) and `radix`
 * (knomial). */
AlgorithmFunction openmpi_chain, openmpi_pipeline, openmpi_binary, openmpi_binomial, openmpi_knomial;
AlgorithmFunction simgrid_pipeline; /**< SimGrid chooses the segment size by p and message size */
/** Each half of the message goes down one half of a binary tree; then ranks exchange halves. `segment` bytes.
 */
AlgorithmFunction openmpi_split_binary, simgrid_split_binary;
///@}

/** @name Pipelines that start at rank 0 for every root: bcast_from_rank_zero.cpp; `segment` bytes */
///@{
AlgorithmFunction chain_from_zero; /**< a chain in rank order */
AlgorithmFunction heap_from_zero;  /**< a binary heap: rank r forwards to 2r + 1 and 2r + 2 */
AlgorithmFunction nodes_binary;    /**< a binary heap of nodes, and one of the ranks in each node */
AlgorithmFunction nodes_linear;    /**< a chain of nodes, and one of the ranks in each node */
AlgorithmFunction nodes_binomial;  /**< a binomial tree of nodes, and one in each node; never segmented */
///@}

/** @name A scatter, then an allgather by recursive doubling or along a ring: bcast_scatter_allgather.cpp
 * Blocks consist of elements. MPICH and SimGrid divide bytes: the same if an element is one byte or the
 * number of elements is a multiple of p. Open MPI falls back to the flat bcast if there are fewer elements
 * than ranks.
 */
///@{
AlgorithmFunction scatter_doubling, scatter_ring, openmpi_scatter_doubling, openmpi_scatter_ring;
AlgorithmFunction mpich_scatter_doubling, mpich_scatter_ring;
AlgorithmFunction mpich_nb_scatter_doubling, mpich_nb_scatter_ring;
///@}

/** @name What a library chooses by default, and two-level algorithms: bcast.cpp */
///@{
AlgorithmFunction simgrid_mpich_choice, mvapich_two_level, mpich_smp, mpich_nb_smp;
/** The bcast that MPICH chooses for a message on one node or between nodes, blocking or as a nonblocking
 * schedule. */
std::string_view mpich_choice(int64_t bytes, int p, bool scheduled);
///@}

/** @name MPICH's trees and task graphs: bcast_mpich.cpp */
///@{
AlgorithmFunction mpich_binomial, mpich_nb_binomial;
AlgorithmFunction mpich_tree;           /**< `tree_type`, `k`, `is_non_blocking` */
AlgorithmFunction mpich_pipelined_tree; /**< also `chunk_size` (bytes) and `recv_pre_posted` */
AlgorithmFunction mpich_nb_tree;        /**< `tree_type`, `k`, `chunk_size` */
AlgorithmFunction mpich_nb_ring;        /**< `chunk_size` */
/** Task graphs of a scatterv and an allgatherv: `scatterv_k`, and `allgatherv_k` for the recursive exchange.
 */
AlgorithmFunction mpich_nb_scatterv_recexch, mpich_nb_scatterv_ring;
///@}

} // namespace offbeat::algorithms::bcast
