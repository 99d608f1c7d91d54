/* SPDX-License-Identifier: BSD-3-Clause */
/** @file transfer.h  The state of a transfer, for the files that implement approaches. */
#ifndef OFFBEAT_APPROACHES_TRANSFER_H
#define OFFBEAT_APPROACHES_TRANSFER_H

#include "approaches/approaches.h"

#include <offbeat/partitioned.h>
#include <stddef.h>

/** Whether mpi.h declares the partitioned calls of MPI 4. Open MPI 5 has them, and states version 3.1. */
#if MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)
#define OFFBEAT_HAS_PARTITIONED 1
#else
#define OFFBEAT_HAS_PARTITIONED 0
#endif

/** Each approach uses some of these. */
struct offbeat_transfer {
    const offbeat_approach *approach;
    offbeat_message message;
    int is_sender, peer;
    MPI_Comm comm;         /**< of the transfer's own messages: a duplicate of the message's communicator */
    MPI_Comm *lanes;       /**< one a thread; NULL: none */
    MPI_Win *windows;      /**< the receiver's data; NULL: none */
    int window_count;      /**< 1, or one a thread */
    MPI_Group peers;       /**< the other process; MPI_GROUP_NULL: none */
    MPI_Request *requests; /**< NULL: none */
    MPI_Status *statuses;  /**< GCC warns of MPI_STATUSES_IGNORE as MPICH 4.0 declares it */
    int request_count;
    offbeat_prequest offbeat_request; /**< a request of offbeat/partitioned.h; NULL: none */
};

/** Returns from the calling function if an MPI call failed. */
#define OFFBEAT_TRY(CALL)                                                                                    \
    do {                                                                                                     \
        int try_status = (CALL);                                                                             \
        if (try_status != MPI_SUCCESS)                                                                       \
            return try_status;                                                                               \
    } while (0)

static inline unsigned char *offbeat_partition_data(const offbeat_transfer *transfer, int partition) {
    return transfer->message.data + (size_t)partition * (size_t)transfer->message.partition_bytes;
}

/** Asks for each partition until it has arrived, as a program does that uses partitions when they arrive.
 * Yields between two questions if processes share cores (OFFBEAT_YIELD=1). @return an MPI error code */
int offbeat_poll_partitions(offbeat_transfer *transfer,
                            int (*ask)(offbeat_transfer *transfer, int partition, int *has_arrived));

extern const offbeat_approach offbeat_approach_single, offbeat_approach_many;
#if OFFBEAT_HAS_PARTITIONED
extern const offbeat_approach offbeat_approach_library, offbeat_approach_library_polled;
#endif
extern const offbeat_approach offbeat_approach_offbeat, offbeat_approach_learned, offbeat_approach_polled;
extern const offbeat_approach offbeat_approach_fence;
extern const offbeat_approach offbeat_approach_active_single, offbeat_approach_active_many;
extern const offbeat_approach offbeat_approach_passive_single, offbeat_approach_passive_many;

#endif
