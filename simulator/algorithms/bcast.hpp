/** @file
 * The bcast algorithms, by idea; bcast.cpp says under which names they go. All work in place, on the output.
 */
#pragma once

#include "algorithms/catalogue.hpp"

namespace offbeat::algorithms::bcast {

/** @name A tree, whole or in segments: bcast_trees.cpp */
///@{
/** The root sends to everybody at once. */
void flat(schedule::Rank &rank, const Parameters &parameters);
/** Blocking sends down a binomial tree, the largest subtree first: MPICH's and SMPI's default. */
void binomial(schedule::Rank &rank, const Parameters &parameters);
/** The same, but a rank sends to all its children at once. */
void binomial_at_once(schedule::Rank &rank, const Parameters &parameters);
/** As it is, a child after the other gets all segments; `segment` bytes. */
void flat_pipelined(schedule::Rank &rank, const Parameters &parameters);
/** A k-nomial tree, a level of children at a time; `radix`. */
void knomial_by_levels(schedule::Rank &rank, const Parameters &parameters);
/** Open MPI's segmented trees; `segment` bytes, 0 for one segment. */
void openmpi_chain(schedule::Rank &rank, const Parameters &parameters); /**< and `fanout` */
void openmpi_pipeline(schedule::Rank &rank, const Parameters &parameters);
void openmpi_binary(schedule::Rank &rank, const Parameters &parameters);
void openmpi_binomial(schedule::Rank &rank, const Parameters &parameters);
void openmpi_knomial(schedule::Rank &rank, const Parameters &parameters); /**< and `radix` */
/** The pipeline whose segment size SimGrid chooses by p and message size. */
void simgrid_pipeline(schedule::Rank &rank, const Parameters &parameters);
///@}

/** @name Pipelines that start at rank 0, whatever the root is: bcast_from_zero.cpp; `segment` bytes */
///@{
/** A chain in the order of the ranks. */
void chain_from_zero(schedule::Rank &rank, const Parameters &parameters);
/** A binary heap: rank r passes on to 2r + 1 and 2r + 2. */
void heap_from_zero(schedule::Rank &rank, const Parameters &parameters);
/** A binary heap of nodes, and one of ranks in each node. */
void nodes_binary(schedule::Rank &rank, const Parameters &parameters);
/** A chain of nodes, and one of ranks in each node. */
void nodes_linear(schedule::Rank &rank, const Parameters &parameters);
/** A binomial tree of nodes, and one of ranks in each node; never segmented. */
void nodes_binomial(schedule::Rank &rank, const Parameters &parameters);
///@}

/** @name Each half of the message down one half of a binary tree: bcast_split_binary.cpp */
///@{
void openmpi_split_binary(schedule::Rank &rank, const Parameters &parameters); /**< `segment` bytes */
void simgrid_split_binary(schedule::Rank &rank, const Parameters &parameters);
///@}

/** @name A scatter, then an allgather: bcast_scatter_allgather.cpp
 * Blocks are made of elements. MPICH and SimGrid divide bytes: the same if an element is a byte, or their
 * number is a multiple of p.
 */
///@{
void scatter_doubling(schedule::Rank &rank, const Parameters &parameters);
void scatter_ring(schedule::Rank &rank, const Parameters &parameters);
/** Open MPI gives way to the flat bcast where there are fewer elements than ranks. */
void openmpi_scatter_doubling(schedule::Rank &rank, const Parameters &parameters);
void openmpi_scatter_ring(schedule::Rank &rank, const Parameters &parameters);
void mpich_scatter_doubling(schedule::Rank &rank, const Parameters &parameters);
void mpich_scatter_ring(schedule::Rank &rank, const Parameters &parameters);
void mpich_nb_scatter_doubling(schedule::Rank &rank, const Parameters &parameters);
void mpich_nb_scatter_ring(schedule::Rank &rank, const Parameters &parameters);
///@}

/** @name What a library chooses by itself, and its ways over nodes: bcast_nodes.cpp */
///@{
void simgrid_mpich_choice(schedule::Rank &rank, const Parameters &parameters);
void mvapich_two_level(schedule::Rank &rank, const Parameters &parameters);
void mpich_smp(schedule::Rank &rank, const Parameters &parameters);
void mpich_nb_smp(schedule::Rank &rank, const Parameters &parameters);
///@}

/** @name MPICH's trees and task graphs: bcast_mpich.cpp */
///@{
void mpich_binomial(schedule::Rank &rank, const Parameters &parameters);
void mpich_nb_binomial(schedule::Rank &rank, const Parameters &parameters);
/** `tree_type`, `k`, `is_non_blocking`. */
void mpich_tree(schedule::Rank &rank, const Parameters &parameters);
/** Also `chunk_size` (bytes) and `recv_pre_posted`. */
void mpich_pipelined_tree(schedule::Rank &rank, const Parameters &parameters);
/** `tree_type`, `k`, `chunk_size`. */
void mpich_nb_tree(schedule::Rank &rank, const Parameters &parameters);
/** `chunk_size`. */
void mpich_nb_ring(schedule::Rank &rank, const Parameters &parameters);
///@}

/** @name MPICH's task graphs of a scatterv and an allgatherv: bcast_mpich_scatterv.cpp */
///@{
/** `scatterv_k`, `allgatherv_k`. */
void mpich_nb_scatterv_recexch(schedule::Rank &rank, const Parameters &parameters);
/** `scatterv_k`. */
void mpich_nb_scatterv_ring(schedule::Rank &rank, const Parameters &parameters);
///@}

} // namespace offbeat::algorithms::bcast
