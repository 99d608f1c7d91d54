/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file virtual_clocks.h
 * Support for tests of clocks and starts: virtual clocks whose true values the test knows, reductions of
 * times, and a count of the collectives that the tested library calls.
 */
#ifndef OFFBEAT_TESTING_VIRTUAL_CLOCKS_H
#define OFFBEAT_TESTING_VIRTUAL_CLOCKS_H

#include <mpi.h>
#include <stdint.h>

/** The number of collectives that this process called by their public MPI names; MPI_Comm_dup and
 * MPI_Comm_free are not counted. */
int collectives_called(void);

/** The largest value over a communicator (by PMPI, not counted). */
int64_t largest_of(int64_t value, MPI_Comm comm);

/** The value of the communicator's rank 0 (by PMPI, not counted). */
int64_t first_of(int64_t value, MPI_Comm comm);

/**
 * Gives each rank of MPI_COMM_WORLD a virtual clock with a constant offset: a mix of small and large,
 * positive and negative ones; rank 0 gets one when @p offset_rank_0 is set. Affects clocks created from now
 * on.
 */
void offset_clocks(int offset_rank_0);

/**
 * Gives each rank of MPI_COMM_WORLD a virtual clock with the largest drift and wander that the error bound
 * permits. Affects clocks created from now on. Collective over MPI_COMM_WORLD, for a common epoch.
 * @param step_ns a step of the clocks of odd ranks, once, after @p step_after_ns; 0: none
 */
void drift_clocks(int64_t step_ns, int64_t step_after_ns);

/** After drift_clocks: the reading of a rank's virtual clock at a physical time. */
int64_t drifting_clock_ns(int rank, int64_t physical_ns);

/** Removes the virtual clocks for clocks created from now on. */
void restore_clocks(void);

/** The virtual offset of this process in nanoseconds; 0 when there is none. */
int64_t own_virtual_offset_ns(void);

/** CLOCK_MONOTONIC in nanoseconds: the physical clock that all processes of a machine share. */
int64_t physical_now_ns(void);

#endif
