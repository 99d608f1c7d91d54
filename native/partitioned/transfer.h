/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file transfer.h
 * Nonblocking messages of any number of elements: MPI 3 counts with an int.
 */
#ifndef OFFBEAT_PARTITIONED_TRANSFER_H
#define OFFBEAT_PARTITIONED_TRANSFER_H

#include <mpi.h>
#include <stdint.h>

/** Elements of a buffer. */
typedef struct offbeat_partitioned_elements {
    char *first;
    int64_t count;
    MPI_Datatype datatype;
} offbeat_partitioned_elements;

int offbeat_partitioned_isend(offbeat_partitioned_elements elements, int dest, int tag, MPI_Comm comm,
                              MPI_Request *request);
int offbeat_partitioned_irecv(offbeat_partitioned_elements elements, int source, int tag, MPI_Comm comm,
                              MPI_Request *request);

/** Ends a receive: cancels it, or waits for it if it is matched. Does nothing for MPI_REQUEST_NULL. */
void offbeat_partitioned_cancel(MPI_Request *receive);

/** Copies packed bytes into elements of at most 2^31 - 1 bytes each; MPI_ERR_COUNT for larger ones. */
int offbeat_partitioned_unpack(const char *packed_data, int64_t element_bytes, int64_t extent,
                               offbeat_partitioned_elements elements, MPI_Comm comm);

#endif
