/** @file
 * The algorithms of reduce_scatter and reduce_scatter_block, by idea; reduce_scatter.cpp and
 * reduce_scatter_block.cpp say under which names they go. Every rank gets as much, so both collectives are
 * the same here. Where there is nothing to send nobody sends.
 */
#pragma once

#include "algorithms/catalogue.hpp"

namespace offbeat::algorithms::reduce_scatter {

/** @name Blocks on their way: reduce_scatter_steps.cpp */
///@{
/** Every block goes around the ring of ranks, and ends where it belongs. */
void ring(schedule::Rank &rank, const Parameters &parameters);
/** In step k to the rank k after, from that k before. */
void pairwise(schedule::Rank &rank, const Parameters &parameters);
/** MPICH's, which gives way to its choice when the operation does not commute. */
void mpich_pairwise(schedule::Rank &rank, const Parameters &parameters);
///@}

/** @name Halves: reduce_scatter_halves.cpp */
///@{
/** The farthest half first; pairs of ranks are folded into the odd one. */
void recursive_halving(schedule::Rank &rank, const Parameters &parameters);
/** The same; gives way when the operation does not commute: to openmpi_reduce_scatter(), to MPICH's choice.
 */
void openmpi_recursive_halving(schedule::Rank &rank, const Parameters &parameters);
void mpich_recursive_halving(schedule::Rank &rank, const Parameters &parameters);
/** The nearest partner first, in the order of the ranks; the result is at the rank whose number has its bits
 * reversed, and is sent where it belongs. */
void butterfly(schedule::Rank &rank, const Parameters &parameters);
/** The same on a power of two, with the blocks permuted first so that nothing needs to be sent on. */
void permuted_butterfly(schedule::Rank &rank, const Parameters &parameters);
/** Which of the two Open MPI uses depends on p. */
void openmpi_butterfly(schedule::Rank &rank, const Parameters &parameters);
/** The permuted one, which MPICH replaces by its choice where p is no power of two, and SimGrid refuses. */
void mpich_noncommutative(schedule::Rank &rank, const Parameters &parameters);
void simgrid_noncommutative(schedule::Rank &rank, const Parameters &parameters);
///@}

/** Every exchange is of all blocks but those that the sender's side is through with; ranks without a partner
 * are served by others. In the order of the ranks: reduce_scatter_doubling.cpp */
void recursive_doubling(schedule::Rank &rank, const Parameters &parameters);

/** MPICH's recursive exchange with `k` ranks at a time, as a task graph: reduce_scatter_tasks.cpp */
void task_exchange(schedule::Rank &rank, const Parameters &parameters);

/** @name Open MPI: a reduce as it chooses, then a scatter: reduce_scatter_composed.cpp */
///@{
/** A blocking send to each rank. */
void openmpi_reduce_scatterv(schedule::Rank &rank, const Parameters &parameters);
/** The scatter that it chooses. */
void openmpi_reduce_scatter(schedule::Rank &rank, const Parameters &parameters);
///@}

/** What MPICH chooses for this call, blocking or scheduled: the same. */
void mpich_choice(schedule::Rank &rank);

/** True where there is nothing to combine: one rank (its input is copied) or no elements. */
bool nothing_to_combine(schedule::Rank &rank);

} // namespace offbeat::algorithms::reduce_scatter
