/** @file
 * The reduce algorithms, by idea; reduce.cpp says under which names they go. With one rank all of them copy,
 * without elements they do nothing.
 */
#pragma once

#include "algorithms/catalogue.hpp"

namespace offbeat::algorithms::reduce {

/** True where there is nothing to combine: one rank (its input is copied) or no elements. */
bool nothing_to_combine(schedule::Rank &rank);

/** The root's output; scratch elsewhere. */
schedule::Span accumulator(schedule::Rank &rank);

/** @name Everybody to the root, or a chain: reduce_linear.cpp */
///@{
/** Each rank sends to the root, which takes them one after the other, from the last to the first. */
void linear(schedule::Rank &rank, const Parameters &parameters);
/** Each rank sends to the root, which takes them as they come. */
void linear_at_once(schedule::Rank &rank, const Parameters &parameters);
/** A chain against the order of the ranks, in segments of `segment` bytes; what remains after whole segments
 * goes straight to the root. */
void ring(schedule::Rank &rank, const Parameters &parameters);
///@}

/** @name Open MPI's trees, pipelined in segments of `segment` bytes (0: one segment): reduce_segmented.cpp
 * Leaves with more than `requests` segments (if not 0) have so many synchronous sends open at a time.
 */
///@{
void chain(schedule::Rank &rank, const Parameters &parameters); /**< and `fanout` */
void pipeline(schedule::Rank &rank, const Parameters &parameters);
void binary(schedule::Rank &rank, const Parameters &parameters);
void binomial_segmented(schedule::Rank &rank, const Parameters &parameters);
/** To rank p - 1, in the order of the ranks; it sends the result on. */
void in_order_binary(schedule::Rank &rank, const Parameters &parameters);
///@}

/** @name The same as SimGrid calls them: it chooses segment and fanout by p and message size */
///@{
void simgrid_chain(schedule::Rank &rank, const Parameters &parameters);
void simgrid_pipeline(schedule::Rank &rank, const Parameters &parameters);
void simgrid_binary(schedule::Rank &rank, const Parameters &parameters);
void simgrid_binomial(schedule::Rank &rank, const Parameters &parameters);
void simgrid_in_order_binary(schedule::Rank &rank, const Parameters &parameters);
///@}

/** @name Trees in one piece, and MPICH's task graphs: reduce_trees.cpp */
///@{
/** A child after the other, the smallest subtree first. */
void binomial(schedule::Rank &rank, const Parameters &parameters);
/** Children of a k-nomial tree as they come; `radix`. */
void knomial(schedule::Rank &rank, const Parameters &parameters);
void knomial(schedule::Rank &rank, int radix);
/** A pipelined tree as a task graph: `tree_type` (see MpichTree), `k`, `chunk_size` in bytes (0: one chunk)
 * and `buffer_per_child` (0: one receive is open at a time and chunk). Gives way to binomial() when the
 * operation does not commute. */
void task_tree(schedule::Rank &rank, const Parameters &parameters);
/** The same with a chain: `chunk_size`, `buffer_per_child`. */
void task_chain(schedule::Rank &rank, const Parameters &parameters);
///@}

/** @name A reduce-scatter by halves, then a gather (Rabenseifner): reduce_halving.cpp */
///@{
/** Open MPI's: gives way to linear() with fewer elements than ranks, or when the operation does not commute.
 */
void openmpi_rabenseifner(schedule::Rank &rank, const Parameters &parameters);
/** MPICH's: gives way to binomial(). */
void mpich_scatter_gather(schedule::Rank &rank, const Parameters &parameters);
/** The same as a nonblocking schedule, which divides otherwise. */
void mpich_scheduled_scatter_gather(schedule::Rank &rank, const Parameters &parameters);
/** SimGrid's version of it: pads to p elements. */
void simgrid_scatter_gather(schedule::Rank &rank, const Parameters &parameters);
/** Rabenseifner's own; in the gather, ranks that are through go on among themselves. */
void rabenseifner_own(schedule::Rank &rank, const Parameters &parameters);
///@}

/** @name Inside the nodes, and between them: reduce_nodes.cpp */
///@{
/** MPICH: all nodes but the root's, then their leaders, then the root's node. */
void mpich_nodes(schedule::Rank &rank, const Parameters &parameters);
void mpich_scheduled_nodes(schedule::Rank &rank, const Parameters &parameters);
/** SimGrid: all nodes, then their leaders; the leader of the root's node sends the result on. */
void simgrid_two_level(schedule::Rank &rank, const Parameters &parameters);
///@}

/** MPICH's choice in a communicator without node structure, blocking or as a nonblocking schedule. */
void mpich_flat(schedule::Rank &rank, bool scheduled);

} // namespace offbeat::algorithms::reduce
