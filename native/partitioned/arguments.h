/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file arguments.h
 * The arguments of an initialisation: what sends, receives and collectives check and keep of them.
 */
#ifndef OFFBEAT_PARTITIONED_ARGUMENTS_H
#define OFFBEAT_PARTITIONED_ARGUMENTS_H

#include "partitioned/request.h"

typedef struct offbeat_partitioned_arguments {
    const char *function;
    int can_be_ready; /**< its partitions can be marked as ready */
    void *buffer;
    int partitions;
    MPI_Count count;
    MPI_Datatype datatype;
    MPI_Comm comm;
} offbeat_partitioned_arguments;

/** The state of the communicator, which must be attached; the request becomes null. @return an error code,
 * which was raised */
int offbeat_partitioned_find_comm(const offbeat_partitioned_arguments *arguments,
                                  offbeat_partitioned_comm **comm, offbeat_prequest *request);

/** Checks what describes the buffer. @return an error code, which was raised */
int offbeat_partitioned_check_elements(const offbeat_partitioned_arguments *arguments);

/** Whether MPI defines the datatype. */
int offbeat_partitioned_is_predefined(MPI_Datatype datatype);

/** Creates a request of a kind, with what is equal for all kinds. @param[out] result NULL after an error
 * @return an MPI error code */
int offbeat_partitioned_describe(const offbeat_partitioned_arguments *arguments,
                                 offbeat_partitioned_comm *comm,
                                 const offbeat_partitioned_operations *operations,
                                 offbeat_partitioned_request **result);

#endif
