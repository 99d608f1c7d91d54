/** @file
 * The reduce algorithms. reduce.cpp lists the names that each library has for them. They are called if there
 * are elements and several ranks: see needs_messages().
 */
#pragma once

#include "algorithms/catalogue.hpp"
#include "algorithms/trees.hpp"

namespace offbeat::algorithms::reduce {

/** The root's output; a scratch buffer on other ranks. */
Span accumulator(Rank &rank);

/** @name To the root directly, along a chain, or per node: reduce.cpp */
///@{
AlgorithmFunction linear; /**< the root receives from one rank after the other, the last rank first */
AlgorithmFunction linear_nonblocking; /**< the root posts all receives at once */
/** MPICH's choice in a communicator without node structure, blocking or as a nonblocking schedule. */
void mpich_flat(Rank &rank, bool scheduled);
///@}

/** @name Trees: reduce_trees.cpp */
///@{
AlgorithmFunction binomial;            /**< one child after the other, the smallest subtree first */
ParameterisedFunction mvapich_knomial; /**< knomial() with `radix` */
/** Combines the children of a k-nomial tree in order of arrival. */
void knomial(Rank &rank, int64_t radix);
/** A pipelined tree as a task graph: `tree_type` (see mpich_tree_of_type()), `k`, `chunk_size` in bytes (0:
 * one chunk) and `buffer_per_child` (0: one open receive per chunk). Falls back to binomial() if the
 * operation does not commute. */
ParameterisedFunction task_tree;
ParameterisedFunction task_chain; /**< as task_tree along a chain: `chunk_size`, `buffer_per_child` */
/** Open MPI's pipelines along trees, in segments of `segment` bytes (0: one segment). A leaf with more
 * segments than `requests` has at most `requests` synchronous sends open at the same time (0: no limit).
 * `fanout` is the number of chains. */
ParameterisedFunction chain, pipeline, binary, pipelined_binomial;
/** Open MPI's pipeline along a binary tree in rank order to rank p - 1, which sends the result to the root.
 */
ParameterisedFunction in_order_binary;
/** The pipelines along trees in SimGrid, which chooses segment and fanout by p and message size. */
AlgorithmFunction simgrid_chain, simgrid_pipeline, simgrid_binary, simgrid_binomial, simgrid_in_order_binary;
///@}

/** @name A reduce-scatter by recursive halving, then a gather (Rabenseifner): reduce_halving.cpp */
///@{
/** Falls back to linear() if there are fewer elements than ranks or the operation does not commute. */
AlgorithmFunction openmpi_rabenseifner;
/** Falls back to binomial(). The nonblocking schedule divides differently. */
void mpich_scatter_gather(Rank &rank, bool scheduled);
AlgorithmFunction simgrid_scatter_gather; /**< pads to p elements */
/** In the gather, ranks that have sent their part continue among themselves. */
AlgorithmFunction rabenseifner;
///@}

} // namespace offbeat::algorithms::reduce
