/* SPDX-License-Identifier: BSD-3-Clause */
#define _POSIX_C_SOURCE 200809L
#include "clock/messages.h"

#include <sched.h>

int offbeat_duplicate(MPI_Comm comm, MPI_Comm *duplicate) {
    *duplicate = MPI_COMM_NULL;
    if (comm == MPI_COMM_NULL)
        return MPI_ERR_COMM;
    int is_inter;
    int rc = PMPI_Comm_test_inter(comm, &is_inter);
    if (rc != MPI_SUCCESS)
        return rc;
    if (is_inter)
        return MPI_ERR_COMM;
    rc = PMPI_Comm_dup(comm, duplicate);
    return rc != MPI_SUCCESS ? rc : PMPI_Comm_set_errhandler(*duplicate, MPI_ERRORS_RETURN);
}

int offbeat_receive(void *buffer, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
                    int patience) {
    if (patience == OFFBEAT_NEVER_YIELD)
        return PMPI_Recv(buffer, count, type, source, tag, comm, MPI_STATUS_IGNORE);
    MPI_Request request;
    int rc = PMPI_Irecv(buffer, count, type, source, tag, comm, &request);
    int done = 0;
    for (int polls = 0; rc == MPI_SUCCESS && !done; polls++) {
        if (polls > patience) {
            sched_yield();
            polls = patience;
        }
        rc = PMPI_Test(&request, &done, MPI_STATUS_IGNORE);
    }
    return rc;
}
