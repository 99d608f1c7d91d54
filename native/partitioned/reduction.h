/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file reduction.h
 * The local work of an allreduce: what a process adds to what came from the left.
 */
#ifndef OFFBEAT_PARTITIONED_REDUCTION_H
#define OFFBEAT_PARTITIONED_REDUCTION_H

#include <mpi.h>
#include <stdint.h>

typedef struct offbeat_partitioned_reduction {
    MPI_Op op;
    int may_swap; /**< the own contribution may be the left operand, which saves copies */
    MPI_Datatype datatype;
    int64_t element_bytes, extent;
    int is_dense;     /**< elements follow each other without gaps */
    const char *send; /**< the own contribution; NULL: it is in the result's buffer (MPI_IN_PLACE) */
    char *result;
    char *partial; /**< for all elements: what comes from the left, and then the sum */
    char *scratch; /**< for the elements of one message */
    void *partial_memory, *scratch_memory;
} offbeat_partitioned_reduction;

/** Allocates the buffers. @param elements of the whole buffer @param largest elements of the largest message
 * @return an MPI error code */
int offbeat_partitioned_reduction_allocate(offbeat_partitioned_reduction *reduction, int64_t elements,
                                           int64_t largest);

void offbeat_partitioned_reduction_free(offbeat_partitioned_reduction *reduction);

/**
 * Adds the own contribution for some elements to what came from the left.
 * @param is_first nothing came from the left
 * @param[out] sum the array of all elements in which the sum of these is
 */
int offbeat_partitioned_reduction_pass(const offbeat_partitioned_reduction *reduction, int64_t first,
                                       int64_t count, int is_first, char **sum);

/** As above; the sum is the result, in its buffer. */
int offbeat_partitioned_reduction_end(const offbeat_partitioned_reduction *reduction, int64_t first,
                                      int64_t count, int is_first);

#endif
