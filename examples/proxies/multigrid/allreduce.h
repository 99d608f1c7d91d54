/* SPDX-License-Identifier: BSD-3-Clause */
/** @file allreduce.h  The sum of vectors of doubles over all processes, by several algorithms. */
#ifndef MULTIGRID_ALLREDUCE_H
#define MULTIGRID_ALLREDUCE_H

#include <mpi.h>

/** In the order of `allreduce_names`. All but the library's are made of point-to-point messages. */
typedef enum allreduce_algorithm {
    LIBRARY,            /**< MPI_Allreduce */
    RING,               /**< reduce-scatter and allgather on a ring: 2 (p - 1) messages one after the other */
    RECURSIVE_DOUBLING, /**< the whole vector, with partners at the distances 1, 2, 4, ... */
    REDUCE_BROADCAST,   /**< to rank 0 and back on binomial trees */
    RABENSEIFNER        /**< reduce-scatter by recursive halving, allgather by recursive doubling */
} allreduce_algorithm;

extern const char allreduce_names[];

/** Replaces a vector by the sum over all processes, which is the same at every process, bit by bit.
 * Collective. A block of a short vector may be empty; its message is sent all the same, since the order in
 * which processes wait for each other is a property of the algorithm. */
void allreduce(allreduce_algorithm algorithm, double *vector, int count, MPI_Comm comm);

/** Compares an algorithm with MPI_Allreduce, for vectors of several lengths. Collective.
 * @return whether all sums are equal */
int allreduce_is_right(allreduce_algorithm algorithm, MPI_Comm comm);

#endif
