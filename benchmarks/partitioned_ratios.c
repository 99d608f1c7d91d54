/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Times of partitioned sends from rank 0 to rank 1, by approaches that take turns; both on one machine, where
 * CLOCK_MONOTONIC is one clock. partitioned_ratios.py runs it and prints ratios.
 *
 * Usage: partitioned_ratios REPETITIONS PROGRESS_THREAD. Rank 1 prints lines "APPROACH BYTES PARTITIONS
 * DELAY_NS TIMES_NS...": from the start until all data arrived, less the delay of the last partition; and
 * lines "cost WHAT TIMES_NS..." for single calls.
 */
#define _POSIX_C_SOURCE 200809L
#include <offbeat/partitioned.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST = 64, TAG = 1000, WARM_UP = 12 };

static int rank, repetitions;

/* A transfer by one approach. */
typedef struct transfer {
    const char *approach;
    int partitions, messages; /* messages: those of plain MPI */
    char *buffer;
    int bytes;
    MPI_Request plain[MOST];
    offbeat_prequest ours;
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

/* --- the approaches --- */

static void init_ours(transfer *of) {
    MPI_Info info;
    MPI_Info_create(&info);
    if (strcmp(of->approach, "default") != 0)
        MPI_Info_set(info, "offbeat_messages", strchr(of->approach, ':') + 1);
    const int bytes = of->bytes / of->partitions;
    if (rank == 0)
        offbeat_psend_init(of->buffer, of->partitions, bytes, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, info,
                           &of->ours);
    else
        offbeat_precv_init(of->buffer, of->partitions, bytes, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, info,
                           &of->ours);
    MPI_Info_free(&info);
}

/* One message, or one for each partition as MPIPCL sends them; or the library's own partitioned calls. */
static void init_plain(transfer *of) {
    of->messages = strcmp(of->approach, "many") == 0 ? of->partitions : 1;
    const int bytes = of->bytes / of->messages;
#if MPI_VERSION >= 4
    if (strcmp(of->approach, "part") == 0 && rank == 0)
        MPI_Psend_init(of->buffer, of->partitions, of->bytes / of->partitions, MPI_BYTE, 1, TAG,
                       MPI_COMM_WORLD, MPI_INFO_NULL, of->plain);
    else if (strcmp(of->approach, "part") == 0)
        MPI_Precv_init(of->buffer, of->partitions, of->bytes / of->partitions, MPI_BYTE, 0, TAG,
                       MPI_COMM_WORLD, MPI_INFO_NULL, of->plain);
    if (strcmp(of->approach, "part") == 0)
        return;
#endif
    for (int i = 0; i < of->messages; i++)
        if (rank == 0)
            MPI_Send_init(of->buffer + i * bytes, bytes, MPI_BYTE, 1, i, MPI_COMM_WORLD, &of->plain[i]);
        else
            MPI_Recv_init(of->buffer + i * bytes, bytes, MPI_BYTE, 0, i, MPI_COMM_WORLD, &of->plain[i]);
}

static int is_ours(const transfer *of) {
    return strcmp(of->approach, "default") == 0 || strchr(of->approach, ':') != NULL;
}

static int is_part(const transfer *of) {
    return strcmp(of->approach, "part") == 0;
}

static void init(transfer *of, const char *approach, int bytes, int partitions) {
    memset(of, 0, sizeof *of);
    of->approach = approach;
    of->bytes = bytes;
    of->partitions = partitions;
    of->buffer = malloc((size_t)bytes);
    memset(of->buffer, 0, (size_t)bytes);
    if (is_ours(of))
        init_ours(of);
    else
        init_plain(of);
}

static void discard(transfer *of) {
    if (is_ours(of))
        offbeat_prequest_free(&of->ours);
    else
        for (int i = 0; i < of->messages; i++)
            MPI_Request_free(&of->plain[i]);
    free(of->buffer);
}

static void start(transfer *of) {
    if (is_ours(of))
        offbeat_pstart(&of->ours);
    else if (rank == 1 || is_part(of))
        MPI_Startall(of->messages, of->plain);
}

static void ready(transfer *of, int partition) {
    if (is_ours(of))
        offbeat_pready(partition, of->ours);
#if MPI_VERSION >= 4
    else if (is_part(of))
        MPI_Pready(partition, of->plain[0]);
#endif
    else if (of->messages > 1 || partition == of->partitions - 1)
        MPI_Start(&of->plain[of->messages > 1 ? partition : 0]);
}

static void await(transfer *of) {
    MPI_Status statuses[MOST];
    if (is_ours(of))
        offbeat_pwait(&of->ours, MPI_STATUS_IGNORE);
    else
        MPI_Waitall(of->messages, of->plain, statuses);
}

/* --- measuring --- */

/* One iteration. @return at rank 0 when it began, at rank 1 when all data had arrived */
static int64_t iterate(transfer *of, int iteration, int64_t delay_ns) {
    if (rank == 0)
        memset(of->buffer, iteration, (size_t)of->bytes);
    MPI_Barrier(MPI_COMM_WORLD);
    const int64_t began_ns = now_ns();
    start(of);
    for (int i = 0; i < of->partitions && rank == 0; i++) {
        while (i == of->partitions - 1 && now_ns() < began_ns + delay_ns)
            ;
        ready(of, i);
    }
    await(of);
    const int64_t ended_ns = now_ns();
    for (int i = 0; i < of->partitions && rank == 1; i++)
        check(of->buffer[i * (of->bytes / of->partitions)] == (char)iteration, "wrong data arrived");
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
        printf("%s %d %d %lld", of->approach, of->bytes, of->partitions, (long long)delay_ns);
        for (int i = 0; i < repetitions; i++)
            printf(" %lld", (long long)(stamps[i] - began[i] - delay_ns));
        printf("\n");
    }
    free(began);
}

/* Approaches take turns; the first iterations of each are not counted. */
static void compare(const char *const approaches[], int count, int bytes, int partitions, int64_t delay_ns) {
    transfer transfers[16];
    int64_t *stamps = malloc((size_t)count * (size_t)repetitions * sizeof *stamps);
    for (int i = 0; i < count; i++)
        init(&transfers[i], approaches[i], bytes, partitions);
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
        init(&of, "default", bytes, partitions);
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
    of.approach = "first";
    print_times(&of, 0, first);
    of.approach = "later";
    print_times(&of, 0, later);
    of.approach = "default";
    discard(&of);
    free(first);
    free(later);
}

/* 32 calls of offbeat_pready that send nothing, and offbeat_parrived of a partition that is here. */
static void measure_calls(void) {
    enum { N = 33, CALLS = 32 };
    transfer together, apart;
    init(&together, "ours:1", N, N);
    init(&apart, "ours:33", N, N);
    int64_t *times = malloc((size_t)repetitions * sizeof *times);
    for (int k = 0; k < repetitions; k++) {
        int flag = 0;
        start(&together);
        start(&apart);
        int64_t began_ns = now_ns();
        for (int i = 0; i < CALLS && rank == 0; i++)
            ready(&together, i);
        times[k] = now_ns() - began_ns;
        for (int i = 0; i < CALLS && rank == 0; i++)
            ready(&apart, i);
        while (rank == 1 && !flag)
            offbeat_parrived(apart.ours, 7, &flag);
        began_ns = now_ns();
        for (int i = 0; i < CALLS && rank == 1; i++)
            offbeat_parrived(apart.ours, 7, &flag);
        if (rank == 1)
            times[k] = (now_ns() - began_ns) / CALLS;
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 0) {
            ready(&together, CALLS);
            ready(&apart, CALLS);
        }
        await(&together);
        await(&apart);
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

int main(int argc, char **argv) {
    static const char *const fixed[] = {"single", "many",    "default",      "ours:1", "ours:3",
                                        "ours:9", "ours:32", "ours:learned", "part"};
    static const char *const early[] = {"single", "many", "default", "part"};
    int provided, count = MPI_VERSION >= 4;
    MPI_Info info;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    check(argc == 3, "usage: partitioned_ratios REPETITIONS PROGRESS_THREAD");
    repetitions = atoi(argv[1]);
    MPI_Info_create(&info);
    MPI_Info_set(info, "offbeat_progress_thread", argv[2]);
    offbeat_partitioned_attach(MPI_COMM_WORLD, info);
    MPI_Info_free(&info);
    compare(fixed, 8 + count, 1 << 10, 32, 0);
    compare(fixed, 8 + count, 1 << 15, 32, 0);
    compare(fixed, 8 + count, 1 << 18, 32, 0);
    compare(fixed, 8 + count, 1 << 22, 32, 0);
    compare(early, 3 + count, 1 << 22, 4, 400000);
    compare(early, 3 + count, 1 << 22, 4, 1600000);
    compare_first_iterations(1 << 10, 32);
    compare_first_iterations(1 << 18, 32);
    measure_calls();
    MPI_Finalize();
    return 0;
}
