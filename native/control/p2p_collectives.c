/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "control/p2p_collectives.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* Gathered data are sent in chunks of this size. */
enum { CHUNK_BYTES = 1 << 24 };

/* Polls for a message, every 20 us at first and every 1 ms after a while. */
static void wait_idly(int source, int tag, MPI_Comm comm) {
    int has_arrived = 0;
    for (long pause_ns = 20000;; pause_ns = pause_ns < 1000000 ? pause_ns * 5 / 4 : pause_ns) {
        MPI_Iprobe(source, tag, comm, &has_arrived, MPI_STATUS_IGNORE);
        if (has_arrived)
            return;
        nanosleep(&(struct timespec){.tv_nsec = pause_ns}, NULL);
    }
}

/* The parent of a rank is the rank with its lowest set bit cleared; its children differ in one lower bit. */
static void broadcast(void *data, size_t bytes, int waits_idly, MPI_Comm comm) {
    int rank, p, bit = 1;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &p);
    while (bit < p && !(rank & bit))
        bit <<= 1;
    if (rank) {
        if (waits_idly)
            wait_idly(rank - bit, OFFBEAT_TAG_BROADCAST, comm);
        MPI_Recv(data, (int)bytes, MPI_BYTE, rank - bit, OFFBEAT_TAG_BROADCAST, comm, MPI_STATUS_IGNORE);
    }
    for (bit >>= 1; bit; bit >>= 1)
        if (rank + bit < p)
            MPI_Send(data, (int)bytes, MPI_BYTE, rank + bit, OFFBEAT_TAG_BROADCAST, comm);
}

void offbeat_p2p_broadcast(void *data, size_t bytes, MPI_Comm comm) {
    broadcast(data, bytes, 0, comm);
}

void offbeat_p2p_broadcast_idle_wait(void *data, size_t bytes, MPI_Comm comm) {
    broadcast(data, bytes, 1, comm);
}

static int64_t reduced(int64_t a, int64_t b, offbeat_reduction reduction) {
    switch (reduction) {
    case OFFBEAT_MIN:
        return a < b ? a : b;
    case OFFBEAT_MAX:
        return a > b ? a : b;
    default:
        return a + b;
    }
}

void offbeat_p2p_reduce(int64_t *values, int count, offbeat_reduction reduction, MPI_Comm comm) {
    int rank, p;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &p);
    int64_t *received = malloc((size_t)count * sizeof *received);
    if (!received)
        offbeat_fatal("no memory for a reduction");
    for (int bit = 1; bit < p; bit <<= 1) {
        if (rank & bit) {
            MPI_Send(values, count, MPI_INT64_T, rank - bit, OFFBEAT_TAG_REDUCE, comm);
            break;
        }
        if (rank + bit >= p)
            continue;
        MPI_Recv(received, count, MPI_INT64_T, rank + bit, OFFBEAT_TAG_REDUCE, comm, MPI_STATUS_IGNORE);
        for (int i = 0; i < count; i++)
            values[i] = reduced(values[i], received[i], reduction);
    }
    free(received);
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
        unsigned char *received = receive_chunks(source, &length, comm);
        consume(source, received, length, context);
        free(received);
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
