/** @file
 * The reduce algorithms. reduce.cpp lists the names that each library has for them. With one rank all of them
 * copy, without elements they do nothing.
 */
#pragma once

#include "algorithms/catalogue.hpp"

namespace offbeat::algorithms::reduce {

/** The root's output; a scratch buffer on other ranks. */
schedule::Span accumulator(schedule::Rank &rank);

/** @name To the root directly, along a chain, or per node: reduce.cpp */
///@{
AlgorithmFunction linear; /**< the root receives from one rank after the other, the last rank first */
AlgorithmFunction linear_nonblocking; /**< the root posts all receives at once */
/** A chain in descending rank order, in segments of `segment` bytes; the elements after the last whole
 * segment go directly to the root. */
AlgorithmFunction ring;
/** MPICH: all nodes but the root's, then their leaders, then the root's node. */
AlgorithmFunction mpich_nodes, mpich_scheduled_nodes;
AlgorithmFunction
    simgrid_two_level; /**< all nodes, then their leaders; the root's leader sends it the result */
/** MPICH's choice in a communicator without node structure, blocking or as a nonblocking schedule. */
void mpich_flat(schedule::Rank &rank, bool scheduled);
///@}

/** @name Trees: reduce_trees.cpp */
///@{
AlgorithmFunction binomial; /**< one child after the other, the smallest subtree first */
AlgorithmFunction knomial;  /**< combines the children of a k-nomial tree in order of arrival; `radix` */
void knomial(schedule::Rank &rank, int radix);
/** A pipelined tree as a task graph: `tree_type` (see MpichTree), `k`, `chunk_size` in bytes (0: one chunk)
 * and `buffer_per_child` (0: one open receive per chunk). Falls back to binomial() if the operation does not
 * commute. */
AlgorithmFunction task_tree;
AlgorithmFunction task_chain; /**< the same with a chain: `chunk_size`, `buffer_per_child` */
/** Open MPI's trees, pipelined in segments of `segment` bytes (0: one segment). Leaves with more than
 * `requests` segments (if not 0) keep at most so many synchronous sends open. chain: also `fanout`.
 * in_order_binary: to rank p - 1 in rank order, which sends the result to the root. */
AlgorithmFunction chain, pipeline, binary, binomial_segmented, in_order_binary;
/** The same in SimGrid, which chooses segment and fanout by p and message size. */
AlgorithmFunction simgrid_chain, simgrid_pipeline, simgrid_binary, simgrid_binomial, simgrid_in_order_binary;
///@}

/** @name A reduce-scatter by recursive halving, then a gather (Rabenseifner): reduce_halving.cpp */
///@{
/** Falls back to linear() if there are fewer elements than ranks or the operation does not commute. */
AlgorithmFunction openmpi_rabenseifner;
AlgorithmFunction mpich_scatter_gather;           /**< falls back to binomial() */
AlgorithmFunction mpich_scheduled_scatter_gather; /**< the nonblocking schedule, which divides differently */
AlgorithmFunction simgrid_scatter_gather;         /**< pads to p elements */
AlgorithmFunction
    rabenseifner; /**< in the gather, ranks that have sent their part continue among themselves */
///@}

} // namespace offbeat::algorithms::reduce
