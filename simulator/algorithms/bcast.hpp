/** @file
 * The bcast algorithms. bcast.cpp lists the names that each library has for them. All work in place, on the
 * output.
 */
#pragma once

#include "algorithms/catalogue.hpp"
#include "algorithms/trees.hpp"

namespace offbeat::algorithms::bcast {

/** @name Trees, whole or in segments: bcast_trees.cpp */
///@{
AlgorithmFunction flat;     /**< the root sends to all ranks at once */
AlgorithmFunction binomial; /**< blocking sends, the largest subtree first: the default of MPICH and SMPI */
ParameterisedFunction flat_pipelined;    /**< one child after the other gets all segments; `segment` bytes */
ParameterisedFunction knomial_by_levels; /**< a k-nomial tree, one level of children at a time; `radix` */
/** Open MPI's pipelines along trees in segments of `segment` bytes (0: one segment); `fanout` of the chain,
 * `radix` of the k-nomial tree. */
ParameterisedFunction openmpi_chain, openmpi_pipeline, openmpi_binary_tree, openmpi_binomial, openmpi_knomial;
AlgorithmFunction simgrid_pipeline; /**< SimGrid chooses the segment size by p and message size */
/** Each half of the message goes down one half of a binary tree; then ranks exchange halves. `segment` bytes.
 */
ParameterisedFunction openmpi_split_binary;
AlgorithmFunction simgrid_split_binary;

enum class Sends : uint8_t { blocking, nonblocking };
/** Nonblocking sends are not waited for. */
void send_to_children(Rank &rank, const Tree &tree, Span data, Sends sends);
/** The whole message. */
void along_tree(Rank &rank, const Tree &tree, Sends sends);
///@}

/** @name Pipelines that start at rank 0 for every root: bcast_from_rank_zero.cpp; `segment` bytes */
///@{
ParameterisedFunction chain_from_zero; /**< a chain in rank order */
ParameterisedFunction heap_from_zero;  /**< a binary heap: rank r forwards to 2r + 1 and 2r + 2 */
ParameterisedFunction nodes_heap;      /**< a binary heap of nodes, and one of the ranks in each node */
ParameterisedFunction nodes_linear;    /**< a chain of nodes, and one of the ranks in each node */
AlgorithmFunction nodes_binomial;      /**< a binomial tree of nodes, and one in each node; never segmented */
void nodes_chain(Rank &rank, int64_t segment_bytes); /**< nodes_linear */
/** bcast_SMP_linear_segment_byte in SimGrid's bcast-SMP-linear.cpp. */
inline constexpr int64_t nodes_chain_segment_bytes = 8192;
///@}

/** @name A scatter, then an allgather by recursive doubling or along a ring: bcast_scatter_allgather.cpp
 * Blocks consist of elements. MPICH and SimGrid divide bytes: the same if an element is one byte or the
 * number of elements is a multiple of p. Open MPI falls back to the flat bcast if there are fewer elements
 * than ranks.
 */
///@{
enum class Allgather : uint8_t { doubling, ring };
enum class Mode : uint8_t { blocking, task_graph };
void scatter_allgather(Rank &rank, Allgather allgather, Mode mode);
AlgorithmFunction scatter_doubling;
void openmpi_scatter_allgather(Rank &rank, Allgather allgather);
void mpich_scatter_allgather(Rank &rank, Allgather allgather, Mode mode);
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
ParameterisedFunction mpich_tree;           /**< `tree_type`, `k`, `is_non_blocking` */
ParameterisedFunction mpich_pipelined_tree; /**< also `chunk_size` (bytes) and `recv_pre_posted` */
ParameterisedFunction mpich_nb_tree;        /**< `tree_type`, `k`, `chunk_size` */
ParameterisedFunction mpich_nb_ring;        /**< `chunk_size` */
/** Task graphs of a scatterv and an allgatherv: `scatterv_k`, and `allgatherv_k` for the recursive exchange.
 */
ParameterisedFunction mpich_nb_scatterv_recexch, mpich_nb_scatterv_ring;
///@}

} // namespace offbeat::algorithms::bcast
