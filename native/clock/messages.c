/* SPDX-License-Identifier: BSD-3-Clause */
#define _POSIX_C_SOURCE 200809L
#include "clock/messages.h"

#include "clock/sync_schedule.h"

#include <sched.h>

int offbeat_clock_duplicate(MPI_Comm comm, MPI_Comm *duplicate) {
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

int offbeat_clock_receive(void *buffer, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
                          int polls_before_yield) {
    if (polls_before_yield == OFFBEAT_CLOCK_NEVER_YIELD)
        return PMPI_Recv(buffer, count, type, source, tag, comm, MPI_STATUS_IGNORE);
    MPI_Request request;
    int rc = PMPI_Irecv(buffer, count, type, source, tag, comm, &request);
    int done = 0;
    for (int polls = 0; rc == MPI_SUCCESS && !done; polls++) {
        if (polls > polls_before_yield) {
            sched_yield();
            polls = polls_before_yield;
        }
        rc = PMPI_Test(&request, &done, MPI_STATUS_IGNORE);
    }
    return rc;
}

int offbeat_clock_tree_init(offbeat_clock_tree *tree, MPI_Comm comm, int polls_before_yield) {
    tree->comm = comm;
    tree->polls_before_yield = polls_before_yield;
    int rc = PMPI_Comm_rank(comm, &tree->rank);
    return rc == MPI_SUCCESS ? PMPI_Comm_size(comm, &tree->size) : rc;
}

static int receive(const offbeat_clock_tree *tree, int64_t *values, int count, int source, int tag) {
    return offbeat_clock_receive(values, count, MPI_INT64_T, source, tag, tree->comm,
                                 tree->polls_before_yield);
}

int offbeat_clock_tree_reduce_max(const offbeat_clock_tree *tree, int64_t *values, int count, int tag) {
    int span = offbeat_clock_tree_span(tree->rank, tree->size);
    for (int distance = 1; distance < span && tree->rank + distance < tree->size; distance *= 2) {
        int64_t received[OFFBEAT_CLOCK_MOST_TREE_VALUES];
        int rc = receive(tree, received, count, tree->rank + distance, tag);
        if (rc != MPI_SUCCESS)
            return rc;
        for (int i = 0; i < count; i++)
            values[i] = received[i] > values[i] ? received[i] : values[i];
    }
    if (tree->rank == 0)
        return MPI_SUCCESS;
    return PMPI_Send(values, count, MPI_INT64_T, offbeat_clock_tree_parent(tree->rank), tag, tree->comm);
}

int offbeat_clock_tree_broadcast(const offbeat_clock_tree *tree, int64_t *values, int count, int tag) {
    int rc = MPI_SUCCESS;
    if (tree->rank != 0)
        rc = receive(tree, values, count, offbeat_clock_tree_parent(tree->rank), tag);
    int distance = offbeat_clock_tree_span(tree->rank, tree->size) / 2;
    for (; rc == MPI_SUCCESS && distance > 0; distance /= 2)
        if (tree->rank + distance < tree->size)
            rc = PMPI_Send(values, count, MPI_INT64_T, tree->rank + distance, tag, tree->comm);
    return rc;
}
