/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file harmonize.h
 * The harmonised start: all processes leave at a common deadline on the shared clock, each with its own
 * delay.
 *
 * After Schuchart, Hunold and Bosilca, "MPI Process Synchronization in Space and Time", EuroMPI 2023,
 * Algorithm 1: a fan-in informs rank 0 that all processes have arrived, rank 0 fans out a deadline that lies
 * slightly ahead (by the slack), and all processes wait for the deadline. Differences from Algorithm 1:
 *
 *   - The slack follows the median of what the last starts needed, up and down: the fan-in of each start
 *     carries how late the last process received the previous deadline.
 *   - A missed start does not cause a clock synchronisation. The clocks are synchronised when an error bound
 *     has grown, and only if the processes do not read one physical clock; this takes at most about 5% of the
 *     time.
 *   - Each process reports whether it left late, and whether it had received the deadline too late or lost
 * its core while waiting.
 *
 * There are two interfaces: MPIX_Harmonize, which keeps its state on the communicator, and
 * offbeat_harmonize, for programs that manage a clock and a start context themselves.
 *
 * Environment variables, read when the state is created (at the first call on a communicator, or in
 * offbeat_start_context_create). An invalid value is an error, with a message on standard error:
 *
 *   - `OFFBEAT_HARMONIZE_TOLERANCE_NS`: how late a process may leave and still be on time, in nanoseconds;
 *     default: 1000.
 *   - `OFFBEAT_YIELD`: 1 or 0, whether a waiting process yields its core; default: it does when the node is
 *     oversubscribed (has more processes than cores). Ignored when the caller decides.
 *   - the variables of clock.h.
 *
 * All communication is point-to-point, on communicators of the library, through MPI's profiling interface:
 * neither collective algorithms under test nor profilers are affected.
 *
 * **Threads.** With MPI_THREAD_MULTIPLE, several threads may use different communicators or different start
 * contexts at the same time; one of them only by one thread at a time, as with any collective call.
 */
#ifndef OFFBEAT_HARMONIZE_H
#define OFFBEAT_HARMONIZE_H

#include <offbeat/clock.h>

#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif
#ifdef __cplusplus
extern "C" {
#endif

/** Whether this process started on time, and if not, why. */
typedef enum offbeat_verdict {
    OFFBEAT_ON_TIME = 0,   /**< left within the tolerance after its planned time */
    OFFBEAT_CAME_LATE = 1, /**< received the deadline after its planned time: the slack was too small, or the
                                process was not running */
    OFFBEAT_LOST_CORE = 2  /**< received the deadline in time but left the wait late: descheduled or
                                interrupted */
} offbeat_verdict;

/**
 * One start of this process; all times in nanoseconds.
 *
 * The margin refers to the common deadline whatever the delay, so that it shows how much slack was needed. A
 * process with a delay may leave on time in spite of a negative margin.
 */
typedef struct offbeat_start {
    int64_t deadline_ns; /**< common deadline on the shared clock */
    int64_t planned_ns;  /**< deadline plus this process's delay, on the shared clock */
    int64_t margin_ns; /**< time from the beginning of this process's wait to the deadline; may be negative */
    int64_t overshoot_ns; /**< how long after planned_ns this process left the wait; never negative */
    int64_t bound_ns;     /**< error bound of the shared clock at the planned time; not part of the verdict */
    int64_t slack_ns;     /**< how far ahead the deadline was set */
    offbeat_verdict verdict; /**< depends on the tolerance */
} offbeat_start;

/** A verdict as the predicate of a sentence: "came after the deadline". Static storage. */
const char *offbeat_verdict_text(offbeat_verdict verdict);

/* --- on any communicator --- */

/**
 * Synchronises the processes in space and time: returns on all processes at the same time, after all have
 * called it. Collective over an intra-communicator. The first call on a communicator also creates its clock
 * and measures its slack. This state is freed with the communicator, or by MPI_Finalize; a duplicate of the
 * communicator gets a state of its own. Errors go to the communicator's error handler; errors that concern no
 * communicator go to the handler that the MPI standard names for them.
 * @param[out] flag 1 when this process left on time (OFFBEAT_ON_TIME), else 0; processes may differ
 * @return MPI_SUCCESS; MPI_ERR_COMM for MPI_COMM_NULL and inter-communicators; MPI_ERR_ARG for a NULL pointer
 * and for an invalid environment variable; MPI_ERR_NO_MEM; another MPI error code
 */
int MPIX_Harmonize(MPI_Comm comm, int *flag);

/**
 * Like MPIX_Harmonize, but each process returns at its own delay after the common deadline and gets a full
 * record of its start.
 * @param delay_ns at least 0, may differ between processes. A negative delay is MPI_ERR_ARG, before any
 * communication
 */
int MPIX_Harmonize_delayed(MPI_Comm comm, int64_t delay_ns, offbeat_start *start);

/**
 * The clock that MPIX_Harmonize uses on a communicator. Local. The clock exists as long as the communicator
 * and must not be freed.
 * @return NULL for MPI_COMM_NULL and before the first MPIX_Harmonize on this communicator
 */
offbeat_clock *MPIX_Harmonize_clock(MPI_Comm comm);

/* --- with a clock and a start context of the program --- */

typedef struct offbeat_start_context offbeat_start_context;

/** For offbeat_start_context_create: a waiting process yields its core as OFFBEAT_YIELD says; when it is not
 * set, if the node has more processes than cores. */
enum { OFFBEAT_YIELD_IF_OVERSUBSCRIBED = -1 };

/**
 * Prepares harmonised starts and measures the slack that they need. Collective.
 * @param clock must outlive the context
 * @param comm  has the same processes as the clock's communicator, in any order; may be freed afterwards
 * @param yield whether a waiting process yields its core: 1, 0 or OFFBEAT_YIELD_IF_OVERSUBSCRIBED
 * @param[out] context free it with offbeat_start_context_free; NULL on failure
 * @return MPI_SUCCESS; MPI_ERR_COMM when @p comm has other processes than the clock; MPI_ERR_ARG for a NULL
 * pointer or another value of yield, and on all processes when the environment of one of them is invalid;
 * MPI_ERR_NO_MEM; another MPI error code
 */
int offbeat_start_context_create(offbeat_clock *clock, MPI_Comm comm, int yield,
                                 offbeat_start_context **context);

/**
 * Synchronises the processes in space, then in time: returns at a common deadline plus @p delay_ns on the
 * shared clock, never earlier, and after all processes have called it. Collective. No communication follows
 * the deadline. When the error bound of a clock exceeds twice its value after the last sync plus 500 ns, all
 * clocks are synchronised first.
 * @param delay_ns this process's delay, at least 0, may differ between processes
 * @return MPI_SUCCESS; MPI_ERR_ARG for a negative delay or a NULL pointer, before any communication; another
 * MPI error code
 */
int offbeat_harmonize(offbeat_start_context *context, int64_t delay_ns, offbeat_start *start);

/**
 * The slack of the next start by the current measurements, in nanoseconds: 3 x the median of what the last 9
 * starts needed + 1 us, at least 2 us, at most 50 ms, and beyond 2 ms at most 10 x the smallest of those
 * needs; when rank 0 yields, at least 50 us and at most 50 ms. What the last start needed becomes known at
 * the beginning of the next one. Known at rank 0 of the context's communicator, 0 elsewhere.
 */
int64_t offbeat_start_context_slack_ns(const offbeat_start_context *context);

/** How late a process may leave and still be on time, in nanoseconds. */
int64_t offbeat_start_context_tolerance_ns(const offbeat_start_context *context);

/** Frees the context and sets *context to NULL. Collective; does nothing when *context is NULL. */
int offbeat_start_context_free(offbeat_start_context **context);

#ifdef __cplusplus
}
#endif
#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#endif
