/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file clock.h
 * A clock that all processes of a communicator share, and how wrong it can be.
 *
 * Times are int64 nanoseconds on the local clock of the communicator's rank 0 (a double of seconds since 1970
 * could not tell 238 ns from nothing). Every answer has a bound on its error.
 *
 * **What the bound rests on.** Every ping-pong of a process with one that knows the shared clock already
 * confines the difference between the shared and its own clock, whatever the network did. Between ping-pongs
 * two things are assumed: a clock runs within 200 ppm of true time, and the rate between two clocks changes
 * by at most 50 ppb a second (a quartz that warms up by a tenth of a degree a second). Where both hold, the
 * error never exceeds the bound. Where one does not (a clock was set; a daemon slews CLOCK_MONOTONIC faster
 * than that, which CLOCK_MONOTONIC_RAW is free of), newer ping-pongs contradict older ones: the next sync
 * forgets those, and counts it in offbeat_sync_facts.
 *
 * **Methods**, by name: who learns from whom, and which line is believed. Every method has the same kind of
 * bound.
 *
 *   - `constraints` (default): the ping-pongs that say most are kept from sync to sync; all lines that they
 *     allow make a polygon, and of those the likeliest is believed, by the middles of the quickest
 *     ping-pongs. Along a binomial tree: ceil(log2 p) rounds.
 *   - `hierarchical`: the same, first among one process of each node, then within the nodes.
 *   - `offset`: no rate; along the tree (HCA3 without its slope, as Schuchart, Hunold and Bosilca use it in
 *     "MPI Process Synchronization in Space and Time", EuroMPI 2023, section 4).
 *   - `hca3`: a line fitted by least squares; along the tree (Hunold and Carpen-Amarie, CLUSTER 2018).
 *   - `jk`: the same line, but every process learns from rank 0 in turn (Jones and Koenig, 2013).
 *   - `skampi`: no rate; every process learns from rank 0 in turn (Worsch, Reussner and Augustin, 2002).
 *
 * **Time sources**: `CLOCK_MONOTONIC` (default), `CLOCK_MONOTONIC_RAW`, `MPI_Wtime`, and for tests
 * `virtual:...`, a CLOCK_MONOTONIC that is bent as the text says, so that a test knows the truth:
 *
 *     virtual:epoch=NS;RANK:offset=NS,drift=PPM,wander=PPM/SECONDS,step=NS@SECONDS;RANK:...
 *
 * RANK is one of MPI_COMM_WORLD; every part is optional, `step` may come up to eight times. Drift, wander and
 * the times of steps count from the epoch, a CLOCK_MONOTONIC time (0 when not given). Wander is a rate that
 * goes to and fro between -PPM and +PPM evenly, once in so many seconds.
 *
 * **Threads.** Different clocks may be used by different threads at once; one clock by one thread at a time.
 */
#ifndef OFFBEAT_CLOCK_H
#define OFFBEAT_CLOCK_H

#include <mpi.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct offbeat_clock offbeat_clock;

/** A moment on the shared clock, and how wrong that can be; nanoseconds. */
typedef struct offbeat_instant {
    int64_t global_ns, bound_ns;
} offbeat_instant;

/** What a clock is made of; zeroed: what the environment says, or the defaults. Every process must give the
 * same, the text of a virtual source excepted. */
typedef struct offbeat_clock_options {
    const char *method; /**< NULL: OFFBEAT_CLOCK_METHOD, else "constraints" */
    const char *source; /**< NULL: OFFBEAT_CLOCK_SOURCE, else "CLOCK_MONOTONIC" */
    int exchanges;      /**< ping-pongs of one process with its teacher in a sync, at most; 0:
                             OFFBEAT_CLOCK_EXCHANGES, else the method's own number */
    int fit_points;     /**< points that a line is fitted through (hca3, jk), each the best of several
                             ping-pongs; 0: the method's own number */
} offbeat_clock_options;

/**
 * Creates a clock on an intra-communicator, by the environment's wishes or the defaults, and synchronises it.
 * Collective. The same as offbeat_clock_create_with and zeroed options.
 */
int offbeat_clock_create(MPI_Comm comm, offbeat_clock **clock);

/**
 * Creates a clock on an intra-communicator and synchronises it. Collective.
 * Uses point-to-point messages on a duplicate of @p comm only, so that no collective algorithm under test
 * takes part. The clock stays valid when @p comm is freed. Errors on the duplicate are returned, not raised;
 * those of MPI_Comm_dup itself go to the error handler of @p comm. A bad option at one process makes the call
 * fail at all of them; offbeat_clock_error says what was wrong.
 * @param options NULL: the same as zeroed ones
 * @param[out] clock free it with offbeat_clock_free; NULL on failure
 * @return MPI_SUCCESS; MPI_ERR_COMM for MPI_COMM_NULL or an inter-communicator; MPI_ERR_ARG for an option, or
 * a variable of the environment, that cannot be obeyed, and where processes gave different ones;
 * MPI_ERR_NO_MEM; another MPI error code
 */
int offbeat_clock_create_with(MPI_Comm comm, const offbeat_clock_options *options, offbeat_clock **clock);

/** A sentence about the last call of this thread that returned MPI_ERR_ARG; empty when there was none. */
const char *offbeat_clock_error(void);

/**
 * Learns the shared clock anew; it may jump by as much as the bounds before and after allow. Collective over
 * the clock's communicator.
 * @return MPI_SUCCESS or an MPI error code
 */
int offbeat_clock_sync(offbeat_clock *clock);

/** Frees the clock and its communicator. Collective. Sets *clock to NULL; does nothing when it is NULL
 * already. */
int offbeat_clock_free(offbeat_clock **clock);

/** The local time stamp now, in nanoseconds on the clock's time source; local, never fails. */
int64_t offbeat_clock_local_ns(const offbeat_clock *clock);

/** The shared clock now, with its bound; local. */
offbeat_instant offbeat_clock_now(const offbeat_clock *clock);

/** A local time stamp, also an earlier one, on the shared clock, with its bound; local. No bound holds for
 * stamps from before the local clock was set. */
offbeat_instant offbeat_clock_at(const offbeat_clock *clock, int64_t local_ns);

/** Converts a local time stamp to the shared clock, in nanoseconds; local, without the bound: quick. */
int64_t offbeat_clock_global_ns(const offbeat_clock *clock, int64_t local_ns);

/**
 * Converts a time on the shared clock to this process's local clock, in nanoseconds; local. The inverse of
 * offbeat_clock_global_ns: the first local time that is not before @p global_ns.
 */
int64_t offbeat_clock_to_local_ns(const offbeat_clock *clock, int64_t global_ns);

/**
 * How wrong this process's global time can be, in nanoseconds, at local time @p local_ns; 0 where the process
 * was verified to read the same physical clock as rank 0.
 */
int64_t offbeat_clock_bound_ns(const offbeat_clock *clock, int64_t local_ns);

/**
 * Whether this process was verified to read the same physical clock as rank 0: same boot of the same kernel,
 * same time namespace, same source, and the exchanges of the last sync allow an offset of 0. Then offset and
 * bound are 0. Non-zero at rank 0. Never so for MPI_Wtime, whose origin some libraries choose for each
 * process, and for a virtual source.
 */
int offbeat_clock_is_shared(const offbeat_clock *clock);

/** Time since the last sync, in nanoseconds; local. */
int64_t offbeat_clock_age_ns(const offbeat_clock *clock);

/** The resolution of the local clock in nanoseconds, at least 1: as the system states it, or as much as a
 * double can tell for MPI_Wtime. */
int64_t offbeat_clock_resolution_ns(const offbeat_clock *clock);

/** Name of the time source ("CLOCK_MONOTONIC"); just "virtual" for a virtual one. */
const char *offbeat_clock_source(const offbeat_clock *clock);

/** Name of the method ("constraints"). */
const char *offbeat_clock_method(const offbeat_clock *clock);

/** Names of the methods, for messages and loops: index 0, 1, ...; NULL after the last. */
const char *offbeat_clock_method_name(int index);

/**
 * Compares the clock's communicator with another one, as MPI_Comm_compare does (MPI_CONGRUENT when the clock
 * was created on @p comm); local.
 * @return MPI_SUCCESS or an MPI error code
 */
int offbeat_clock_compare(const offbeat_clock *clock, MPI_Comm comm, int *result);

/** What the last sync of this process was like. */
typedef struct offbeat_sync_facts {
    int exchanges;              /**< ping-pongs with the teacher */
    int64_t duration_ns;        /**< from entering to leaving the sync */
    int64_t best_round_trip_ns; /**< 0 where none was made */
    int64_t bound_ns;           /**< right after it */
    double slope_ppb;           /**< estimated rate of the shared clock against the local one, minus 1 */
    int contradictions; /**< times in this clock's life that older exchanges were dropped because newer
                             ones spoke against them: a step, or drift beyond the limits */
} offbeat_sync_facts;
offbeat_sync_facts offbeat_clock_sync_facts(const offbeat_clock *clock);

#ifdef __cplusplus
}
#endif
#endif
