/* SPDX-License-Identifier: BSD-3-Clause */
#define _POSIX_C_SOURCE 200809L
#include "clock/messages.h"

#include "clock/sync_schedule.h"

#include <sched.h>
#include <stdlib.h>
#include <time.h>

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

/* Polls for a message, every 20 us at first and every 1 ms after a while. */
static int sleep_until_message(int source, int tag, MPI_Comm comm) {
    int has_arrived = 0;
    int rc = PMPI_Iprobe(source, tag, comm, &has_arrived, MPI_STATUS_IGNORE);
    for (long pause_ns = 20000; rc == MPI_SUCCESS && !has_arrived;
         pause_ns = pause_ns < 1000000 ? pause_ns * 5 / 4 : pause_ns) {
        nanosleep(&(struct timespec){.tv_nsec = pause_ns}, NULL);
        rc = PMPI_Iprobe(source, tag, comm, &has_arrived, MPI_STATUS_IGNORE);
    }
    return rc;
}

int offbeat_clock_receive(void *buffer, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
                          int polls_before_yield) {
    int rc = MPI_SUCCESS;
    if (polls_before_yield == OFFBEAT_CLOCK_SLEEP)
        rc = sleep_until_message(source, tag, comm);
    if (polls_before_yield < 0)
        return rc == MPI_SUCCESS ? PMPI_Recv(buffer, count, type, source, tag, comm, MPI_STATUS_IGNORE) : rc;
    MPI_Request request;
    rc = PMPI_Irecv(buffer, count, type, source, tag, comm, &request);
    int is_done = 0;
    for (int polls = 0; rc == MPI_SUCCESS && !is_done; polls++) {
        if (polls > polls_before_yield) {
            sched_yield();
            polls = polls_before_yield;
        }
        rc = PMPI_Test(&request, &is_done, MPI_STATUS_IGNORE);
    }
    return rc;
}

int offbeat_clock_tree_init(offbeat_clock_tree *tree, MPI_Comm comm, int polls_before_yield) {
    tree->comm = comm;
    tree->polls_before_yield = polls_before_yield;
    int rc = PMPI_Comm_rank(comm, &tree->rank);
    return rc == MPI_SUCCESS ? PMPI_Comm_size(comm, &tree->size) : rc;
}

static int64_t reduce_pair(int64_t a, int64_t b, offbeat_reduction reduction) {
    switch (reduction) {
    case OFFBEAT_MIN:
        return a < b ? a : b;
    case OFFBEAT_MAX:
        return a > b ? a : b;
    default:
        return a + b;
    }
}

int offbeat_clock_tree_reduce(const offbeat_clock_tree *tree, int64_t *values, int count,
                              offbeat_reduction reduction, int tag) {
    enum { STACK_VALUES = 4 }; /* the harmonised start must not allocate memory */
    int64_t stack_buffer[STACK_VALUES],
        *receive_buffer =
            count <= STACK_VALUES ? stack_buffer : malloc((size_t)count * sizeof *receive_buffer);
    int rc = receive_buffer != NULL ? MPI_SUCCESS : MPI_ERR_NO_MEM;
    int span = offbeat_clock_tree_span(tree->rank, tree->size);
    for (int distance = 1; rc == MPI_SUCCESS && distance < span && tree->rank + distance < tree->size;
         distance *= 2) {
        rc = offbeat_clock_receive(receive_buffer, count, MPI_INT64_T, tree->rank + distance, tag, tree->comm,
                                   tree->polls_before_yield);
        for (int i = 0; rc == MPI_SUCCESS && i < count; i++)
            values[i] = reduce_pair(values[i], receive_buffer[i], reduction);
    }
    if (receive_buffer != stack_buffer)
        free(receive_buffer);
    if (rc != MPI_SUCCESS || tree->rank == 0)
        return rc;
    return PMPI_Send(values, count, MPI_INT64_T, offbeat_clock_tree_parent(tree->rank), tag, tree->comm);
}

int offbeat_clock_tree_broadcast(const offbeat_clock_tree *tree, void *data, int count, MPI_Datatype type,
                                 int tag) {
    int rc = MPI_SUCCESS;
    if (tree->rank != 0)
        rc = offbeat_clock_receive(data, count, type, offbeat_clock_tree_parent(tree->rank), tag, tree->comm,
                                   tree->polls_before_yield);
    int distance = offbeat_clock_tree_span(tree->rank, tree->size) / 2;
    for (; rc == MPI_SUCCESS && distance > 0; distance /= 2)
        if (tree->rank + distance < tree->size)
            rc = PMPI_Send(data, count, type, tree->rank + distance, tag, tree->comm);
    return rc;
}
