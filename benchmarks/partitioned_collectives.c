/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Times of partitioned collectives and of the MPI library's own ones, which take turns; all processes on one
 * machine, where CLOCK_MONOTONIC is one clock. partitioned_collectives.py runs it and prints ratios.
 *
 * Usage: partitioned_collectives REPETITIONS PROGRESS_THREAD. Rank 0 prints lines "COLLECTIVE APPROACH BYTES
 * PARTITIONS SPAN_NS TIMES_NS...": from the start until all processes have the result, when the partitions
 * become ready one after another over SPAN_NS. The own collective starts after the last one.
 */
#define _POSIX_C_SOURCE 200809L
#include <offbeat/partitioned_collectives.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PARTITIONS = 16, WARM_UP = 5 };

static int rank, size, repetitions;

/* A collective by offbeat or by the MPI library. */
typedef struct call {
    int is_allreduce, is_ours, count; /* count: numbers in the buffer */
    double *own, *result;
    offbeat_prequest request;
} call;

static int64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void check(int is_right, const char *what) {
    if (is_right)
        return;
    fprintf(stderr, "partitioned_collectives: %s\n", what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void init(call *of, int is_allreduce, int is_ours, int bytes) {
    *of = (call){.is_allreduce = is_allreduce, .is_ours = is_ours, .count = bytes / (int)sizeof(double)};
    of->own = calloc((size_t)of->count, sizeof(double));
    of->result = calloc((size_t)of->count, sizeof(double));
    const int each = of->count / PARTITIONS;
    if (is_ours && is_allreduce)
        offbeat_pallreduce_init(of->own, of->result, PARTITIONS, each, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD,
                                MPI_INFO_NULL, &of->request);
    else if (is_ours)
        offbeat_pbcast_init(of->result, PARTITIONS, each, MPI_DOUBLE, 0, MPI_COMM_WORLD, MPI_INFO_NULL,
                            &of->request);
}

static void discard(call *of) {
    if (of->is_ours)
        offbeat_prequest_free(&of->request);
    free(of->own);
    free(of->result);
}

static int has_partitions(const call *of) {
    return of->is_allreduce || rank == 0;
}

/* The call, with partitions that become ready at equal distances. */
static void execute(call *of, int64_t began_ns, int64_t span_ns) {
    if (of->is_ours)
        offbeat_pstart(&of->request);
    for (int i = 0; i < PARTITIONS && has_partitions(of); i++) {
        while (now_ns() < began_ns + span_ns * i / (PARTITIONS - 1))
            ;
        if (of->is_ours)
            offbeat_pready(i, of->request);
    }
    if (of->is_ours)
        offbeat_pwait(&of->request, MPI_STATUS_IGNORE);
    else if (of->is_allreduce)
        MPI_Allreduce(of->own, of->result, of->count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    else
        MPI_Bcast(of->result, of->count, MPI_DOUBLE, 0, MPI_COMM_WORLD);
}

/* One repetition. @param[out] stamps when it began and ended at this process */
static void repeat(call *of, int repetition, int64_t span_ns, int64_t stamps[2]) {
    double *filled = of->is_allreduce ? of->own : of->result;
    for (int i = 0; i < of->count && has_partitions(of); i++)
        filled[i] = repetition + i % 7;
    MPI_Barrier(MPI_COMM_WORLD);
    const int64_t began_ns = now_ns();
    stamps[0] = has_partitions(of) ? began_ns : 0;
    execute(of, began_ns, span_ns);
    stamps[1] = now_ns();
    for (int i = 0; i < of->count; i += 61)
        check(of->result[i] == (of->is_allreduce ? size : 1) * (double)(repetition + i % 7),
              "a result is wrong");
}

/* Rank 0 prints the times of a call: from the last process with partitions that began until the
 * last one that ended.
 * @return the smallest, on all processes */
static int64_t print_times(const call *of, int64_t span_ns, int64_t *stamps) {
    int64_t least_ns = INT64_MAX;
    MPI_Allreduce(MPI_IN_PLACE, stamps, 2 * repetitions, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%s %s %d %d %lld", of->is_allreduce ? "allreduce" : "bcast", of->is_ours ? "ours" : "own",
               of->count * (int)sizeof(double), PARTITIONS, (long long)span_ns);
    for (int k = 0; k < repetitions; k++) {
        const int64_t time_ns = stamps[2 * k + 1] - stamps[2 * k];
        least_ns = time_ns < least_ns ? time_ns : least_ns;
        if (rank == 0)
            printf(" %lld", (long long)time_ns);
    }
    if (rank == 0)
        printf("\n");
    return least_ns;
}

/* Both take turns; the first repetitions are not counted. @return the smallest time of the own collective */
static int64_t compare(int is_allreduce, int bytes, int64_t span_ns) {
    int64_t warm_up[2], own_ns = 0;
    call calls[2];
    int64_t *stamps = malloc(sizeof(int64_t) * 4 * (size_t)repetitions);
    for (int i = 0; i < 2; i++)
        init(&calls[i], is_allreduce, i, bytes);
    for (int k = -WARM_UP; k < repetitions; k++)
        for (int i = 0; i < 2; i++)
            repeat(&calls[i], k + WARM_UP, span_ns, k < 0 ? warm_up : &stamps[2 * (i * repetitions + k)]);
    for (int i = 0; i < 2; i++) {
        const int64_t least_ns = print_times(&calls[i], span_ns, &stamps[2 * i * repetitions]);
        own_ns = i == 0 ? least_ns : own_ns;
        discard(&calls[i]);
    }
    free(stamps);
    return own_ns;
}

int main(int argc, char **argv) {
    int provided;
    MPI_Info info;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    check(argc == 3, "usage: partitioned_collectives REPETITIONS PROGRESS_THREAD");
    repetitions = atoi(argv[1]);
    MPI_Info_create(&info);
    MPI_Info_set(info, "offbeat_progress_thread", argv[2]);
    offbeat_partitioned_attach(MPI_COMM_WORLD, info);
    MPI_Info_free(&info);
    for (int is_allreduce = 0; is_allreduce < 2; is_allreduce++)
        for (int bytes = 1 << 16; bytes <= 1 << 24; bytes <<= 4) {
            const int64_t own_ns = compare(is_allreduce, bytes, 0);
            compare(is_allreduce, bytes, own_ns);
            compare(is_allreduce, bytes, 3 * own_ns);
        }
    offbeat_partitioned_finalize();
    MPI_Finalize();
    return 0;
}
