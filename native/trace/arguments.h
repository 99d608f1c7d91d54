/* SPDX-License-Identifier: BSD-3-Clause */
/** @file arguments.h  The arguments of a collective, whatever language they came from. */
#ifndef OFFBEAT_TRACE_ARGUMENTS_H
#define OFFBEAT_TRACE_ARGUMENTS_H

#include <mpi.h>

/** In which way arrays are given. */
typedef struct offbeat_arrays {
    int count_bytes;  /**< of a count: of int or of MPI_Count */
    int are_fortrans; /**< types are Fortran's handles */
} offbeat_arrays;

/** What a shape doesn't have is 0, NULL or MPI's null handle. */
typedef struct offbeat_arguments {
    offbeat_arrays arrays;
    int is_sent_in_place, is_got_in_place; /**< MPI_IN_PLACE was given for a buffer */
    MPI_Count sent_count, got_count;
    const void *sent_counts, *got_counts;
    MPI_Datatype sent_type, got_type;
    const void *sent_types, *got_types;
    MPI_Op operation;
    int root;
} offbeat_arguments;

#endif
