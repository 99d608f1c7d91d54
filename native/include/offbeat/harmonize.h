/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file harmonize.h
 * The harmonised start: processes leave together, or each at its own delay after a common deadline.
 *
 * After Schuchart, Hunold and Bosilca, "MPI Process Synchronization in Space and Time", EuroMPI 2023,
 * Algorithm 1: a fan-in tells rank 0 that all have arrived, rank 0 fans a deadline out that lies a little
 * ahead (the slack), everybody waits for it. Different from there:
 *
 *   - The slack follows the median of what the last starts needed, up and down: each start's fan-in carries
 *     how late the last one was known.
 *   - A missed start doesn't make the clocks be synchronised anew. Only a bound that has grown does, and only
 *     where processes don't read one physical clock; at most some 5% of the time is spent on it.
 *   - A process that leaves its wait late says so, whether it came late or lost its core while it waited.
 *
 * Two ways to use it: MPIX_Harmonize, which keeps all that it needs on the communicator, and the functions
 * offbeat_harmony_..., for programs that have a clock already.
 *
 * Environment, read when the state is made (the first call on a communicator, offbeat_harmony_create); a
 * value that cannot be read is an error, with a sentence on standard error:
 *
 *   - `OFFBEAT_HARMONIZE_TOLERANCE_NS`: how late a process may leave and still be on time, in nanoseconds;
 *     1000 where it isn't set.
 *   - `OFFBEAT_YIELD`: 1 or 0, whether a waiting process gives its core away; where it isn't set, it does
 *     when more processes run on a node than have cores there. Not looked at where the caller says so itself.
 *   - what clock.h reads.
 *
 * All communication is point-to-point, on communicators of the library's own, through MPI's profiling
 * interface: neither a collective algorithm under test nor a profiler is in the way.
 *
 * **Threads.** Different communicators, or different harmonies, may be used by different threads at once
 * (MPI_THREAD_MULTIPLE); one of them by one thread at a time, as with any collective call.
 */
#ifndef OFFBEAT_HARMONIZE_H
#define OFFBEAT_HARMONIZE_H

#include <offbeat/clock.h>

#ifdef __cplusplus
extern "C" {
#endif

/** How one start went for this process. */
typedef enum offbeat_verdict {
    OFFBEAT_ON_TIME = 0,   /**< left within the tolerance after its planned time */
    OFFBEAT_CAME_LATE = 1, /**< learned the deadline after its planned time: the slack was too small, or the
                                process was away */
    OFFBEAT_LOST_CORE = 2  /**< was in time, but left the wait late: descheduled or interrupted */
} offbeat_verdict;

/**
 * What one start was like for this process; all times in nanoseconds.
 *
 * The margin is counted from the common deadline whatever the delay, so that it tells how much slack was
 * needed; a process with a delay may leave on time in spite of a negative one.
 */
typedef struct offbeat_start {
    int64_t deadline_ns;  /**< common deadline on the shared clock */
    int64_t planned_ns;   /**< deadline plus this process's delay, on the shared clock */
    int64_t margin_ns;    /**< time left until the deadline when this process began to wait; negative: none
                               was */
    int64_t overshoot_ns; /**< how long after planned_ns this process left the wait; never negative */
    int64_t bound_ns;     /**< error bound of the shared clock at the planned time; no part of the verdict */
    int64_t slack_ns;     /**< how far ahead the deadline was set */
    offbeat_verdict verdict; /**< by the tolerance */
} offbeat_start;

/** What a verdict says of a process, to follow "it": "came after the deadline". Static storage. */
const char *offbeat_verdict_text(offbeat_verdict verdict);

/* --- on any communicator
 * ------------------------------------------------------------------------------------ */

/**
 * Synchronises in space and time: returns on all processes together, after all have called it. Collective
 * over an intra-communicator; the first call on each communicator also makes its clock and measures its
 * slack. What it keeps is freed with the communicator, or by MPI_Finalize; a duplicate of the communicator
 * starts anew. Errors go to the communicator's error handler (those about no communicator at all to the one
 * that MPI names for that).
 * @param[out] flag 1 where this process left on time (OFFBEAT_ON_TIME), else 0; processes may differ
 * @return MPI_SUCCESS; MPI_ERR_COMM for MPI_COMM_NULL and inter-communicators; MPI_ERR_ARG for a NULL
 * pointer, and for an environment variable that cannot be read; MPI_ERR_NO_MEM; another MPI error code
 */
int MPIX_Harmonize(MPI_Comm comm, int *flag);

/**
 * The same, but each process returns at its own delay after the common deadline, and hears all about its
 * start.
 * @param delay_ns at least 0; processes may have different ones. A negative one is MPI_ERR_ARG: nothing is
 * sent then
 */
int MPIX_Harmonize_delayed(MPI_Comm comm, int64_t delay_ns, offbeat_start *start);

/**
 * The clock behind MPIX_Harmonize on a communicator; local. It lives as long as the communicator and must not
 * be freed.
 * @return NULL for MPI_COMM_NULL and before the first MPIX_Harmonize on this communicator
 */
offbeat_clock *MPIX_Harmonize_clock(MPI_Comm comm);

/* --- with a clock of one's own
 * ------------------------------------------------------------------------------ */

typedef struct offbeat_harmony offbeat_harmony;

/** For offbeat_harmony_create: give the core away while waiting where OFFBEAT_YIELD says so, or where that is
 * not set and more processes run on the node than have cores there. */
enum { OFFBEAT_YIELD_WHERE_CROWDED = -1 };

/**
 * Prepares harmonised starts and measures what slack they need. Collective.
 * @param clock must outlive the harmony
 * @param comm  has the same processes as the clock's communicator, in whatever order; may be freed afterwards
 * @param yield 1 or 0: whether to give the core away while waiting; or OFFBEAT_YIELD_WHERE_CROWDED
 * @param[out] harmony free it with offbeat_harmony_free; NULL on failure
 * @return MPI_SUCCESS; MPI_ERR_COMM when @p comm has other processes than the clock; MPI_ERR_ARG for a NULL
 * pointer or another yield, and on all processes when one of them cannot read its environment;
 * MPI_ERR_NO_MEM; another MPI error code
 */
int offbeat_harmony_create(offbeat_clock *clock, MPI_Comm comm, int yield, offbeat_harmony **harmony);

/**
 * Synchronises in space, then in time: returns at a common deadline plus @p delay_ns on the shared clock,
 * never before, and after all processes have called it. Collective. No communication follows the deadline.
 * Where the bound of a clock has grown beyond twice what it was after the last sync plus 500 ns, all clocks
 * are synchronised first.
 * @param delay_ns this process's delay, at least 0; processes may have different ones
 * @return MPI_SUCCESS; MPI_ERR_ARG for a negative delay or a NULL pointer (nothing is sent then); another MPI
 * error code
 */
int offbeat_harmonize(offbeat_harmony *harmony, int64_t delay_ns, offbeat_start *start);

/**
 * The slack that the next start would have by what is known so far, in nanoseconds: 3 x the median of what
 * the last 9 starts needed + 1 us, at least 2 us, at most 50 ms, and beyond 2 ms at most 10 x the smallest of
 * those needs; when rank 0 yields, at least 50 us and at most 50 ms. What the last start needed is known when
 * the next one begins. Known at rank 0 of the harmony's communicator, 0 elsewhere.
 */
int64_t offbeat_harmony_slack_ns(const offbeat_harmony *harmony);

/** How late a process may leave and still be on time, in nanoseconds. */
int64_t offbeat_harmony_tolerance_ns(const offbeat_harmony *harmony);

/** Frees what offbeat_harmony_create made. Collective. Sets *harmony to NULL; does nothing when it is NULL
 * already. */
int offbeat_harmony_free(offbeat_harmony **harmony);

#ifdef __cplusplus
}
#endif
#endif
