/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/p2p_collectives.h"

#include <stdio.h>
#include <stdlib.h>

/* Gathered data are sent in chunks of this size. */
enum { CHUNK_BYTES = 1 << 24 };

/* MPI errors are fatal, so that their codes are ignored here and below. */
static offbeat_clock_tree tree_over(MPI_Comm comm, int polls_before_yield) {
    offbeat_clock_tree tree;
    offbeat_clock_tree_init(&tree, comm, polls_before_yield);
    return tree;
}

void offbeat_p2p_broadcast(void *data, size_t bytes, MPI_Comm comm) {
    const offbeat_clock_tree tree = tree_over(comm, OFFBEAT_CLOCK_NEVER_YIELD);
    offbeat_clock_tree_broadcast(&tree, data, (int)bytes, MPI_BYTE, OFFBEAT_TAG_BROADCAST);
}

void offbeat_p2p_broadcast_idle_wait(void *data, size_t bytes, MPI_Comm comm) {
    const offbeat_clock_tree tree = tree_over(comm, OFFBEAT_CLOCK_SLEEP);
    offbeat_clock_tree_broadcast(&tree, data, (int)bytes, MPI_BYTE, OFFBEAT_TAG_BROADCAST);
}

void offbeat_p2p_reduce(int64_t *values, int count, offbeat_reduction reduction, MPI_Comm comm) {
    const offbeat_clock_tree tree = tree_over(comm, OFFBEAT_CLOCK_NEVER_YIELD);
    if (offbeat_clock_tree_reduce(&tree, values, count, reduction, OFFBEAT_TAG_REDUCE) != MPI_SUCCESS)
        offbeat_fatal("no memory for a reduction");
}

void offbeat_p2p_allreduce(int64_t *values, int count, offbeat_reduction reduction, MPI_Comm comm) {
    offbeat_p2p_reduce(values, count, reduction, comm);
    offbeat_p2p_broadcast(values, (size_t)count * sizeof *values, comm);
}

/* MPI counts in int, so the data are sent in chunks; the last chunk is a partial one, and may be empty. */
static void send_chunks(const unsigned char *data, size_t bytes, MPI_Comm comm) {
    for (;; data += CHUNK_BYTES, bytes -= CHUNK_BYTES) {
        int is_last = bytes < CHUNK_BYTES;
        MPI_Send(data, is_last ? (int)bytes : CHUNK_BYTES, MPI_BYTE, 0, OFFBEAT_TAG_GATHER, comm);
        if (is_last)
            return;
    }
}

/* Receives the data of send_chunks; the caller frees them. */
static unsigned char *receive_chunks(int source, size_t *bytes, MPI_Comm comm) {
    unsigned char *data = NULL;
    int length;
    *bytes = 0;
    do {
        MPI_Status status;
        MPI_Probe(source, OFFBEAT_TAG_GATHER, comm, &status);
        MPI_Get_count(&status, MPI_BYTE, &length);
        unsigned char *longer = realloc(data, *bytes + (size_t)length + 1); /* never of size 0 */
        if (!longer)
            offbeat_fatal("no memory for the data of another process");
        data = longer;
        MPI_Recv(data + *bytes, length, MPI_BYTE, source, OFFBEAT_TAG_GATHER, comm, MPI_STATUS_IGNORE);
        *bytes += (size_t)length;
    } while (length == CHUNK_BYTES);
    return data;
}

void offbeat_p2p_gather(const void *data, size_t bytes,
                        void (*consume)(int rank, const void *data, size_t bytes, void *context),
                        void *context, MPI_Comm comm) {
    int rank, p;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &p);
    if (rank) {
        send_chunks(data, bytes, comm);
        return;
    }
    consume(0, data, bytes, context);
    for (int source = 1; source < p; source++) {
        size_t length;
        unsigned char *received_data = receive_chunks(source, &length, comm);
        consume(source, received_data, length, context);
        free(received_data);
    }
}

noreturn void offbeat_fatal(const char *why) {
    int rank = -1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    fprintf(stderr, "offbeat-driver: fatal error on rank %d: %s\n", rank, why);
    fflush(stderr);
    MPI_Abort(MPI_COMM_WORLD, 1);
    abort(); /* MPI_Abort is not declared noreturn */
}
