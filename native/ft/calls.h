/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file calls.h
 * The collective calls of the program, counted where they are made: each site makes one kind of call.
 *
 * The counts are what a tracer must find: no other collective is called between MPI_Init and MPI_Finalize,
 * and every rank makes the same calls.
 */
#ifndef OFFBEAT_FT_CALLS_H
#define OFFBEAT_FT_CALLS_H

#include "ft/fft.h"

#include <mpi.h>

/** Where collectives are called. */
typedef enum {
    FT_PATTERN_FOUND, /**< is there a pattern file, and is it one? */
    FT_PATTERN,       /**< the delays out of it */
    FT_START,         /**< all begin together */
    FT_TRANSPOSE,     /**< from slabs to pencils, and back */
    FT_CHECKSUM,      /**< the parts of the sum, added at rank 0 */
    FT_TIMES,         /**< each rank's times to rank 0 */
    FT_VERDICT,       /**< rank 0 says whether the sums were right */
    FT_SITES
} ft_site;

/** What a site did. */
typedef struct {
    long calls;
    size_t bytes; /**< of one call, as it states them: count times extent; of MPI_Alltoall, to each process */
} ft_count;

/** A process and what it has called. */
typedef struct {
    MPI_Comm comm;
    int rank, p;
    ft_count counts[FT_SITES];
} ft_job;

/** The MPI function that a site calls, and what for. */
const char *ft_site_function(ft_site site);
const char *ft_site_purpose(ft_site site);

void ft_broadcast(ft_job *job, ft_site site, void *data, int count, MPI_Datatype type);
void ft_barrier(ft_job *job, ft_site site);

/** Sends a block of @p elements to each process. */
void ft_alltoall(ft_job *job, ft_site site, ft_complex *send, ft_complex *receive, size_t elements);

/** @return the sum over all processes at rank 0; elsewhere the own part */
ft_complex ft_sum(ft_job *job, ft_site site, ft_complex part);

/** Brings @p count doubles of each process to rank 0. */
void ft_gather(ft_job *job, ft_site site, double *own, double *all, int count);

/** The most elements that a block may have: counts of MPI are of type int. */
size_t ft_largest_block(void);

#endif
