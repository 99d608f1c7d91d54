/** @file
 * The alltoall algorithms, by idea; alltoall.cpp says under which names they go.
 */
#pragma once

#include "algorithms/catalogue.hpp"

namespace offbeat::algorithms::alltoall {

/** @name Everything posted at once: alltoall_linear.cpp */
///@{
/** Receives from the next rank on, then sends from the previous rank down; one wait. */
void linear(schedule::Rank &rank, const Parameters &parameters);
/** The same, with at most `requests` (0: any number) receives and as many sends under way: whenever one is
 * complete, the next of its kind is posted. */
void linear_sync(schedule::Rank &rank, const Parameters &parameters);
/** For two ranks only. */
void two_proc(schedule::Rank &rank, const Parameters &parameters);
/** `throttle` (0: all) receives and as many sends at a time, own block included; waits for all of them before
 * the next ones. */
void scattered(schedule::Rank &rank, const Parameters &parameters);
/** The same, four at a time. */
void scattered_by_four(schedule::Rank &rank, const Parameters &parameters);
/** Own block included; `outstanding_tasks` pairs of messages under way: when the oldest `batch_size` pairs
 * are complete, as many are posted anew. */
void scattered_tasks(schedule::Rank &rank, const Parameters &parameters);
///@}

/** @name A partner a step: alltoall_steps.cpp
 * pair: rank xor step, for powers of two only. ring: to the rank `step` after, from that `step` before.
 */
///@{
void pair(schedule::Rank &rank, const Parameters &parameters);
/** Pairs where p is a power of two, the ring elsewhere. */
void pair_or_ring(schedule::Rank &rank, const Parameters &parameters);
/** The ring, its own block last. */
void pairwise_openmpi(schedule::Rank &rank, const Parameters &parameters);
void pair_one_barrier(schedule::Rank &rank, const Parameters &parameters);
void pair_every_barrier(schedule::Rank &rank, const Parameters &parameters);
void pair_light_barrier(schedule::Rank &rank, const Parameters &parameters);
void ring(schedule::Rank &rank, const Parameters &parameters);
void ring_one_barrier(schedule::Rank &rank, const Parameters &parameters);
void ring_every_barrier(schedule::Rank &rank, const Parameters &parameters);
void ring_light_barrier(schedule::Rank &rank, const Parameters &parameters);
///@}

/** @name Blocks travel through others: alltoall_bruck.cpp */
///@{
void bruck_simgrid(schedule::Rank &rank, const Parameters &parameters);
void bruck_openmpi(schedule::Rank &rank, const Parameters &parameters);
/** Digits in base `k`: k - 1 exchanges at once in each phase. */
void bruck_radix(schedule::Rank &rank, const Parameters &parameters);
/** The same as a graph of tasks: an exchange waits only for those whose blocks or buffers it takes over;
 * without `buffer_per_nbr`, phases share their buffers. */
void bruck_tasks(schedule::Rank &rank, const Parameters &parameters);
/** Everybody's whole input goes around the ring; each rank takes what is its own. */
void whole_inputs_around_ring(schedule::Rank &rank, const Parameters &parameters);
///@}

/** @name Allgathers along the axes of a mesh, of which each takes what is its own: alltoall_mesh.cpp */
///@{
void mesh_2d(schedule::Rank &rank, const Parameters &parameters);
void mesh_3d(schedule::Rank &rank, const Parameters &parameters);
/** Everybody gets everything by recursive doubling. */
void recursive_doubling(schedule::Rank &rank, const Parameters &parameters);
///@}

} // namespace offbeat::algorithms::alltoall
