/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Times of partitioned sends from rank 0 to rank 1, by approaches that take turns; both on one machine, where
 * CLOCK_MONOTONIC is one clock. partitioned_ratios.py builds it with native/approaches, runs it and prints
 * ratios.
 *
 * Usage: partitioned_ratios REPETITIONS LEVEL TURN. LEVEL is the thread level: `multiple`, or `serialized`,
 * which measures 1 KiB only. TURN is how many iterations an approach makes before the next one's turn, of
 * which the last is measured: after 1, the other approaches have used their buffers in between; after 2, the
 * same buffers were used just before, and only the comparisons in turns are measured. The sender fills its
 * buffer before every iteration.
 *
 * Rank 1 prints lines "APPROACH BYTES PARTITIONS DELAY_NS TIMES_NS...": from the start until all data
 * arrived, less the delay of the last partition; "N/APPROACH ..." for iteration N of new requests, the first
 * of which is iteration 0; and "cost WHAT APPROACH TIMES_NS..." for single calls; WHAT "shared" is "readies"
 * after another thread has marked a partition. Approaches are those of native/approaches; offbeat:K is
 * offbeat's with the value K of OFFBEAT_PARTITIONED_MESSAGES.
 */
#define _POSIX_C_SOURCE 200809L
#include "approaches/transfer.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Approaches that take turns are measured after the second round of trials of learned aggregation, which ends
 * with iteration 39. */
enum { TAG = 1000, WARM_UP = 42, MOST_APPROACHES = 16 };

static int rank, repetitions, turn;

static const char *const compared[] = {"single", "many", "offbeat", "library", NULL};
static const char *const all[] = {"single",     "many",       "offbeat",         "offbeat:1", "offbeat:2",
                                  "offbeat:3",  "offbeat:4",  "offbeat:6",       "offbeat:8", "offbeat:12",
                                  "offbeat:16", "offbeat:32", "offbeat:learned", "library",   NULL};

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

/* Rank 1 prints the times of `count` iterations of a transfer. */
static void print_times(const char *prefix, const transfer *of, int64_t delay_ns, const int64_t *stamps,
                        int count) {
    int64_t *began = malloc((size_t)count * sizeof *began);
    if (rank == 0)
        MPI_Send(stamps, count, MPI_INT64_T, 1, TAG, MPI_COMM_WORLD);
    else
        MPI_Recv(began, count, MPI_INT64_T, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 1) {
        printf("%s%s %d %d %lld", prefix, of->name, of->message.partitions * of->message.partition_bytes,
               of->message.partitions, (long long)delay_ns);
        for (int i = 0; i < count; i++)
            printf(" %lld", (long long)(stamps[i] - began[i] - delay_ns));
        printf("\n");
    }
    free(began);
}

/* Approaches take turns; the first iterations of each are not counted. NULL ends the names. */
static void compare(const char *const names[], int bytes, int partitions, int64_t delay_ns) {
    transfer transfers[MOST_APPROACHES];
    int64_t *stamps = malloc(MOST_APPROACHES * (size_t)repetitions * sizeof *stamps);
    int count = 0;
    for (int i = 0; names[i] != NULL; i++)
        count += init(&transfers[count], names[i], bytes, partitions);
    for (int k = -WARM_UP; k < repetitions; k++)
        for (int i = 0; i < count; i++) {
            int64_t stamp = 0;
            for (int j = 0; j < turn; j++)
                stamp = iterate(&transfers[i], k * turn + j, delay_ns);
            if (k >= 0)
                stamps[i * repetitions + k] = stamp;
        }
    for (int i = 0; i < count; i++) {
        print_times("", &transfers[i], delay_ns, &stamps[i * repetitions], repetitions);
        discard(&transfers[i]);
    }
    free(stamps);
}

/* The first iterations of new requests. Approaches take turns, each with new requests. */
static void measure_new_requests(int bytes, int partitions) {
    enum { ITERATIONS = 16, FIRST_DATA = 2 }; /* new buffers hold 1, which would hide missing data */
    const int requests = (repetitions + 3) / 4;
    transfer transfers[MOST_APPROACHES] = {{0}};
    int64_t *stamps = malloc(MOST_APPROACHES * ITERATIONS * (size_t)requests * sizeof *stamps);
    for (int k = 0; k < requests; k++)
        for (int i = 0; all[i] != NULL; i++) {
            if (!init(&transfers[i], all[i], bytes, partitions))
                continue;
            for (int n = 0; n < ITERATIONS; n++)
                stamps[(i * ITERATIONS + n) * requests + k] = iterate(&transfers[i], n + FIRST_DATA, 0);
            discard(&transfers[i]);
        }
    for (int i = 0; all[i] != NULL; i++)
        for (int n = 0; n < ITERATIONS && transfers[i].name != NULL; n++) {
            char prefix[8];
            snprintf(prefix, sizeof prefix, "%d/", n);
            print_times(prefix, &transfers[i], 0, &stamps[(i * ITERATIONS + n) * requests], requests);
        }
    free(stamps);
}

static int has_arrived(const transfer *of, int partition) {
    int flag = 0;
    if (of->open->offbeat_request)
        try(offbeat_parrived(of->open->offbeat_request, partition, &flag));
#if OFFBEAT_HAS_PARTITIONED
    else if (of->open->request_count == 1)
        try(MPI_Parrived(of->open->requests[0], partition, &flag));
#endif
    else
        try(MPI_Request_get_status(of->open->requests[partition], &flag, MPI_STATUS_IGNORE));
    return flag;
}

static void *mark_last(void *argument) {
    transfer *of = argument;
    try(offbeat_transfer_ready(of->open, of->message.partitions - 1));
    return NULL;
}

static void mark_last_by_another_thread(transfer *of) {
    pthread_t thread;
    check(pthread_create(&thread, NULL, mark_last, of) == 0, "no thread was created");
    pthread_join(thread, NULL);
}

/* 32 calls that make partitions ready, before the last one; and the test of a partition that is here.
 * @param is_shared whether another thread marks the last partition in the first iteration; then only the
 * calls that make partitions ready are printed */
static void measure_calls(const char *name, int is_shared) {
    enum { CALLS = 32, TESTED = 7 };
    transfer of;
    if (!init(&of, name, CALLS + 1, CALLS + 1))
        return;
    int64_t *times = malloc((size_t)repetitions * sizeof *times);
    for (int k = 0; k < repetitions; k++) {
        MPI_Barrier(MPI_COMM_WORLD);
        try(offbeat_transfer_start(of.open));
        int64_t began_ns = now_ns();
        for (int i = 0; i < CALLS && rank == 0; i++)
            try(offbeat_transfer_ready(of.open, i));
        times[k] = now_ns() - began_ns;
        if (rank == 0 && k == 0 && is_shared)
            mark_last_by_another_thread(&of);
        else if (rank == 0)
            mark_last(&of);
        while (rank == 1 && !has_arrived(&of, TESTED))
            ;
        began_ns = now_ns();
        for (int i = 0; i < CALLS && rank == 1; i++)
            has_arrived(&of, TESTED);
        if (rank == 1)
            times[k] = (now_ns() - began_ns) / CALLS;
        try(offbeat_transfer_wait(of.open));
    }
    int64_t *readies = malloc((size_t)repetitions * sizeof *readies);
    if (rank == 0)
        MPI_Send(times, repetitions, MPI_INT64_T, 1, TAG, MPI_COMM_WORLD);
    else
        MPI_Recv(readies, repetitions, MPI_INT64_T, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int what = 0; what < (is_shared ? 1 : 2) && rank == 1; what++) {
        printf("cost %s %s", what == 1 ? "parrived" : is_shared ? "shared" : "readies", name);
        for (int k = 0; k < repetitions; k++)
            printf(" %lld", (long long)(what == 0 ? readies[k] : times[k]));
        printf("\n");
    }
    discard(&of);
    free(times);
    free(readies);
}

/* New requests and single calls. */
static void measure_alone(int is_serialized) {
    static const int sizes[] = {1 << 10, 1 << 15, 1 << 18, 1 << 22};
    for (int i = 0; i < (is_serialized ? 1 : 4); i++)
        measure_new_requests(sizes[i], 32);
    static const char *const called[] = {"many", "offbeat:1", "offbeat:33", "library"};
    for (int i = 0; i < (int)(sizeof called / sizeof *called); i++)
        measure_calls(called[i], 0);
    if (!is_serialized)
        measure_calls("offbeat:1", 1);
}

static void measure_large(void) {
    static const char *const small_messages[] = {"single",          "many",    "offbeat", "offbeat:1024",
                                                 "offbeat:learned", "library", NULL};
    compare(small_messages, 1 << 14, 64, 30000);
    compare(all, 1 << 15, 32, 0);
    compare(all, 1 << 18, 32, 0);
    compare(all, 1 << 22, 32, 0);
    compare(compared, 1 << 22, 4, 400000);
    compare(compared, 1 << 22, 4, 1600000);
}

int main(int argc, char **argv) {
    const int is_serialized = argc == 4 && strcmp(argv[2], "serialized") == 0;
    const int level = is_serialized ? MPI_THREAD_SERIALIZED : MPI_THREAD_MULTIPLE;
    int provided;
    MPI_Init_thread(&argc, &argv, level, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    check(argc == 4, "usage: partitioned_ratios REPETITIONS LEVEL TURN");
    check(provided == level, "the MPI library provides another thread level");
    repetitions = atoi(argv[1]);
    turn = atoi(argv[3]);
    compare(all, 1 << 10, 32, 0);
    if (!is_serialized)
        measure_large();
    if (turn == 1)
        measure_alone(is_serialized);
    offbeat_partitioned_finalize();
    MPI_Finalize();
    return 0;
}
