/** @file
 * The allgather algorithms. allgather.cpp lists the names that each library has for them.
 */
#pragma once

#include "algorithms/catalogue.hpp"
#include "algorithms/exchange.hpp"

namespace offbeat::algorithms::allgather {

/** @name Every rank sends its own block to every other rank: allgather.cpp */
///@{
AlgorithmFunction direct_stepwise;    /**< in step k to the rank k after, from the rank k before */
AlgorithmFunction direct_nonblocking; /**< all receives, then all sends, from the next rank on; one wait */
///@}

/** @name A logarithmic number of steps: allgather_logarithmic.cpp */
///@{
AlgorithmFunction bruck; /**< step k: to the rank 2^k before, from the rank 2^k after; rotates at the end */
ParameterisedFunction bruck_radix; /**< k - 1 messages per step, to and from the multiples of `k`^step */
ParameterisedFunction bruck_tasks; /**< bruck_radix() as a task graph: all receives are posted at the start */
AlgorithmFunction recursive_doubling; /**< partners differ in one bit, the lowest bit first; any p */
/** recursive_doubling() for powers of two. For other p MPICH refuses the call, Open MPI runs bruck(). */
AlgorithmFunction mpich_recursive_doubling, openmpi_recursive_doubling;
/** Powers of two only: blocks first move to the rank with the reversed bits, then partners differ in one bit,
 * the highest bit first. */
AlgorithmFunction recursive_halving;
AlgorithmFunction
    sparbit; /**< Loch and Koslovski, 2021: distances halve, each block is a message of its own */
/** MPICH's recursive exchange among `k` ranks. Doubling starts with the nearest ranks; halving starts with
 * the farthest ranks, after blocks moved to the rank with the reversed digits. */
enum class Distances { doubling, halving };
/** The receives of two phases are posted together unless `single_phase_recv`. */
void exchange_in_phases(Rank &rank, const Parameters &parameters, Distances distances);
/** As a task graph: all receives of the main part are posted at its start. */
void exchange_as_tasks(Rank &rank, const Parameters &parameters, Distances distances);
/** @param in_place  the output has the own block already; otherwise the input has it */
void exchange_blocks_as_tasks(Rank &rank, Tasks &tasks, int64_t k, Distances distances, const Blocks &blocks,
                              bool in_place);
///@}

/** @name Composed of other collectives, along a mesh, or per node: allgather_composed.cpp
 * SimGrid assumes that nodes hold consecutive ranks, the same number each; where the numbers differ, it
 * treats every rank as a node.
 */
///@{
AlgorithmFunction openmpi_gather_bcast; /**< the gather and the bcast that Open MPI chooses */
AlgorithmFunction simgrid_gather_bcast; /**< SMPI's default gather and its binomial bcast */
/** Along the rows of a mesh, then along the columns, then across the layers. */
void mesh(Rank &rank, Mesh (*shape)(int p));
/** Stepwise in each node, all-to-all among the leaders, a flat bcast in each node. */
AlgorithmFunction nodes_simple;
/** Stepwise in each node; a ring of the leaders, who forward each message down a chain of the node's ranks.
 * On one node: direct_nonblocking(). */
AlgorithmFunction nodes_ring;
/** For each position in a node a ring across nodes; meanwhile ranks send what they received to the rest of
 * the node. */
AlgorithmFunction nodes_loose_ring;
/** A gather in each node, an allgather among the leaders as MPICH chooses, a bcast in each node. Refuses
 * nodes that differ in size or hold ranks that are not consecutive. */
AlgorithmFunction nodes_mvapich;
/** SMPI's default gather: the root posts all receives at once. */
void simgrid_gather(Rank &rank);
///@}

} // namespace offbeat::algorithms::allgather
