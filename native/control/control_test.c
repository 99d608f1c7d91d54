/* SPDX-License-Identifier: BSD-3-Clause */
/** @file control_test.c  Tests of the collectives over point-to-point messages and of JSON strings. */
#define _GNU_SOURCE
#include "control/p2p_collectives.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Exactly two chunks of a gather, so that an empty third chunk must end it. */
enum { TWO_CHUNKS = 2 << 24 };

static int failures;

static void expect(int condition, const char *claim, int rank, int p) {
    if (condition)
        return;
    fprintf(stderr, "control_test: rank %d of %d: failed: %s\n", rank, p, claim);
    failures++;
}

static void broadcasts_reach_all_ranks(int rank, int p) {
    int64_t values[3] = {0};
    if (rank == 0)
        memcpy(values, (int64_t[]){p, 7, -1}, sizeof values);
    offbeat_p2p_broadcast(values, sizeof values, MPI_COMM_WORLD);
    expect(values[0] == p && values[1] == 7 && values[2] == -1, "a broadcast reaches all ranks", rank, p);
    int64_t value = rank == 0 ? 42 : 0;
    offbeat_p2p_broadcast_idle_wait(&value, sizeof value, MPI_COMM_WORLD);
    expect(value == 42, "a broadcast with idle waiting reaches all ranks", rank, p);
}

static void reductions_include_all_ranks(int rank, int p) {
    int64_t sum[2] = {rank, 1}, smallest = -rank, largest = rank;
    offbeat_p2p_reduce(sum, 2, OFFBEAT_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        expect(sum[0] == (int64_t)p * (p - 1) / 2 && sum[1] == p, "a sum includes every rank once", rank, p);
    offbeat_p2p_allreduce(&smallest, 1, OFFBEAT_MIN, MPI_COMM_WORLD);
    offbeat_p2p_allreduce(&largest, 1, OFFBEAT_MAX, MPI_COMM_WORLD);
    expect(smallest == -(p - 1) && largest == p - 1, "all ranks receive the smallest and the largest value",
           rank, p);
}

typedef struct progress {
    int next_rank, is_correct;
} progress;

/* Rank r sends r bytes of the value r. */
static void check_bytes(int rank, const void *data, size_t bytes, void *context) {
    progress *gather_progress = context;
    const unsigned char *values = data;
    gather_progress->is_correct &= rank == gather_progress->next_rank && bytes == (size_t)rank;
    for (size_t i = 0; i < bytes; i++)
        gather_progress->is_correct &= values[i] == rank;
    gather_progress->next_rank++;
}

static void gather_keeps_the_order_of_ranks(int rank, int p) {
    unsigned char data[256];
    memset(data, rank, sizeof data);
    progress gather_progress = {.is_correct = 1};
    offbeat_p2p_gather(data, (size_t)rank, check_bytes, &gather_progress, MPI_COMM_WORLD);
    if (rank == 0)
        expect(gather_progress.is_correct && gather_progress.next_rank == p,
               "rank 0 gets the bytes of every rank, in order", rank, p);
}

static void count_correct_ranks(int rank, const void *data, size_t bytes, void *context) {
    const unsigned char *values = data;
    size_t *correct = context;
    if (bytes != (rank == 1 ? TWO_CHUNKS : 0))
        return;
    *correct += 1;
    for (size_t i = 0; i < bytes; i++)
        if (values[i] != (unsigned char)(i % 251))
            *correct = 0;
}

static void gather_accepts_several_chunks(int rank, int p) {
    unsigned char *data = malloc(TWO_CHUNKS);
    size_t correct = 0;
    if (!data)
        return expect(0, "the test can allocate memory", rank, p);
    for (size_t i = 0; i < TWO_CHUNKS; i++)
        data[i] = (unsigned char)(i % 251);
    offbeat_p2p_gather(data, rank == 1 ? TWO_CHUNKS : 0, count_correct_ranks, &correct, MPI_COMM_WORLD);
    if (rank == 0)
        expect(correct == (size_t)p, "data of more than one chunk arrive completely", rank, p);
    free(data);
}

int main(int argc, char **argv) {
    int rank, p;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &p);
    broadcasts_reach_all_ranks(rank, p);
    reductions_include_all_ranks(rank, p);
    gather_keeps_the_order_of_ranks(rank, p);
    gather_accepts_several_chunks(rank, p);
    int64_t all_failures = failures;
    offbeat_p2p_allreduce(&all_failures, 1, OFFBEAT_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return all_failures ? 1 : 0;
}
