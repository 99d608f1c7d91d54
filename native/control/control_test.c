/* SPDX-License-Identifier: BSD-3-Clause */
/** @file control_test.c  Broadcast, reduction and gathering reach everybody; text survives as JSON. */
#define _GNU_SOURCE
#include "control/json.h"
#include "control/tree.h"

#include <stdlib.h>
#include <string.h>

enum { LONG_BYTES = 2 << 24 };

static int failures;

static void expect(int holds, const char *sentence, int rank, int p) {
    if (holds)
        return;
    fprintf(stderr, "control_test: rank %d of %d: not true: %s\n", rank, p, sentence);
    failures++;
}

static void broadcast_reaches_everybody(int rank, int p) {
    int64_t words[3] = {0};
    if (rank == 0)
        memcpy(words, (int64_t[]){p, 7, -1}, sizeof words);
    offbeat_tree_broadcast(words, sizeof words, MPI_COMM_WORLD);
    expect(words[0] == p && words[1] == 7 && words[2] == -1, "a broadcast reaches everybody", rank, p);
    int64_t patient = rank == 0 ? 42 : 0;
    offbeat_tree_broadcast_patiently(&patient, sizeof patient, MPI_COMM_WORLD);
    expect(patient == 42, "a patient broadcast reaches everybody", rank, p);
}

static void reductions_combine_all(int rank, int p) {
    int64_t sum[2] = {rank, 1}, least = -rank, most = rank;
    offbeat_tree_reduce(sum, 2, OFFBEAT_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        expect(sum[0] == (int64_t)p * (p - 1) / 2 && sum[1] == p, "a sum has every process once", rank, p);
    offbeat_tree_allreduce(&least, 1, OFFBEAT_MIN, MPI_COMM_WORLD);
    offbeat_tree_allreduce(&most, 1, OFFBEAT_MAX, MPI_COMM_WORLD);
    expect(least == -(p - 1) && most == p - 1, "everybody learns the smallest and the largest", rank, p);
}

typedef struct gathered {
    int next, whole;
} gathered;

/* Rank r sends r bytes that all hold r. */
static void take(int rank, const void *data, size_t bytes, void *to) {
    gathered *so_far = to;
    const unsigned char *bytes_of_rank = data;
    so_far->whole = so_far->whole && rank == so_far->next && bytes == (size_t)rank;
    for (size_t i = 0; i < bytes; i++)
        so_far->whole = so_far->whole && bytes_of_rank[i] == rank;
    so_far->next++;
}

static void gathering_keeps_the_order(int rank, int p) {
    unsigned char mine[256];
    memset(mine, rank, sizeof mine);
    gathered result = {.whole = 1};
    offbeat_gather(mine, (size_t)rank, take, &result, MPI_COMM_WORLD);
    if (rank == 0)
        expect(result.whole && result.next == p, "rank 0 gets the bytes of every rank, in order", rank, p);
}

static void count_right(int rank, const void *data, size_t bytes, void *to) {
    const unsigned char *values = data;
    size_t *right = to;
    if (bytes != (rank == 1 ? LONG_BYTES : 0))
        return;
    *right += 1;
    for (size_t i = 0; i < bytes; i++)
        if (values[i] != (unsigned char)(i % 251))
            *right = 0;
}

/* Just as long as two pieces of a message, so that an empty one must end them. */
static void gathering_takes_any_length(int rank, int p) {
    unsigned char *mine = malloc(LONG_BYTES);
    size_t right = 0;
    if (!mine)
        return expect(0, "there is memory for the test", rank, p);
    for (size_t i = 0; i < LONG_BYTES; i++)
        mine[i] = (unsigned char)(i % 251);
    offbeat_gather(mine, rank == 1 ? LONG_BYTES : 0, count_right, &right, MPI_COMM_WORLD);
    if (rank == 0)
        expect(right == (size_t)p, "more bytes than a message takes arrive whole", rank, p);
    free(mine);
}

static void text_survives_as_json(int rank, int p) {
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    offbeat_json_text("a \"b\"\\\n\t\x01\xC3", out);
    fclose(out);
    expect(strcmp(text, "\"a \\\"b\\\"\\\\\\n\\u0009\\u0001?\"") == 0,
           "quotes and control characters are escaped", rank, p);
    free(text);
}

int main(int argc, char **argv) {
    int rank, p;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &p);
    broadcast_reaches_everybody(rank, p);
    reductions_combine_all(rank, p);
    gathering_keeps_the_order(rank, p);
    gathering_takes_any_length(rank, p);
    text_survives_as_json(rank, p);
    int64_t all = failures;
    offbeat_tree_allreduce(&all, 1, OFFBEAT_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return all ? 1 : 0;
}
