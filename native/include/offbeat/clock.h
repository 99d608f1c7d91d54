/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file clock.h
 * A clock that all processes of a communicator share.
 *
 * Times are int64 nanoseconds on the clock of the communicator's rank 0, each with a bound on its error.
 *
 * A process learns its offset by ping-pong messages with one other process that already knows the shared
 * clock, along a binomial tree: ceil(log2 p) rounds, whatever the topology. Drift is not estimated; the bound
 * allows for it.
 *
 * A clock may be used by one thread at a time; offbeat_clock_local_ns by any.
 *
 * For tests only: the environment variable OFFBEAT_CLOCK_TEST_OFFSET_NS="rank:ns,rank:ns", read by each
 * offbeat_clock_create, adds so many nanoseconds to the local clock of those ranks of MPI_COMM_WORLD (0 for
 * all others), so that a test knows the true offsets. A process whose clock was moved never counts as sharing
 * a physical clock with another one. A text that cannot be read makes offbeat_clock_create fail with
 * MPI_ERR_ARG.
 */
#ifndef OFFBEAT_CLOCK_H
#define OFFBEAT_CLOCK_H

#include <mpi.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct offbeat_clock offbeat_clock;

/**
 * Creates a clock on an intra-communicator and synchronises it. Collective.
 * Uses point-to-point messages on a duplicate of @p comm only, so that no collective algorithm under test
 * takes part. The clock stays valid when @p comm is freed. Errors on the duplicate are returned, not raised;
 * those of MPI_Comm_dup itself go to the error handler of @p comm.
 * @param[out] clock free it with offbeat_clock_free; NULL on failure
 * @return MPI_SUCCESS; MPI_ERR_COMM for MPI_COMM_NULL or an inter-communicator; MPI_ERR_NO_MEM; another MPI
 * error code
 */
int offbeat_clock_create(MPI_Comm comm, offbeat_clock **clock);

/**
 * Measures the offsets anew; the shared clock may jump by as much as the bounds before and after allow.
 * Collective over the clock's communicator.
 * @return MPI_SUCCESS or an MPI error code
 */
int offbeat_clock_sync(offbeat_clock *clock);

/** The local time stamp now, in nanoseconds (CLOCK_MONOTONIC); local, never fails. */
int64_t offbeat_clock_local_ns(void);

/** Converts a local time stamp to the shared clock, in nanoseconds; local. */
int64_t offbeat_clock_global_ns(const offbeat_clock *clock, int64_t local_ns);

/** Converts a time on the shared clock to this process's local clock, in nanoseconds; local. */
int64_t offbeat_clock_to_local_ns(const offbeat_clock *clock, int64_t global_ns);

/**
 * How wrong this process's global time can be, in nanoseconds, at local time @p local_ns: half the width of
 * the interval that the exchanges left for its offset (at most half the best round trip), plus the bound of
 * the process it learned from, plus a drift allowance of 200 ppm of the time since the sync; 0 where the
 * process was verified to read the same physical clock as rank 0.
 */
int64_t offbeat_clock_bound_ns(const offbeat_clock *clock, int64_t local_ns);

/**
 * Whether this process was verified to read the same physical clock as rank 0: same boot of the same kernel,
 * same time namespace, and the exchanges of the last sync allow an offset of 0. Then offset and bound are 0.
 * Non-zero at rank 0.
 */
int offbeat_clock_is_shared(const offbeat_clock *clock);

/** Time since the last sync, in nanoseconds; local. */
int64_t offbeat_clock_age_ns(const offbeat_clock *clock);

/** The resolution of the local clock in nanoseconds, as the system states it. */
int64_t offbeat_clock_resolution_ns(void);

/** Name of the local time source ("CLOCK_MONOTONIC"). */
const char *offbeat_clock_source(void);

/**
 * Compares the clock's communicator with another one, as MPI_Comm_compare does (MPI_CONGRUENT when the clock
 * was created on @p comm); local.
 * @return MPI_SUCCESS or an MPI error code
 */
int offbeat_clock_compare(const offbeat_clock *clock, MPI_Comm comm, int *result);

/** Frees the clock and its communicator. Collective. Sets *clock to NULL; does nothing when it is NULL
 * already. */
int offbeat_clock_free(offbeat_clock **clock);

#ifdef __cplusplus
}
#endif
#endif
