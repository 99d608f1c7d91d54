/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Times of partitioned sends from rank 0 to rank 1, by approaches that take turns; both on one machine, where
 * CLOCK_MONOTONIC is one clock. partitioned_ratios.py builds it with native/approaches, runs it and prints
 * ratios.
 *
 * Usage: partitioned_ratios REPETITIONS LEVEL. LEVEL is the thread level: `multiple`, or `serialized`, which
 * measures 1 KiB only. Rank 1 prints lines "APPROACH BYTES PARTITIONS DELAY_NS TIMES_NS...": from the start
 * until all data arrived, less the delay of the last partition; and lines "cost WHAT TIMES_NS..." for single
 * calls. Approaches are those of native/approaches; offbeat:K is offbeat's with the value K of
 * OFFBEAT_PARTITIONED_MESSAGES.
 */
#define _POSIX_C_SOURCE 200809L
#include "approaches/transfer.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TAG = 1000, WARM_UP = 12 };

static int rank, repetitions;

/* A transfer by one approach. */
typedef struct transfer {
    const char *name;
    offbeat_transfer *open;
    offbeat_message message;
} transfer;

static int64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void check(int is_right, const char *what) {
    if (is_right)
        return;
    fprintf(stderr, "partitioned_ratios: %s\n", what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void try(int status) {
    check(status == MPI_SUCCESS, "an MPI call failed");
}

/* @return 0 when the MPI library does not have the approach */
static int init(transfer *of, const char *name, int bytes, int partitions) {
    const char *messages = strchr(name, ':');
    const offbeat_approach *approach = offbeat_approach_find(messages == NULL ? name : "offbeat");
    if (approach == NULL)
        return 0;
    char *data = malloc((size_t)bytes);
    memset(data, 1, (size_t)bytes); /* the first iteration must not wait for the kernel's pages */
    of->name = name;
    of->message = (offbeat_message){MPI_COMM_WORLD, data, partitions, bytes / partitions, 1};
    if (messages != NULL)
        setenv("OFFBEAT_PARTITIONED_MESSAGES", messages + 1, 1);
    try(offbeat_transfer_open(approach, &of->message, &of->open));
    unsetenv("OFFBEAT_PARTITIONED_MESSAGES");
    return 1;
}

static void discard(transfer *of) {
    try(offbeat_transfer_close(&of->open));
    free(of->message.data);
}

/* --- measuring --- */

/* One iteration. @return at rank 0 when it began, at rank 1 when all data had arrived */
static int64_t iterate(transfer *of, int iteration, int64_t delay_ns) {
    const offbeat_message *message = &of->message;
    if (rank == 0)
        memset(message->data, iteration, (size_t)message->partitions * (size_t)message->partition_bytes);
    MPI_Barrier(MPI_COMM_WORLD);
    const int64_t began_ns = now_ns();
    try(offbeat_transfer_start(of->open));
    for (int i = 0; i < message->partitions && rank == 0; i++) {
        while (i == message->partitions - 1 && now_ns() < began_ns + delay_ns)
            ;
        try(offbeat_transfer_ready(of->open, i));
    }
    try(offbeat_transfer_wait(of->open));
    const int64_t ended_ns = now_ns();
    for (int i = 0; i < message->partitions && rank == 1; i++)
        check(message->data[i * message->partition_bytes] == (unsigned char)iteration, "wrong data arrived");
    return rank == 0 ? began_ns : ended_ns;
}

/* Rank 1 prints the times of a transfer. */
static void print_times(const transfer *of, int64_t delay_ns, const int64_t *stamps) {
    int64_t *began = malloc((size_t)repetitions * sizeof *began);
    if (rank == 0)
        MPI_Send(stamps, repetitions, MPI_INT64_T, 1, TAG, MPI_COMM_WORLD);
    else
        MPI_Recv(began, repetitions, MPI_INT64_T, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 1) {
        printf("%s %d %d %lld", of->name, of->message.partitions * of->message.partition_bytes,
               of->message.partitions, (long long)delay_ns);
        for (int i = 0; i < repetitions; i++)
            printf(" %lld", (long long)(stamps[i] - began[i] - delay_ns));
        printf("\n");
    }
    free(began);
}

/* Approaches take turns; the first iterations of each are not counted. NULL ends the names. */
static void compare(const char *const names[], int bytes, int partitions, int64_t delay_ns) {
    enum { MOST = 16 };
    transfer transfers[MOST];
    int64_t *stamps = malloc(MOST * (size_t)repetitions * sizeof *stamps);
    int count = 0;
    for (int i = 0; names[i] != NULL; i++)
        count += init(&transfers[count], names[i], bytes, partitions);
    for (int k = -WARM_UP; k < repetitions; k++)
        for (int i = 0; i < count; i++) {
            int64_t stamp = iterate(&transfers[i], k, delay_ns);
            if (k >= 0)
                stamps[i * repetitions + k] = stamp;
        }
    for (int i = 0; i < count; i++) {
        print_times(&transfers[i], delay_ns, &stamps[i * repetitions]);
        discard(&transfers[i]);
    }
    free(stamps);
}

/* The first iteration of new requests, and their sixth. */
static void compare_first_iterations(int bytes, int partitions) {
    int64_t *first = malloc((size_t)repetitions * sizeof *first),
            *later = malloc((size_t)repetitions * sizeof *later);
    transfer of;
    for (int k = 0; k < repetitions; k++) {
        init(&of, "offbeat", bytes, partitions);
        for (int i = 0; i < 6; i++) {
            int64_t stamp = iterate(&of, k + i, 0);
            if (i == 0)
                first[k] = stamp;
            if (i == 5)
                later[k] = stamp;
        }
        if (k < repetitions - 1)
            discard(&of);
    }
    of.name = "first";
    print_times(&of, 0, first);
    of.name = "later";
    print_times(&of, 0, later);
    discard(&of);
    free(first);
    free(later);
}

/* 32 calls of offbeat_pready that send nothing, and offbeat_parrived of a partition that is here. */
static void measure_calls(void) {
    enum { N = 33, CALLS = 32 };
    transfer together, apart;
    init(&together, "offbeat:1", N, N);
    init(&apart, "offbeat:33", N, N);
    int64_t *times = malloc((size_t)repetitions * sizeof *times);
    for (int k = 0; k < repetitions; k++) {
        int flag = 0;
        try(offbeat_transfer_start(together.open));
        try(offbeat_transfer_start(apart.open));
        int64_t began_ns = now_ns();
        for (int i = 0; i < CALLS && rank == 0; i++)
            offbeat_transfer_ready(together.open, i);
        times[k] = now_ns() - began_ns;
        for (int i = 0; i < CALLS && rank == 0; i++)
            offbeat_transfer_ready(apart.open, i);
        while (rank == 1 && !flag)
            offbeat_parrived(apart.open->own, 7, &flag);
        began_ns = now_ns();
        for (int i = 0; i < CALLS && rank == 1; i++)
            offbeat_parrived(apart.open->own, 7, &flag);
        if (rank == 1)
            times[k] = (now_ns() - began_ns) / CALLS;
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 0) {
            offbeat_transfer_ready(together.open, CALLS);
            offbeat_transfer_ready(apart.open, CALLS);
        }
        try(offbeat_transfer_wait(together.open));
        try(offbeat_transfer_wait(apart.open));
    }
    int64_t *readies = malloc((size_t)repetitions * sizeof *readies);
    if (rank == 0)
        MPI_Send(times, repetitions, MPI_INT64_T, 1, TAG, MPI_COMM_WORLD);
    else
        MPI_Recv(readies, repetitions, MPI_INT64_T, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int what = 0; what < 2 && rank == 1; what++) {
        printf("%s", what == 0 ? "cost readies" : "cost parrived");
        for (int k = 0; k < repetitions; k++)
            printf(" %lld", (long long)(what == 0 ? readies[k] : times[k]));
        printf("\n");
    }
    discard(&together);
    discard(&apart);
    free(times);
    free(readies);
}

static void measure_large(const char *const names[]) {
    static const char *const early[] = {"single", "many", "offbeat", "library", NULL};
    compare(names, 1 << 15, 32, 0);
    compare(names, 1 << 18, 32, 0);
    compare(names, 1 << 22, 32, 0);
    compare(early, 1 << 22, 4, 400000);
    compare(early, 1 << 22, 4, 1600000);
}

int main(int argc, char **argv) {
    static const char *const all[] = {"single",    "many",       "offbeat",         "offbeat:1", "offbeat:3",
                                      "offbeat:9", "offbeat:32", "offbeat:learned", "library",   NULL};
    const int is_serialized = argc == 3 && strcmp(argv[2], "serialized") == 0;
    const int level = is_serialized ? MPI_THREAD_SERIALIZED : MPI_THREAD_MULTIPLE;
    int provided;
    MPI_Init_thread(&argc, &argv, level, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    check(argc == 3, "usage: partitioned_ratios REPETITIONS LEVEL");
    check(provided == level, "the MPI library provides another thread level");
    repetitions = atoi(argv[1]);
    compare(all, 1 << 10, 32, 0);
    if (!is_serialized)
        measure_large(all);
    compare_first_iterations(1 << 10, 32);
    if (!is_serialized)
        compare_first_iterations(1 << 18, 32);
    measure_calls();
    offbeat_partitioned_finalize();
    MPI_Finalize();
    return 0;
}
