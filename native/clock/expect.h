/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file expect.h
 * For the native tests: says in a sentence which promise was broken and ends the job, and counts the
 * collectives that are called through the public MPI names. Link expect.c into the test.
 */
#ifndef OFFBEAT_CLOCK_EXPECT_H
#define OFFBEAT_CLOCK_EXPECT_H

#include <mpi.h>
#include <stdint.h>

/** Unless @p holds, prints rank and sentence (printf style) on stderr and aborts the job with status 1. */
__attribute__((format(printf, 2, 3))) void expect(int holds, const char *sentence, ...);

/** Ends the job with status 1 unless an MPI call succeeded. */
void expect_success(int rc, const char *call);

/** How many collectives this process has called so far, MPI_Comm_dup and MPI_Comm_free not counted. */
int collectives_called(void);

/** The largest value over a communicator, by the MPI library's own collective (not counted). */
int64_t largest_of(int64_t value, MPI_Comm comm);

/** The value of the communicator's rank 0, by the MPI library's own collective (not counted). */
int64_t first_of(int64_t value, MPI_Comm comm);

/**
 * Gives each rank of MPI_COMM_WORLD a virtual clock offset, known to the test: a mix of small, large,
 * positive and negative ones; rank 0 gets one when @p move_rank_0 is set. Clocks created from now on have it.
 */
void move_clocks(int move_rank_0);

/**
 * Gives each rank of MPI_COMM_WORLD a virtual clock that runs and wanders as fast as the clock's bound
 * allows, from now on. Collective over MPI_COMM_WORLD, as all must mean the same moment.
 * @param step_ns by how much the clocks of odd ranks are set, once, after @p step_after_ns; 0: never
 */
void drift_clocks(int64_t step_ns, int64_t step_after_ns);

/** What the clock of a rank of MPI_COMM_WORLD shows at a physical time, after drift_clocks. */
int64_t drifting_clock_ns(int rank, int64_t physical_ns);

/** Takes the virtual clocks away; clocks created from now on don't have them. */
void restore_clocks(void);

/** The virtual offset of this process in nanoseconds; 0 when there is none. */
int64_t own_virtual_offset_ns(void);

/** CLOCK_MONOTONIC in nanoseconds: the physical clock that all processes of a machine share. */
int64_t physical_now_ns(void);

#endif
