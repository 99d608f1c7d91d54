/** @file
 * The allgather algorithms, by idea; allgather.cpp says under which names they go.
 */
#pragma once

#include "algorithms/catalogue.hpp"

namespace offbeat::algorithms::allgather {

/** @name Everybody's own block to everybody: allgather_direct.cpp */
///@{
/** Step by step to rank xor step; powers of two only. */
void pair(schedule::Rank &rank, const Parameters &parameters);
/** Step by step to the rank `step` after, from that `step` before. */
void to_all_in_steps(schedule::Rank &rank, const Parameters &parameters);
/** Receives from the next rank on, then sends from the next rank on; one wait. */
void to_all_at_once(schedule::Rank &rank, const Parameters &parameters);
/** For two ranks only. */
void two_proc(schedule::Rank &rank, const Parameters &parameters);
///@}

/** @name Along a ring: allgather_ring.cpp */
///@{
/** Blocks are passed on to the next rank, one after another. */
void ring(schedule::Rank &rank, const Parameters &parameters);
/** The same with all receives posted at the start. */
void ring_receives_first(schedule::Rank &rank, const Parameters &parameters);
/** As tasks, by way of two buffers. */
void ring_tasks(schedule::Rank &rank, const Parameters &parameters);
/** Two blocks at once, with the two neighbours by turns. For odd p Open MPI runs ring(), SimGrid
 * to_all_in_steps(). */
void openmpi_neighbor_exchange(schedule::Rank &rank, const Parameters &parameters);
void simgrid_neighbor_exchange(schedule::Rank &rank, const Parameters &parameters);
///@}

/** @name In logarithmic time: allgather_doubling.cpp */
///@{
/** Bruck: to the rank 2^k before, from that 2^k after; a rotation at the end. */
void bruck(schedule::Rank &rank, const Parameters &parameters);
/** The same with k - 1 messages at once, from and to multiples of `k`^round. */
void bruck_radix(schedule::Rank &rank, const Parameters &parameters);
/** As tasks: all receives are posted at the start. */
void bruck_tasks(schedule::Rank &rank, const Parameters &parameters);
/** Partners differ in one bit, the lowest one first; any p. */
void recursive_doubling(schedule::Rank &rank, const Parameters &parameters);
/** The same; MPICH refuses to run it where p is no power of two, Open MPI runs bruck() there. */
void mpich_recursive_doubling(schedule::Rank &rank, const Parameters &parameters);
void openmpi_recursive_doubling(schedule::Rank &rank, const Parameters &parameters);
/** Powers of two only: first blocks change places with the rank of reversed bits, then partners differ in one
 * bit, the highest one first. */
void recursive_halving(schedule::Rank &rank, const Parameters &parameters);
/** Sparbit (Loch and Koslovski, 2021): distances halve, every block travels by itself. */
void sparbit(schedule::Rank &rank, const Parameters &parameters);
///@}

/** @name MPICH's recursive exchange with `k` ranks at once: allgather_exchange.cpp
 * Receives of two phases are posted together unless `single_phase_recv`.
 */
///@{
/** The nearest ranks first. */
void exchange_doubling(schedule::Rank &rank, const Parameters &parameters);
/** The farthest ranks first, after blocks changed places. */
void exchange_halving(schedule::Rank &rank, const Parameters &parameters);
/** As tasks: all receives of the main part are posted at its start. */
void exchange_doubling_tasks(schedule::Rank &rank, const Parameters &parameters);
void exchange_halving_tasks(schedule::Rank &rank, const Parameters &parameters);
///@}

/** @name Out of parts: allgather_parts.cpp */
///@{
/** Open MPI: the gather and the bcast that it chooses by itself. */
void openmpi_gather_bcast(schedule::Rank &rank, const Parameters &parameters);
/** SMPI's default gather and bcast (binomial). */
void simgrid_gather_bcast(schedule::Rank &rank, const Parameters &parameters);
/** SMPI's default gather, for such compositions: the root posts all receives at once. */
void simgrid_gather(schedule::Rank &rank);
/** Along the rows, then along the columns of a mesh. */
void mesh_2d(schedule::Rank &rank, const Parameters &parameters);
void mesh_3d(schedule::Rank &rank, const Parameters &parameters);
///@}

/** @name Inside the nodes, and between them: allgather_nodes.cpp
 * SimGrid takes nodes for runs of equally many ranks; where they have different numbers of ranks, for single
 * ranks.
 */
///@{
/** In steps in each node; everybody's node to everybody else's among the leaders; a flat bcast. */
void nodes_simple(schedule::Rank &rank, const Parameters &parameters);
/** In steps in each node; a ring of the leaders, whose every message goes down a chain of the node's ranks.
 * One node: to_all_at_once(). */
void nodes_ring(schedule::Rank &rank, const Parameters &parameters);
/** A ring of nodes for every place in a node; what arrives is sent to the rest of the node meanwhile. */
void nodes_loose_ring(schedule::Rank &rank, const Parameters &parameters);
/** A gather in each node, MPICH's choice of an allgather among the leaders, a bcast in each node. Refuses
 * nodes that are no runs of equally many ranks. */
void nodes_mvapich(schedule::Rank &rank, const Parameters &parameters);
///@}

} // namespace offbeat::algorithms::allgather
