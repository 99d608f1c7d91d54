/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file stamp.h
 * The local clock for records, at half of what asking the kernel costs: the processor's own counter along a
 * line that is fitted to CLOCK_MONOTONIC anew every millisecond.
 *
 * Only where the kernel makes that clock of the same counter (its clock source is "tsc"), which means that it
 * holds the counter to be steady and the same on all cores. Elsewhere every stamp asks the clock. How far off
 * stamps were is measured whenever a line ends, and stands in the header of the file. It contains what a load
 * from far memory takes: to wait for those before the counter is read would double the time of a record.
 */
#ifndef OFFBEAT_TRACE_STAMP_H
#define OFFBEAT_TRACE_STAMP_H

#include <stdint.h>
#ifdef __x86_64__
#include <x86intrin.h>
#endif

/** Around everything that runs around every call. */
#define OFFBEAT_INLINE static inline __attribute__((always_inline))

/** A reading of both, at the same time. */
typedef struct offbeat_reading {
    uint64_t ticks;
    int64_t ns;
    double wrong_ns; /**< by how much at most */
} offbeat_reading;

/** Of a thread. Zeroed: it has no line yet. */
typedef struct offbeat_stamps {
    uint64_t from_ticks, due_ticks; /**< where the line begins and how long it holds; 0: there is none */
    int64_t from_ns;
    uint64_t scale;              /**< nanoseconds a tick × 2^32 */
    double rate;                 /**< nanoseconds a tick; 0: not known yet */
    offbeat_reading from, based; /**< readings that the line begins at, and that the rate is from */
} offbeat_stamps;

/**
 * Before all else here.
 * @param clock_ns     reads the local clock
 * @param is_monotonic whether that is CLOCK_MONOTONIC: others' stamps are always their readings
 */
void offbeat_stamps_begin(int64_t (*clock_ns)(void), int is_monotonic);

/** How far stamps were off the clock so far at most, in ns; 0: they are its readings. Any thread. */
int64_t offbeat_stamps_bound_ns(void);

/** A stamp where the line doesn't reach: fits another one. */
int64_t offbeat_stamp_anew(offbeat_stamps *stamps);

/** The time now. Never earlier than the last one of these stamps. */
OFFBEAT_INLINE int64_t offbeat_stamp(offbeat_stamps *stamps) {
#ifdef __x86_64__
    const uint64_t ticks = __rdtsc() - stamps->from_ticks;
    if (ticks < stamps->due_ticks)
        return stamps->from_ns + (int64_t)(ticks * stamps->scale >> 32);
#endif
    return offbeat_stamp_anew(stamps);
}

#endif
