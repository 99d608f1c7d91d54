/* SPDX-License-Identifier: BSD-3-Clause */
#define _POSIX_C_SOURCE 200809L
#include "testing/virtual_clocks.h"

#include "clock/virtual_clock.h"
#include "testing/mpi_assert.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int collective_calls;
static int clocks_are_virtual, rank_0_is_virtual;

static int world_rank(void) {
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank;
}

int collectives_called(void) {
    return collective_calls;
}

int64_t largest_of(int64_t value, MPI_Comm comm) {
    int64_t largest;
    PMPI_Allreduce(&value, &largest, 1, MPI_INT64_T, MPI_MAX, comm);
    return largest;
}

int64_t first_of(int64_t value, MPI_Comm comm) {
    PMPI_Bcast(&value, 1, MPI_INT64_T, 0, comm);
    return value;
}

static int64_t virtual_offset_ns(int rank) {
    static const int64_t offsets_ns[] = {5000000007,     1000000, -7000000000001, 300, -450,
                                         86400000000000, 1,       -2000000};
    if (!clocks_are_virtual || (rank == 0 && !rank_0_is_virtual))
        return 0;
    return offsets_ns[rank % 8] + rank / 8;
}

int64_t own_virtual_offset_ns(void) {
    return virtual_offset_ns(world_rank());
}

int64_t physical_now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

void offset_clocks(int offset_rank_0) {
    int size;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    clocks_are_virtual = 1;
    rank_0_is_virtual = offset_rank_0;
    char *text = malloc((size_t)size * 48 + 16);
    mpi_assert(text != NULL, "No memory for the text of %d virtual offsets.", size);
    int length = sprintf(text, "virtual:");
    for (int rank = 0; rank < size; rank++) {
        const char *separator = rank == 0 ? "" : ";";
        length +=
            sprintf(text + length, "%s%d:offset=%lld", separator, rank, (long long)virtual_offset_ns(rank));
    }
    setenv("OFFBEAT_CLOCK_SOURCE", text, 1);
    free(text);
}

static char *drifting_clocks;

void drift_clocks(int64_t step_ns, int64_t step_after_ns) {
    static const double drifts_ppm[] = {-199.9, 199.9, 35, -80.5, 199.9, -199.9, 0};
    int size;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const size_t bytes = (size_t)size * 120 + 40;
    free(drifting_clocks);
    drifting_clocks = malloc(bytes);
    mpi_assert(drifting_clocks != NULL, "No memory for the text of %d virtual clocks.", size);
    int length = sprintf(drifting_clocks, "virtual:epoch=%lld;",
                         (long long)first_of(physical_now_ns(), MPI_COMM_WORLD));
    for (int rank = 0; rank < size; rank++) {
        clocks_are_virtual = rank_0_is_virtual = 1;
        length += sprintf(drifting_clocks + length, "%s%d:offset=%lld,drift=%.1f,wander=%s0.05/8.1",
                          rank == 0 ? "" : ";", rank, (long long)virtual_offset_ns(rank),
                          drifts_ppm[rank % 7], rank % 2 ? "-" : "");
        if (step_ns != 0 && rank % 2)
            length += sprintf(drifting_clocks + length, ",step=%lld@%.6f", (long long)step_ns,
                              (double)step_after_ns * 1e-9);
    }
    setenv("OFFBEAT_CLOCK_SOURCE", drifting_clocks, 1);
}

int64_t drifting_clock_ns(int rank, int64_t physical_ns) {
    char why[200];
    offbeat_clock_distortion distortion;
    mpi_assert(offbeat_clock_virtual_parse(drifting_clocks + strlen("virtual:"), rank, &distortion, why,
                                           sizeof why) == 0,
               "%s", why);
    return offbeat_clock_virtual_ns(&distortion, physical_ns);
}

void restore_clocks(void) {
    clocks_are_virtual = 0;
    unsetenv("OFFBEAT_CLOCK_SOURCE");
}

/* --- the public names of collectives: they are counted, then called --- */

int MPI_Barrier(MPI_Comm comm) {
    collective_calls++;
    return PMPI_Barrier(comm);
}

int MPI_Bcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm) {
    collective_calls++;
    return PMPI_Bcast(buffer, count, type, root, comm);
}

int MPI_Reduce(const void *input, void *output, int count, MPI_Datatype type, MPI_Op op, int root,
               MPI_Comm comm) {
    collective_calls++;
    return PMPI_Reduce(input, output, count, type, op, root, comm);
}

int MPI_Allreduce(const void *input, void *output, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
    collective_calls++;
    return PMPI_Allreduce(input, output, count, type, op, comm);
}

int MPI_Gather(const void *input, int in_count, MPI_Datatype in_type, void *output, int out_count,
               MPI_Datatype out_type, int root, MPI_Comm comm) {
    collective_calls++;
    return PMPI_Gather(input, in_count, in_type, output, out_count, out_type, root, comm);
}

int MPI_Allgather(const void *input, int in_count, MPI_Datatype in_type, void *output, int out_count,
                  MPI_Datatype out_type, MPI_Comm comm) {
    collective_calls++;
    return PMPI_Allgather(input, in_count, in_type, output, out_count, out_type, comm);
}

int MPI_Scatter(const void *input, int in_count, MPI_Datatype in_type, void *output, int out_count,
                MPI_Datatype out_type, int root, MPI_Comm comm) {
    collective_calls++;
    return PMPI_Scatter(input, in_count, in_type, output, out_count, out_type, root, comm);
}

int MPI_Alltoall(const void *input, int in_count, MPI_Datatype in_type, void *output, int out_count,
                 MPI_Datatype out_type, MPI_Comm comm) {
    collective_calls++;
    return PMPI_Alltoall(input, in_count, in_type, output, out_count, out_type, comm);
}
