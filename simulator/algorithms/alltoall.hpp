/** @file
 * The alltoall algorithms. alltoall.cpp lists the names that each library has for them.
 */
#pragma once

#include "algorithms/catalogue.hpp"

namespace offbeat::algorithms::alltoall {

/** @name Many messages at once: alltoall.cpp */
///@{
AlgorithmFunction
    linear; /**< receives from the next rank on, then sends from the previous rank down; one wait */
/** The same with at most `requests` (0: any number) receives and as many sends in flight: when one completes,
 * the next of its kind is posted. */
ParameterisedFunction linear_sync;
AlgorithmFunction two_proc; /**< for two ranks only */
/** Batches of `throttle` (0: all) receives and as many sends, own block included; a batch starts when the
 * previous batch is complete. */
ParameterisedFunction scattered;
AlgorithmFunction scattered_by_four; /**< the same with batches of four */
/** Own block included; `outstanding_tasks` pairs of messages in flight: when the oldest `batch_size` pairs
 * are complete, as many new pairs are posted. */
ParameterisedFunction scattered_tasks;
///@}

/** @name One partner per step: alltoall.cpp
 * pair: rank xor step, for powers of two only. ring: to the rank `step` after, from the rank `step` before.
 * With barriers of all ranks: one at the start, or one before every step; light: an exchange with the
 * partners of the next step after every step.
 */
///@{
AlgorithmFunction pair, pair_one_barrier, pair_every_barrier, pair_light_barrier;
AlgorithmFunction ring, ring_one_barrier, ring_every_barrier, ring_light_barrier;
AlgorithmFunction pair_or_ring;     /**< pair() if p is a power of two, otherwise ring() */
AlgorithmFunction pairwise_openmpi; /**< ring() with the own block last */
///@}

/** @name Other ranks forward the blocks: alltoall_forwarding.cpp */
///@{
AlgorithmFunction bruck_simgrid, bruck_openmpi;
ParameterisedFunction bruck_radix; /**< digits in base `k`: k - 1 exchanges at once in each phase */
/** The same as a task graph: an exchange waits only for the exchanges whose blocks or buffers it uses.
 * Without `buffer_per_nbr` the phases share their buffers. */
ParameterisedFunction bruck_tasks;
/** Whole inputs travel around the ring, along the axes of a mesh, or by recursive doubling; each rank copies
 * its own blocks from them. */
AlgorithmFunction ring_of_whole_inputs, mesh_2d, mesh_3d, recursive_doubling;
///@}

} // namespace offbeat::algorithms::alltoall
