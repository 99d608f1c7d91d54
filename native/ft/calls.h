/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file calls.h
 * The program's collective calls, counted per call site; each call site calls one MPI function.
 *
 * A tracer must record exactly these counts: no other collective is called between MPI_Init and MPI_Finalize,
 * and all ranks make the same calls.
 */
#ifndef OFFBEAT_FT_CALLS_H
#define OFFBEAT_FT_CALLS_H

#include "ft/fft.h"

#include <mpi.h>

/** The call sites. */
typedef enum {
    FT_PATTERN_FOUND, /**< rank 0 tells whether it could read the pattern file */
    FT_PATTERN,       /**< the delays of the pattern file */
    FT_START,         /**< common start of a repetition */
    FT_TRANSPOSE_XY, /**< within a row of the process grid: from whole lines along x to lines along y, or back
                      */
    FT_TRANSPOSE_YZ, /**< within a column of the process grid: from lines along y to lines along z, or back */
    FT_CHECKSUM,     /**< the sum of the partial checksums, on rank 0 */
    FT_TIMES,        /**< each rank's times to rank 0 */
    FT_VERDICT,      /**< rank 0 tells whether the checksums are correct */
    FT_SITES
} ft_site;

/** The calls of a call site. */
typedef struct {
    long calls;
    size_t
        bytes; /**< of one call, as its arguments state: count times extent; MPI_Alltoall: to each process */
} ft_count;

/**
 * A process and its calls. The processes form a grid of rows * columns; a row holds consecutive ranks.
 * A grid of one column, or of one row, needs no communicators of its own: comm is used.
 */
typedef struct {
    MPI_Comm comm, row, column;
    int rank, p;
    int rows, columns;
    ft_count counts[FT_SITES];
} ft_job;

/** The MPI function that a call site calls, and the purpose of the call. */
const char *ft_site_function(ft_site site);
const char *ft_site_purpose(ft_site site);

void ft_broadcast(ft_job *job, ft_site site, void *data, int count, MPI_Datatype type);
void ft_barrier(ft_job *job, ft_site site);

/** Sends a block of @p elements to each process of the row (FT_TRANSPOSE_XY) or of the column
 * (FT_TRANSPOSE_YZ). */
void ft_alltoall(ft_job *job, ft_site site, ft_complex *send, ft_complex *receive, size_t elements);

/** @return on rank 0 the sum over all processes; elsewhere the own part */
ft_complex ft_sum(ft_job *job, ft_site site, ft_complex part);

/** Gathers @p count doubles of each process on rank 0. */
void ft_gather(ft_job *job, ft_site site, double *rank_values, double *all_values, int count);

/** The largest number of elements of a block: MPI counts are of type int. */
size_t ft_largest_block(void);

#endif
