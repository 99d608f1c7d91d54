/* SPDX-License-Identifier: BSD-3-Clause */
/** @file tree.c  Broadcast, reduction and gathering over point-to-point messages. */
#define _GNU_SOURCE
#include "control/tree.h"

#include "control/abandon.h"

#include <stdlib.h>
#include <time.h>

enum { PIECE_BYTES = 1 << 24 };

static void sleep_ns(long ns) {
    nanosleep(&(struct timespec){.tv_nsec = ns}, NULL);
}

/* Looks ever more seldom, from 20 us to 1 ms apart. */
static void await_message(int from, int tag, MPI_Comm comm) {
    int there = 0;
    for (long pause_ns = 20000;; pause_ns = pause_ns < 1000000 ? pause_ns * 5 / 4 : pause_ns) {
        MPI_Iprobe(from, tag, comm, &there, MPI_STATUS_IGNORE);
        if (there)
            return;
        sleep_ns(pause_ns);
    }
}

/* The parent of a rank in the binomial tree loses its lowest set bit; its children are reached over the lower
 * bits. */
static void broadcast(void *data, size_t bytes, int patient, MPI_Comm comm) {
    int rank, p, bit = 1;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &p);
    while (bit < p && !(rank & bit))
        bit <<= 1;
    if (rank) {
        if (patient)
            await_message(rank - bit, OFFBEAT_TAG_DOWN, comm);
        MPI_Recv(data, (int)bytes, MPI_BYTE, rank - bit, OFFBEAT_TAG_DOWN, comm, MPI_STATUS_IGNORE);
    }
    for (bit >>= 1; bit; bit >>= 1)
        if (rank + bit < p)
            MPI_Send(data, (int)bytes, MPI_BYTE, rank + bit, OFFBEAT_TAG_DOWN, comm);
}

void offbeat_tree_broadcast(void *data, size_t bytes, MPI_Comm comm) {
    broadcast(data, bytes, 0, comm);
}

void offbeat_tree_broadcast_patiently(void *data, size_t bytes, MPI_Comm comm) {
    broadcast(data, bytes, 1, comm);
}

static int64_t combined(int64_t a, int64_t b, offbeat_combine combine) {
    switch (combine) {
    case OFFBEAT_MIN:
        return a < b ? a : b;
    case OFFBEAT_MAX:
        return a > b ? a : b;
    default:
        return a + b;
    }
}

void offbeat_tree_reduce(int64_t *values, int count, offbeat_combine combine, MPI_Comm comm) {
    int rank, p;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &p);
    int64_t *theirs = malloc((size_t)count * sizeof *theirs);
    if (!theirs)
        offbeat_abandon("no memory to combine values");
    for (int bit = 1; bit < p; bit <<= 1) {
        if (rank & bit) {
            MPI_Send(values, count, MPI_INT64_T, rank - bit, OFFBEAT_TAG_UP, comm);
            break;
        }
        if (rank + bit >= p)
            continue;
        MPI_Recv(theirs, count, MPI_INT64_T, rank + bit, OFFBEAT_TAG_UP, comm, MPI_STATUS_IGNORE);
        for (int i = 0; i < count; i++)
            values[i] = combined(values[i], theirs[i], combine);
    }
    free(theirs);
}

void offbeat_tree_allreduce(int64_t *values, int count, offbeat_combine combine, MPI_Comm comm) {
    offbeat_tree_reduce(values, count, combine, comm);
    offbeat_tree_broadcast(values, (size_t)count * sizeof *values, comm);
}

/* The bytes in pieces, as MPI counts in ints: all are full but the last, which may be empty. */
static void send_pieces(const unsigned char *data, size_t bytes, MPI_Comm comm) {
    for (;; data += PIECE_BYTES, bytes -= PIECE_BYTES) {
        int is_last = bytes < PIECE_BYTES;
        MPI_Send(data, is_last ? (int)bytes : PIECE_BYTES, MPI_BYTE, 0, OFFBEAT_TAG_GATHER, comm);
        if (is_last)
            return;
    }
}

/* What send_pieces sent; the caller frees it. */
static unsigned char *receive_pieces(int from, size_t *bytes, MPI_Comm comm) {
    unsigned char *data = NULL;
    int length;
    *bytes = 0;
    do {
        MPI_Status status;
        MPI_Probe(from, OFFBEAT_TAG_GATHER, comm, &status);
        MPI_Get_count(&status, MPI_BYTE, &length);
        unsigned char *longer = realloc(data, *bytes + (size_t)length + 1); /* never of no size */
        if (!longer)
            offbeat_abandon("no memory for what another process has to say");
        data = longer;
        MPI_Recv(data + *bytes, length, MPI_BYTE, from, OFFBEAT_TAG_GATHER, comm, MPI_STATUS_IGNORE);
        *bytes += (size_t)length;
    } while (length == PIECE_BYTES);
    return data;
}

void offbeat_gather(const void *data, size_t bytes,
                    void (*received)(int rank, const void *data, size_t bytes, void *to), void *to,
                    MPI_Comm comm) {
    int rank, p;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &p);
    if (rank) {
        send_pieces(data, bytes, comm);
        return;
    }
    received(0, data, bytes, to);
    for (int from = 1; from < p; from++) {
        size_t length;
        unsigned char *theirs = receive_pieces(from, &length, comm);
        received(from, theirs, length, to);
        free(theirs);
    }
}
