/* SPDX-License-Identifier: BSD-3-Clause */
#include "ft/calls.h"

#include <limits.h>

static const struct {
    const char *function, *purpose;
} sites[FT_SITES] = {
    [FT_PATTERN_FOUND] = {"MPI_Bcast", "pattern found"},
    [FT_PATTERN] = {"MPI_Bcast", "pattern"},
    [FT_START] = {"MPI_Barrier", "start"},
    [FT_TRANSPOSE_XY] = {"MPI_Alltoall", "transpose of x and y"},
    [FT_TRANSPOSE_YZ] = {"MPI_Alltoall", "transpose of y and z"},
    [FT_CHECKSUM] = {"MPI_Reduce", "checksum"},
    [FT_TIMES] = {"MPI_Gather", "times"},
    [FT_VERDICT] = {"MPI_Bcast", "verdict"},
};

const char *ft_site_function(ft_site site) {
    return sites[site].function;
}

const char *ft_site_purpose(ft_site site) {
    return sites[site].purpose;
}

static void count_call(ft_job *job, ft_site site, size_t bytes) {
    job->counts[site].calls++;
    job->counts[site].bytes = bytes;
}

void ft_broadcast(ft_job *job, ft_site site, void *data, int count, MPI_Datatype type) {
    int size;
    MPI_Type_size(type, &size);
    count_call(job, site, (size_t)count * (size_t)size);
    MPI_Bcast(data, count, type, 0, job->comm);
}

void ft_barrier(ft_job *job, ft_site site) {
    count_call(job, site, 0);
    MPI_Barrier(job->comm);
}

/* A complex number is sent as two doubles: MPI-2 has no complex type for C. */
void ft_alltoall(ft_job *job, ft_site site, ft_complex *send, ft_complex *receive, size_t elements) {
    int count = (int)(2 * elements);
    count_call(job, site, elements * sizeof *send);
    MPI_Alltoall(send, count, MPI_DOUBLE, receive, count, MPI_DOUBLE,
                 site == FT_TRANSPOSE_XY ? job->row : job->column);
}

ft_complex ft_sum(ft_job *job, ft_site site, ft_complex part) {
    ft_complex sum = part;
    count_call(job, site, sizeof part);
    MPI_Reduce(&part, &sum, 2, MPI_DOUBLE, MPI_SUM, 0, job->comm);
    return sum;
}

void ft_gather(ft_job *job, ft_site site, double *rank_values, double *all_values, int count) {
    count_call(job, site, (size_t)count * sizeof *rank_values);
    MPI_Gather(rank_values, count, MPI_DOUBLE, all_values, count, MPI_DOUBLE, 0, job->comm);
}

size_t ft_largest_block(void) {
    return INT_MAX / 2;
}
