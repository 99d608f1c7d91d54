/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The error of the shared clock, where the true time is known: all nodes are namespaces of one machine, so
 * that their clocks are the machine's plus the offset of their time namespace. Each rank but 0 prints a line
 * for each age: an interval that contains its error, and the clock's own bound, in nanoseconds.
 */
#define _POSIX_C_SOURCE 200809L
#include <mpi.h>
#include <offbeat/clock.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

static int64_t monotonic_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* How far this node's clock is ahead of the machine's. */
static int64_t own_offset_ns(void) {
    long long seconds = 0, nanoseconds = 0;
    FILE *file = fopen("/proc/self/timens_offsets", "r");
    if (!file || fscanf(file, "monotonic %lld %lld", &seconds, &nanoseconds) != 2)
        MPI_Abort(MPI_COMM_WORLD, 3);
    fclose(file);
    return seconds * 1000000000 + nanoseconds;
}

int main(int argc, char **argv) {
    static const int ages_ms[] = {0, 10, 100};
    offbeat_clock *clock;
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int64_t reference_ns = own_offset_ns();
    MPI_Bcast(&reference_ns, 1, MPI_INT64_T, 0, MPI_COMM_WORLD);
    for (int round = 0; round < 5; round++) {
        offbeat_clock_create(MPI_COMM_WORLD, &clock);
        for (size_t i = 0; i < sizeof ages_ms / sizeof *ages_ms; i++) {
            nanosleep(&(struct timespec){.tv_nsec = ages_ms[i] * 1000000L}, NULL);
            int64_t ahead_ns = own_offset_ns() - reference_ns;
            int64_t before_ns = monotonic_ns();
            offbeat_instant now = offbeat_clock_now(clock);
            int64_t after_ns = monotonic_ns();
            if (rank != 0)
                printf("rank %d age_ms %d low %lld high %lld bound %lld shared %d\n", rank, ages_ms[i],
                       (long long)(now.global_ns - (after_ns - ahead_ns)),
                       (long long)(now.global_ns - (before_ns - ahead_ns)), (long long)now.bound_ns,
                       offbeat_clock_is_shared(clock));
        }
        offbeat_clock_free(&clock);
    }
    fflush(stdout);
    MPI_Finalize();
    return 0;
}
