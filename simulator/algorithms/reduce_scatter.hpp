/** @file
 * The algorithms of reduce_scatter and reduce_scatter_block. reduce_scatter.cpp lists the names that each
 * library has for them. All ranks receive the same number of elements, so both collectives are the same here.
 * They are called if there are elements and several ranks: see needs_messages().
 */
#pragma once

#include "algorithms/catalogue.hpp"

namespace offbeat::algorithms::reduce_scatter {

/** @name Direct exchanges, and a reduce followed by a scatter: reduce_scatter.cpp */
///@{
AlgorithmFunction ring;           /**< each block travels around the ring to the rank that it belongs to */
AlgorithmFunction pairwise;       /**< in step k to the rank k after, from the rank k before */
AlgorithmFunction mpich_pairwise; /**< the same; MPICH's choice if the operation does not commute */
AlgorithmFunction
    openmpi_reduce_scatterv; /**< Open MPI's choice of a reduce, then a blocking send to each rank */
AlgorithmFunction openmpi_reduce_scatter; /**< Open MPI's choice of a reduce, then of a scatter */
/** What MPICH chooses for this call; the same for blocking and scheduled calls. */
void mpich_choice(Rank &rank);
///@}

/** @name Recursive halving, doubling and exchange: reduce_scatter_halving.cpp */
///@{
AlgorithmFunction
    recursive_halving; /**< the farthest half first; pairs of ranks are folded into the odd one */
/** The same; falls back to openmpi_reduce_scatter() or to MPICH's choice if the operation does not commute.
 */
AlgorithmFunction openmpi_recursive_halving, mpich_recursive_halving;
/** The nearest partner first, in rank order; the result is at the rank with the reversed bits, which sends it
 * to its owner. */
AlgorithmFunction butterfly;
AlgorithmFunction
    permuted_butterfly;              /**< powers of two: permutes the blocks first, so that no result moves */
AlgorithmFunction openmpi_butterfly; /**< one of the two, depending on p */
/** permuted_butterfly(). For other p MPICH makes its own choice. */
AlgorithmFunction mpich_noncommutative;
/** In rank order. Each exchange carries all blocks but those that the sender's half owns; other ranks serve
 * ranks without a partner. */
AlgorithmFunction recursive_doubling;
ParameterisedFunction task_exchange; /**< MPICH's recursive exchange among `k` ranks, as a task graph */
///@}

} // namespace offbeat::algorithms::reduce_scatter
