/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file clock.h
 * A clock that is shared by all processes of a communicator, with a bound on its error.
 *
 * Times are int64 nanoseconds on the local clock of the communicator's rank 0. (Seconds since 1970 in a
 * double have a resolution of only 238 ns.) Every time on the shared clock has a bound on its error.
 *
 * **Error bound.** Each ping-pong exchange between a process (the client) and a process that is synchronised
 * already (its reference process) limits the difference between the shared clock and the client's own clock,
 * whatever the network did. Between exchanges, two assumptions hold: a clock runs within 200 ppm of true
 * time, and the drift between two clocks changes by at most 50 ppb per second (a quartz that warms up by 0.1
 * K per second). While both hold, the error never exceeds the bound. When one is violated (a clock was set; a
 * daemon slews CLOCK_MONOTONIC faster than that, which does not affect CLOCK_MONOTONIC_RAW), newer exchanges
 * contradict older ones: the next synchronisation drops the older ones and counts a contradiction in
 * offbeat_sync_facts.
 *
 * **Methods** decide which processes synchronise with each other, and how the clock difference is estimated.
 * Every method gives the same kind of bound.
 *
 *   - `constraints` (default): the tightest limits are kept from one synchronisation to the next; they form a
 *     polygon of possible lines. The estimate is the most likely line in it, given the midpoints of the
 *     exchanges with the shortest round trips. Along a binomial tree, in ceil(log2 p) rounds.
 *   - `hierarchical`: the same, first between one process of each node, then within the nodes.
 *   - `offset`: no slope; along the tree (HCA3 without its slope, as Schuchart, Hunold and Bosilca use it in
 *     "MPI Process Synchronization in Space and Time", EuroMPI 2023, section 4).
 *   - `hca3`: a line fitted by least squares; along the tree (Hunold and Carpen-Amarie, CLUSTER 2018).
 *   - `jk`: a line fitted by least squares; every process synchronises with rank 0 in turn (Jones and Koenig,
 *     2013).
 *   - `skampi`: no slope; every process synchronises with rank 0 in turn (Worsch, Reussner and Augustin,
 *     2002).
 *
 * **Time sources**: `CLOCK_MONOTONIC` (default), `CLOCK_MONOTONIC_RAW`, `MPI_Wtime`, and for tests
 * `virtual:...`, which is CLOCK_MONOTONIC with an artificial offset, drift, wander and steps, so that a test
 * knows the true error:
 *
 *     virtual:epoch=NS;RANK:offset=NS,drift=PPM,wander=PPM/SECONDS,step=NS@SECONDS;RANK:...
 *
 * RANK is a rank in MPI_COMM_WORLD. Every part is optional; `step` may be given up to eight times. Drift,
 * wander and the times of steps count from the epoch, which is a CLOCK_MONOTONIC time (default: 0). Wander
 * adds a triangle wave between -PPM and +PPM with a period of SECONDS to the drift.
 *
 * **Threads.** Several threads may use different clocks at the same time, but not the same clock.
 */
#ifndef OFFBEAT_CLOCK_H
#define OFFBEAT_CLOCK_H

#include <mpi.h>
#include <stdint.h>

#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif
#ifdef __cplusplus
extern "C" {
#endif

typedef struct offbeat_clock offbeat_clock;

/** A time on the shared clock and the bound of its error, in nanoseconds. */
typedef struct offbeat_instant {
    int64_t global_ns, bound_ns;
} offbeat_instant;

/** Options of a clock. A zeroed field means: use the environment variable, or else the default. All processes
 * must give the same options, except for the text of a virtual source. */
typedef struct offbeat_clock_options {
    const char *method; /**< NULL: OFFBEAT_CLOCK_METHOD, else "constraints" */
    const char *source; /**< NULL: OFFBEAT_CLOCK_SOURCE, else "CLOCK_MONOTONIC" */
    int exchanges;      /**< maximum number of ping-pong exchanges between a process and its reference process
                             in a sync; 0: OFFBEAT_CLOCK_EXCHANGES, else the method's default */
    int fit_points;     /**< number of points through which a line is fitted (hca3, jk), each the fastest of
                             several exchanges; 0: the method's default */
} offbeat_clock_options;

/**
 * Creates a clock on an intra-communicator with the settings from the environment, and synchronises it.
 * Collective. Equivalent to offbeat_clock_create_with with zeroed options.
 */
int offbeat_clock_create(MPI_Comm comm, offbeat_clock **clock);

/**
 * Creates a clock on an intra-communicator and synchronises it. Collective.
 * Communicates only by point-to-point messages on a duplicate of @p comm, so that no collective algorithm
 * under test is used. The clock remains valid after @p comm is freed. Errors on the duplicate are returned;
 * errors of MPI_Comm_dup itself go to the error handler of @p comm. An invalid option at one process makes
 * the call fail at all processes; offbeat_clock_error describes the error.
 * @param options NULL: zeroed options
 * @param[out] clock free it with offbeat_clock_free; NULL on failure
 * @return MPI_SUCCESS; MPI_ERR_COMM for MPI_COMM_NULL or an inter-communicator; MPI_ERR_ARG for an invalid
 * option or environment variable, or when processes gave different ones; MPI_ERR_NO_MEM; another MPI error
 * code
 */
int offbeat_clock_create_with(MPI_Comm comm, const offbeat_clock_options *options, offbeat_clock **clock);

/** A sentence about the last call in this thread that returned MPI_ERR_ARG; empty when there was none. */
const char *offbeat_clock_error(void);

/**
 * Synchronises the clock again. The shared time may jump within the bounds before and after. Collective over
 * the clock's communicator.
 * @return MPI_SUCCESS or an MPI error code
 */
int offbeat_clock_sync(offbeat_clock *clock);

/** Frees the clock and its communicator, and sets *clock to NULL. Collective; does nothing when *clock is
 * NULL. */
int offbeat_clock_free(offbeat_clock **clock);

/** The current local timestamp, in nanoseconds on the clock's time source. Local; never fails. */
int64_t offbeat_clock_local_ns(const offbeat_clock *clock);

/** The current shared time with its bound. Local. */
offbeat_instant offbeat_clock_now(const offbeat_clock *clock);

/** Converts a local timestamp, which may be an earlier one, to the shared clock, with its bound. Local. The
 * bound is invalid for timestamps taken before the local clock was set. */
offbeat_instant offbeat_clock_at(const offbeat_clock *clock, int64_t local_ns);

/** Converts a local timestamp to the shared clock, in nanoseconds; faster than offbeat_clock_at, as it does
 * not compute the bound. Local. */
int64_t offbeat_clock_global_ns(const offbeat_clock *clock, int64_t local_ns);

/**
 * Converts a time on the shared clock to this process's local clock, in nanoseconds. Local. The inverse of
 * offbeat_clock_global_ns: the first local time that is not before @p global_ns.
 */
int64_t offbeat_clock_to_local_ns(const offbeat_clock *clock, int64_t global_ns);

/**
 * The error bound of this process's shared time at local time @p local_ns, in nanoseconds; 0 when the process
 * was verified to read the same physical clock as rank 0.
 */
int64_t offbeat_clock_bound_ns(const offbeat_clock *clock, int64_t local_ns);

/**
 * Whether this process was verified to read the same physical clock as rank 0: same boot of the same kernel,
 * same time namespace, same source, and the exchanges of the last sync allow an offset of 0. Offset and bound
 * are then 0. Non-zero at rank 0. Always 0 at other ranks for a virtual source and for MPI_Wtime, as some MPI
 * libraries choose its origin for each process.
 */
int offbeat_clock_is_shared(const offbeat_clock *clock);

/** The time since the last sync, in nanoseconds. Local. */
int64_t offbeat_clock_age_ns(const offbeat_clock *clock);

/** The resolution of the local clock in nanoseconds, at least 1: as the system states it; for MPI_Wtime at
 * least the resolution of a double. */
int64_t offbeat_clock_resolution_ns(const offbeat_clock *clock);

/** The name of the time source, such as "CLOCK_MONOTONIC"; "virtual" for any virtual source. */
const char *offbeat_clock_source(const offbeat_clock *clock);

/** The name of the method, such as "constraints". */
const char *offbeat_clock_method(const offbeat_clock *clock);

/** The name of the method with an index 0, 1, ...; NULL after the last one. */
const char *offbeat_clock_method_name(int index);

/**
 * Compares the clock's communicator with @p comm, as MPI_Comm_compare does; the result is MPI_CONGRUENT when
 * the clock was created on @p comm. Local.
 * @return MPI_SUCCESS or an MPI error code
 */
int offbeat_clock_compare(const offbeat_clock *clock, MPI_Comm comm, int *result);

/** Facts about the last sync of this process. */
typedef struct offbeat_sync_facts {
    int exchanges;              /**< ping-pong exchanges with the reference process */
    int64_t duration_ns;        /**< from entering to leaving the sync */
    int64_t best_round_trip_ns; /**< shortest round trip; 0 without exchanges */
    int64_t bound_ns;           /**< immediately after the sync */
    double slope_ppb;           /**< estimated rate of the shared clock relative to the local one, minus 1 */
    int contradictions; /**< since the clock was created: how often older exchanges were dropped because newer
                             ones contradicted them (a step, or drift beyond the limits) */
} offbeat_sync_facts;
offbeat_sync_facts offbeat_clock_sync_facts(const offbeat_clock *clock);

#ifdef __cplusplus
}
#endif
#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#endif
