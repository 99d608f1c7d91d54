/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Harmonised starts in unmodified programs: loaded before the MPI library by LD_PRELOAD, this library
 * replaces MPI_Barrier on selected communicators by MPIX_Harmonize, and prints a summary in MPI_Finalize.
 *
 * It also defines the names of both functions in Fortran, as Open MPI's Fortran bindings do not call
 * MPI_Barrier of C but its implementation. An absent optional argument is passed as NULL.
 */
#include "preload/comm_filter.h"

#include <offbeat/harmonize.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>

/* --- counters of this process, for any thread --- */

/* Starts by verdict, then barriers that were not replaced. */
enum { BARRIERS = OFFBEAT_LOST_CORE + 1, COUNTERS };

static _Atomic int64_t counters[COUNTERS];
static _Atomic int64_t largest_bound_ns;

static void count_start(const offbeat_start *start) {
    counters[start->verdict]++;
    int64_t previous_ns = largest_bound_ns;
    while (start->bound_ns > previous_ns &&
           !atomic_compare_exchange_weak(&largest_bound_ns, &previous_ns, start->bound_ns))
        ;
}

static void print_summary(const int64_t *counter_sums, int64_t bound_ns, int processes) {
    int64_t starts =
        counter_sums[OFFBEAT_ON_TIME] + counter_sums[OFFBEAT_CAME_LATE] + counter_sums[OFFBEAT_LOST_CORE];
    double percent = starts > 0 ? 100.0 / (double)starts : 0.0;
    fprintf(stderr,
            "offbeat: %lld harmonised starts replaced MPI_Barrier (%d processes): %.2f%% on time, "
            "%.2f%% came late, %.2f%% lost their core; largest error bound of the clock: %lld ns; %lld calls "
            "of MPI_Barrier were not replaced\n",
            (long long)starts, processes, percent * (double)counter_sums[OFFBEAT_ON_TIME],
            percent * (double)counter_sums[OFFBEAT_CAME_LATE],
            percent * (double)counter_sums[OFFBEAT_LOST_CORE], (long long)bound_ns,
            (long long)counter_sums[BARRIERS]);
}

/* Sums the counters over all processes; rank 0 prints them. Collective over MPI_COMM_WORLD. */
static void report_counters(void) {
    int64_t rank_counters[COUNTERS], counter_sums[COUNTERS], own_bound_ns = largest_bound_ns, bound_ns = 0;
    int rank, processes;
    for (int i = 0; i < COUNTERS; i++)
        rank_counters[i] = counters[i];
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &processes);
    PMPI_Reduce(rank_counters, counter_sums, COUNTERS, MPI_INT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    PMPI_Reduce(&own_bound_ns, &bound_ns, 1, MPI_INT64_T, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank == 0)
        print_summary(counter_sums, bound_ns, processes);
}

/* --- the replaced functions --- */

int MPI_Barrier(MPI_Comm comm) {
    offbeat_start start;
    if (!offbeat_preload_selects_comm(comm)) {
        counters[BARRIERS]++;
        return PMPI_Barrier(comm);
    }
    int rc = MPIX_Harmonize_delayed(comm, 0, &start);
    if (rc == MPI_SUCCESS)
        count_start(&start);
    return rc;
}

int MPI_Finalize(void) {
    report_counters();
    return PMPI_Finalize();
}

void mpi_barrier_(const MPI_Fint *comm, MPI_Fint *code);
void mpi_barrier_f08_(const MPI_Fint *comm, MPI_Fint *code);
void mpi_finalize_(MPI_Fint *code);
void mpi_finalize_f08_(MPI_Fint *code);

void mpi_barrier_(const MPI_Fint *comm, MPI_Fint *code) {
    int rc = MPI_Barrier(PMPI_Comm_f2c(*comm));
    if (code != NULL)
        *code = rc;
}

void mpi_barrier_f08_(const MPI_Fint *comm, MPI_Fint *code) {
    mpi_barrier_(comm, code);
}

void mpi_finalize_(MPI_Fint *code) {
    int rc = MPI_Finalize();
    if (code != NULL)
        *code = rc;
}

void mpi_finalize_f08_(MPI_Fint *code) {
    mpi_finalize_(code);
}
