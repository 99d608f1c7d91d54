/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Functions for messages that block. MPI lets a program wait in them for a process that waits for a
 * partitioned send to complete. If a started receive has no setup yet, messages are exchanged by their
 * nonblocking functions, and the receive is progressed meanwhile: this works at each thread level. For other
 * functions that block, there is the thread of wait.h.
 */
#include "partitioned/complete.h"
#include "partitioned/errors.h"
#include "partitioned/transfer.h"
#include "partitioned_preload/next.h"
#include "partitioned_preload/wait.h"

#include <limits.h>
#include <stdlib.h>

int MPI_Recv(void *buffer, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
             MPI_Status *status) {
    MPI_Request request;
    if (!offbeat_preload_must_progress())
        return NEXT(MPI_Recv)(buffer, count, datatype, source, tag, comm, status);
    int rc = NEXT(MPI_Irecv)(buffer, count, datatype, source, tag, comm, &request);
    return rc == MPI_SUCCESS ? offbeat_preload_wait(&request, status) : rc;
}

/* Parameter lists cannot be put in parentheses of their own. */
// NOLINTBEGIN(bugprone-macro-parentheses)

#define SEND(symbol, nonblocking)                                                                            \
    int symbol(const void *buffer, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm) {     \
        MPI_Request request;                                                                                 \
        if (!offbeat_preload_must_progress())                                                                \
            return NEXT(symbol)(buffer, count, datatype, dest, tag, comm);                                   \
        int rc = NEXT(nonblocking)(buffer, count, datatype, dest, tag, comm, &request);                      \
        return rc == MPI_SUCCESS ? offbeat_preload_wait(&request, MPI_STATUS_IGNORE) : rc;                   \
    }

SEND(MPI_Send, MPI_Isend)
SEND(MPI_Ssend, MPI_Issend)
SEND(MPI_Rsend, MPI_Irsend)

// NOLINTEND(bugprone-macro-parentheses)

int MPI_Mrecv(void *buffer, int count, MPI_Datatype datatype, MPI_Message *message, MPI_Status *status) {
    MPI_Request request;
    if (!offbeat_preload_must_progress())
        return NEXT(MPI_Mrecv)(buffer, count, datatype, message, status);
    int rc = NEXT(MPI_Imrecv)(buffer, count, datatype, message, &request);
    return rc == MPI_SUCCESS ? offbeat_preload_wait(&request, status) : rc;
}

int MPI_Sendrecv(const void *send_buffer, int send_count, MPI_Datatype send_type, int dest, int send_tag,
                 void *receive_buffer, int receive_count, MPI_Datatype receive_type, int source,
                 int receive_tag, MPI_Comm comm, MPI_Status *status) {
    MPI_Request receive, send;
    if (!offbeat_preload_must_progress())
        return NEXT(MPI_Sendrecv)(send_buffer, send_count, send_type, dest, send_tag, receive_buffer,
                                  receive_count, receive_type, source, receive_tag, comm, status);
    int rc =
        NEXT(MPI_Irecv)(receive_buffer, receive_count, receive_type, source, receive_tag, comm, &receive);
    if (rc != MPI_SUCCESS)
        return rc;
    rc = NEXT(MPI_Isend)(send_buffer, send_count, send_type, dest, send_tag, comm, &send);
    if (rc != MPI_SUCCESS) {
        offbeat_partitioned_cancel(&receive);
        return rc;
    }
    rc = offbeat_preload_wait(&receive, status);
    return rc == MPI_SUCCESS ? offbeat_preload_wait(&send, MPI_STATUS_IGNORE) : rc;
}

/* Whether int can hold the size of packed elements, with room for what a library adds. */
static int can_pack(int count, MPI_Datatype datatype) {
    MPI_Count bytes;
    return PMPI_Type_size_x(datatype, &bytes) == MPI_SUCCESS && bytes >= 0 && count >= 0 &&
           (count == 0 || bytes <= INT_MAX / 2 / count);
}

/* The packed elements of a buffer, which the caller frees. @return an MPI error code */
static int pack(const void *buffer, int count, MPI_Datatype datatype, MPI_Comm comm, void **packed_data,
                int *bytes) {
    int capacity;
    *packed_data = NULL;
    *bytes = 0;
    int rc = PMPI_Pack_size(count, datatype, comm, &capacity);
    if (rc != MPI_SUCCESS)
        return rc;
    *packed_data = malloc((size_t)capacity + 1);
    if (*packed_data == NULL)
        return offbeat_partitioned_raise(comm, MPI_ERR_NO_MEM);
    return PMPI_Pack(buffer, count, datatype, *packed_data, capacity, bytes, comm);
}

int MPI_Sendrecv_replace(void *buffer, int count, MPI_Datatype datatype, int dest, int send_tag, int source,
                         int receive_tag, MPI_Comm comm, MPI_Status *status) {
    MPI_Request receive, send;
    void *packed_data;
    int bytes;
    if (!offbeat_preload_must_progress() || !can_pack(count, datatype))
        return NEXT(MPI_Sendrecv_replace)(buffer, count, datatype, dest, send_tag, source, receive_tag, comm,
                                          status);
    int rc = pack(buffer, count, datatype, comm, &packed_data, &bytes);
    if (rc == MPI_SUCCESS)
        rc = NEXT(MPI_Irecv)(buffer, count, datatype, source, receive_tag, comm, &receive);
    if (rc != MPI_SUCCESS) {
        free(packed_data);
        return rc;
    }
    rc = NEXT(MPI_Isend)(packed_data, bytes, MPI_PACKED, dest, send_tag, comm, &send);
    if (rc != MPI_SUCCESS) {
        offbeat_partitioned_cancel(&receive);
        free(packed_data);
        return rc;
    }
    rc = offbeat_preload_wait(&receive, status);
    if (rc == MPI_SUCCESS)
        rc = offbeat_preload_wait(&send, MPI_STATUS_IGNORE);
    if (rc == MPI_SUCCESS) /* else MPI may still read the packed elements */
        free(packed_data);
    return rc;
}

int MPI_Probe(int source, int tag, MPI_Comm comm, MPI_Status *status) {
    int rounds = 0, has_arrived = 0;
    while (offbeat_preload_must_progress()) {
        int rc = NEXT(MPI_Iprobe)(source, tag, comm, &has_arrived, status);
        if (has_arrived || rc != MPI_SUCCESS)
            return rc;
        offbeat_partitioned_between_rounds(&rounds);
    }
    return NEXT(MPI_Probe)(source, tag, comm, status);
}

int MPI_Mprobe(int source, int tag, MPI_Comm comm, MPI_Message *message, MPI_Status *status) {
    int rounds = 0, has_arrived = 0;
    while (offbeat_preload_must_progress()) {
        int rc = NEXT(MPI_Improbe)(source, tag, comm, &has_arrived, message, status);
        if (has_arrived || rc != MPI_SUCCESS)
            return rc;
        offbeat_partitioned_between_rounds(&rounds);
    }
    return NEXT(MPI_Mprobe)(source, tag, comm, message, status);
}
