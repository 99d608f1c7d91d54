/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file harmonize.h
 * The harmonised start: processes leave together, or each at its own delay after a common deadline.
 *
 * After Schuchart, Hunold and Bosilca, "MPI Process Synchronization in Space and Time", EuroMPI 2023,
 * Algorithm 1: a fan-in tells rank 0 that all have arrived, rank 0 fans a deadline out that lies a little
 * ahead (the slack), everybody waits for it. Different from there: a missed start doesn't make the clocks be
 * measured anew, only their age does, and only where they aren't one physical clock; the slack follows what
 * was needed in both directions; leaving late is noticed too.
 */
#ifndef OFFBEAT_HARMONIZE_H
#define OFFBEAT_HARMONIZE_H

#include <offbeat/clock.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct offbeat_harmony offbeat_harmony;

/**
 * What one start was like for this process; all times in nanoseconds.
 *
 * The margin is counted from the common deadline whatever the delay, so that it tells how much slack was
 * needed; a process with a delay may leave on time in spite of a negative one. The overshoot tells whether it
 * did: it is large when the process came too late, and also when it lost its core while it waited.
 */
typedef struct offbeat_start {
    int64_t deadline_ns; /**< common deadline on the shared clock */
    int64_t planned_ns;  /**< deadline plus this process's delay, on the shared clock */
    int64_t
        margin_ns; /**< time left until the deadline when this process began to wait; negative: too late */
    int64_t overshoot_ns; /**< how long after planned_ns this process left the wait; never negative */
    int64_t bound_ns;     /**< error bound of the shared clock at the planned time */
} offbeat_start;

/**
 * Prepares harmonised starts and measures what slack they need. Collective.
 * @param clock must outlive the harmony
 * @param comm  has the same processes as the clock's communicator, in whatever order; may be freed afterwards
 * @param yield non-zero: give the core away while waiting (more processes than cores)
 * @param[out] harmony free it with offbeat_harmony_free; NULL on failure
 * @return MPI_SUCCESS; MPI_ERR_COMM when @p comm has other processes than the clock; MPI_ERR_NO_MEM; another
 * MPI error code
 */
int offbeat_harmony_create(offbeat_clock *clock, MPI_Comm comm, int yield, offbeat_harmony **harmony);

/**
 * Synchronises in space, then in time: returns at a common deadline plus @p delay_ns on the shared clock,
 * never before, and after all processes have called it. Collective. Whether the start was on time is a local
 * fact, told in @p start; no communication follows the deadline. Uses point-to-point messages only. When a
 * process's clock isn't rank 0's physical clock and its last sync is more than a second ago, all clocks are
 * synchronised first.
 * @param delay_ns this process's delay, at least 0; processes may have different ones
 * @return MPI_SUCCESS; MPI_ERR_ARG for a negative delay or a NULL pointer (nothing is sent then); another MPI
 * error code
 */
int offbeat_harmonize(offbeat_harmony *harmony, int64_t delay_ns, offbeat_start *start);

/**
 * Tells the process that chooses the deadline how early or late everybody was, so that the slack follows the
 * median of what the last 16 starts needed: 3 x median + 1 us, at least 2 us (50 us when yielding), at most
 * 50 ms. Call it once for each start, in order, with the smallest margin of all processes. It may be called
 * for several starts together as long as none is made in between. Only rank 0's call counts; elsewhere it
 * does nothing. Local.
 */
void offbeat_harmony_adapt(offbeat_harmony *harmony, int64_t smallest_margin_ns);

/** The slack that the next start will have, in nanoseconds; known at rank 0 of the harmony's communicator, 0
 * elsewhere. */
int64_t offbeat_harmony_slack_ns(const offbeat_harmony *harmony);

/** Frees what offbeat_harmony_create made. Collective. Sets *harmony to NULL; does nothing when it is NULL
 * already. */
int offbeat_harmony_free(offbeat_harmony **harmony);

#ifdef __cplusplus
}
#endif
#endif
