/* SPDX-License-Identifier: BSD-3-Clause */
#include "preload/tally.h"

#include <stdatomic.h>
#include <stdio.h>

/* Starts by their verdict, then barriers that stayed. */
enum { BARRIERS = OFFBEAT_LOST_CORE + 1, COUNTS };

static _Atomic int64_t counts[COUNTS];
static _Atomic int64_t largest_bound_ns;

void offbeat_tally_start(const offbeat_start *start) {
    counts[start->verdict]++;
    int64_t seen_ns = largest_bound_ns;
    while (start->bound_ns > seen_ns &&
           !atomic_compare_exchange_weak(&largest_bound_ns, &seen_ns, start->bound_ns))
        ;
}

void offbeat_tally_barrier(void) {
    counts[BARRIERS]++;
}

static void say(const int64_t *all, int64_t bound_ns, int processes) {
    int64_t starts = all[OFFBEAT_ON_TIME] + all[OFFBEAT_CAME_LATE] + all[OFFBEAT_LOST_CORE];
    double percent = starts > 0 ? 100.0 / (double)starts : 0.0;
    fprintf(
        stderr,
        "offbeat: %lld harmonised starts of a process instead of MPI_Barrier (%d processes): %.2f%% on time, "
        "%.2f%% came late, %.2f%% lost their core; the clock was wrong by at most %lld ns; %lld calls of "
        "MPI_Barrier were left as they are\n",
        (long long)starts, processes, percent * (double)all[OFFBEAT_ON_TIME],
        percent * (double)all[OFFBEAT_CAME_LATE], percent * (double)all[OFFBEAT_LOST_CORE],
        (long long)bound_ns, (long long)all[BARRIERS]);
}

void offbeat_tally_report(void) {
    int64_t own[COUNTS], all[COUNTS], own_bound_ns = largest_bound_ns, bound_ns = 0;
    int rank, processes;
    for (int i = 0; i < COUNTS; i++)
        own[i] = counts[i];
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &processes);
    PMPI_Reduce(own, all, COUNTS, MPI_INT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    PMPI_Reduce(&own_bound_ns, &bound_ns, 1, MPI_INT64_T, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank == 0)
        say(all, bound_ns, processes);
}
